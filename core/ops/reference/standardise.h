// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/reference/sum.h"
#include "core/ops/threads.h"

#include <cmath>

namespace retro::ops::reference
{

/// Rows that are brought to mean 0 (when centred) and deviation 1, each by itself.
struct Standardisation
{
    std::int64_t rows = 1;
    std::int64_t length = 1;
    bool isCentred = true;             ///< false: divided by the root mean square
    double epsilon = 1e-5;             ///< added to the variance
    bool isEpsilonOnDeviation = false; ///< added to the deviation instead
};

/// Of one row: what is subtracted, the deviation without epsilon, and what is divided by.
struct RowStatistics
{
    double mean = 0;
    double deviation = 1;
    double divisor = 1;
};

template <class T>
RowStatistics statisticsOf(const Standardisation& form, const T* x)
{
    RowStatistics row;
    const auto count = static_cast<double>(form.length);
    row.mean = form.isCentred ? pairwiseSum<double>(x, form.length) / count : 0;
    const double variance = pairwiseSum<double>(x, form.length,
                                                [&row](T v) {
                                                    const double c = static_cast<double>(v) - row.mean;
                                                    return c * c;
                                                }) /
                            count;
    if (form.isEpsilonOnDeviation) {
        row.deviation = std::sqrt(variance);
        row.divisor = row.deviation + form.epsilon;
    } else {
        row.deviation = std::sqrt(variance + form.epsilon);
        row.divisor = row.deviation;
    }
    return row;
}

/// Calls f(row) for every row, in parallel.
template <class F>
void forEachRow(const Standardisation& form, const F& f)
{
    const std::int64_t grain = 16384 / std::max<std::int64_t>(form.length, 1);
    parallelFor(form.rows, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
            f(row);
        }
    });
}

/// y = (x − mean) / divisor.
template <class T>
void standardise(const Standardisation& form, const T* x, T* y)
{
    forEachRow(form, [&](std::int64_t row) {
        const T* in = x + row * form.length;
        T* out = y + row * form.length;
        const RowStatistics of = statisticsOf(form, in);
        const double factor = 1 / of.divisor;
        onWidestRegisters([in, out, mean = of.mean, factor, length = form.length] {
            for (std::int64_t i = 0; i < length; ++i) {
                out[i] = static_cast<T>((static_cast<double>(in[i]) - mean) * factor);
            }
        });
    });
}

/// y = (x − mean) / divisor · scale + bias, with one scale and bias per element of a row; either may be null.
template <class T>
void standardise(const Standardisation& form, const T* x, const T* scale, const T* bias, T* y)
{
    forEachRow(form, [&](std::int64_t row) {
        const T* in = x + row * form.length;
        T* out = y + row * form.length;
        const RowStatistics of = statisticsOf(form, in);
        const T factor = static_cast<T>(1 / of.divisor);
        const T mean = static_cast<T>(of.mean);
        onWidestRegisters([in, out, scale, bias, factor, mean, length = form.length] {
            for (std::int64_t i = 0; i < length; ++i) {
                const T standard = (in[i] - mean) * factor;
                out[i] = (scale == nullptr ? standard : standard * scale[i]) + (bias == nullptr ? T{0} : bias[i]);
            }
        });
    });
}

/// Gradients that arrive at the results of a standardisation; the last two may be null. `factor` is that of
/// 1 / divisor.
template <class T>
struct StandardisedGradients
{
    const T* values = nullptr;
    const T* mean = nullptr;
    const T* factor = nullptr;
};

/// r = gradient with respect to x. With c = x − mean over n elements: ∂mean/∂x = 1/n, ∂deviation/∂x = c /
/// (n·deviation).
template <class T>
void standardiseBack(const Standardisation& form, const T* x, const StandardisedGradients<T>& gradients, T* r)
{
    forEachRow(form, [&](std::int64_t row) {
        const T* in = x + row * form.length;
        const T* g = gradients.values + row * form.length;
        T* out = r + row * form.length;
        const RowStatistics of = statisticsOf(form, in);
        const auto count = static_cast<double>(form.length);
        double sum = 0;
        double product = 0;
        for (std::int64_t i = 0; i < form.length; ++i) {
            sum += static_cast<double>(g[i]);
            product += static_cast<double>(g[i]) * (static_cast<double>(in[i]) - of.mean);
        }
        const double ofFactor = gradients.factor == nullptr ? 0 : static_cast<double>(gradients.factor[row]);
        const double byDivisor = (product + ofFactor) / (of.divisor * of.divisor);
        const double slope = of.deviation > 0 ? byDivisor / (of.deviation * count) : 0;
        const double ofMean = gradients.mean == nullptr ? 0 : static_cast<double>(gradients.mean[row]);
        const double shift = form.isCentred ? (ofMean - sum / of.divisor) / count : 0;
        for (std::int64_t i = 0; i < form.length; ++i) {
            const double centred = static_cast<double>(in[i]) - of.mean;
            out[i] = static_cast<T>(static_cast<double>(g[i]) / of.divisor + shift - centred * slope);
        }
    });
}

/// r = gradient with respect to x with the divisor held constant: (g − mean(g)) / divisor when centred, else g /
/// divisor.
template <class T>
void detachedBack(const Standardisation& form, const T* x, const T* gradients, T* r)
{
    forEachRow(form, [&](std::int64_t row) {
        const T* g = gradients + row * form.length;
        T* out = r + row * form.length;
        const RowStatistics of = statisticsOf(form, x + row * form.length);
        const double sum = form.isCentred ? pairwiseSum<double>(g, form.length) : 0;
        const double mean = sum / static_cast<double>(form.length);
        for (std::int64_t i = 0; i < form.length; ++i) {
            out[i] = static_cast<T>((static_cast<double>(g[i]) - mean) / of.divisor);
        }
    });
}

} // namespace retro::ops::reference
