// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace retro::onnxschema
{
class GraphProto;
class NodeProto;
class ValueInfoProto;
} // namespace retro::onnxschema

namespace retro::formats
{

/// What follows from a graph of a file without knowing extents: how many axes values have, and which operator makes
/// them. Graphs inside nodes count, too. Keeps copies, so nodes may be moved afterwards.
class GraphFacts
{
public:
    GraphFacts() = default;
    /// `opset`: version of ai.onnx that the model imports.
    GraphFacts(const onnxschema::GraphProto& graph, std::int64_t opset);

    [[nodiscard]] std::int64_t opset() const { return m_opset; }

    /// Number of axes of a value, where it follows from declared shapes, constants and operators; nothing otherwise.
    [[nodiscard]] std::optional<std::size_t> rank(const std::string& value) const;
    /// Element type of a value as TensorProto.DataType numbers it, as far as it follows from declared types, constants
    /// and operators that hand on the type of their first operand; 0 when it is not known.
    [[nodiscard]] int elementType(const std::string& value) const;
    /// Extents of an initializer, or of a Constant; nothing for other values.
    [[nodiscard]] std::optional<std::vector<std::int64_t>> constantShape(const std::string& value) const;
    /// Extent of an axis counted from the end (1: the last) of a constant, or of a value whose shape is declared;
    /// nothing where it is open or not known.
    [[nodiscard]] std::optional<std::int64_t> extentFromEnd(const std::string& value, std::size_t place) const;
    /// Extent of the last axis of a value, where it follows from declared shapes, constants and the weights of layers.
    [[nodiscard]] std::optional<std::int64_t> width(const std::string& value) const;
    /// True when a node reads the value, or it is a result of the model; also for a value that no node is known to
    /// make.
    [[nodiscard]] bool isRead(const std::string& value) const;
    /// Operator (of any domain) that makes the value; empty for an input, a constant, or what is not known.
    [[nodiscard]] std::string producer(const std::string& value) const;

private:
    using Ranks = std::unordered_map<std::string, std::size_t>;

    void take(const onnxschema::GraphProto& graph);
    void takeValue(const onnxschema::ValueInfoProto& value);
    void takeDeclared(const onnxschema::GraphProto& graph);
    void takeNode(const onnxschema::NodeProto& node);
    [[nodiscard]] std::optional<std::size_t> rankOf(const onnxschema::NodeProto& node) const;
    [[nodiscard]] std::optional<std::size_t> rankOfOperand(const onnxschema::NodeProto& node, int slot) const;
    [[nodiscard]] std::optional<std::size_t> largestRank(const onnxschema::NodeProto& node) const;
    [[nodiscard]] std::optional<std::size_t> rankOfProduct(const onnxschema::NodeProto& node) const;
    [[nodiscard]] std::optional<std::size_t> rankOfReduced(const onnxschema::NodeProto& node) const;
    [[nodiscard]] std::optional<std::size_t> rankOfMoved(const onnxschema::NodeProto& node) const;
    void takeLength(const onnxschema::NodeProto& node);
    [[nodiscard]] std::optional<std::size_t> lengthMadeBy(const onnxschema::NodeProto& node) const;
    [[nodiscard]] std::optional<std::size_t> lengthTogether(const onnxschema::NodeProto& node) const;
    [[nodiscard]] int elementTypeOf(const onnxschema::NodeProto& node) const;
    [[nodiscard]] std::optional<std::size_t> lengthOf(const onnxschema::NodeProto& node, int slot) const;

    void takeWidth(const onnxschema::NodeProto& node);
    [[nodiscard]] std::optional<std::int64_t> widthMadeBy(const onnxschema::NodeProto& node) const;

    std::int64_t m_opset = 0;
    Ranks m_ranks;
    Ranks m_lengths; ///< of lists: values of one axis whose extent is known
    std::unordered_map<std::string, std::vector<std::int64_t>> m_shapes;   ///< of constants
    std::unordered_map<std::string, std::vector<std::int64_t>> m_declared; ///< of other values; 0: open
    std::unordered_map<std::string, int> m_types;
    std::unordered_map<std::string, std::string> m_producers;
    std::unordered_map<std::string, std::int64_t> m_widths;
    std::unordered_set<std::string> m_read;
};

} // namespace retro::formats
