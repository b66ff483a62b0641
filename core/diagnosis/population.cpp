// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/population.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

namespace retro::diagnosis
{

std::size_t Answers::right(const std::vector<std::int64_t>& truth) const
{
    std::size_t count = 0;
    for (std::size_t i = 0; i < best.size(); ++i) {
        count += best[i] == truth[i] ? 1 : 0;
    }
    return count;
}

double Answers::meanConfidence() const
{
    const double sum = std::accumulate(confidence.begin(), confidence.end(), 0.0);
    return confidence.empty() ? 0 : sum / static_cast<double>(confidence.size());
}

double Answers::steadiness() const
{
    return moved.empty() ? 0 : static_cast<double>(right(moved)) / static_cast<double>(moved.size());
}

std::size_t Answers::distinct() const { return std::set(best.begin(), best.end()).size(); }

double probabilityIn(const std::vector<double>& scores, std::size_t index)
{
    const double largest = *std::ranges::max_element(scores);
    double sum = 0;
    double powers = 0;
    for (const double score : scores) {
        sum += score;
        powers += std::exp(score - largest);
    }
    constexpr double kSumOfProbabilities = 1e-3; // that rounding leaves
    const bool areProbabilities =
        std::ranges::all_of(scores, [](double score) { return score >= 0; }) && std::abs(sum - 1) < kSumOfProbabilities;
    return areProbabilities ? scores[index] : std::exp(scores[index] - largest) / powers;
}

double confidenceIn(const std::vector<double>& scores)
{
    const auto best = static_cast<std::size_t>(std::ranges::max_element(scores) - scores.begin());
    return scores.empty() ? 0 : probabilityIn(scores, best);
}

bool RightGain::isClear() const
{
    constexpr std::size_t kLeastGained = 4;
    constexpr double kLeastRight = 0.6;
    const double samples = share > 0 ? static_cast<double>(after - before) / share : 0;
    return share > kMostOfGain && after >= before + kLeastGained && static_cast<double>(after) > kLeastRight * samples;
}

Answers Population::givenFor(const Answers& answers) const
{
    Answers given = asGiven;
    given.best.resize(answers.best.size());
    given.confidence.resize(answers.best.size());
    return given;
}

RightGain Population::gainOf(const Answers& answers) const
{
    RightGain gain{givenFor(answers).right(truth), answers.right(truth)};
    const auto samples = static_cast<double>(answers.best.size());
    gain.share = gain.after > gain.before ? static_cast<double>(gain.after - gain.before) / samples : 0;
    return gain;
}

std::size_t Population::count(std::int64_t of, std::int64_t as) const
{
    std::size_t count = 0;
    for (std::size_t i = 0; i < truth.size(); ++i) {
        count += truth[i] == of && asGiven.best[i] == as ? 1 : 0;
    }
    return count;
}

std::optional<std::pair<std::int64_t, std::int64_t>> Population::mostMistaken() const
{
    std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> mistaken;
    for (std::size_t i = 0; i < truth.size(); ++i) {
        if (truth[i] != asGiven.best[i]) {
            ++mistaken[{truth[i], asGiven.best[i]}];
        }
    }
    const auto most = std::ranges::max_element(mistaken, {}, [](const auto& one) { return one.second; });
    return most == mistaken.end() ? std::nullopt : std::optional(most->first);
}

} // namespace retro::diagnosis
