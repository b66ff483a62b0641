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
    std::size_t input = 0;   ///< position of the tokens among the graph's inputs: batch × tokens
    base::ValueId tokens;    ///< that input; of an encoder and a decoder, the text of the decoder
    base::ValueId scores;    ///< batch × tokens × words; else what a classifier gives
    std::int64_t words = 0;  ///< of the table of embeddings; 0 = not known
    bool predicts = false;   ///< the scores are of the words of that table
    bool hasRows = true;     ///< the scores have a row for each token, as far as they say
    bool asksWords = true;   ///< these rows are of words, as far as they say; else they are of other classes
    bool scoresLast = false; ///< the rows are left out but for that of the last token
    std::int64_t length = 0; ///< tokens that the input of a model of classes always has; 0 = any number of them
    std::optional<std::size_t> source = {}; ///< position of the tokens that an encoder reads, beside those of a decoder
};

/// The tokens are an input `input_ids`, else one whose numbers choose rows of a table; of several, the one whose rows
/// the scores have. The scores are the output `logits`, else the first one of three axes, else the first one of floats.
/// None where no input has tokens, or no output floats.
[[nodiscard]] std::optional<LanguageModel> languageModel(const LoadedModel& model);

/// Whether a text is what the model is likely asked about: its scores have a row for each token, it has a tokenizer, or
/// its input is called one of tokens. Else its numbers may be of anything that a table is looked up for.
[[nodiscard]] bool readsTexts(const LoadedModel& model);

/// Rows of the table from which the numbers of an input choose; 0 = not known.
[[nodiscard]] std::int64_t wordsOf(const LoadedModel& model, std::size_t input);

/// The tensors of all inputs: these tokens, those of `source` for the encoder, what the question gives, and what can be
/// made: masks of ones, with 0 at the last `padding` tokens, the positions of the tokens. Errors: as resolveInputs().
[[nodiscard]] base::Result<std::vector<tensor::Tensor>>
languageInputs(const LoadedModel& model, const LanguageModel& language, const Question& question,
               std::span<const std::int64_t> tokens, std::span<const std::int64_t> source = {},
               std::int64_t padding = 0);

} // namespace retro::engine
