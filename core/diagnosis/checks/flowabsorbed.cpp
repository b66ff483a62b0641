// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace retro::diagnosis
{

namespace
{

/// What the whole run loses or gains, of what started. Trained models lose up to 1.2 times of it to their biases, so it
/// is a note, below any finding about a single node.
constexpr double kMostAbsorbed = 0.25;
constexpr double kAbsorbedEffect = 0.5;
/// Σ|R| is not the measure here, so what started must not cancel; nor may relevance be under way.
constexpr double kLeastOfMagnitude = 0.05;
constexpr double kMostUnderWay = 0.01;
/// Causes and places that are told.
constexpr double kToldShare = 0.01;
constexpr std::size_t kMostPlaces = 3;

/// A rule means to keep these back: it hands on no more than that, whatever arrives.
constexpr std::array kMeant{event::Cause::Duplicate, event::Cause::Gradient, event::Cause::Filter,
                            event::Cause::TaylorRest};

bool isMeant(std::size_t cause) { return std::ranges::find(kMeant, static_cast<event::Cause>(cause)) != kMeant.end(); }

/// A part of what started, and the cause or the place that has it.
struct AbsorbedPart
{
    std::string name;
    double share = 0;
};

/// What the ledger has of a run, as shares of what started, with their signs.
struct Absorbed
{
    double share = 0;
    double lost = 0; ///< with what rules mean to keep back
    std::vector<AbsorbedPart> causes;
    std::vector<AbsorbedPart> places;
};

/// Those that are as large as to be told, largest first. Of the sign of the whole alone.
std::vector<AbsorbedPart> largestOf(std::vector<AbsorbedPart> parts, double whole)
{
    std::erase_if(parts,
                  [whole](const AbsorbedPart& part) { return !(part.share * (whole < 0 ? -1 : 1) > kToldShare); });
    std::ranges::stable_sort(
        parts, [](const AbsorbedPart& a, const AbsorbedPart& b) { return std::abs(a.share) > std::abs(b.share); });
    return parts;
}

Absorbed absorbedIn(const Facts& facts)
{
    const double started = facts.pass()->started;
    Absorbed all;
    for (std::size_t c = 0; c < event::kCauseCount; ++c) {
        all.causes.push_back({std::string(event::nameOf(static_cast<event::Cause>(c)))});
    }
    all.causes.push_back({"unexplained"});
    for (std::size_t i = 0; i < facts.graph().runNodeCount(); ++i) {
        const trace::NodeBalance& balance = facts.balance(NodeId(i));
        AbsorbedPart place{facts.graph().labelOf(NodeId(i))};
        for (std::size_t c = 0; c <= event::kCauseCount; ++c) {
            const double share = (c < event::kCauseCount ? balance.causes[c] : balance.unexplained) / started;
            all.lost += share;
            if (c == event::kCauseCount || !isMeant(c)) {
                place.share += share;
                all.causes[c].share += share;
            }
        }
        all.share += place.share;
        all.places.push_back(std::move(place));
    }
    all.causes = largestOf(std::move(all.causes), all.share);
    all.places = largestOf(std::move(all.places), all.share);
    return all;
}

std::string partsText(const std::vector<AbsorbedPart>& parts)
{
    std::vector<std::string> words;
    for (const AbsorbedPart& part : parts) {
        words.push_back(fmt::format("{} {}", part.name, percentText(std::abs(part.share))));
    }
    return fmt::format("{}", fmt::join(words, ", "));
}

/// How much that is, and by what.
std::string absorbedText(const Absorbed& all)
{
    const std::vector<AbsorbedPart> places(all.places.begin(),
                                           all.places.begin() + std::min(kMostPlaces, all.places.size()));
    const std::string share = percentText(std::abs(all.share));
    const std::string how = all.share < 0   ? fmt::format("{} of what started is added on the way", share)
                            : all.share > 1 ? fmt::format("more than started is absorbed on the way, {} of it", share)
                                            : fmt::format("{} of what started is absorbed on the way", share);
    return fmt::format("{} ({}), most of it at {}", how, partsText(all.causes), partsText(places));
}

/// What the heatmap then is about.
std::string arrivingText(double arrives)
{
    const std::string share = percentText(arrives);
    if (arrives < 0) {
        return fmt::format("{} arrives at the inputs: what they show as a whole has the other sign than the score.",
                           share);
    }
    return arrives > 1 ? fmt::format("{} arrives at the inputs: they show more than the score.", share)
                       : fmt::format("{} arrives at the inputs: the heatmap is about that part of the score.", share);
}

void findAbsorbed(const Facts& facts, Probe& probe)
{
    const Pass& pass = *facts.pass();
    if (!(std::abs(pass.started) > kLeastOfMagnitude * facts.start())) {
        return probe.notRun(facts.start() > 0 ? "what started adds up to about 0" : "no relevance started");
    }
    const Absorbed all = absorbedIn(facts);
    const double arrives = pass.arrived / pass.started;
    if (!(std::abs(1 - all.lost - arrives) <= kMostUnderWay)) {
        return probe.notRun("the pass ended before all of it arrived");
    }
    const double size = std::abs(all.share);
    const std::string most = all.places.empty() ? std::string() : all.places.front().name;
    probe.measured(most, size);
    if (!(size > kMostAbsorbed) || all.places.empty()) {
        return;
    }
    Finding& finding = probe.note(kAbsorbedEffect * std::min(1.0, size), facts.place(pass.target));
    finding.what = absorbedText(all);
    finding.means = arrivingText(arrives);
    finding.remedy = "Look at these places in the ledger";
    finding.numbers = {{"absorbed_of_start", all.share}, {"arrives_of_start", arrives}};
    finding.threshold = kMostAbsorbed;
    finding.action = {"go to node", {{"node", most}}, {}};
}

} // namespace

const Check flowAbsorbed{
    "flow.absorbed", "what the whole run loses or gains but by rules that mean to, of what started",
    kMostAbsorbed,   "up to 1.5 (trained): a note",
    Need::Conserved, true,
    findAbsorbed};

} // namespace retro::diagnosis
