// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"

#include "core/diagnosis/box.h"

#include <fmt/format.h>

#include <map>
#include <set>

namespace retro::diagnosis
{

namespace
{

/// Base and e of rule.shared (section 4.7).
constexpr double kSharedBase = 2.2;
constexpr double kSharedEffect = 0.5;

/// The weight of a linear node: the largest constant operand; invalid where it has none.
ValueId weightOfNode(const graph::Graph& graph, const graph::Node& node)
{
    ValueId largest;
    std::int64_t most = 0;
    for (const ValueId operand : node.inputs) {
        const bool isConstant = operand.isValid() && graph.value(operand).kind == graph::ValueKind::Constant;
        const Tensor constant = isConstant ? graph.value(operand).constant : Tensor();
        if (constant.isValid() && constant.rank() > 1 && constant.size() > most) {
            largest = operand;
            most = constant.size();
        }
    }
    return largest;
}

/// By the memory of the weight: rewrites may name it anew.
std::map<const void*, std::vector<NodeId>> usersOfWeights(const Facts& facts)
{
    const Pass& pass = *facts.pass();
    std::map<const void*, std::vector<NodeId>> users;
    for (std::size_t i = 0; i < facts.graph().nodeCount() && i < pass.rules.size(); ++i) {
        const bool isSite = facts.isKind(NodeId(i), ops::StructureKind::LinearMap) && !pass.rules[i].rule.empty();
        const ValueId weight = isSite ? weightOfNode(facts.graph(), facts.graph().node(NodeId(i))) : ValueId();
        if (weight.isValid()) {
            users[facts.graph().value(weight).constant.rawData()].push_back(NodeId(i));
        }
    }
    return users;
}

void noteShared(const Facts& facts, Probe& probe, const std::vector<NodeId>& nodes, std::size_t rules)
{
    const Pass& pass = *facts.pass();
    const std::string& first = pass.rules[nodes.front().index()].rule;
    NodeId other = nodes.front();
    for (const NodeId node : nodes) {
        other = other == nodes.front() && pass.rules[node.index()].rule != first ? node : other;
    }
    Finding& finding = probe.warning(kSharedBase, kSharedEffect, facts.place(nodes.front()));
    const ValueId weight = weightOfNode(facts.graph(), facts.graph().node(nodes.front()));
    const std::string& second = pass.rules[other.index()].rule;
    const bool isShortEnough = shortRule(first) != shortRule(second);
    const std::string own = isShortEnough ? shortRule(first) : first;
    const std::string theirs = isShortEnough ? shortRule(second) : second;
    finding.what = fmt::format("shares its weight ({}) with {}, but has rule {} and that has {}",
                               facts.graph().value(weight).name, facts.graph().labelOf(other), own, theirs);
    finding.means = "One layer that is used several times is explained by different rules.";
    finding.remedy = "Give every use the same rule";
    finding.chart = rowsOf("Rules of the nodes that share it",
                           {{facts.graph().labelOf(nodes.front()), own}, {facts.graph().labelOf(other), theirs}});
    finding.numbers = {{"rules", static_cast<double>(rules)}, {"uses", static_cast<double>(nodes.size())}};
    finding.action = {"same rule for all",
                      {{"node", facts.graph().labelOf(nodes.front())}, {"other", facts.graph().labelOf(other)}},
                      {}};
}

void findShared(const Facts& facts, Probe& probe)
{
    const Pass& pass = *facts.pass();
    for (const auto& [memory, nodes] : usersOfWeights(facts)) {
        if (nodes.size() < 2) {
            continue;
        }
        std::set<std::string> rules;
        for (const NodeId node : nodes) {
            rules.insert(pass.rules[node.index()].rule);
        }
        probe.measured(facts.graph().labelOf(nodes.front()), static_cast<double>(rules.size()) - 1);
        if (rules.size() >= 2) {
            noteShared(facts, probe, nodes, rules.size());
        }
    }
}

} // namespace

const Check ruleShared{
    "rule.shared", "number of rules, beyond one, of linear nodes that share a weight", 0, "0", Need::Relevance, true,
    findShared};

} // namespace retro::diagnosis
