// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/facts.h"

#include <optional>
#include <string>
#include <vector>

namespace retro::diagnosis
{

/// What holds of an explanation, or of a folder, as a whole. It is said before any finding.
struct HeadFact
{
    std::string id;   ///< "score", "probability", "arrives", "bias", "stabiliser", "accuracy", …
    std::string text; ///< "16 % of the score arrives at the inputs"
    double number = 0;
    bool isUnusual = false; ///< the heatmap cannot be read without it
};

/// Of the pass: score and class, its probability, how much of the score arrives at the inputs, what biases, stabilisers
/// and denominators of 0 took, z-boxes behind other layers. Of a folder: how many inputs are right, how sure the model
/// is of them, what it mistakes most. What is not known is left out.
[[nodiscard]] std::vector<HeadFact> headFactsOf(const Facts& facts);

/// All of them in one sentence, which begins with a capital letter: "Score 2.37 of class 1 (mug), …"; what is unusual
/// has a "!" in front. Empty where nothing is known.
[[nodiscard]] std::string headlineOf(const std::vector<HeadFact>& facts);

/// What a cause took over the whole run, of what started; nothing where that is unknown or adds up to about 0.
[[nodiscard]] std::optional<double> shareOfStart(const Facts& facts, event::Cause cause);

} // namespace retro::diagnosis
