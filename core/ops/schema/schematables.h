// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/schema/schema.h"

#include <initializer_list>

/// The tables that schemas() joins, each in a file of its own.
namespace retro::ops
{

using SchemaTable = std::initializer_list<OperatorSchema>;

extern const SchemaTable kStandardSchemasToF; ///< ai.onnx, A to F
extern const SchemaTable kStandardSchemasToQ; ///< ai.onnx, G to Q
extern const SchemaTable kStandardSchemasToZ; ///< ai.onnx, R to Z
extern const SchemaTable kLearningSchemas;    ///< ai.onnx.ml
extern const SchemaTable kMicrosoftSchemas;   ///< com.microsoft and com.microsoft.nchwc
extern const SchemaTable kQonnxSchemas;       ///< the domains of QONNX
extern const SchemaTable kOwnSchemas;         ///< ai.retrograde, retrograde and retrograde.integer

} // namespace retro::ops
