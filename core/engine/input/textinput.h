// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/formats/modelcard.h"
#include "core/graph/graph.h"
#include "core/tensor/tensor.h"

#include <filesystem>
#include <string_view>
#include <vector>

namespace retro::engine
{

/// Limits of a text that is given as input.
inline constexpr std::uint64_t kMostTextBytes = 1ULL << 20;
inline constexpr std::size_t kMostTokens = 65'536;

/// The numbers of a text by the card's vocabulary (docs/formats/card.md, "Texts"): pieces between white space, each
/// looked up as it stands, then in lower case, then without the punctuation around it; punctuation that is a word of
/// the vocabulary is a token of its own, other punctuation is left out. Errors (Input): the card has no vocabulary, a
/// word is not in it and the card names no word for unknown ones, no words or too many, no UTF-8.
[[nodiscard]] base::Result<std::vector<std::int64_t>> tokensOf(std::string_view text, const formats::ModelCard& card);

/// Reads a text file as the tokens of a model's input: 1 × tokens (or tokens, for an input of one axis). Errors as
/// tokensOf, and Input: the file, an input that is no row of integers, one that wants another number of tokens; Usage:
/// there is no card.
[[nodiscard]] base::Result<tensor::Tensor> textToInput(const std::filesystem::path& path, const graph::Value& input,
                                                       const formats::ModelCard* card);

} // namespace retro::engine
