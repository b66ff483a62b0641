// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/formats/inlinedfunction.h"

#include <vector>

namespace retro::onnxschema
{
class ModelProto;
} // namespace retro::onnxschema

namespace retro::formats
{

/// Results of ZipMap are declared as lists of maps; forgets that, because the rows that go in stand in their place.
/// Before inlineFunctions().
void forgetMaps(onnxschema::ModelProto& model);

/// Takes out what only leads to outputs that hold texts (class labels that are words), and these outputs: tensors hold
/// numbers. `notes` says which outputs went. Nodes that make numbers of texts are left for the reader to refuse. Errors
/// (Input): nothing but texts comes out of the model. After inlineFunctions().
[[nodiscard]] base::Result<void> leaveTextsOut(onnxschema::ModelProto& model, std::vector<InlinedFunction>* notes);

} // namespace retro::formats
