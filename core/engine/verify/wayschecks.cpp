// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verify/wayschecks.h"

#include "core/analysis/criticalsubgraph.h"
#include "core/engine/verify/linearmaps.h"
#include "core/engine/verify/reversecourse.h"
#include "core/tape/loops.h"
#include "core/tape/scalar/flag.h"
#include "core/tape/scalar/modular.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <ranges>

namespace retro::engine
{

using tape::Flag;
using tape::Id;
using tape::ModelTape;
using tape::Modular;

namespace
{

constexpr std::size_t kMostEarlierTargets = 64;

/// What tape and graph tell differently of what reaches a target; an empty text = nothing.
using WrongFrom = Counterexample (*)(const ModelTape& made, Id target);

/// Slots of a reverse pass that starts with 1 and hands on to every operand what arrives.
template <class K>
std::vector<tape::Array<K>> handedOn(const ModelTape& made, Id target)
{
    const auto nodes =
        linearNodes<K>(wiringOf(made, target), [](std::size_t count) { return std::vector<K>(count, K(1)); });
    const auto tape = compiledOver(nodes, std::vector<K>(made.tape.leafCount(), K(1)));
    return tape::denseLoop<tape::Array<K>>(tape, tape::oneSeed(tape, target, tape::scalarArray(K(1)))).value();
}

/// By id: what a target is made of, told by the cone of the graph. Cells of one node are reached together.
std::vector<bool> coneInGraph(const ModelTape& made, Id target)
{
    const graph::Graph& graph = made.model->graph();
    const analysis::Flow flow = analysis::flowOf(graph, [](base::NodeId, std::size_t) { return true; });
    const std::array<analysis::FlowName, 1> outputs{made.valueOf[target].value};
    std::vector<bool> isNode(graph.nodeCount(), false);
    std::vector<bool> reached(made.tape.size(), false);
    reached[target] = true;
    for (const std::uint32_t node : analysis::criticalSubgraph(flow, outputs, {}).backwardCone) {
        isNode[node] = true;
        for (const base::ValueId operand : graph.nodes()[node].inputs | std::views::filter(&base::ValueId::isValid)) {
            reached[made.idOf[operand.index()]] = true;
        }
    }
    for (Id id = static_cast<Id>(made.tape.leafCount()); id < reached.size(); ++id) {
        reached[id] = isNode[made.nodeOf[id].index()];
    }
    return reached;
}

std::vector<bool> coneOnTape(const ModelTape& made, Id target)
{
    const std::vector<tape::Array<Flag>> arrived = handedOn<Flag>(made, target);
    std::vector<bool> isNode(made.model->graph().nodeCount(), false);
    std::vector<bool> reached;
    for (Id id = 0; id < arrived.size(); ++id) {
        const bool isSet = arrived[id].data.front().isSet;
        reached.push_back(isSet);
        if (isSet && made.nodeOf[id].isValid()) {
            isNode[made.nodeOf[id].index()] = true;
        }
    }
    for (Id id = static_cast<Id>(made.tape.leafCount()); id < reached.size(); ++id) {
        reached[id] = isNode[made.nodeOf[id].index()];
    }
    return reached;
}

Counterexample wrongReach(const ModelTape& made, Id target)
{
    const std::vector<bool> onTape = coneOnTape(made, target);
    const std::vector<bool> inGraph = coneInGraph(made, target);
    for (Id id = static_cast<Id>(made.tape.size()); id-- > 0;) {
        if (onTape[id] != inGraph[id]) {
            return {fmt::format("only the {} reaches {}", onTape[id] ? "tape" : "graph", nodeAt(made, id)),
                    nodeAt(made, id)};
        }
    }
    return {};
}

/// Ways from the target back to every value, counted on the graph and not on the tape.
std::vector<Modular> pathCounts(const graph::Graph& graph, base::ValueId target)
{
    std::vector<Modular> counts(graph.valueCount(), Modular(0));
    counts[target.index()] = 1;
    for (std::size_t node = graph.nodeCount(); node-- > 0;) {
        Modular ways(0);
        for (const base::ValueId output : graph.nodes()[node].outputs | std::views::filter(&base::ValueId::isValid)) {
            ways += counts[output.index()];
        }
        for (const base::ValueId input : graph.nodes()[node].inputs | std::views::filter(&base::ValueId::isValid)) {
            counts[input.index()] += ways;
        }
    }
    return counts;
}

Counterexample wrongPaths(const ModelTape& made, Id target)
{
    const std::vector<tape::Array<Modular>> arrived = handedOn<Modular>(made, target);
    const std::vector<Modular> counts = pathCounts(made.model->graph(), made.valueOf[target]);
    for (Id id = static_cast<Id>(arrived.size()); id-- > 0;) {
        const base::ValueId value = made.valueOf[id];
        if (value.isValid() && !(arrived[id].data.front() == counts[value.index()])) {
            return {fmt::format("{} ways by the tape, {} by the graph, from {}", arrived[id].data.front().value(),
                                counts[value.index()].value(), made.nameOf(id)),
                    nodeAt(made, id)};
        }
    }
    return {};
}

/// The operands of a cell, in the graph: those of its node, or the cell that holds all results of it.
std::vector<Id> operandsInGraph(const ModelTape& made, Id id)
{
    Id first = id;
    while (first > made.tape.leafCount() && made.nodeOf[first - 1] == made.nodeOf[id]) {
        --first;
    }
    if (first != id) {
        return {first};
    }
    std::vector<Id> operands;
    const std::vector<base::ValueId>& inputs = made.model->graph().node(made.nodeOf[id]).inputs;
    for (const base::ValueId operand : inputs | std::views::filter(&base::ValueId::isValid)) {
        operands.push_back(made.idOf[operand.index()]);
    }
    return operands;
}

/// Cells up to a target that are values, those first that read what they do not read in the graph.
std::vector<Id> earlierTargets(const ModelTape& made, Id target)
{
    std::vector<Id> all;
    for (const bool isRewired : {true, false}) {
        for (auto id = static_cast<Id>(made.tape.leafCount()); id <= target && all.size() < kMostEarlierTargets; ++id) {
            const bool differs = made.tape.cell(id).node.parents != operandsInGraph(made, id);
            if (made.valueOf[id].isValid() && differs == isRewired) {
                all.push_back(id);
            }
        }
    }
    return all;
}

/// "bent = f(x) on the tape and f(square) in the graph".
std::string operandsText(const ModelTape& made, Id id)
{
    const auto text = [&made](const std::vector<Id>& operands) {
        std::vector<std::string> names;
        std::ranges::transform(operands, std::back_inserter(names), [&made](Id one) { return made.nameOf(one); });
        return fmt::format("f({})", fmt::join(names, ", "));
    };
    const std::string onTape = text(made.tape.cell(id).node.parents);
    const std::string inGraph = text(operandsInGraph(made, id));
    return made.nameOf(id) + " = " +
           (onTape == inGraph ? onTape : onTape + " on the tape and " + inGraph + " in the graph");
}

/// A counterexample with the earliest target found that shows one: what that one reads is the same on both but for
/// itself.
Counterexample withEarliestTarget(const ModelTape& made, Id target, WrongFrom wrongFrom)
{
    Counterexample found = wrongFrom(made, target);
    for (const Id id : found.text.empty() ? std::vector<Id>() : earlierTargets(made, target)) {
        const Counterexample smaller = wrongFrom(made, id);
        if (!smaller.text.empty()) {
            return {fmt::format("{}; smallest case: from {}, {}", found.text, operandsText(made, id), smaller.text),
                    nodeAt(made, id)};
        }
    }
    return found;
}

} // namespace

PropertyResults checkWays(const ModelTape& made, Id target)
{
    return {judged("P13", "over flags, a slot is set where its id reaches the seed",
                   withEarliestTarget(made, target, wrongReach), "against the backward cone of the graph"),
            judged("P14", "over counts, a slot holds the number of ways from its id to the seed",
                   withEarliestTarget(made, target, wrongPaths), "modulo 2⁶¹ − 1, against ways counted on the graph")};
}

} // namespace retro::engine
