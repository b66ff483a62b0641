// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/formats/modelcard.h"

#include <filesystem>
#include <string>
#include <vector>

namespace retro::formats
{

/// Largest card in bytes that is read, and written to again.
inline constexpr std::size_t kMaxCardBytes = 4U << 20U;

/// Writes what a person can choose (kind, layout, channels, scale, mean and std of the input, composite, target,
/// rewrites that are off) of `card` into the card beside `model`, as a whole or not at all. Every other field of a card
/// that is there already, known to us or not, stays with its value and its place. Returns false when the file already
/// says all that. Errors: Input (the file there is no card that we can read), Output (the folder cannot be written).
[[nodiscard]] base::Result<bool> saveCardChoices(const std::filesystem::path& model, const ModelCard& card);

/// Writes which findings of a diagnosis are no problem (ModelCard::notAProblem) into the card beside `model`, which is
/// made where there is none, and leaves every other field as it is. Errors: Input (the file there is no card that we
/// can read), Output (the folder cannot be written).
[[nodiscard]] base::Result<void> saveNotAProblem(const std::filesystem::path& model,
                                                 const std::vector<std::string>& findings);

} // namespace retro::formats
