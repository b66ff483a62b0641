// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/graph/graph.h"

#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <unordered_set>
#include <vector>

namespace retro::rewrite
{

using graph::NodeId;
using graph::ValueId;

class GenericShapes;

/// A copy of a graph's nodes and values (tensors are shared) that rewrites change in place. Ids are those of the graph
/// before; new constants are added behind.
class Draft
{
public:
    /// `before` must outlive the draft. `keepsDigits` is that of the RewriteOptions. Once `stop` asks for it, passes
    /// end before the next node; what they leave is good for nothing.
    explicit Draft(const graph::Graph& before, bool keepsDigits = true, std::stop_token stop = {});

    [[nodiscard]] const graph::Graph& before() const { return m_before; }
    [[nodiscard]] bool isStopped() const { return m_stop.stop_requested(); }
    [[nodiscard]] const std::stop_token& stopToken() const { return m_stop; }
    /// Computed constants are kept in float64.
    [[nodiscard]] bool keepsDigits() const { return m_keepsDigits; }
    /// Nodes of the graph before, removed ones included.
    [[nodiscard]] std::size_t nodeCount() const { return m_nodes.size(); }
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
    /// Turns a result into a constant that keeps its name. `declared` is the type that it has in the model.
    void makeConstant(ValueId id, tensor::Tensor data, tensor::DType declared);
    /// A new constant whose name starts with `stem` and is not taken. `declared` is the type that it has in the model;
    /// `data` may hold more digits, which kept() decides about.
    ValueId addConstant(const std::string& stem, tensor::Tensor data, tensor::DType declared);
    /// A new value that some node will make; named as addConstant names.
    ValueId addResult(const std::string& stem, tensor::DType declared);
    /// As addResult, with the declared shape of `like`.
    ValueId addResultLike(const std::string& stem, tensor::DType declared, ValueId like);
    /// A value of another type under the same name; whoever makes and reads it must know.
    void retype(ValueId id, tensor::DType declared) { m_values[id.index()].dtype = declared; }
    /// Notes the whole numbers that an input takes which is one of floats now.
    void give(ValueId input, const graph::GivenNumbers& given) { m_values[input.index()].given = given; }
    /// A new node, whose outputs come from addResult. Returns its id, behind all others.
    NodeId addNode(graph::Node node);
    /// Puts another node in the place of one; it makes the same values.
    void replaceNode(NodeId id, graph::Node node);
    /// Computed data as the draft keeps it, for a constant that the model has as `declared`: float64 unless digits are
    /// dropped and the model has none to lose.
    [[nodiscard]] tensor::Tensor kept(tensor::Tensor data, tensor::DType declared) const;
    /// Makes `survivor` (one of `members`, in order of execution) stand for all of them: it becomes `replacement`, the
    /// others are removed, and what they were is kept. `replacement.outputs` are outputs of members.
    void fuse(NodeId survivor, graph::Node replacement, std::span<const NodeId> members);
    /// True when the node stands for several.
    [[nodiscard]] bool isFused(NodeId id) const { return !m_members[id.index()].empty(); }
    /// The members of a fused node as a graph of their own.
    [[nodiscard]] base::Result<graph::Graph> membersOf(NodeId id) const;
    /// Lets the members of a fused node compute its result (graph::Node::written), each present operand an input of
    /// theirs. False: they read more than operands and constants.
    [[nodiscard]] bool keepWritten(NodeId id);
    /// Shapes of the values of before(); worked out when the first is asked for.
    [[nodiscard]] GenericShapes& shapes() const { return *m_shapes; }
    /// Readers of value i read to[i] instead, where that is valid.
    void redirect(const std::vector<ValueId>& to);

    /// Constants that nobody reads.
    [[nodiscard]] std::size_t unusedConstants() const;
    /// The graph of what is left: inputs, constants that are read, results, in the order of before. Can be stopped.
    [[nodiscard]] base::Result<graph::Graph> build() const;

private:
    ValueId addValueOf(const std::string& stem, graph::Value value);
    void takeOutputs(NodeId id);
    [[nodiscard]] base::Result<graph::Graph> membersOf(NodeId id, std::span<const ValueId> inputs) const;
    [[nodiscard]] bool isUsed(ValueId id) const { return m_readers[id.index()] > 0 || m_isOutput[id.index()]; }
    [[nodiscard]] std::vector<bool> keptValues() const;
    void copyNodes();
    void copyValues();
    void countReaders(const graph::Node& node, int sign);

    const graph::Graph& m_before;
    bool m_keepsDigits;
    std::stop_token m_stop;
    std::vector<graph::Node> m_nodes;
    std::vector<graph::Value> m_values;
    std::vector<std::vector<graph::Node>> m_members; // per node: what it stands for; empty = itself
    std::vector<bool> m_isRemoved;
    std::vector<bool> m_isOutput;
    std::vector<std::size_t> m_readers;
    std::unordered_set<std::string> m_names;
    std::shared_ptr<GenericShapes> m_shapes;
};

} // namespace retro::rewrite
