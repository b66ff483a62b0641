// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/engine/input/inputs.h"
#include "core/engine/model/loadmodel.h"
#include "core/engine/question/question.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace retro::engine
{

/// What a model that reads tokens has where.
struct LanguageModel
{
    std::size_t input = 0;  ///< position of the tokens among the graph's inputs: batch × tokens
    base::ValueId tokens;   ///< that input
    base::ValueId scores;   ///< batch × tokens × words
    std::int64_t words = 0; ///< of the table of embeddings; 0 = not known
    bool predicts = false;  ///< the scores are of the words of that table
};

/// The tokens are the input `input_ids`, else the one whose numbers choose rows of a table; the scores are the output
/// `logits`, else the first one of three axes. None where the model is none of that.
[[nodiscard]] std::optional<LanguageModel> languageModel(const LoadedModel& model);

/// The tensors of all inputs: these tokens, what the question gives, and what can be made: masks of ones, the positions
/// of the tokens. Errors: as resolveInputs().
[[nodiscard]] base::Result<std::vector<tensor::Tensor>>
languageInputs(const LoadedModel& model, const LanguageModel& language, const Question& question,
               const PictureDecoder& decode, std::span<const std::int64_t> tokens);

} // namespace retro::engine
