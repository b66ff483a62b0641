// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/lostshare.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/otherrule.h"

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
    forLostShares(facts, probe, event::Cause::ClippedSign, [&](const LostShare& lost) {
        if (!(lost.share > kMostClippedSign && lost.ofStart > kClippedSignOfStart)) {
            return;
        }
        const NodeId node = lost.node;
        const std::string& name = facts.graph().labelOf(node);
        const std::string rule = facts.ruleName(node);
        Finding& finding = probe.warning(kClippedSignBase, 0.4 + 0.5 * lost.share, facts.place(node));
        finding.what = fmt::format("{} of Σ|R| that arrives here has the sign that rule {} cuts off",
                                   percentText(lost.share), rule);
        finding.means = "What speaks against the target is missing behind it.";
        finding.remedy = "Use a rule that keeps both signs";
        finding.numbers = {{"lost_of_sum_abs_R", lost.share}, {"lost_of_start", lost.ofStart}};
        finding.threshold = kMostClippedSign;
        const bool isActivation = facts.isKind(node, ops::StructureKind::ElementWise);
        const std::string other = isActivation ? "pass" : "epsilon";
        finding.means += lostWithText(facts, node, other, event::Cause::ClippedSign);
        finding.action = {"change rule", {{"node", name}, {"rule", other}}, ruleOption(name, other)};
    });
}

} // namespace

const Check flowClippedSign{"flow.clipped-sign", "share of Σ|R| of a node that has the sign that its rule cuts off",
                            kMostClippedSign,    "0",
                            Need::Conserved,     true,
                            findClippedSigns};

} // namespace retro::diagnosis
