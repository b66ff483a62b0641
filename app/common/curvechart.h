// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/engine/evaluate/evaluation.h"

#include <filesystem>

namespace retro::app
{

/// Draws the flipping curves of an evaluation, a panel per method with one scale of scores for all, and below them how
/// alike the attributions stay while layers are randomised, where that was asked for; by the extension: .png, .svg,
/// .pdf. Errors: Usage (another extension), Output.
[[nodiscard]] base::Result<void> writeCurves(const std::filesystem::path& path, const engine::Evaluation& evaluation);

} // namespace retro::app
