// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/model/loadmodel.h"
#include "core/engine/question/question.h"
#include "core/engine/results/batch.h"

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace retro::engine
{

/// What is done to inputs before a pass.
using Change = std::function<void(std::vector<tensor::Tensor>&)>;

/// Another way in which inputs are made: a question that asks for it, or what is done to their numbers.
struct OtherWay
{
    std::string words;
    Question question;
    std::string options{}; ///< that ask for it
    Change change{};
};

/// From where a picture's pixel comes, both in parts of its sides: (row, column) → (row, column).
using Warp = std::function<std::pair<double, double>(double, double)>;

/// What warps every picture among the inputs: `slots` are theirs, `card` (may be null) says where their axes are.
[[nodiscard]] Change warping(std::vector<std::size_t> slots, const formats::ModelCard* card, Warp warp);

/// The alternatives that a model admits for inputs that are given like these: other numbers for pixels and other frames
/// of pictures; other numbers for tokens, masks and arrays; of texts other tokenizers that lie beside it. Of pictures
/// `asked` says in full how they are prepared then, and `pictures` which inputs they are. Errors: options of pictures
/// that do not fit.
[[nodiscard]] base::Result<std::vector<OtherWay>> alternativesFor(const LoadedModel& model,
                                                                  const std::vector<BatchItem>& items, bool areLabelled,
                                                                  Question& asked, std::vector<std::size_t>& pictures);

} // namespace retro::engine
