// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/growthalong.h"
#include "core/diagnosis/numbertext.h"
#include "core/lrp/composite/ruleoverride.h"

#include <fmt/format.h>

#include <array>

namespace retro::diagnosis
{

namespace
{

/// From how many decades on other composites are tried (section 4.6, flow.explodes), and how many the best one has to
/// save (section 4.7, rule.better: ≥ 1); e.
constexpr double kDecadesToTry = 2;
constexpr double kLeastSaved = 1;
constexpr double kBetterEffect = 0.5;

/// A composite that is tried, cheapest first (section 4.7).
struct Candidate
{
    std::vector<std::string> overrides;
    std::string_view why;
};

std::vector<Candidate> candidates()
{
    const std::string sums = "structure:\"sum of operands\"=abs-ratio";
    const std::string convolutions = "op:Conv=z-plus";
    return {{{sums}, "Sums are shared by magnitude, which gives up their signs."},
            {{convolutions}, "Convolutions hand on what is positive."},
            {{sums, convolutions},
             "Sums are shared by magnitude, which gives up their signs; convolutions hand on what "
             "is positive."}};
}

std::string optionsText(const Candidate& candidate)
{
    std::string text;
    for (const std::string& one : candidate.overrides) {
        text += (text.empty() ? "--rule '" : " --rule '") + one + "'";
    }
    return text;
}

/// D of the composite with the candidate's rules before it; nothing where that cannot be run.
std::optional<double> decadesWith(const Facts& facts, const Candidate& candidate)
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
    if (!growth.largestAt.isValid() || !(growth.decades > kDecadesToTry)) {
        return;
    }
    if (!facts.sources().makesPasses || !facts.sources().explainAgain) {
        return probe.notRun("no further passes are made");
    }
    std::optional<Candidate> best;
    double least = growth.decades;
    for (Candidate& candidate : candidates()) {
        const auto decades = facts.stop().stop_requested() ? std::nullopt : decadesWith(facts, candidate);
        if (decades && *decades < least && growth.decades - *decades >= kLeastSaved) {
            least = *decades;
            best = std::move(candidate);
        }
    }
    probe.measured(facts.graph().labelOf(growth.largestAt), growth.decades - least);
    if (!best) {
        return;
    }
    Finding& finding = probe.note(kBetterEffect, facts.place(growth.largestAt));
    finding.what =
        fmt::format("with other rules Σ|R| grows by {:.1f} decades in place of {:.1f}", least, growth.decades);
    finding.means = best->why;
    finding.remedy = "Explain with them";
    finding.numbers = {{"decades", growth.decades}, {"decades_with", least}};
    finding.threshold = kLeastSaved;
    finding.action = {"switch composite", {{"composite", facts.sources().composite}}, optionsText(*best)};
}

} // namespace

const Check ruleBetter{
    "rule.better",   "decades of growth that the best of three other composites saves, where relevance explodes",
    kLeastSaved,     "not tried: nothing explodes",
    Need::Conserved, false,
    findBetter};

} // namespace retro::diagnosis
