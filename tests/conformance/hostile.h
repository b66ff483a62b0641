// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/formats/onnxschema.pb.h"
#include "core/tensor/tensor.h"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace retro::conformance
{

/// A random generator whose numbers are the same everywhere.
using Random = std::mt19937_64;

/// Puts hostile numbers into a model that was valid: extents, attributes, integers of constants, element types,
/// operands that are missing, given twice or exchanged. The file stays a readable ONNX file. Returns what was done, for
/// people.
[[nodiscard]] std::string makeHostile(onnxschema::ModelProto& model, Random& random);

/// The graph becomes the body of a function that the graph calls, and that function the body of another one that calls
/// it twice, and so on: the model means the same.
[[nodiscard]] std::string wrapInFunctions(onnxschema::ModelProto& model, Random& random);

/// Changes inputs: integers become hostile ones, floating numbers extremes, an extent is cut or an axis put before.
[[nodiscard]] std::string makeHostile(std::vector<tensor::Tensor>& inputs, Random& random);

} // namespace retro::conformance
