// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/watched.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace retro::diagnosis
{

/// From so many inputs on a folder says something: of fewer a mean is that of a few of them.
inline constexpr std::size_t kLeastOfFolder = 8;

/// What a model says of every sample, its inputs made in one way.
struct Answers
{
    std::string words;              ///< what is another than asked for: "R and B exchanged"; empty: nothing
    std::string option;             ///< that asks for it: "--channels BGR"; empty likewise
    std::string output;             ///< the scores are those of this value, not of the target; empty: of the target
    std::vector<std::int64_t> best; ///< per sample: the class of the highest score
    std::vector<double> confidence; ///< per sample: the probability of that class (confidenceIn())
    std::vector<std::int64_t>
        moved{}; ///< per sample: its class when the picture is moved by a little; empty: not asked

    /// Mean share of positive relevance inside the boxes that the card names for what pictures show; −1: not asked.
    double onObject = -1;

    /// How many samples get the class that they have.
    [[nodiscard]] std::size_t right(const std::vector<std::int64_t>& truth) const;
    /// Mean over the samples; 0 of none.
    [[nodiscard]] double meanConfidence() const;
    /// Share of the samples whose class stays when they are moved by a little.
    [[nodiscard]] double steadiness() const;
    /// How many classes samples get.
    [[nodiscard]] std::size_t distinct() const;
};

/// The probability of a class: of scores that are probabilities (of sum 1) its score, of others its softmax.
[[nodiscard]] double probabilityIn(const std::vector<double>& scores, std::size_t index);
/// That of the best class; 0 of no scores.
[[nodiscard]] double confidenceIn(const std::vector<double>& scores);

/// What other inputs, or another model, make right. Clear where it is more than 0.2 of all samples, at least 4 of them,
/// and most are right then: with another fault something is gained by chance.
struct RightGain
{
    std::size_t before = 0; ///< right as given
    std::size_t after = 0;
    double share = 0; ///< after − before, of the samples; 0 where fewer are right
    double sure = 0;  ///< mean probability of the class that each has, where somebody looked

    [[nodiscard]] bool isClear() const;
};
inline constexpr double kMostOfGain = 0.2; ///< RightGain::share

/// What is known of many inputs of a model: of a folder, where somebody gives one in place of a file.
struct Population
{
    std::vector<std::string> files;          ///< per sample
    std::string shown;                       ///< name of the input that is asked about by itself; empty: unknown
    std::vector<std::int64_t> truth;         ///< per sample: its class; empty where nobody says
    std::int64_t classes = 0;                ///< scores of a sample
    Answers asGiven;                         ///< the inputs as somebody asked for them
    std::vector<std::vector<Tensor>> inputs; ///< of the first samples: per graph input
    std::vector<Answers> otherwise;          ///< made otherwise, of the first samples alone where there are many
    std::shared_ptr<const ModelFacts> model; ///< of the graph that `watched` is of; null: nothing was watched
    std::vector<Watched> watched;            ///< values over the first samples
    std::size_t watchedSamples = 0;
    /// Of pictures: per one of the first samples, the share of positive relevance in each of 5 × 5 fields, row by row.
    std::vector<std::vector<double>> fields;
    std::string why; ///< nothing is known: "the target is no row of scores"; else empty

    /// The answers as given of as many samples as these are of.
    [[nodiscard]] Answers givenFor(const Answers& answers) const;
    [[nodiscard]] RightGain gainOf(const Answers& answers) const;
    [[nodiscard]] bool hasTruth() const { return why.empty() && !truth.empty(); }
    /// How many samples of the class `of` get the class `as`.
    [[nodiscard]] std::size_t count(std::int64_t of, std::int64_t as) const;
    /// The pair of different classes, truth first, that most samples are mistaken in; nothing where all are right.
    [[nodiscard]] std::optional<std::pair<std::int64_t, std::int64_t>> mostMistaken() const;
};

} // namespace retro::diagnosis
