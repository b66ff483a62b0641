// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/formats/modelcard.h"
#include "core/tensor/tensor.h"

#include <string>
#include <vector>

namespace retro::engine
{

/// The words of a text that is given as numbers (integers, 1 × tokens), by the card's vocabulary; a number without a
/// word stays "#42". Empty when the card has no vocabulary or the tensor is no such text.
[[nodiscard]] std::vector<std::string> tokenWords(const formats::ModelCard& card, const tensor::Tensor& tokens);

} // namespace retro::engine
