// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/facts.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace retro::diagnosis
{

/// Relevance of the tokens of one text, and the position at which a word of it is explained.
struct TokenRelevance
{
    ValueId input;
    std::vector<double> magnitudes; ///< |R| per token
    double all = 0;                 ///< Σ |R|
    std::int64_t position = 0;      ///< of the target
};

/// Of a pass whose target is an element of batch × tokens × words, of one text whose tokens have relevance; else
/// nothing.
[[nodiscard]] std::optional<TokenRelevance> tokenRelevance(const Facts& facts);

} // namespace retro::diagnosis
