// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lut/cpu/firstexception.h"

#include <algorithm>
#include <cstdint>

namespace retro::lut::cpu
{

/// Threads that a request for `wanted` means; 0 = what OpenMP offers.
[[nodiscard]] int threadCount(int wanted);

/// Calls f(item) for 0 … count − 1 on up to `threads` threads; which thread takes an item is left open, so items must
/// not depend on each other. What f throws, the first of it, leaves when all have ended. Serial under the thread
/// sanitizer, which cannot see OpenMP's barriers.
template <class F>
void parallelItems(std::uint64_t count, int threads, const F& f)
{
#ifndef __SANITIZE_THREAD__
    const auto used =
        static_cast<int>(std::min<std::uint64_t>(count, static_cast<std::uint64_t>(std::max(threads, 1))));
    if (used > 1) {
        FirstException thrown;
#pragma omp parallel for schedule(dynamic, 1) num_threads(used)
        for (std::uint64_t i = 0; i < count; ++i) {
            thrown.run([&f, i] { f(i); });
        }
        thrown.rethrow();
        return;
    }
#endif
    for (std::uint64_t i = 0; i < count; ++i) {
        f(i);
    }
}

} // namespace retro::lut::cpu
