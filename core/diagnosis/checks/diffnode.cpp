// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/compared.h"
#include "core/diagnosis/numbertext.h"
#include "core/ops/elements.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace retro::diagnosis
{

namespace
{

/// Base and e of diff.node (section 4.8).
constexpr double kNodeBase = 2.75;
constexpr double kNodeEffect = 0.9;
/// An added constant with such values is a mask (section 4.8).
constexpr double kMaskValue = -1e4;
/// More are not told one by one: the models are different ones.
constexpr std::size_t kMostNodeFindings = 12;

/// "x, y" of the values that a node reads, without constants.
std::string readsText(const ModelFacts& model, const graph::Node& node)
{
    std::vector<std::string> names;
    for (std::size_t slot = 0; slot < node.inputs.size(); ++slot) {
        if (node.inputs[slot].isValid() && !model.constantOperand(node, slot).isValid()) {
            names.push_back(model.graph().value(node.inputs[slot]).name);
        }
    }
    return fmt::format("{}", fmt::join(names, ", "));
}

std::string readersText(const graph::Graph& graph, const graph::Node& node)
{
    std::vector<std::string> names;
    for (const ValueId output : node.outputs) {
        for (const graph::Use& use : output.isValid() ? graph.uses(output) : std::span<const graph::Use>()) {
            if (std::ranges::find(names, graph.node(use.node).name) == names.end()) {
                names.push_back(graph.node(use.node).name);
            }
        }
    }
    return names.empty() ? "nobody" : fmt::format("{}", fmt::join(names, ", "));
}

/// True when `sum` is the value, or a sum of sums with it.
bool isAddedIn(const graph::Graph& graph, ValueId sum, ValueId value)
{
    std::vector<ValueId> open{sum};
    for (std::size_t steps = 0; !open.empty() && steps < 64; ++steps) {
        const ValueId at = open.back();
        open.pop_back();
        const NodeId producer = at.isValid() ? graph.value(at).producer : NodeId();
        if (at == value && at.isValid()) {
            return true;
        }
        if (producer.isValid() && ops::areElements(graph.node(producer), {ops::Elements::Summed})) {
            std::ranges::copy(graph.node(producer).inputs, std::back_inserter(open));
        }
    }
    return false;
}

/// The operand of an Add that is added already where its other operand comes from; invalid where there is none.
ValueId addedTwice(const graph::Graph& graph, const graph::Node& node)
{
    if (!ops::areElements(node, {ops::Elements::Summed}) || node.inputs.size() != 2) {
        return {};
    }
    for (std::size_t slot = 0; slot < 2; ++slot) {
        if (isAddedIn(graph, node.inputs[1 - slot], node.inputs[slot])) {
            return node.inputs[slot];
        }
    }
    return {};
}

/// The same where it is the sum behind it that adds the operand again.
ValueId addedAgainBehind(const graph::Graph& graph, const graph::Node& node)
{
    for (const graph::Use& use : ops::areElements(node, {ops::Elements::Summed}) ? graph.uses(node.outputs.front())
                                                                                 : std::span<const graph::Use>()) {
        const graph::Node& reader = graph.node(use.node);
        for (const ValueId operand :
             ops::areElements(reader, {ops::Elements::Summed}) ? reader.inputs : std::vector<ValueId>()) {
            if (std::ranges::find(node.inputs, operand) != node.inputs.end()) {
                return operand;
            }
        }
    }
    return {};
}

bool isMask(const ModelFacts& model, const graph::Node& node)
{
    for (std::size_t slot = 0; ops::areElements(node, {ops::Elements::Summed}) && slot < node.inputs.size(); ++slot) {
        const Statistics of = statisticsOf(model.constantOperand(node, slot));
        if (of.count > 0 && (of.minusInfinity > 0 || of.least <= kMaskValue)) {
            return true;
        }
    }
    return ops::areElements(node, {ops::Elements::Chosen}) || node.op == "Trilu";
}

void sayExtra(const Facts& facts, const Compared& compared, NodeId id, Probe& probe)
{
    const graph::Graph& graph = compared.own->graph();
    const graph::Node& node = graph.node(id);
    Finding& finding =
        probe.difference(kNodeBase, kNodeEffect, {PlaceKind::Node, node.name, facts.nodeOfPass(node.name)});
    ValueId twice = addedTwice(graph, node);
    twice = twice.isValid() ? twice : addedAgainBehind(graph, node);
    if (twice.isValid()) {
        finding.what = fmt::format("adds {} a second time; the reference has no such node", graph.value(twice).name);
        finding.means = "What is added twice counts twice, in the result and in relevance.";
    } else {
        finding.what = fmt::format("({}) is only here: the reference has no such node; it reads {}, and {} reads it",
                                   node.op, readsText(*compared.own, node), readersText(graph, node));
        finding.means = "The models compute different things from here on.";
    }
    finding.remedy = "Look at both graphs side by side";
    finding.numbers = {{"nodes", 1}};
    const std::string reads = readsText(*compared.own, node);
    finding.chart = rowsOf("What stands there", {{"here", reads, node.name, readersText(graph, node)},
                                                 {"reference", reads, readersText(graph, node)}});
    finding.action = {"show side by side", {{"node", node.name}}, {}};
}

/// The nodes here whose partners read what the missing node makes, through other missing nodes.
std::vector<NodeId> readersHere(const Compared& compared, NodeId missing)
{
    const graph::Graph& graph = compared.other->graph();
    std::vector<NodeId> readers;
    std::vector<NodeId> open{missing};
    std::vector<bool> isSeen(graph.nodeCount(), false);
    while (!open.empty()) {
        const NodeId at = open.back();
        open.pop_back();
        for (const ValueId output : graph.node(at).outputs) {
            for (const graph::Use& use : output.isValid() ? graph.uses(output) : std::span<const graph::Use>()) {
                const NodeId partner = compared.match.toOne[use.node.index()];
                if (partner.isValid()) {
                    readers.push_back(partner);
                } else if (!isSeen[use.node.index()]) {
                    isSeen[use.node.index()] = true;
                    open.push_back(use.node);
                }
            }
        }
    }
    return readers;
}

void sayMissing(const Facts& facts, const Compared& compared, NodeId id, Probe& probe)
{
    const graph::Node& node = compared.other->graph().node(id);
    const std::vector<NodeId> readers = readersHere(compared, id);
    const std::string name =
        readers.empty() ? compared.own->graph().name() : compared.own->graph().node(readers.front()).name;
    Finding& finding = probe.difference(kNodeBase, kNodeEffect, {PlaceKind::Node, name, facts.nodeOfPass(name)});
    const bool masks = isMask(*compared.other, node);
    finding.what = fmt::format("lacks what the reference has before it: {} ({}) {}", node.name, node.op,
                               masks ? "adds a mask" : fmt::format("reads {}", readsText(*compared.other, node)));
    finding.means = masks ? "Without the mask positions are seen that must not be."
                          : "The models compute different things from here on.";
    finding.remedy = "Look at both graphs side by side";
    finding.numbers = {{"nodes", 1}};
    const std::string reads = readsText(*compared.other, node);
    finding.chart = rowsOf("What stands there", {{"here", reads, name}, {"reference", reads, node.name, name}});
    finding.action = {"show side by side", {{"node", name}, {"missing", node.name}}, {}};
}

void sayOther(const Facts& facts, const Compared& compared, Probe& probe)
{
    Finding& finding = probe.difference(kNodeBase, kNodeEffect, {PlaceKind::Entry, facts.sources().modelName, {}, {}});
    finding.what = fmt::format("is another model: {} of {} nodes have a partner in the reference",
                               compared.match.matched, compared.match.nodes);
    finding.means = "Nothing more can be said by comparing them.";
    finding.remedy = "Compare with a model of the same structure";
    finding.numbers = {{"matched", static_cast<double>(compared.match.matched)},
                       {"nodes", static_cast<double>(compared.match.nodes)}};
    finding.action = {"show side by side", {}, {}};
}

void findNodes(const Facts& facts, Probe& probe)
{
    const Compared* compared = facts.compared();
    if (compared == nullptr) {
        return probe.notRun("one of the two has no graph");
    }
    const std::size_t differing = compared->extra.size() + compared->missing.size();
    probe.measured(facts.sources().modelName, static_cast<double>(differing));
    if (!compared->isComparable()) {
        return sayOther(facts, *compared, probe);
    }
    std::size_t said = 0;
    for (const NodeId node : compared->extra) {
        if (said++ < kMostNodeFindings) {
            sayExtra(facts, *compared, node, probe);
        }
    }
    for (const NodeId node : compared->missing) {
        if (said++ < kMostNodeFindings) {
            sayMissing(facts, *compared, node, probe);
        }
    }
}

} // namespace

const Check diffNode{"diff.node", "nodes that only one of the two models has", 0, "0", Need::Reference, true,
                     findNodes};

} // namespace retro::diagnosis
