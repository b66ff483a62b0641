// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace retro::graph
{

class Graph;

/// A graph inside a node: a branch of an If, the body of a Loop or Scan. Never null.
struct Subgraph
{
    std::shared_ptr<const Graph> graph;
    /// The last so many inputs of `graph` are values of the graph around it, which are also the node's last operands.
    std::size_t captured = 0;
};

/// Value of a node attribute. Floats are kept as double (exact for ONNX's float32).
using Attribute = std::variant<std::int64_t, double, std::string, tensor::Tensor, std::vector<std::int64_t>,
                               std::vector<double>, std::vector<std::string>, Subgraph>;

/// Attributes by name, in name order.
using Attributes = std::map<std::string, Attribute, std::less<>>;

} // namespace retro::graph
