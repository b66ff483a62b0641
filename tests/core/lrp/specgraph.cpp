// SPDX-License-Identifier: Apache-2.0
#include "tests/core/lrp/specgraph.h"

#include <algorithm>
#include <array>
#include <utility>

namespace retro::lrptest
{

namespace
{

using event::PromiseKind;
using lrp::NodeBehaviour;
using lrp::Role;

// What these do when both operands are tracked; with one they are crossed.
struct Binary
{
    const char* op;
    NodeBehaviour behaviour;
};
constexpr std::array<Binary, 4> kBinary{{
    {"add", {Role::Raise, true, PromiseKind::Add}},
    {"sub", {Role::Raise, true, PromiseKind::Sub}},
    {"mul", {Role::Arg, false, PromiseKind::Operator}},
    {"where", {Role::Raise, false, PromiseKind::Operator}},
}};

// The other operations whose behaviour does not depend on their operands; all that are missing are arg nodes.
struct Fixed
{
    const char* op;
    NodeBehaviour behaviour;
};
constexpr std::array<Fixed, 13> kFixed{{
    {"t", {Role::PassThrough, false, PromiseKind::Operator}},
    {"neg", {Role::PassThrough, false, PromiseKind::Operator}},
    {"clone", {Role::PassThrough, false, PromiseKind::Operator}},
    {"slice", {Role::PassThrough, false, PromiseKind::Operator}},
    {"gather", {Role::PassThrough, false, PromiseKind::Operator}},
    {"pad", {Role::PassThrough, false, PromiseKind::Operator}},
    {"expand", {Role::PassThrough, false, PromiseKind::Operator}},
    {"split", {Role::Raise, false, PromiseKind::Unbind}},
    {"cat", {Role::Raise, false, PromiseKind::Cat}},
    {"stack", {Role::Raise, false, PromiseKind::Stack}},
    {"unbind", {Role::Raise, false, PromiseKind::Unbind}},
    {"sum", {Role::Raise, true, PromiseKind::Sum}},
    {"mean", {Role::Raise, true, PromiseKind::Mean}},
}};

void removeAxis(tensor::Shape& shape, std::size_t axis)
{
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
}

// Makes `shape` what broadcasting with `other` gives.
void widen(tensor::Shape& shape, const tensor::Shape& other)
{
    if (other.size() > shape.size()) {
        shape.insert(shape.begin(), other.size() - shape.size(), 1);
    }
    for (std::size_t i = 0; i < other.size(); ++i) {
        std::int64_t& extent = shape[shape.size() - 1 - i];
        extent = std::max(extent, other[other.size() - 1 - i]);
    }
}

} // namespace

SpecGraph::SpecGraph(std::vector<SpecNode> nodes, std::vector<SpecOperand> alsoRoots)
    : m_nodes(std::move(nodes)), m_tracked(m_nodes.size()), m_roots{{m_nodes.size() - 1, 0}}
{
    m_roots.insert(m_roots.end(), alsoRoots.begin(), alsoRoots.end());
    for (std::size_t i = 0; i < m_nodes.size(); ++i) {
        inferShape(m_nodes[i]);
        m_tracked[i] = m_nodes[i].op == "leaf" || m_nodes[i].op == "tokens" || trackedOperands(i) > 0;
    }
}

void SpecGraph::inferShape(SpecNode& node) const
{
    const auto isKnown = [this](const SpecOperand& operand) { return m_nodes[operand.node].hasShape; };
    node.hasShape =
        node.operands.empty() ? !node.values.empty() : std::all_of(node.operands.begin(), node.operands.end(), isKnown);
    if (!node.hasShape || node.operands.empty()) {
        return;
    }
    node.shape = shapeOf(node.operands[0]);
    const std::size_t rank = node.shape.size() + (node.op == "stack" ? 1 : 0);
    const std::size_t axis =
        static_cast<std::size_t>(node.axis < 0 ? node.axis + static_cast<std::int64_t>(rank) : node.axis);
    if (node.op == "t") {
        std::swap(node.shape[rank - 1], node.shape[rank - 2]);
    } else if (node.op == "mm") {
        node.shape.back() = shapeOf(node.operands[1]).back();
    } else if (node.op == "unbind") {
        node.outputs = static_cast<std::uint32_t>(node.shape[axis]);
        removeAxis(node.shape, axis);
    } else if (node.op == "sum" || node.op == "mean") {
        node.shape[axis] = 1;
        if (!node.keepsAxis) {
            removeAxis(node.shape, axis);
        }
    } else if (node.op == "split") {
        node.outputs = 2;
        node.shape[axis] /= 2;
    } else if (node.op == "pad" || node.op == "expand") {
        node.shape[axis] += 1;
    } else if (node.op == "embed") {
        node.shape.front() = shapeOf(node.operands[1]).front(); // rows of the table, picked
    } else if (node.op == "stack" || node.op == "cat") {
        joinShapes(node, axis);
    } else if (node.operands.size() == 2) {
        widen(node.shape, shapeOf(node.operands[1]));
    }
}

void SpecGraph::joinShapes(SpecNode& node, std::size_t axis) const
{
    if (node.op == "stack") {
        node.shape.insert(node.shape.begin() + static_cast<std::ptrdiff_t>(axis),
                          static_cast<std::int64_t>(node.operands.size()));
        return;
    }
    node.shape[axis] = 0;
    for (const SpecOperand& operand : node.operands) {
        node.shape[axis] += shapeOf(operand)[axis];
    }
}

std::size_t SpecGraph::trackedOperands(std::size_t node) const
{
    const std::vector<SpecOperand>& operands = m_nodes[node].operands;
    return static_cast<std::size_t>(std::count_if(
        operands.begin(), operands.end(), [this](const SpecOperand& operand) { return m_tracked[operand.node]; }));
}

lrp::TraversalGraph SpecGraph::traversalGraph() const
{
    lrp::Adjacency adjacency;
    std::vector<lrp::ChildSlot> children;
    for (const SpecNode& node : m_nodes) {
        children.clear();
        for (const SpecOperand& operand : node.operands) {
            children.push_back(m_tracked[operand.node] ? lrp::ChildSlot{NodeId(operand.node), operand.output, 0}
                                                       : lrp::ChildSlot{});
        }
        adjacency.addNode(children, node.outputs);
    }
    std::vector<lrp::NodeOutput> roots;
    for (const SpecOperand& root : m_roots) {
        roots.push_back({NodeId(root.node), root.output});
    }
    return lrp::TraversalGraph::walk(std::move(adjacency), roots);
}

NodeBehaviour SpecGraph::behaviourOf(std::size_t node) const
{
    const SpecNode& spec = m_nodes[node];
    for (const Binary& binary : kBinary) {
        if (spec.op == binary.op) {
            return trackedOperands(node) == 2 ? binary.behaviour
                                              : NodeBehaviour{Role::PassThrough, false, PromiseKind::Operator};
        }
    }
    for (const Fixed& fixed : kFixed) {
        if (spec.op == fixed.op) {
            return fixed.behaviour;
        }
    }
    return {Role::Arg, spec.op == "softmax" && spec.variant != "identity", PromiseKind::Softmax};
}

std::vector<NodeBehaviour> SpecGraph::autogradBehaviour() const
{
    std::vector<NodeBehaviour> behaviour;
    for (std::size_t i = 0; i < m_nodes.size(); ++i) {
        behaviour.push_back(behaviourOf(i));
    }
    return behaviour;
}

std::vector<NodeBehaviour> SpecGraph::savedBehaviour() const { return std::vector<NodeBehaviour>(m_nodes.size()); }

bool SpecGraph::readsOperands(NodeId id) const
{
    static constexpr std::array<const char*, 7> kReading{"add", "sub", "sum", "mean", "mul", "mm", "softmax"};
    return std::find(kReading.begin(), kReading.end(), node(id).op) != kReading.end();
}

} // namespace retro::lrptest
