// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/headline.h"

#include "core/diagnosis/box.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/population.h"
#include "core/diagnosis/targetscores.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>

namespace retro::diagnosis
{

namespace
{

/// Beyond these a heatmap is about something else than it seems: less of the score than that arrives, or more; biases,
/// stabilisers or denominators of 0 take more; the probability of the class is that many times chance, or less.
constexpr double kLeastArrives = 0.25;
constexpr double kMostArrives = 1.75;
constexpr double kMostOfBias = 0.5;
constexpr double kMostOfStabiliser = 0.1;
constexpr double kMostOfZeros = 0.25;
constexpr double kTimesChance = 1.5;
constexpr double kMostOfOthers = 0.5;
/// Less is not told.
constexpr double kToldShare = 0.01;
constexpr double kToldOther = 0.05;
/// So many wrong inputs are told one by one.
constexpr std::size_t kFewWrong = 4;
/// Where what started cancels, shares of it say nothing.
constexpr double kLeastOfMagnitude = 0.05;

void addScore(const Facts& facts, std::vector<HeadFact>& all)
{
    const Pass& pass = *facts.pass();
    if (pass.targetScore.empty() || !pass.target.isValid()) {
        return;
    }
    const double score = pass.targetScore.front();
    const TargetScores row = scoresOf(facts, pass.hasForward ? facts.value(pass.target) : Tensor());
    const std::string of = row.chosen < 0 ? std::string() : fmt::format(" of class {}", classText(facts, row.chosen));
    const Population* folder = facts.sources().population.get();
    const std::string whose = folder == nullptr || folder->shown.empty() ? std::string() : folder->shown + ": ";
    all.push_back({"score", fmt::format("{}score {}{}", whose, numberText(score), of), score, score < 0});
    if (row.chosen < 0 || row.scores.size() < 2) {
        return;
    }
    const auto classes = static_cast<double>(row.scores.size());
    const double own = probabilityIn(row.scores, static_cast<std::size_t>(row.chosen));
    const std::string rank =
        row.rank() == 1 ? std::string() : fmt::format(", rank {} of {}", row.rank(), row.scores.size());
    all.push_back(
        {"probability", fmt::format("probability {}{}", percentText(own), rank), own, own < kTimesChance / classes});
}

void addFlow(const Facts& facts, std::vector<HeadFact>& all)
{
    const Pass& pass = *facts.pass();
    if (!pass.hasRelevance || pass.isGradient || !(std::abs(pass.started) > kLeastOfMagnitude * facts.start())) {
        return;
    }
    const double arrives = pass.arrived / pass.started;
    all.push_back({"arrives", fmt::format("{} of the score arrives at the inputs", percentText(arrives)), arrives,
                   arrives < kLeastArrives || arrives > kMostArrives});
    struct Taken
    {
        event::Cause cause;
        const char* id;
        const char* what;
        double most;
        double told;
    };
    for (const Taken& taken :
         {Taken{event::Cause::Bias, "bias", "biases", kMostOfBias, kToldShare},
          Taken{event::Cause::Stabiliser, "stabiliser", "stabilisers (epsilon)", kMostOfStabiliser, kToldShare},
          Taken{event::Cause::ZeroDenominator, "zero_denominator", "denominators of 0", kMostOfZeros, kToldShare},
          Taken{event::Cause::TaylorRest, "taylor_rest", "rests of first-order expansions", kMostOfOthers, kToldOther},
          Taken{event::Cause::Constant, "constant", "constant operands", kMostOfOthers, kToldOther},
          Taken{event::Cause::Unread, "padding", "paddings", kMostOfOthers, kToldOther},
          Taken{event::Cause::ClippedSign, "clipped_sign", "signs that rules cut off", kMostOfOthers, kToldOther},
          Taken{event::Cause::Filter, "filter", "ways that rules stop", kMostOfOthers, kToldOther}}) {
        const double share = shareOfStart(facts, taken.cause).value_or(0);
        if (std::abs(share) > taken.told) {
            all.push_back(
                {taken.id,
                 fmt::format("{} {} {}", taken.what, share < 0 ? "add" : "take", percentText(std::abs(share))), share,
                 std::abs(share) > taken.most});
        }
    }
}

/// True where a layer with weights lies on the way to what a node reads.
bool isBehindLayers(const Facts& facts, NodeId id)
{
    const graph::Graph& graph = facts.graph();
    const std::vector<bool> before = ancestorsOf(graph, graph.node(id).inputs.front());
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        const bool isLayer = before[i] && (facts.isKind(NodeId(i), ops::StructureKind::LinearMap) ||
                                           facts.isKind(NodeId(i), ops::StructureKind::Bilinear));
        if (isLayer && NodeId(i) != id) {
            return true;
        }
    }
    return false;
}

void addBoxes(const Facts& facts, std::vector<HeadFact>& all)
{
    const Pass& pass = *facts.pass();
    for (std::size_t i = 0; i < pass.rules.size(); ++i) {
        const bool isBox = i < facts.graph().nodeCount() && !facts.graph().node(NodeId(i)).inputs.empty() &&
                           boxOf(pass.rules[i].rule).has_value();
        if (isBox && isBehindLayers(facts, NodeId(i))) {
            all.push_back({"z-box",
                           fmt::format("{} has a z-box, which is for layers that read the input",
                                       facts.graph().labelOf(NodeId(i))),
                           static_cast<double>(i), true});
            return;
        }
    }
}

/// The inputs that are wrong, and what they are taken for.
void addWrong(const Facts& facts, const Population& folder, std::vector<HeadFact>& all)
{
    std::string text;
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < folder.truth.size(); ++i) {
        if (folder.asGiven.best[i] != folder.truth[i]) {
            text += fmt::format("{}{} is taken for {}", wrong++ == 0 ? "" : ", ",
                                std::filesystem::path(folder.files[i]).filename().string(),
                                classText(facts, folder.asGiven.best[i]));
        }
    }
    all.push_back({"mistaken", std::move(text), static_cast<double>(wrong), false});
}

