// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor.h"

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace retro::graph
{

/// Value of a node attribute. Floats are kept as double (exact for ONNX's float32).
using Attribute = std::variant<std::int64_t, double, std::string, tensor::Tensor, std::vector<std::int64_t>,
                               std::vector<double>, std::vector<std::string>>;

/// Attributes by name, in name order.
using Attributes = std::map<std::string, Attribute, std::less<>>;

} // namespace retro::graph
