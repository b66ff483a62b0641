// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lut/cpu/firstexception.h"

#include <algorithm>
#include <cstdint>

namespace retro::ops
{

/// Sets how many threads operators may use (at least 1), for oneDNN and for the loops of core alike. Takes effect with
/// the next operator, on whichever thread it runs. No bit of a result depends on the number.
void setThreads(int count);
/// The number in force: what was set, else what OpenMP offers.
[[nodiscard]] int threads();
/// Tells OpenMP on the calling thread; done before every oneDNN primitive, because OpenMP keeps the number per thread.
void applyThreads();

/// Calls f(begin, end) for ranges that cover 0 … count − 1, on up to threads() threads; at least `grain` items per
/// range. Ranges must be independent of each other. What f throws, the first of it, leaves when all have ended, as it
/// would without threads. Serial under the thread sanitizer, which cannot see OpenMP's barriers.
template <class F>
void parallelFor(std::int64_t count, std::int64_t grain, const F& f)
{
    const std::int64_t ranges = std::min<std::int64_t>(threads(), count / std::max<std::int64_t>(grain, 1));
#ifndef __SANITIZE_THREAD__
    if (ranges > 1) {
        lut::cpu::FirstException thrown;
#pragma omp parallel for schedule(static, 1) num_threads(static_cast <int>(ranges))
        for (std::int64_t r = 0; r < ranges; ++r) {
            thrown.run([&f, count, ranges, r] { f(count * r / ranges, count * (r + 1) / ranges); });
        }
        thrown.rethrow();
        return;
    }
#endif
    if (count > 0) {
        f(std::int64_t{0}, count);
    }
}

} // namespace retro::ops
