// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace retro::onnxschema
{
class GraphProto;
class NodeProto;
} // namespace retro::onnxschema

namespace retro::formats
{

/// Names that a graph itself defines: inputs, initializers, outputs of its nodes.
[[nodiscard]] std::unordered_set<std::string> definedNames(const onnxschema::GraphProto& graph);

/// Names that a nested graph reads from the graphs around it, in the order of their first use. O(size of the graph).
[[nodiscard]] std::vector<std::string> capturedNames(const onnxschema::GraphProto& graph);
/// As above for all graphs that a node holds together.
[[nodiscard]] std::vector<std::string> capturedNames(const onnxschema::NodeProto& node);

/// New names by old ones.
using Renaming = std::unordered_map<std::string, std::string>;

/// Renames the operands and results of a node, and what its nested graphs read from outside.
void rename(onnxschema::NodeProto& node, const Renaming& names);

} // namespace retro::formats
