// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/growthalong.h"
#include "core/diagnosis/numbertext.h"

#include <fmt/format.h>

#include <cmath>

namespace retro::diagnosis
{

namespace
{

/// Of a composite that nobody chose it is also said from so many decades of the inputs beside the target on.
constexpr double kMostDecadesOfAuto = 4;
/// Section 4.6, flow.explodes: base, e = D/10.
constexpr double kExplodesBase = 2.5;
constexpr double kDecadesOfEffect = 10;

/// log10(Σ|R| of all inputs / S); 0 where nothing started.
double decadesAtInputs(const Facts& facts)
{
    double arrived = 0;
    for (const ValueId input : facts.graph().inputs()) {
        arrived += facts.magnitude(input);
    }
    return facts.start() > 0 && arrived > 0 ? std::log10(arrived / facts.start()) : 0;
}

void findExplosion(const Facts& facts, Probe& probe)
{
    const GrowthAlong growth = growthAlong(facts);
    if (!growth.largestAt.isValid()) {
        return;
    }
    // Where one node alone makes it, it is what flow.growth says there (section 3: one finding per node and family).
    const NodeId place = growth.steepest > kGrowthOfOne ? growth.steepestAt : growth.largestAt;
    const std::string& largest = facts.graph().labelOf(growth.largestAt);
    probe.measured(largest, growth.decades);
    const bool isLargeAtInputs =
        facts.sources().composite.starts_with("auto") && decadesAtInputs(facts) >= kMostDecadesOfAuto;
    if (!(growth.decades > kMostDecades) && !isLargeAtInputs) {
        return;
    }
    Finding& finding = probe.warning(kExplodesBase, growth.decades / kDecadesOfEffect, facts.place(place));
    finding.what = fmt::format("Σ|R| grows by {:.1f} decades on the way from the target: {} near it, {} at {}",
                               growth.decades, numberText(growth.nearTarget), numberText(growth.largest), largest);
    if (isLargeAtInputs) {
        finding.what += fmt::format("; the inputs get {:.1f} decades more than what started", decadesAtInputs(facts));
    }
    finding.means = fmt::format("What multiplies it most is {} ({} times).", facts.graph().labelOf(growth.steepestAt),
                                numberText(growth.steepest));
    finding.remedy =
        "Parallel branches that are added want magnitudes: --rule 'structure:\"sum of operands\"=abs-ratio'"
        "; convolutions beside attention want --rule op:Conv=z-plus";
    finding.numbers = {{"decades", growth.decades}, {"largest", growth.largest}, {"near_target", growth.nearTarget}};
    finding.threshold = kMostDecades;
    finding.action = {"switch composite", {{"node", largest}}, {}};
}

} // namespace

const Check flowExplodes{
    "flow.explodes", "log10 of the largest Σ|R| / the largest in the last fifth of the values towards the target",
    kMostDecades,    "up to 0.77 (trained), 0.99 (random weights); under epsilon ViT-B/16 reaches 2.1: narrow",
    Need::Conserved, true,
    findExplosion};

} // namespace retro::diagnosis
