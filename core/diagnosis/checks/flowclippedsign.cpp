// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"

#include <fmt/format.h>

namespace retro::diagnosis
{

namespace
{

/// Section 4.6, flow.clipped-sign: share of Σ|R| of a node that its rule cuts off: > 0.3, and > 0.2 of S; base,
/// e = .4 + .5x.
constexpr double kMostClippedSign = 0.3;
constexpr double kClippedSignOfStart = 0.2;
constexpr double kClippedSignBase = 2.2;

void findClippedSigns(const Facts& facts, Probe& probe)
{
    const double start = facts.start();
    for (std::size_t i = 0; i < facts.graph().nodeCount(); ++i) {
        const NodeId node(i);
        const trace::NodeBalance& balance = facts.balance(node);
        if (balance.rows == 0 || !(balance.magnitude > 0)) {
            continue;
        }
        const std::string& name = facts.graph().labelOf(node);
        const double share = facts.share(node, event::Cause::ClippedSign);
        probe.measured(name, share);
        if (!(share > kMostClippedSign && share * balance.magnitude > kClippedSignOfStart * start)) {
            continue;
        }
        const std::string rule = facts.ruleName(node);
        Finding& finding = probe.warning(kClippedSignBase, 0.4 + 0.5 * share, facts.place(node));
        finding.what =
            fmt::format("{} of Σ|R| that arrives here has the sign that rule {} cuts off", percentText(share), rule);
        finding.means = "What speaks against the target is missing behind it.";
        finding.remedy = "Use a rule that keeps both signs";
        finding.numbers = {{"lost_of_sum_abs_R", share}, {"lost_of_start", share * balance.magnitude / start}};
        finding.threshold = kMostClippedSign;
        const bool isActivation = facts.isKind(node, ops::StructureKind::ElementWise);
        const std::string other = isActivation ? "pass" : "epsilon";
        finding.action = {"change rule", {{"node", name}, {"rule", other}}, ruleOption(name, other)};
    }
}

} // namespace

const Check flowClippedSign{"flow.clipped-sign", "share of Σ|R| of a node that has the sign that its rule cuts off",
                            kMostClippedSign,    "0",
                            Need::Conserved,     true,
                            findClippedSigns};

} // namespace retro::diagnosis
