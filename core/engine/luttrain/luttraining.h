// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/luttrain/lutnetwork.h"
#include "core/tensor/tensor.h"

#include <functional>
#include <stop_token>

namespace retro::engine
{

/// What changes the numbers after a batch (docs/lut.md, "Training").
enum class LutUpdate : std::uint8_t {
    Sgd, ///< in place, without memory: W −= rate · gradient
    Adam ///< first and second moments (Kingma and Ba 2015), 0.9 and 0.999
};

/// How a network is trained.
struct LutTrainOptions
{
    LutUpdate update = LutUpdate::Adam;
    LutGradients gradients = LutGradients::Dense; ///< of weights, all with the same steps; others with Sgd alone
    double rate = 1e-2;
    bool isNormalised = false; ///< gradients of a layer are divided by their largest amount
    bool fallsToZero = true;   ///< the rate, over the epochs
    std::size_t epochs = 10;
    std::size_t batch = 64;
    std::uint64_t seed = 1; ///< of the order of samples
    int threads = 0;        ///< results do not depend on it
};

/// Samples with the number of their class. Without a vocabulary x is float32, [N, I] or [N, S, I]; with one, int64
/// tokens [N, S].
struct LutDataSet
{
    tensor::Tensor x;
    tensor::Tensor labels; ///< int64 [N]
};

/// Where training stands.
struct LutTrainProgress
{
    std::size_t epoch = 0; ///< finished ones
    double loss = 0;       ///< mean of the epoch's batches
    double right = 0;      ///< part of the training samples that were named rightly, as they came by
    double testRight = 0;  ///< part of the test samples named rightly; NaN without any
};

/// Checks that a data set fits a plan. Errors (Input): shapes, types, labels or tokens out of range.
[[nodiscard]] base::Result<void> checkDataSet(const LutDataSet& data, const LutNetworkPlan& plan);

/// Part of the samples that a network names rightly; NaN when there are none. The data set was checked.
[[nodiscard]] double accuracyOf(const LutNetwork& network, const LutDataSet& data, int threads = 0);

/// Trains in place, an epoch at a time; `progress` is called after each. Errors: Input (data that does not fit),
/// Cancelled, Usage (options that do not go together), Engine (the loss is no finite number: the rate is too high).
[[nodiscard]] base::Result<void> train(LutNetwork& network, const LutDataSet& data, const LutDataSet& test,
                                       const LutTrainOptions& options, const std::stop_token& stop = {},
                                       const std::function<void(const LutTrainProgress&)>& progress = {});

} // namespace retro::engine