void addFolder(const Facts& facts, std::vector<HeadFact>& all)
{
    const Population& folder = *facts.sources().population;
    const std::size_t samples = folder.asGiven.best.size();
    if (!folder.why.empty() || samples == 0) {
        return;
    }
    const double confidence = folder.asGiven.meanConfidence();
    const double chance = 1.0 / static_cast<double>(folder.classes);
    if (folder.hasTruth()) {
        const std::size_t right = folder.asGiven.right(folder.truth);
        const double accuracy = static_cast<double>(right) / static_cast<double>(samples);
        all.push_back(
            {"accuracy",
             fmt::format("of the folder {} of {} inputs are right ({})", right, samples, percentText(accuracy)),
             accuracy, accuracy < kTimesChance * chance});
        if (samples - right <= kFewWrong && right < samples) {
            addWrong(facts, folder, all);
        } else if (const auto pair = folder.mostMistaken()) {
            const auto count = static_cast<double>(folder.count(pair->first, pair->second));
            all.push_back({"mistaken",
                           fmt::format("{} of class {} get {}", count, classText(facts, pair->first),
                                       classText(facts, pair->second)),
                           count, false});
        }
    }
    all.push_back({"confidence",
                   fmt::format("the best class of {} inputs has {} on average", samples, percentText(confidence)),
                   confidence, confidence < kTimesChance * chance});
}

} // namespace

std::vector<HeadFact> headFactsOf(const Facts& facts)
{
    std::vector<HeadFact> all;
    if (facts.pass() != nullptr) {
        if (facts.sources().population != nullptr) {
            addFolder(facts, all);
        }
        addScore(facts, all);
        addFlow(facts, all);
        addBoxes(facts, all);
    }
    return all;
}

std::string headlineOf(const std::vector<HeadFact>& facts)
{
    std::string line;
    for (const HeadFact& fact : facts) {
        const char* const joined = line.empty() ? "" : fact.id == "score" || fact.id == "z-box" ? "; " : ", ";
        line += fmt::format("{}{}{}", joined, fact.isUnusual ? "! " : "", fact.text);
    }
    const std::size_t first = line.starts_with("! ") ? 2 : 0;
    if (first < line.size()) {
        line[first] = static_cast<char>(std::toupper(static_cast<unsigned char>(line[first])));
    }
    return line;
}

std::optional<double> shareOfStart(const Facts& facts, event::Cause cause)
{
    const Pass* pass = facts.pass();
    if (pass == nullptr || !pass->hasRelevance || !(std::abs(pass->started) > kLeastOfMagnitude * facts.start())) {
        return std::nullopt;
    }
    double amount = 0;
    for (const event::LedgerEntry& row : pass->ledger) {
        amount += row.causes[static_cast<std::size_t>(cause)];
    }
    return amount / pass->started;
}

} // namespace retro::diagnosis
