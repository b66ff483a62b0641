// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/facts.h"
#include "core/diagnosis/population.h"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace retro::diagnosis
{

/// A node of the model's file as another one: with the attributes of `node` and some operands that are new constants.
struct Replacement
{
    NodeId id; ///< in the graph of the model's file
    graph::Node node;
    std::vector<std::pair<std::size_t, Tensor>> constants; ///< by operand
};

/// What the answer for the input at hand becomes with a replacement; of a folder, for its first inputs as well.
struct ReplacedAnswer
{
    std::int64_t classBefore = -1; ///< the best one
    std::int64_t classAfter = -1;
    double before = 0; ///< probability of the class that was best
    double after = 0;
    std::size_t asked = 0;  ///< inputs of the folder; the others count these
    std::size_t others = 0; ///< get another class
    std::size_t rightBefore = 0;
    std::size_t rightAfter = 0;

    /// Another class is best, or the probability of the one that was changes by more than a tenth, or more than a tenth
    /// of the folder's inputs get another class.
    [[nodiscard]] bool isOther() const;
};

/// Runs the model of the file with a replacement on the input of the pass and those of the folder. Nothing where no
/// passes are made, the target is no row of scores, or the model cannot run so.
[[nodiscard]] std::optional<ReplacedAnswer> replacedAnswer(const Facts& facts, const Replacement& replacement);

/// How many of a labelled folder's first inputs get their class with a replacement. Given up, as no gain, where fewer
/// than two of the first three that are wrong get it. Errors: none; no gain where the model cannot run so.
[[nodiscard]] RightGain gainOf(const Facts& facts, const Replacement& replacement);

/// "made like them, the class is 3 (disc), not 1 (ring)"; of the same class how its probability changes; of a folder
/// how many inputs get their class, or another one.
[[nodiscard]] std::string replacedText(const Facts& facts, const ReplacedAnswer& answer);

/// What differs in a model by itself is a note; with an effect on the answer it is a warning of that base, and the
/// sentence says the effect.
void raiseByEffect(const Facts& facts, const Replacement& replacement, double base, Finding& finding);

} // namespace retro::diagnosis
