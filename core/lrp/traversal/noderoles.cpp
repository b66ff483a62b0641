// SPDX-License-Identifier: Apache-2.0
// What a node can do in a traversal, by its structure, its rule and what it saved.
#include "core/base/failure.h"
#include "core/lrp/arithmetic/tensorarithmetic.h"

#include <algorithm>

namespace retro::lrp
{

using event::PromiseKind;
using ops::StructureKind;

namespace
{

PromiseKind kindOfSum(const ops::SumOfOperands& sum)
{
    const auto isNegative = [](double sign) { return sign < 0; };
    return std::ranges::any_of(sum.signs(), isNegative) ? PromiseKind::Sub : PromiseKind::Add;
}

// Multiplied or divided by something that carries no relevance.
bool scalesOneOperand(StructureKind kind, std::span<const std::uint8_t> tracked)
{
    return kind == StructureKind::Product || (kind == StructureKind::Quotient && tracked[0] != 0);
}

} // namespace

TensorArithmetic::NodeFacts TensorArithmetic::factsOf(NodeId node, const TraversalGraph& graph) const
{
    NodeFacts facts;
    facts.tracked = trackedSlots(graph, node);
    if (m_saved.model().graph().isInput(node)) {
        return facts;
    }
    facts.isStrict = isStrict(node, facts.tracked);
    const bool isCrossable = !facts.isStrict && definition(node).outputs.size() == 1 && !joinsOperands(node) &&
                             std::ranges::count(facts.tracked, std::uint8_t{1}) == 1;
    const StructureKind kind = m_saved.model().op(node).structure().kind();
    if (isCrossable && (scalesOneOperand(kind, facts.tracked) || !canAnswer(node, graph))) {
        facts.role = Role::PassThrough;
    } else {
        facts.role = canAnswer(node, graph) ? Role::Arg : Role::Raise;
    }
    return facts;
}

/// True when the rule reads something that the node neither saved nor can compute from what it saved.
bool TensorArithmetic::isStrict(NodeId node, std::span<const std::uint8_t> tracked) const
{
    base::guard(m_rules[node.index()].rule != nullptr, "a node has a rule");
    const ops::Reads reads = m_rules[node.index()].rule->reads(m_saved.model().op(node), tracked);
    const std::vector<ValueId>& inputs = definition(node).inputs;
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
        if (inputs[slot].isValid() && reads.operand(slot) && !m_saved.hasOperand(node, slot)) {
            return true;
        }
    }
    for (std::size_t k = 0; k < definition(node).outputs.size(); ++k) {
        if (reads.output(k) && !m_saved.hasOutput(node, k) && !hasAllOperands(node)) {
            return true;
        }
    }
    return false;
}

/// True when the node knows every output that the graph reads, or can compute it from what it saved.
bool TensorArithmetic::canAnswer(NodeId node, const TraversalGraph& graph) const
{
    const auto isSaved = [&](const InEdge& edge) { return m_saved.hasOutput(node, edge.output); };
    return hasAllOperands(node) || std::ranges::all_of(graph.inEdges(node), isSaved);
}

bool TensorArithmetic::hasAllOperands(NodeId node) const
{
    const std::vector<ValueId>& inputs = definition(node).inputs;
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
        if (inputs[slot].isValid() && !m_saved.hasOperand(node, slot)) {
            return false;
        }
    }
    return true;
}

/// True for operands that are values of the computation, not axes, sizes or indices.
bool TensorArithmetic::isData(NodeId node, std::size_t slot) const
{
    const ValueId value = definition(node).inputs[slot];
    return value.isValid() && tensor::isFloating(m_saved.model().typeOf(value).dtype);
}

/// True for shape maps whose result is several operands side by side: as many elements as all of them together.
bool TensorArithmetic::joinsOperands(NodeId node) const
{
    const execute::BoundModel& model = m_saved.model();
    if (model.op(node).structure().kind() != StructureKind::ShapeMap || definition(node).outputs.size() != 1) {
        return false;
    }
    std::int64_t elements = 0;
    std::size_t operands = 0;
    for (std::size_t slot = 0; slot < definition(node).inputs.size(); ++slot) {
        if (isData(node, slot)) {
            elements += tensor::elementCount(model.typeOf(definition(node).inputs[slot]).shape);
            ++operands;
        }
    }
    return operands > 1 && elements == tensor::elementCount(model.typeOf(definition(node).outputs.front()).shape);
}

PromiseKind TensorArithmetic::promiseKind(NodeId node) const
{
    const execute::BoundModel& model = m_saved.model();
    const ops::Structure& structure = model.op(node).structure();
    switch (structure.kind()) {
    case StructureKind::SumOfOperands:
        return kindOfSum(static_cast<const ops::SumOfOperands&>(structure));
    case StructureKind::Reduction:
        return static_cast<const ops::Reduction&>(structure).isMean() ? PromiseKind::Mean : PromiseKind::Sum;
    case StructureKind::Softmax:
        return PromiseKind::Softmax;
    case StructureKind::ShapeMap:
        break;
    default:
        return PromiseKind::Operator;
    }
    if (definition(node).outputs.size() > 1) {
        return PromiseKind::Unbind;
    }
    if (!joinsOperands(node)) {
        return PromiseKind::Operator;
    }
    const std::size_t rank = model.typeOf(definition(node).inputs.front()).shape.size();
    return model.typeOf(definition(node).outputs.front()).shape.size() > rank ? PromiseKind::Stack : PromiseKind::Cat;
}

} // namespace retro::lrp
