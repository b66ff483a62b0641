// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/gradient/parameters.h"
#include "core/execute/boundmodel.h"

#include <optional>
#include <stop_token>
#include <vector>

namespace retro::engine
{

/// The model with what the embeddings of its tokens make as inputs, behind those that it has: numbers of tokens get no
/// gradient, these values do. They have the names and the data that the model gives them for `inputs` (per graph input,
/// in order). None where nothing is to be opened: an input has floating numbers, and `isText` does not say that the
/// question is one about a text. Errors: Input (no embedding of tokens), as bindModel(), execute::forward(); Cancelled.
[[nodiscard]] base::Result<std::optional<OpenedParameters>> openEmbeddings(const LoadedModel& model,
                                                                           const std::vector<tensor::Tensor>& inputs,
                                                                           execute::Precision precision, bool isText,
                                                                           const std::stop_token& stop = {});

} // namespace retro::engine
