// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/schema/schema.h"

/// The tables that schemas() joins, each in a file of its own.
namespace retro::ops
{

[[nodiscard]] std::span<const OperatorSchema> standardSchemasToF(); ///< ai.onnx, A to F
[[nodiscard]] std::span<const OperatorSchema> standardSchemasToQ(); ///< ai.onnx, G to Q
[[nodiscard]] std::span<const OperatorSchema> standardSchemasToZ(); ///< ai.onnx, R to Z
[[nodiscard]] std::span<const OperatorSchema> learningSchemas();    ///< ai.onnx.ml
[[nodiscard]] std::span<const OperatorSchema> microsoftSchemas();   ///< com.microsoft and com.microsoft.nchwc
[[nodiscard]] std::span<const OperatorSchema> qonnxSchemas();       ///< the domains of QONNX
[[nodiscard]] std::span<const OperatorSchema> ownSchemas(); ///< ai.retrograde, retrograde and retrograde.integer

} // namespace retro::ops
