// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/diagnosis/watched.h"
#include "core/engine/model/loadmodel.h"

#include <optional>
#include <stop_token>

namespace retro::engine
{

/// Mean and deviation that the channels of the layers of a model have over a folder: medians.
struct UsualStatistics
{
    double mean = 0;
    double deviation = 1;
};

/// Those of all layers but one; nothing of fewer than two others, or where they do not vary.
[[nodiscard]] std::optional<UsualStatistics> usualBeside(const std::vector<diagnosis::Watched>& watched,
                                                         const diagnosis::Watched& one);

/// The model, without rewrites, with weights and bias of one layer such that each of its channels has the usual mean
/// and deviation over the folder: what a normalisation merged into it would make of sound statistics. Nothing where
/// weights or bias are not constants of its own. Errors: as withRewrites(); Cancelled.
[[nodiscard]] base::Result<std::optional<LoadedModelPointer>>
recalibrated(const LoadedModelPointer& model, const diagnosis::ModelFacts& facts, const diagnosis::Watched& layer,
             const UsualStatistics& usual, const std::stop_token& stop);

} // namespace retro::engine
