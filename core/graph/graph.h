// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/ids.h"
#include "core/graph/attribute.h"
#include "core/graph/facts.h"
#include "core/tensor/tensor.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace retro::graph
{

using base::NodeId;
using base::ValueId;

/// One extent of a declared shape: a number, or a symbol ("N"), or unknown (both empty).
struct Dimension
{
    std::optional<std::int64_t> extent;
    std::string symbol;
};

/// Where a value comes from.
enum class ValueKind : std::uint8_t {
    Input,    ///< a graph input
    Constant, ///< an initializer; `Value::constant` holds it
    Result,   ///< output of a node
};

/// Whole numbers that an input takes where a rewrite made one of floats of it: each float is (number − zero)·scale.
struct GivenNumbers
{
    tensor::DType type = tensor::DType::UInt8; ///< that the model declares
    double scale = 1;
    double zero = 0;
    bool operator==(const GivenNumbers&) const = default;
};

/// A tensor edge of the graph.
struct Value
{
    std::string name;
    ValueKind kind = ValueKind::Result;
    tensor::DType dtype = tensor::DType::Float32;
    std::optional<GivenNumbers> given = {}; ///< Input only
    /// Declared shape; missing when the file says nothing. Results may get theirs from shape inference only.
    std::optional<std::vector<Dimension>> shape;
    /// Producing node (Result only) and which of its outputs this is.
    NodeId producer;
    std::uint32_t producerOutput = 0;
    /// The data (Constant only).
    tensor::Tensor constant;
    /// What a capture measured; null when nothing is known.
    std::shared_ptr<const ValueFacts> facts = {};
};

/// An operator in the graph. An invalid input id means an empty optional input.
struct Node
{
    std::string op;         ///< operator type: "Conv"
    std::string domain;     ///< "" = ai.onnx
    std::string name;       ///< unique in the graph; made up from op and position when the file has none
    std::string scope;      ///< path of the module that it came from: "block1/conv1"; may be empty
    std::int64_t opset = 0; ///< version of the domain that the model imports
    std::vector<ValueId> inputs;
    std::vector<ValueId> outputs;
    Attributes attributes;
    /// What the exporter noted beside scope and name, by its own keys: stack traces, source operators.
    std::map<std::string, std::string> metadata = {};
    /// What a capture measured; null when nothing is known.
    std::shared_ptr<const NodeFacts> facts = {};
    /// The nodes of the file that were recognised as this operator: they compute its result, so that it has their bits.
    /// The inputs of that graph are the present operands. Null: the operator computes it.
    std::shared_ptr<const Graph> written = {};
};

/// A reader of a value.
struct Use
{
    NodeId node;
    std::uint32_t slot = 0; ///< operand position at the reader
};

/// An immutable dataflow graph. Nodes are stored in a topological order (readers after producers, else in file order).
///
/// Node ids at or above nodeCount() stand for graph inputs (nodeCount() + position in inputs()): runs and views treat
/// an input as a leaf node. Ownership: values, shared by std::shared_ptr<const Graph> between threads.
class Graph
{
public:
    [[nodiscard]] const std::string& name() const { return m_name; }
    [[nodiscard]] std::size_t nodeCount() const { return m_nodes.size(); }
    /// Nodes and inputs together: the size of arrays indexed by NodeId.
    [[nodiscard]] std::size_t runNodeCount() const { return m_nodes.size() + m_inputs.size(); }
    [[nodiscard]] std::size_t valueCount() const { return m_values.size(); }
    /// `id` must be an operator node (not an input).
    [[nodiscard]] const Node& node(NodeId id) const { return m_nodes[id.index()]; }
    /// Of no value (an output or operand that is left out): one without a name, that nothing makes or reads.
    [[nodiscard]] const Value& value(ValueId id) const { return id.isValid() ? m_values[id.index()] : kNoValue; }
    [[nodiscard]] std::span<const Node> nodes() const { return m_nodes; }
    [[nodiscard]] std::span<const Value> values() const { return m_values; }
    [[nodiscard]] std::span<const ValueId> inputs() const { return m_inputs; }
    [[nodiscard]] std::span<const ValueId> outputs() const { return m_outputs; }
    /// Readers of a value, by node order, then slot; none of no value.
    [[nodiscard]] std::span<const Use> uses(ValueId id) const;
    /// Domain → imported version ("" = ai.onnx).
    [[nodiscard]] const std::map<std::string, std::int64_t>& opsets() const { return m_opsets; }
    /// The version of ai.onnx; 0 where it is not imported.
    [[nodiscard]] std::int64_t opset() const { return m_opsets.contains("") ? m_opsets.at("") : 0; }

    /// True for the node that stands for a graph input.
    [[nodiscard]] bool isInput(NodeId id) const { return id.index() >= m_nodes.size(); }
    /// Node id of a graph input; invalid when the value is not one.
    [[nodiscard]] NodeId inputNode(ValueId value) const;
    /// The node that stands for a value: its producer, or its input node; invalid for constants and for no value.
    [[nodiscard]] NodeId nodeOf(ValueId value) const;
    /// Outputs of a node, invalid where one is left out; the input itself for input nodes.
    [[nodiscard]] std::span<const ValueId> outputsOf(NodeId id) const;
    /// The first of them that is not left out; invalid when there is none.
    [[nodiscard]] ValueId firstOutput(NodeId id) const;
    /// Node name, or the input's value name.
    [[nodiscard]] const std::string& labelOf(NodeId id) const;
    /// Name for lists without room: the last two parts of labelOf(), and as many more as no other node's ends with. A
    /// last part that only repeats the operator ("second/conv/Conv") is left out where the rest is nobody else's.
    [[nodiscard]] std::string_view shortNameOf(NodeId id) const;
    /// Operator type, or "Input".
    [[nodiscard]] std::string_view opOf(NodeId id) const;
    /// Scope of a node; empty for inputs.
    [[nodiscard]] std::string_view scopeOf(NodeId id) const;

    /// The value or node of exactly this name; none when there is no such thing.
    [[nodiscard]] std::optional<ValueId> findValue(std::string_view name) const;
    [[nodiscard]] std::optional<NodeId> findNode(std::string_view name) const;

private:
    friend class GraphBuilder;
    struct ShortNames
    {
        std::once_flag made; ///< at the first question, by one thread
        std::vector<std::string_view> names;
    };
    [[nodiscard]] std::vector<std::string_view> shortNames() const;

    static const Value kNoValue;
    std::string m_name;
    std::vector<Node> m_nodes;
    std::vector<Value> m_values;
    std::vector<ValueId> m_inputs;
    std::vector<ValueId> m_outputs;
    std::vector<Use> m_uses;             // grouped by value
    std::vector<std::uint32_t> m_useEnd; // per value: end of its group
    std::map<std::string, std::int64_t> m_opsets;
    std::unordered_map<std::string_view, std::uint32_t> m_valueByName;
    std::unordered_map<std::string_view, std::uint32_t> m_nodeByName;
    std::shared_ptr<ShortNames> m_shortNames = std::make_shared<ShortNames>();

public:
    Graph() = default;
    Graph(const Graph&) = delete; // the name indexes point into the graph's own strings
    Graph& operator=(const Graph&) = delete;
    Graph(Graph&&) = default; // moving vectors keeps the strings where they are
    Graph& operator=(Graph&&) = default;
};

} // namespace retro::graph
