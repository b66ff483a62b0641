// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/candidaterules.h"
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/growthalong.h"
#include "core/diagnosis/numbertext.h"
#include "core/lrp/composite/ruleoverride.h"

#include <fmt/format.h>

namespace retro::diagnosis
{

namespace
{

constexpr double kBetterEffect = 0.5; // e

/// D of the composite with the candidate's rules before it; nothing where that cannot be run.
std::optional<double> decadesWith(const Facts& facts, const CandidateRules& candidate)
{
    lrp::Specification named = lrp::splitSpecification(facts.sources().composite);
    named.overrides.insert(named.overrides.begin(), candidate.overrides.begin(), candidate.overrides.end());
    Variation variation;
    variation.composite = lrp::joinSpecification(named);
    base::Result<Pass> made = facts.sources().explainAgain(variation);
    if (!made) {
        return std::nullopt;
    }
    Sources sources;
    sources.stop = facts.stop();
    sources.makePass = [pass = std::move(made).value()]() -> base::Result<Pass> { return pass; };
    return growthAlong(Facts(std::move(sources))).decades;
}

void findBetter(const Facts& facts, Probe& probe)
{
    const GrowthAlong growth = growthAlong(facts);
    if (!growth.largestAt.isValid() || !(growth.decades > kMostDecades)) {
        return;
    }
    if (!facts.sources().makesPasses || !facts.sources().explainAgain) {
        return probe.notRun("no further passes are made");
    }
    const CandidateRules* best = nullptr;
    double least = growth.decades;
    for (const CandidateRules& candidate : candidateRules()) {
        const auto decades = facts.stop().stop_requested() ? std::nullopt : decadesWith(facts, candidate);
        if (decades && *decades < least && growth.decades - *decades >= kLeastDecadesSaved) {
            least = *decades;
            best = &candidate;
        }
    }
    probe.measured(facts.graph().labelOf(growth.largestAt), growth.decades - least);
    if (best == nullptr) {
        return;
    }
    Finding& finding = probe.note(kBetterEffect, facts.place(growth.largestAt));
    finding.what =
        fmt::format("with other rules Σ|R| grows by {:.1f} decades in place of {:.1f}", least, growth.decades);
    finding.means = best->why;
    finding.remedy = "Explain with them";
    finding.numbers = {{"decades", growth.decades}, {"decades_with", least}};
    finding.threshold = kLeastDecadesSaved;
    finding.action = {"switch composite", {{"composite", facts.sources().composite}}, best->options()};
}

} // namespace

const Check ruleBetter{
    "rule.better",      "decades of growth that the best of three other composites saves, where relevance explodes",
    kLeastDecadesSaved, "not tried: nothing explodes",
    Need::Conserved,    false,
    findBetter};

} // namespace retro::diagnosis
