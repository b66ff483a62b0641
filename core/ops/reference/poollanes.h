// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace retro::ops::reference
{

// Steps of pooling over the channels of one tap, which lie side by side. For floats they are compiled for wide
// registers.

/// best = the larger of both; NaN once one was met.
template <class T>
void takeLarger(T* __restrict best, const T* __restrict x, std::int64_t count)
{
    for (std::int64_t c = 0; c < count; ++c) {
        best[c] = (x[c] <= best[c]) | (best[c] != best[c]) ? best[c] : x[c];
    }
}
/// As above.
void takeLarger(float* best, const float* x, std::int64_t count);
/// As above.
void takeLarger(double* best, const double* x, std::int64_t count);

/// Where x is the window's largest element and nobody has taken the share yet, it goes to r.
template <class T>
void takeShare(const T* __restrict x, const T* __restrict best, T* __restrict left, T* __restrict r, std::int64_t count)
{
    for (std::int64_t c = 0; c < count; ++c) {
        const bool wins = (x[c] == best[c]) | ((x[c] != x[c]) & (best[c] != best[c]));
        r[c] += wins ? left[c] : T{0};
        left[c] = wins ? T{0} : left[c];
    }
}
/// As above.
void takeShare(const float* x, const float* best, float* left, float* r, std::int64_t count);
/// As above.
void takeShare(const double* x, const double* best, double* left, double* r, std::int64_t count);

} // namespace retro::ops::reference
