// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/formats/scores.h"
#include "views/common/viewcontext.h"

#include <QString>

#include <cstdint>
#include <optional>
#include <vector>

namespace retro::views
{

/// A class with how sure the model is. Outputs that are no class scores have no probability.
struct ClassScore
{
    std::int64_t index = 0;
    QString name;
    std::optional<double> probability;
    double score = 0;
    double bar = 0;        ///< length of its bar, 0 to 1: the probability, else the part of the largest magnitude
    bool isTarget = false; ///< the class that is explained
};

/// The answer of a model: best classes first.
struct ClassAnswer
{
    std::vector<ClassScore> best;
    std::int64_t classes = 0;
    formats::ScoreKind kind = formats::ScoreKind::Logits;
    QString says;  ///< name of the best class
    QString truth; ///< name of the true class; may be empty
    /// The classes are segments of a dense output: the probability is the share of the places where it wins, the score
    /// the sum there.
    bool isSegments = false;
};

/// The `count` best classes of the explained output, and the explained class when it is none of them. Empty when the
/// output is not one row of scores (N × C, sample 0), nor one for each pixel (then its segments).
[[nodiscard]] ClassAnswer classAnswer(const RunModel& model, std::size_t count = 5);

/// "The model says mug. The truth is jug."; "Of 4 outputs, house is the largest." for outputs that are no class scores.
[[nodiscard]] QString answerSentence(const ClassAnswer& answer);

} // namespace retro::views
