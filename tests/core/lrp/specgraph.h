// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lrp/arithmetic/nullarithmetic.h"
#include "core/lrp/traversal/traversalgraph.h"

#include <cstdint>
#include <string>
#include <vector>

namespace retro::lrptest
{

using base::NodeId;
using base::ValueId;

/// Operand of a node of a case: which node of the list, and which of its outputs.
struct SpecOperand
{
    std::size_t node = 0;
    std::uint32_t output = 0;
    bool operator==(const SpecOperand&) const = default;
};

/// One node of a traversal case, in the words of the golden files ("add", "t", "unbind", …).
struct SpecNode
{
    std::string id;
    std::string op;
    std::vector<SpecOperand> operands;
    std::uint32_t outputs = 1;
    std::string variant;        ///< rule of a softmax
    std::int64_t axis = 0;      ///< of cat, stack, unbind, sum
    bool keepsAxis = false;     ///< of sum
    bool hasShape = false;      ///< known for leaves and constants with values, then inferred for all others
    tensor::Shape shape;        ///< of each output
    std::vector<double> values; ///< of leaves and constants
};

/// A traversal case as plain data, with what an autograd framework would save for each operation: the control flow of a
/// traversal can be tested on it without operators, rules, or tensors.
class SpecGraph
{
public:
    /// Infers shapes where the sources have values, and how many outputs an unbind has. Relevance starts at output 0 of
    /// the last node and at `alsoRoots`.
    explicit SpecGraph(std::vector<SpecNode> nodes, std::vector<SpecOperand> alsoRoots = {});

    [[nodiscard]] const std::vector<SpecNode>& nodes() const { return m_nodes; }
    [[nodiscard]] const SpecNode& node(NodeId id) const { return m_nodes[id.index()]; }
    [[nodiscard]] bool isTracked(std::size_t node) const { return m_tracked[node]; }
    /// Where relevance starts, the last node first.
    [[nodiscard]] const std::vector<SpecOperand>& roots() const { return m_roots; }
    /// Graph from the roots.
    [[nodiscard]] lrp::TraversalGraph traversalGraph() const;
    /// Behaviour of each node when only what gradients read was saved.
    [[nodiscard]] std::vector<lrp::NodeBehaviour> autogradBehaviour() const;
    /// Behaviour when everything was saved: every node is an arg node, none is strict.
    [[nodiscard]] std::vector<lrp::NodeBehaviour> savedBehaviour() const;
    /// True when the rule of the node looks at its operands.
    [[nodiscard]] bool readsOperands(NodeId id) const;

private:
    void inferShape(SpecNode& node) const;
    void joinShapes(SpecNode& node, std::size_t axis) const;
    [[nodiscard]] const tensor::Shape& shapeOf(const SpecOperand& operand) const { return m_nodes[operand.node].shape; }
    [[nodiscard]] lrp::NodeBehaviour behaviourOf(std::size_t node) const;
    [[nodiscard]] std::size_t trackedOperands(std::size_t node) const;

    std::vector<SpecNode> m_nodes;
    std::vector<bool> m_tracked;
    std::vector<SpecOperand> m_roots;
};

} // namespace retro::lrptest
