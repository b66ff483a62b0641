// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/ways.h"

#include <fmt/format.h>

#include <cmath>

namespace retro::diagnosis
{

namespace
{

/// Section 4.6, flow.growth: Σ|R| handed on / arrived: > 1000; base, e = .3 + .1·log10 x.
constexpr double kMostGrowth = 1000;
constexpr double kGrowthBase = 2.5;

double growthEffect(double factor) { return 0.3 + 0.1 * std::log10(factor); }

/// What cancels at a node, and a rule that does not divide by it.
struct Cancelling
{
    std::string what;
    std::string means;
    std::string rule;
};

Cancelling cancellingAt(const Facts& facts, NodeId node)
{
    if (facts.isKind(node, ops::StructureKind::SumOfOperands)) {
        return {"its operands cancel",
                "Shares of a sum near 0 are large and of both signs. Spread by magnitude, which gives up the signs",
                "abs-ratio"};
    }
    if (facts.isKind(node, ops::StructureKind::LinearMap)) {
        return {"the terms of its sums cancel",
                "Shares of a sum near 0 are large and of both signs. Count positive "
                "terms alone",
                "z-plus"};
    }
    return {"it divides by what is near 0",
            "Shares of what is near 0 are large and of both signs. Look at its operands", ""};
}

void findGrowth(const Facts& facts, Probe& probe)
{
    const graph::Graph& graph = facts.graph();
    const std::vector<bool> hasLinearBehind = linearBehind(facts);
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        const NodeId node(i);
        const trace::NodeBalance& balance = facts.balance(node);
        if (balance.rows == 0 || !(balance.magnitude > 0)) {
            continue;
        }
        const double factor = balance.growth();
        probe.measured(graph.labelOf(node), factor);
        if (!(factor > kMostGrowth)) {
            continue;
        }
        // At the head a score near 0 is a difference of large terms (section 9).
        const Cancelling cancelling = cancellingAt(facts, node);
        const double effect = growthEffect(factor);
        Finding& finding = hasLinearBehind[i] ? probe.warning(kGrowthBase, effect, facts.place(node))
                                              : probe.note(effect, facts.place(node));
        finding.what = fmt::format("Σ|R| grows {} times here: {}", numberText(factor), cancelling.what);
        finding.means = cancelling.means;
        finding.numbers = {{"factor", factor}};
        finding.threshold = kMostGrowth;
        finding.action = {"change rule", {{"node", graph.labelOf(node)}, {"rule", cancelling.rule}}, {}};
        if (!cancelling.rule.empty()) {
            finding.action.option = ruleOption(graph.labelOf(node), cancelling.rule);
        } else {
            finding.action.kind = "go to node";
        }
    }
}

} // namespace

const Check flowGrowth{"flow.growth",   "Σ|R| that a node hands on / Σ|R| that arrives there",
                       kMostGrowth,     "below 10 (trained), up to 269 (random weights)",
                       Need::Conserved, true,
                       findGrowth};

} // namespace retro::diagnosis
