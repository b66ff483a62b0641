// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/box.h"
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/lrp/rules/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace retro::diagnosis
{

namespace
{

/// e of rule.odd, and how many nodes of a type there are at least (section 4.7).
constexpr double kOddEffect = 0.3;
constexpr std::size_t kLeastOfType = 3;

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

using NodesByText = std::map<std::string, std::vector<NodeId>>;

/// The linear nodes that have a rule, by their type.
NodesByText linearNodes(const Facts& facts)
{
    const std::span rules = facts.pass()->rules;
    NodesByText types;
    for (std::size_t i = 0; i < facts.graph().nodeCount() && i < rules.size(); ++i) {
        if (!rules[i].rule.empty() && facts.isKind(NodeId(i), ops::StructureKind::LinearMap)) {
            types[facts.graph().node(NodeId(i)).op].push_back(NodeId(i));
        }
    }
    return types;
}

/// The rules of the nodes of one type.
struct RulesOfType
{
    std::string type;
    std::size_t nodes = 0;
    NodesByText byRule;
    std::string usual; ///< the rule of most of them

    [[nodiscard]] std::size_t usualCount() const { return byRule.at(usual).size(); }
};

RulesOfType rulesOfType(const Facts& facts, const std::string& type, const std::vector<NodeId>& nodes)
{
    RulesOfType found{type, nodes.size(), {}, {}};
    for (const NodeId node : nodes) {
        found.byRule[facts.pass()->rules[node.index()].rule].push_back(node);
    }
    found.usual = std::ranges::max_element(found.byRule, {}, [](const auto& one) { return one.second.size(); })->first;
    return found;
}

void noteOddRule(const Facts& facts, Probe& probe, const RulesOfType& found, const std::string& rule, NodeId user)
{
    const std::string& name = facts.graph().node(user).name;
    Finding& finding = probe.note(kOddEffect, facts.place(user));
    const bool isShortEnough = shortRule(rule) != shortRule(found.usual);
    const std::string own = isShortEnough ? shortRule(rule) : rule;
    const std::string theirs = isShortEnough ? shortRule(found.usual) : found.usual;
    finding.what = fmt::format("has rule {}; {} of the {} {} nodes have {}", own, found.usualCount(), found.nodes,
                               found.type, theirs);
    finding.means = "One layer alone is explained by another rule.";
    finding.remedy = "Look whether that is meant";
    finding.chart = rowsOf("Rules of the " + found.type + " nodes",
                           {{name, own}, {fmt::format("{} others", found.usualCount()), theirs}});
    finding.numbers = {{"nodes_of_type", static_cast<double>(found.nodes)}};
    finding.action = {"change rule", {{"node", name}, {"entry", facts.pass()->rules[user.index()].matcher}}, {}};
}

void findOddOfType(const Facts& facts, Probe& probe, const RulesOfType& found)
{
    const auto isLonely = [&](const auto& one) {
        return one.second.size() == 1 && !lrp::traitsOf(one.first).isForOneLayer &&
               !isFirstLayer(facts, facts.graph().node(one.second.front()));
    };
    const bool isAlone = found.usualCount() > 1 && std::ranges::count_if(found.byRule, isLonely) == 1;
    for (const auto& one : found.byRule) {
        const bool isOdd = isAlone && isLonely(one);
        probe.measured(facts.graph().node(one.second.front()).name, isOdd ? 1 : 0);
        if (isOdd) {
            noteOddRule(facts, probe, found, one.first, one.second.front());
        }
    }
}

void findOdd(const Facts& facts, Probe& probe)
{
    for (const auto& [type, nodes] : linearNodes(facts)) {
        if (nodes.size() >= kLeastOfType) {
            findOddOfType(facts, probe, rulesOfType(facts, type, nodes));
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
