// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/traversal/traversalgraph.h"

#include "core/graph/walkback.h"
#include "core/ops/elements.h"
#include "core/ops/lookup.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace retro::lrp
{

namespace
{

// A node on the way from the root, and the child slot that comes next.
struct Step
{
    NodeId node;
    std::uint32_t nextSlot = 0;
};

// Integers take relevance only as the tokens of an embedding, which hands it to the input that they are.
ChildSlot tokensOf(const execute::BoundModel& model, NodeId node, std::size_t slot)
{
    const execute::TokenPlaces* const tokens = model.tokensAt(node, slot);
    return tokens != nullptr ? ChildSlot{model.graph().nodeOf(tokens->input), 0, 0} : ChildSlot{};
}

ChildSlot childOf(const execute::BoundModel& model, NodeId node, std::size_t slot)
{
    const ValueId operand = model.graph().node(node).inputs[slot];
    if (operand.isValid() && ops::isTokenSlot(model.op(node).structure(), slot)) {
        return tokensOf(model, node, slot);
    }
    if (!operand.isValid() || !model.isTracked(operand) || !tensor::isFloating(model.typeOf(operand).dtype)) {
        return {};
    }
    return {model.graph().nodeOf(operand), model.graph().value(operand).producerOutput, 0};
}

Adjacency adjacencyOf(const execute::BoundModel& model)
{
    Adjacency adjacency;
    std::vector<ChildSlot> children;
    for (std::size_t i = 0; i < model.graph().nodeCount(); ++i) {
        const graph::Node& node = model.graph().node(NodeId(i));
        children.clear();
        for (std::size_t slot = 0; slot < node.inputs.size(); ++slot) {
            children.push_back(childOf(model, NodeId(i), slot));
        }
        adjacency.addNode(children, static_cast<std::uint32_t>(node.outputs.size()));
    }
    for (std::size_t i = 0; i < model.graph().inputs().size(); ++i) {
        adjacency.addNode({}, 1);
    }
    return adjacency;
}

/// The nearest node behind a value that passes no relevance though something computed goes in; invalid when there is
/// none.
NodeId nearestBarrier(const execute::BoundModel& model, ValueId target)
{
    const graph::Graph& graph = model.graph();
    NodeId found;
    graph::walkBack(graph, target, [&](ValueId value) {
        const NodeId id = graph.nodeOf(value);
        if (!id.isValid() || graph.isInput(id) || model.isConstant(value)) {
            return graph::Walk::Turn;
        }
        const bool readsComputed = std::ranges::any_of(graph.node(id).inputs, [&model](ValueId operand) {
            return operand.isValid() && !model.isConstant(operand);
        });
        if (!readsComputed || model.op(id).structure().kind() != ops::StructureKind::NoRelevance) {
            return graph::Walk::GoOn;
        }
        found = id;
        return graph::Walk::Stop;
    });
    return found;
}

/// True for a node that makes floats of an input of integers, moved or not.
bool makesFloatsOfIntegers(const execute::BoundModel& model, const graph::Node& node)
{
    if (node.inputs.empty() || !tensor::isFloating(model.typeOf(node.outputs.front()).dtype)) {
        return false;
    }
    const graph::Graph& graph = model.graph();
    ValueId numbers = node.inputs.front();
    const auto isComputed = [&] {
        return numbers.isValid() && !model.isConstant(numbers) && !tensor::isFloating(model.typeOf(numbers).dtype);
    };
    using enum ops::Elements;
    while (isComputed() && !graph.isInput(graph.nodeOf(numbers)) &&
           ops::areElements(graph.node(graph.nodeOf(numbers)), {Kept, Reshaped, Turned, Taken, Padded})) {
        numbers = graph.node(graph.nodeOf(numbers)).inputs.front();
    }
    return isComputed() && graph.isInput(graph.nodeOf(numbers));
}

/// A node behind a value that makes floats of an input of integers; invalid when there is none.
NodeId castOfIntegers(const execute::BoundModel& model, ValueId target)
{
    const graph::Graph& graph = model.graph();
    NodeId found;
    graph::walkBack(graph, target, [&](ValueId value) {
        const NodeId id = graph.nodeOf(value);
        const bool isFound = id.isValid() && !graph.isInput(id) && makesFloatsOfIntegers(model, graph.node(id));
        found = isFound ? id : NodeId();
        return isFound ? graph::Walk::Stop : graph::Walk::GoOn;
    });
    return found;
}

/// The way out for a target that depends on an input, though no relevance gets there; empty for all others.
std::string forwardAlone(const execute::BoundModel& model, ValueId target)
{
    const NodeId barrier = nearestBarrier(model, target);
    if (!barrier.isValid() || !tensor::isFloating(model.typeOf(target).dtype)) {
        return {};
    }
    const bool isTree = model.graph().node(barrier).op.starts_with("TreeEnsemble");
    return fmt::format("; the command evaluate has methods that need the forward pass alone: --method occlusion, "
                       "shapley{}",
                       isTree ? ", treeshap" : "");
}

/// What can be done about a target that no relevance leaves.
std::string whatToDo(const execute::BoundModel& model, ValueId target)
{
    const NodeId cast = castOfIntegers(model, target);
    const std::string wayOut = forwardAlone(model, target);
    const bool isCast = cast.isValid() && model.graph().node(cast).domain != "ai.onnx.ml";
    if (!isCast || !tensor::isFloating(model.typeOf(target).dtype)) {
        return "choose a floating-point result that depends on the inputs" + wayOut;
    }
    const graph::Node& node = model.graph().node(cast);
    const ValueId input = node.inputs.front();
    const bool isInput = model.graph().isInput(model.graph().nodeOf(input));
    return fmt::format("the {} \"{}\" is {}, and whole numbers carry no relevance; node '{}' ({}) makes the floats "
                       "\"{}\" of it: export the model without that node, so that \"{}\" is its input, and give the "
                       "floats that it makes{}",
                       isInput ? "input" : "moved input", model.graph().value(input).name,
                       tensor::nameOf(model.typeOf(input).dtype), node.name, node.op,
                       model.graph().value(node.outputs.front()).name, model.graph().value(node.outputs.front()).name,
                       wayOut);
}

std::string whyUntracked(const execute::BoundModel& model, ValueId target)
{
    if (model.isConstant(target)) {
        return "it is a constant";
    }
    if (!tensor::isFloating(model.typeOf(target).dtype)) {
        return fmt::format("its elements are {}", tensor::nameOf(model.typeOf(target).dtype));
    }
    const std::string reason = "no path that passes relevance leads from it to an input";
    const NodeId barrier = nearestBarrier(model, target);
    if (!barrier.isValid()) {
        return reason;
    }
    const graph::Node& node = model.graph().node(barrier);
    return fmt::format("{} (node '{}' ({}) passes none)", reason, node.name, node.op);
}

} // namespace

void Adjacency::addNode(std::span<const ChildSlot> children, std::uint32_t outputs)
{
    childSlots.insert(childSlots.end(), children.begin(), children.end());
    slotEnd.push_back(static_cast<std::uint32_t>(childSlots.size()));
    outputCount.push_back(outputs);
}

base::Result<TraversalGraph> TraversalGraph::build(const execute::BoundModel& model, ValueId target)
{
    return build(model, {&target, 1});
}

base::Result<TraversalGraph> TraversalGraph::build(const execute::BoundModel& model, std::span<const ValueId> targets,
                                                   EdgeOrder order)
{
    std::vector<NodeOutput> roots;
    for (const ValueId target : targets) {
        const std::string where = fmt::format("value \"{}\"", model.graph().value(target).name);
        if (!model.isTracked(target) || !tensor::isFloating(model.typeOf(target).dtype)) {
            return base::inputError(fmt::format("this value cannot be explained: {}; {}", whyUntracked(model, target),
                                                whatToDo(model, target)),
                                    where);
        }
        const NodeOutput root{model.graph().nodeOf(target), model.graph().value(target).producerOutput};
        if (std::find(roots.begin(), roots.end(), root) != roots.end()) {
            return base::usageError("this value is a target twice; name each once", where);
        }
        roots.push_back(root);
    }
    return walk(adjacencyOf(model), roots, order);
}

TraversalGraph TraversalGraph::walk(Adjacency adjacency, NodeId root, std::uint32_t rootOutput)
{
    const NodeOutput only{root, rootOutput};
    return walk(std::move(adjacency), {&only, 1});
}

TraversalGraph TraversalGraph::walk(Adjacency adjacency, std::span<const NodeOutput> roots, EdgeOrder order)
{
    TraversalGraph graph;
    for (const NodeOutput& root : roots) {
        graph.m_roots.push_back({root.node, root.output, 0});
    }
    graph.m_topo.assign(adjacency.slotEnd.size(), kUnreached);
    graph.m_adjacency = std::move(adjacency);
    graph.number();
    if (order == EdgeOrder::Tape) {
        graph.orderAsTape();
    }
    return graph;
}

void TraversalGraph::number()
{
    std::vector<std::uint32_t> inEdgeCounts(size(), 0);
    for (Root& root : m_roots) {
        const bool isNew = inEdgeCounts[root.node.index()] == 0; // who was met has an in-edge
        root.inEdge = inEdgeCounts[root.node.index()]++;
        if (isNew) {
            walkFrom(root.node, inEdgeCounts);
        }
    }
    collectInEdges(inEdgeCounts);
}

// In-edges are numbered when the walk crosses an edge, before it descends (docs/traversal.md, section 1.1): promise
// parents depend on it.
void TraversalGraph::walkFrom(NodeId root, std::vector<std::uint32_t>& inEdgeCounts)
{
    std::vector<Step> stack{{root, 0}};
    while (!stack.empty()) {
        const NodeId node = stack.back().node;
        const std::span<const ChildSlot> slots = children(node);
        if (stack.back().nextSlot == slots.size()) {
            m_topo[node.index()] = static_cast<std::uint32_t>(m_postOrder.size());
            m_postOrder.push_back(node);
            stack.pop_back();
            continue;
        }
        const auto position = static_cast<std::size_t>(slots.data() - m_adjacency.childSlots.data());
        ChildSlot& slot = m_adjacency.childSlots[position + stack.back().nextSlot++];
        if (!slot.child.isValid()) {
            continue;
        }
        slot.inEdge = inEdgeCounts[slot.child.index()]++;
        if (slot.inEdge == 0) {
            stack.push_back({slot.child, 0});
        }
    }
}

void TraversalGraph::collectInEdges(const std::vector<std::uint32_t>& inEdgeCounts)
{
    m_firstInEdge.assign(size() + 1, 0);
    for (std::size_t i = 0; i < size(); ++i) {
        m_firstInEdge[i + 1] = m_firstInEdge[i] + inEdgeCounts[i];
    }
    m_inEdges.resize(m_firstInEdge.back());
    for (const Root& root : m_roots) {
        m_inEdges[firstInEdge(root.node) + root.inEdge] = {NodeId(), 0, root.output};
    }
    for (const NodeId node : m_postOrder) {
        const std::span<const ChildSlot> slots = children(node);
        for (std::uint32_t i = 0; i < slots.size(); ++i) {
            if (slots[i].child.isValid()) {
                m_inEdges[firstInEdge(slots[i].child) + slots[i].inEdge] = {node, i, slots[i].output};
            }
        }
    }
}

namespace
{

/// Uses of one output by one consumer after the first, of edges that are ordered by consumer.
void markJoined(std::span<InEdge> edges)
{
    for (std::size_t i = 1; i < edges.size(); ++i) {
        InEdge& edge = edges[i];
        for (std::size_t other = i; !edge.isJoined && other-- > 0 && edges[other].consumer == edge.consumer;) {
            edge.isJoined = edge.consumer.isValid() && edges[other].output == edge.output;
        }
    }
}

} // namespace

void TraversalGraph::orderAsTape()
{
    for (const NodeId node : m_postOrder) {
        orderAsTape(node);
    }
    renumber();
}

/// Starts stay first, in the order of the roots (docs/tape.md, "The loops"). Uses of one value by one
/// consumer lie side by side then, but for uses of other outputs between them.
void TraversalGraph::orderAsTape(NodeId node)
{
    const std::span<InEdge> edges{m_inEdges.data() + firstInEdge(node), inEdges(node).size()};
    const auto isBefore = [](const InEdge& a, const InEdge& b) {
        if (!a.consumer.isValid() || !b.consumer.isValid()) {
            return !a.consumer.isValid() && b.consumer.isValid();
        }
        return a.consumer != b.consumer ? b.consumer < a.consumer : a.consumerSlot < b.consumerSlot;
    };
    std::ranges::stable_sort(edges, isBefore);
    markJoined(edges);
}

/// Child slots and roots learn the new numbers of their in-edges.
void TraversalGraph::renumber()
{
    for (const NodeId node : m_postOrder) {
        auto root = m_roots.begin();
        for (std::uint32_t i = 0; i < inEdges(node).size(); ++i) {
            const InEdge& edge = inEdges(node)[i];
            if (edge.consumer.isValid()) {
                const auto first =
                    static_cast<std::size_t>(children(edge.consumer).data() - m_adjacency.childSlots.data());
                m_adjacency.childSlots[first + edge.consumerSlot].inEdge = i;
                continue;
            }
            root = std::find_if(root, m_roots.end(), [&](const Root& one) { return one.node == node; });
            (root++)->inEdge = i;
        }
    }
}

} // namespace retro::lrp
