// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/lostshare.h"
#include "core/diagnosis/magnitudeshare.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/otherrule.h"
#include "core/graph/attributes.h"
#include "core/lrp/rules/rules.h"
#include "core/ops/algebra.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::diagnosis
{

namespace
{

/// Section 4.6, flow.zero-denominator: share of Σ|R| of a node: > 0.6, and > 0.2 of S; base, e = .4 + .5x.
constexpr double kMostZeroDenominator = 0.6;
constexpr double kZeroDenominatorOfStart = 0.2;
constexpr double kZeroDenominatorBase = 2.2;
/// Less of it is worth a note from this part of S on, where it is more than rounding of what passes.
constexpr double kNotedOfStart = 0.05;
constexpr double kNotedShare = 0.01;

/// How many output channels of a linear map have no positive weight: "15 of 16 channels"; empty where none has none.
std::string withoutPositive(const Facts& facts, NodeId node)
{
    if (!isLinearMap(facts, node)) {
        return {};
    }
    const auto& map = static_cast<const ops::LinearMap&>(facts.op(node)->structure());
    const Tensor x = facts.value(facts.graph().node(node).inputs[map.operandSlot()]);
    if (!x.isValid()) {
        return {};
    }
    const Tensor sums = map.apply(ops::algebra::filledLike(x, 1), {ops::WeightPart::Positive, 0});
    const bool isConvolution = facts.graph().node(node).op.starts_with("Conv");
    const std::vector<std::int64_t> positive = nonZerosAlong(sums, isConvolution ? 1 : sums.rank() - 1);
    const auto none = std::ranges::count(positive, 0);
    return none == 0 ? std::string() : fmt::format("{} of {} channels", none, positive.size());
}

bool hasBiasOperand(const Facts& facts, NodeId node)
{
    const auto& inputs = facts.graph().node(node).inputs;
    return inputs.size() > 2 && inputs[2].isValid();
}

bool hasOwnBias(const Facts& facts, NodeId node)
{
    return static_cast<const ops::LinearMap&>(facts.op(node)->structure()).hasBias();
}

/// What might take it instead.
std::string biasText(const Facts& facts, NodeId node)
{
    const auto& map = static_cast<const ops::LinearMap&>(facts.op(node)->structure());
    const std::int64_t group = graph::intAttribute(facts.graph().node(node), "group", 1);
    const std::string groups = group > 1 ? fmt::format(" Each filter sees one of {} groups of channels", group) : "";
    const std::string bias = map.hasBias() ? std::string() : "there is no bias to take it";
    if (groups.empty()) {
        return bias.empty() ? bias : " And " + bias + ".";
    }
    return bias.empty() ? groups + "." : groups + ", and " + bias + ".";
}

/// What is said of a bias that is not there or 0; empty where there is one to speak of.
std::string missingBiasText(const Facts& facts, NodeId node)
{
    if (!isLinearMap(facts, node) || hasOwnBias(facts, node)) {
        return {};
    }
    return hasBiasOperand(facts, node) ? " (its bias is 0)" : " (zero bias: it has none)";
}

std::string meaningOfZeros(const Facts& facts, NodeId node, const std::string& rule)
{
    const std::string channels = lrp::traitsOf(rule).dividesByResult ? std::string() : withoutPositive(facts, node);
    std::string means = channels.empty()
                            ? "The sums that rule {} divides by are 0 there, so there is nothing to hand on to."
                            : channels + " have no positive weight, so {} has nothing to hand on to.";
    means.replace(means.find("{}"), 2, rule);
    return means + (isLinearMap(facts, node) ? biasText(facts, node) : std::string());
}

void adviseOnZeros(const Facts& facts, NodeId node, const std::string& rule, Finding& finding)
{
    const std::string& name = facts.graph().labelOf(node);
    finding.action = {"go to node", {{"node", name}}, {}};
    if (!lrp::traitsOf(rule).dividesByResult && isLinearMap(facts, node)) {
        finding.means += lostWithText(facts, node, "epsilon", event::Cause::ZeroDenominator);
        finding.remedy = "Use epsilon here";
        finding.action = {"change rule", {{"node", name}, {"rule", "epsilon"}}, ruleOption(name, "epsilon")};
    } else {
        finding.remedy = "Look at what it reads: it is 0 there";
    }
}

void noteZeroDenominators(const Facts& facts, Probe& probe, const LostShare& lost, bool warns)
{
    const NodeId node = lost.node;
    const std::string rule = facts.ruleName(node);
    const std::string means = meaningOfZeros(facts, node, rule);
    const double effect = 0.4 + 0.5 * lost.share;
    Finding& finding =
        warns ? probe.warning(kZeroDenominatorBase, effect, facts.place(node)) : probe.note(effect, facts.place(node));
    finding.what = fmt::format("{} of Σ|R| that arrives here is lost to zero denominators", percentText(lost.share));
    finding.what += missingBiasText(facts, node);
    if (!warns) {
        finding.what += fmt::format(": {} of what started", percentText(lost.ofStart));
    }
    finding.means = means;
    finding.numbers = {{"lost_of_sum_abs_R", lost.share}, {"lost_of_start", lost.ofStart}};
    finding.threshold = kMostZeroDenominator;
    if (!warns) { // it is here for its part of what started: the number that stands beside its limit
        std::ranges::reverse(finding.numbers);
        finding.threshold = kNotedOfStart;
    }
    adviseOnZeros(facts, node, rule, finding);
}

void findZeroDenominators(const Facts& facts, Probe& probe)
{
    forLostShares(facts, probe, event::Cause::ZeroDenominator, [&](const LostShare& lost) {
        const bool warns = lost.share > kMostZeroDenominator && lost.ofStart > kZeroDenominatorOfStart;
        if (warns || (lost.share > kNotedShare && lost.ofStart > kNotedOfStart)) {
            noteZeroDenominators(facts, probe, lost, warns);
        }
    });
}

} // namespace

const Check flowZeroDenominator{"flow.zero-denominator",
                                "share of Σ|R| of a node that is lost to zero denominators",
                                kMostZeroDenominator,
                                "up to 0.28 (trained), 0.14 (random weights)",
                                Need::Conserved | Need::Forward,
                                true,
                                findZeroDenominators};

} // namespace retro::diagnosis
