// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/region/history.h"
#include "views/common/run/historyfacts.h"
#include "views/common/run/regionfacts.h"

namespace retro::app
{

/// How an element's relevance came to be, as views show it. `run` is the one that was asked.
[[nodiscard]] views::HistoryPointer historyFacts(const engine::History& history,
                                                 const std::shared_ptr<const trace::Run>& run);

/// What ends in a region, as views show it; `words` say which region.
[[nodiscard]] views::RegionPointer regionFacts(engine::RegionResult region,
                                               const std::vector<tensor::Tensor>& relevance,
                                               const std::shared_ptr<const trace::Run>& run, const QString& words);

/// A mask as the pixels or steps that it marks, 1 or 0 each; empty for masks of other shapes.
[[nodiscard]] views::Plane maskPlane(const tensor::Tensor& mask, bool isChannelsLast);

/// 1 at the elements with the largest |R| that hold `share` of Σ|R|, else 0.
[[nodiscard]] tensor::Tensor largestMask(const tensor::Tensor& relevance, double share);

} // namespace retro::app
