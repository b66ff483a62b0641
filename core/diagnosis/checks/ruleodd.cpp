// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/box.h"
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace retro::diagnosis
{

namespace
{

/// e of rule.odd, and how many nodes of a type there are at least (section 4.7).
constexpr double kOddEffect = 0.3;
constexpr std::size_t kLeastOfType = 3;

/// Rules that one layer has by design (section 4.7).
bool isForOneLayer(const std::string& rule)
{
    static constexpr std::array<std::string_view, 4> kRules{"z-box", "flat", "w-square", "decomposed"};
    return std::ranges::any_of(kRules, [&rule](std::string_view name) { return rule.starts_with(name); });
}

/// True for a node that reads an input of the graph through shape maps alone.
bool isFirstLayer(const Facts& facts, const graph::Node& node)
{
    const graph::Graph& graph = facts.graph();
    for (ValueId value : node.inputs) {
        for (std::size_t i = 0; i < graph.nodeCount() && value.isValid(); ++i) {
            const NodeId producer = graph.value(value).producer;
            if (graph.value(value).kind == graph::ValueKind::Input) {
                return true;
            }
            if (!producer.isValid() || !facts.isKind(producer, ops::StructureKind::ShapeMap)) {
                break;
            }
            value = graph.node(producer).inputs.front();
        }
    }
    return false;
}

void findOdd(const Facts& facts, Probe& probe)
{
    const Pass& pass = *facts.pass();
    std::map<std::string, std::vector<NodeId>> types;
    for (std::size_t i = 0; i < facts.graph().nodeCount() && i < pass.rules.size(); ++i) {
        if (!pass.rules[i].rule.empty() && facts.isKind(NodeId(i), ops::StructureKind::LinearMap)) {
            types[facts.graph().node(NodeId(i)).op].push_back(NodeId(i));
        }
    }
    for (const auto& [type, nodes] : types) {
        if (nodes.size() < kLeastOfType) {
            continue;
        }
        std::map<std::string, std::vector<NodeId>> byRule;
        for (const NodeId node : nodes) {
            byRule[pass.rules[node.index()].rule].push_back(node);
        }
        const std::string& usual =
            std::ranges::max_element(byRule, {}, [](const auto& one) { return one.second.size(); })->first;
        const auto isLonely = [&](const auto& one) {
            return one.second.size() == 1 && !isForOneLayer(one.first) &&
                   !isFirstLayer(facts, facts.graph().node(one.second.front()));
        };
        const bool isAlone = byRule[usual].size() > 1 && std::ranges::count_if(byRule, isLonely) == 1;
        for (const auto& [rule, users] : byRule) {
            const graph::Node& node = facts.graph().node(users.front());
            const bool isOdd = isAlone && isLonely(std::pair(rule, users));
            probe.measured(node.name, isOdd ? 1 : 0);
            if (!isOdd) {
                continue;
            }
            Finding& finding = probe.note(kOddEffect, facts.place(users.front()));
            const bool isShortEnough = shortRule(rule) != shortRule(usual);
            const std::string own = isShortEnough ? shortRule(rule) : rule;
            const std::string theirs = isShortEnough ? shortRule(usual) : usual;
            finding.what = fmt::format("has rule {}; {} of the {} {} nodes have {}", own, byRule[usual].size(),
                                       nodes.size(), type, theirs);
            finding.means = "One layer alone is explained by another rule.";
            finding.remedy = "Look whether that is meant";
            finding.chart = rowsOf("Rules of the " + type + " nodes",
                                   {{node.name, own}, {fmt::format("{} others", byRule[usual].size()), theirs}});
            finding.numbers = {{"nodes_of_type", static_cast<double>(nodes.size())}};
            finding.action = {
                "change rule", {{"node", node.name}, {"entry", pass.rules[users.front().index()].matcher}}, {}};
        }
    }
}

} // namespace

const Check ruleOdd{"rule.odd",
                    "a linear node whose rule no other node of its type has (1: there is one)",
                    0,
                    "0",
                    Need::Relevance,
                    true,
                    findOdd};

} // namespace retro::diagnosis
