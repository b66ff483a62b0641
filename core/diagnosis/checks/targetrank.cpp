// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/targetscores.h"
#include "core/trace/targetplace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

namespace retro::diagnosis
{

namespace
{

/// From which rank on the class asked for is a warning: beyond 2 and beyond the half of all (section 4.3,
/// target.rank), with e = ½·rank/N.
constexpr std::size_t kLastUsualRank = 2;
constexpr double kRankEffect = 0.5;

/// True for the class that the card of the model wants explained, by its number or label.
bool isOfCard(const Facts& facts, std::int64_t chosen)
{
    const formats::ModelCard* card = facts.card();
    if (card == nullptr || card->target.empty() || chosen < 0) {
        return false;
    }
    const auto at = static_cast<std::size_t>(chosen);
    const std::string number = std::to_string(chosen);
    const std::string& of = card->target;
    return of == number || of.ends_with("class=" + number) || of.ends_with("," + number) ||
           of.ends_with(":" + number) || (at < card->labels.size() && of.ends_with(card->labels[at]));
}

/// The best class at the place that was asked for, as a target is written: "logits:0,11,3".
std::string placeOfBest(const Facts& facts, ValueId target, const TargetScores& scores)
{
    const tensor::Shape shape = facts.shape(target);
    std::vector<std::int64_t> index(shape.size(), 0);
    const auto within = trace::indicesInSample(shape, facts.pass()->targetIndex.front());
    std::copy_backward(within.begin(), within.end(), index.end());
    index[scores.classAxis] = scores.best();
    return fmt::format("{}:{}", facts.graph().value(target).name, fmt::join(index, ","));
}

void findRank(const Facts& facts, Probe& probe)
{
    const ValueId target = facts.pass()->target;
    if (!target.isValid()) {
        return;
    }
    const bool hasRows = facts.shape(target).size() > 2; // of every token or pixel
    const std::vector<std::int64_t>& places = facts.pass()->targetIndex;
    if (hasRows && (places.size() != 1 || places.front() < 0)) {
        return probe.notRun("the target is more than one row of classes");
    }
    const TargetScores scores = scoresOf(facts, facts.value(target));
    const std::size_t rank = scores.rank();
    if (rank == 0 || scores.scores.size() < 2) {
        return;
    }
    if (isOfCard(facts, scores.chosen)) {
        return probe.notRun("the model's card names this target");
    }
    const std::string& name = facts.graph().value(target).name;
    probe.measured(name, static_cast<double>(rank));
    if (rank == 1) {
        return;
    }
    const double effect = kRankEffect * static_cast<double>(rank) / static_cast<double>(scores.scores.size());
    const bool isLow = rank > std::max(kLastUsualRank, scores.scores.size() / 2);
    Finding& finding = isLow ? probe.warning(2, effect, facts.place(target)) : probe.note(effect, facts.place(target));
    const std::int64_t best = scores.best();
    finding.what = fmt::format("target {} is not the best class: rank {} of {}, score {:.4g}; the best is {}, {:.4g}",
                               classText(facts, scores.chosen), rank, scores.scores.size(),
                               scores.scores[static_cast<std::size_t>(scores.chosen)], classText(facts, best),
                               scores.scores[static_cast<std::size_t>(best)]);
    finding.means = "Classes count from 0.";
    finding.remedy = "Explain the best";
    finding.numbers = {{"rank", static_cast<double>(rank)}, {"classes", static_cast<double>(scores.scores.size())}};
    finding.chart = barsOf("Scores of the classes; marked: the one asked for", scores.scores,
                           {static_cast<std::size_t>(scores.chosen)});
    finding.threshold = static_cast<double>(std::max(kLastUsualRank, scores.scores.size() / 2));
    const std::string instead = hasRows ? placeOfBest(facts, target, scores) : std::to_string(best);
    finding.action = {"choose target", {{"target", instead}}, "--target " + instead};
}

} // namespace

const Check targetRank{"target.rank",
                       "rank of the explained class among the scores of its row",
                       kLastUsualRank,
                       "1, where nobody chose another",
                       Need::Relevance | Need::Forward,
                       true,
                       findRank};

} // namespace retro::diagnosis
