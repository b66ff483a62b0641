// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/engine/model/loadmodel.h"
#include "core/tensor/tensor.h"

#include <string>
#include <vector>

namespace retro::engine
{

/// Fills in the inputs of a causal language model that nobody has to make by hand: a mask of ones, the positions of the
/// tokens, and a past without tokens. `inputs` per graph input, in order; those that are invalid are filled in where it
/// is known how, the others are left alone. Returns what was filled in, for people: "attention_mask: 1 for 14 tokens".
///
/// The tokens are the input `input_ids` (batch × tokens), or `inputs_embeds`, and must be there. A past is an input of
/// four axes whose name has "past" in it; it gets no rows, or as many rows as its window has keys where the model keeps
/// a window alone. Its heads and width are declared, or follow from `genai_config.json` or `config.json` beside the
/// model, or from the graph. With a past that is given the mask covers it, and positions begin behind it. The mask is 0
/// at the last `padding` tokens.
/// Errors (Input): a past whose width nothing tells (it names the input, and what to give).
[[nodiscard]] base::Result<std::vector<std::string>>
fillLanguageInputs(const LoadedModel& model, std::vector<tensor::Tensor>& inputs, std::int64_t padding = 0);

} // namespace retro::engine
