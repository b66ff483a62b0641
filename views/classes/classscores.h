// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/viewcontext.h"

#include <QString>

#include <cstdint>
#include <span>
#include <vector>

namespace retro::views
{

/// A class with how sure the model is.
struct ClassScore
{
    std::int64_t index = 0;
    QString name;
    double probability = 0;
    double score = 0;
    bool isTarget = false; ///< the class that is explained
};

/// The answer of a model: best classes first.
struct ClassAnswer
{
    std::vector<ClassScore> best;
    std::int64_t classes = 0;
    bool hasScores = true; ///< false when the output is probabilities already
    QString says;          ///< name of the best class
    QString truth;         ///< name of the true class; may be empty
};

/// Softmax, stable for large scores.
[[nodiscard]] std::vector<double> probabilitiesOf(std::span<const double> scores);

/// The `count` best classes of the explained output, and the explained class when it is none of them. Empty when the
/// output is not one row of scores (N × C, sample 0).
[[nodiscard]] ClassAnswer classAnswer(const RunModel& model, std::size_t count = 5);

/// "The model says mug. The truth is jug."
[[nodiscard]] QString answerSentence(const ClassAnswer& answer);

} // namespace retro::views
