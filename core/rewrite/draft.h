// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/graph/graph.h"

#include <string>
#include <unordered_set>
#include <vector>

namespace retro::rewrite
{

using graph::NodeId;
using graph::ValueId;

/// A copy of a graph's nodes and values (tensors are shared) that rewrites change in place. Ids are those of the graph
/// before; new constants are added behind.
class Draft
{
public:
    /// `before` must outlive the draft.
    explicit Draft(const graph::Graph& before);

    [[nodiscard]] const graph::Graph& before() const { return m_before; }
    /// Nodes of the graph before, removed ones included.
    [[nodiscard]] std::size_t nodeCount() const { return m_nodes.size(); }
    /// A node as it is now; its attributes may be changed in place.
    [[nodiscard]] graph::Node& node(NodeId id) { return m_nodes[id.index()]; }
    /// A node as it is now.
    [[nodiscard]] const graph::Node& node(NodeId id) const { return m_nodes[id.index()]; }
    /// A value as it is now; the reference holds until addConstant.
    [[nodiscard]] const graph::Value& value(ValueId id) const { return m_values[id.index()]; }
    /// True after removeNode.
    [[nodiscard]] bool isRemoved(NodeId id) const { return m_isRemoved[id.index()]; }
    /// True for a valid id of a constant whose data is there.
    [[nodiscard]] bool isConstant(ValueId id) const;
    [[nodiscard]] bool isOutput(ValueId id) const { return m_isOutput[id.index()]; }
    /// Operand slots that read the value, over the nodes that are left.
    [[nodiscard]] std::size_t readerCount(ValueId id) const { return m_readers[id.index()]; }

    /// Takes a node out. Its outputs must be unread or get another producer.
    void removeNode(NodeId id);
    /// Turns a result into a constant that keeps its name and declared type.
    void makeConstant(ValueId id, tensor::Tensor data);
    /// A new constant whose name starts with `stem` and is not taken. `declared` is the type that it has in the model;
    /// `data` may hold more digits.
    ValueId addConstant(const std::string& stem, tensor::Tensor data, tensor::DType declared);
    /// Replaces the operands of a node.
    void setInputs(NodeId id, std::vector<ValueId> inputs);
    /// Makes `id` the producer of `value` as its only output.
    void setOutput(NodeId id, ValueId value);

    /// Constants that nobody reads.
    [[nodiscard]] std::size_t unusedConstants() const;
    /// The graph of what is left: inputs, constants that are read, results, in the order of before.
    [[nodiscard]] base::Result<graph::Graph> build() const;

private:
    [[nodiscard]] bool isUsed(ValueId id) const { return m_readers[id.index()] > 0 || m_isOutput[id.index()]; }
    [[nodiscard]] std::vector<bool> keptValues() const;
    void countReaders(const graph::Node& node, int sign);

    const graph::Graph& m_before;
    std::vector<graph::Node> m_nodes;
    std::vector<graph::Value> m_values;
    std::vector<bool> m_isRemoved;
    std::vector<bool> m_isOutput;
    std::vector<std::size_t> m_readers;
    std::unordered_set<std::string> m_names;
};

} // namespace retro::rewrite
