// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/box.h"
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/compared.h"
#include "core/diagnosis/numbertext.h"
#include "core/lrp/rules/ruleformulas.h"

#include <fmt/format.h>

namespace retro::diagnosis
{

namespace
{

/// Base and e of diff.rule (section 4.8).
constexpr double kRuleBase = 2.75;
constexpr double kRuleEffect = 0.7;
/// More are not told one by one: another composite.
constexpr std::size_t kMostRuleFindings = 12;

std::string formulaText(const trace::NodeRule& rule)
{
    const std::string formula = lrp::formulaOf(rule.rule, rule.structure);
    return formula.empty() ? "" : fmt::format("{}: {}", shortRule(rule.rule), formula);
}

/// Of a box, what it has to hold.
std::string readText(const Facts& facts, const trace::NodeRule& rule, NodeId node)
{
    const bool isBox = boxOf(rule.rule).has_value() && !facts.graph().node(node).inputs.empty();
    const Statistics of = isBox ? facts.statistics(facts.graph().node(node).inputs.front()) : Statistics();
    return of.count == 0
               ? std::string()
               : fmt::format(" (what it reads lies in {} … {})", numberText(of.least), numberText(of.largest));
}

void noteRule(const Facts& facts, Probe& probe, NodeId node, const trace::NodeRule& own, const trace::NodeRule& theirs)
{
    const bool isShortEnough = shortRule(own.rule) != shortRule(theirs.rule);
    Finding& finding = probe.difference(kRuleBase, kRuleEffect, facts.place(node));
    finding.what = fmt::format("has rule {}; the reference has {}", isShortEnough ? shortRule(own.rule) : own.rule,
                               isShortEnough ? shortRule(theirs.rule) : theirs.rule);
    finding.what += readText(facts, own, node);
    const std::string formula = lrp::formulaOf(own.rule, own.structure);
    const bool isOtherFormula = formula != lrp::formulaOf(theirs.rule, theirs.structure);
    finding.means = !formula.empty() && isOtherFormula ? formulaText(own) + "; " + formulaText(theirs) + "."
                                                       : "It is the same rule with other parameters.";
    finding.remedy = "Give it the rule of the reference, if that is meant";
    finding.numbers = {{"nodes", 1}};
    finding.chart = rowsOf("Rule of this node", {{"here", own.rule}, {"reference", theirs.rule}});
    finding.action = {"change rule", {{"node", facts.graph().labelOf(node)}, {"rule", theirs.rule}}, {}};
}

void findRules(const Facts& facts, Probe& probe)
{
    const ComparedPasses* compared = facts.comparedPasses();
    if (compared == nullptr || !facts.reference()->pass()->hasRelevance) {
        return probe.notRun("the reference has no relevance");
    }
    const Compared* models = facts.compared();
    const bool isSameModel = models == nullptr || models->isSameModel();
    if (!isSameModel && facts.pass()->composite == facts.reference()->pass()->composite) {
        return probe.notRun("one composite was asked for, and the models differ: so may the rules that it gives");
    }
    const std::vector<trace::NodeRule>& own = facts.pass()->rules;
    const std::vector<trace::NodeRule>& other = facts.reference()->pass()->rules;
    std::size_t differing = 0;
    for (std::size_t i = 0; i < own.size(); ++i) {
        const NodeId partner = compared->match.toOther[i];
        const bool isPair = partner.isValid() && partner.index() < other.size() && !own[i].rule.empty() &&
                            !other[partner.index()].rule.empty();
        if (isPair && own[i].rule != other[partner.index()].rule && ++differing <= kMostRuleFindings) {
            noteRule(facts, probe, NodeId(i), own[i], other[partner.index()]);
        }
    }
    probe.measured(facts.sources().modelName, static_cast<double>(differing));
}

} // namespace

const Check diffRule{
    "diff.rule", "nodes whose rule is not that of the reference", 0, "0", Need::Reference | Need::Relevance, true,
    findRules};

} // namespace retro::diagnosis
