// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/lrp/rules/rules.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::diagnosis
{

namespace
{

/// Share of Σ|R| of a node that a rule lets nothing of through (section 4.7, rule.stop: > 2 %), that of what started
/// below which it is a note, and the base of the score.
constexpr double kMostStopped = 0.02;
constexpr double kLeastOfStart = 0.02;
constexpr double kStopBase = 2.2;

/// Nodes of the file that the node now stands for beside itself: ", which took in /bn".
std::string tookIn(const Facts& facts, const std::string& node)
{
    std::string names;
    for (const rewrite::RewriteStep& step : facts.sources().steps) {
        if (std::ranges::find(step.added, node) == step.added.end()) {
            continue;
        }
        for (const std::string& removed : step.removed) {
            if (removed != node) {
                names += (names.empty() ? "" : ", ") + removed;
            }
        }
    }
    return names.empty() ? std::string() : fmt::format(", with {} in it", names);
}

void findStops(const Facts& facts, Probe& probe)
{
    const Pass& pass = *facts.pass();
    const double start = facts.start();
    for (std::size_t i = 0; i < facts.graph().nodeCount(); ++i) {
        const NodeId node(i);
        const trace::NodeBalance& balance = facts.balance(node);
        if (balance.rows == 0 || !(balance.magnitude > 0) || i >= pass.rules.size()) {
            continue;
        }
        // What is removed is of either sign: the ledger's amount may cancel, what remains does not.
        const double amount = facts.share(node, event::Cause::Filter);
        const bool isWhole = lrp::traitsOf(facts.ruleName(node)).handsNothingOn && balance.magnitudeHandedOn == 0;
        const double share = amount > 0 && isWhole ? 1 : amount;
        const std::string& name = facts.graph().labelOf(node);
        probe.measured(name, share);
        if (!(share > kMostStopped)) {
            continue;
        }
        const bool isSmall = amount * balance.magnitude < kLeastOfStart * start;
        const double effect = 0.4 + 0.5 * amount;
        Finding& finding =
            isSmall ? probe.note(effect, facts.place(node)) : probe.warning(kStopBase, effect, facts.place(node));
        finding.what = fmt::format("its rule \"{}\" ({}) stops {} of Σ|R| that arrives here{}", pass.rules[i].rule,
                                   pass.rules[i].matcher, percentText(amount), tookIn(facts, name));
        finding.means = "What lies behind it gets that much less.";
        finding.remedy = "Remove the rule, if it was left over";
        finding.numbers = {{"lost_of_sum_abs_R", amount}};
        finding.threshold = kMostStopped;
        finding.action = {"remove rule", {{"node", name}, {"entry", pass.rules[i].matcher}}, {}};
    }
}

} // namespace

const Check ruleStop{"rule.stop",     "share of Σ|R| of a node that its rule lets nothing of through",
                     kMostStopped,    "0",
                     Need::Conserved, true,
                     findStops};

} // namespace retro::diagnosis
