// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/reference/pool.h"

#include <algorithm>
#include <cmath>

namespace retro::ops::reference
{

/// exp(beta·(x − largest)) of each tap of a window, per channel; 1 for the largest, infinite ones too.
template <class T>
void windowWeights(const T* image, std::int64_t channels, const std::vector<std::int64_t>& taps, std::int64_t count,
                   T beta, std::vector<T>& weights)
{
    const auto best = maximumOf(image, channels, taps, count);
    weights.clear();
    for (const std::int64_t tap : taps) {
        const T* x = image + tap * channels;
        for (std::int64_t c = 0; c < count; ++c) {
            const T largest = best[static_cast<std::size_t>(c)];
            weights.push_back(x[c] == largest ? T{1} : std::exp(beta * (x[c] - largest)));
        }
    }
}

/// r = s of each window shared among what it reads of x by softmax(beta·x) over the window.
template <class T>
void shareBySoftmax(const PoolShape& shape, const T* s, const T* x, T beta, T* r)
{
    std::fill(r, r + shape.batch * shape.imageSize() * shape.channels, T{0});
    forEachWindow(shape, [&](const PoolWindow& window) {
        // Kept from window to window of a task.
        thread_local std::vector<T> weights;
        thread_local std::array<T, kMostLanes> sum;
        if (!window.isRepeat) {
            windowWeights(x + window.imageAt, shape.channels, window.taps, window.channels, beta, weights);
            sum.fill(T{0});
            for (std::size_t i = 0; i < weights.size(); ++i) {
                sum[i % static_cast<std::size_t>(window.channels)] += weights[i];
            }
        }
        const T* weight = weights.data();
        for (const std::int64_t tap : window.taps) {
            T* out = r + window.imageAt + tap * shape.channels;
            for (std::int64_t c = 0; c < window.channels; ++c) {
                out[c] += s[window.at + c] * (*weight++ / sum[static_cast<std::size_t>(c)]);
            }
        }
    });
}

/// y = mean of t over each window of x by softmax(beta·x) over the window: the transpose of shareBySoftmax.
template <class T>
void averageBySoftmax(const PoolShape& shape, const T* t, const T* x, T beta, T* y)
{
    forEachResult(shape, y, [&](const PoolWindow& window) {
        thread_local std::vector<T> weights;
        windowWeights(x + window.imageAt, shape.channels, window.taps, window.channels, beta, weights);
        std::array<T, kMostLanes> sum{};
        std::array<T, kMostLanes> total{};
        const T* weight = weights.data();
        for (const std::int64_t tap : window.taps) {
            const T* in = t + window.imageAt + tap * shape.channels;
            for (std::int64_t c = 0; c < window.channels; ++c, ++weight) {
                total[static_cast<std::size_t>(c)] += *weight;
                sum[static_cast<std::size_t>(c)] += *weight * in[c];
            }
        }
        for (std::int64_t c = 0; c < window.channels; ++c) {
            const auto at = static_cast<std::size_t>(c);
            y[window.at + c] = total[at] == 0 ? T{0} : sum[at] / total[at];
        }
    });
}

} // namespace retro::ops::reference
