// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/rewrite/rewrite.h"

#include <string>
#include <vector>

namespace retro::rewrite
{

/// The step of a layer that took in what scales and shifts beside it; `names` are its members, `isNorm` when they are
/// BatchNormalization, `isRight` when the layer stands behind them.
[[nodiscard]] RewriteStep mergedStep(const graph::Node& layer, bool isNorm, std::vector<std::string> names,
                                     bool isRight);
/// A note: numbers of the merged layer would be too large or too small for float32.
[[nodiscard]] RewriteStep outOfRangeNote(const graph::Node& layer, bool isNorm, const std::vector<std::string>& names);

} // namespace retro::rewrite
