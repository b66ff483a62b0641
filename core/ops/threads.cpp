// SPDX-License-Identifier: Apache-2.0
#include "core/ops/threads.h"

#include <omp.h>

#include <atomic>

namespace retro::ops
{

namespace
{

std::atomic<int>& chosen()
{
    static std::atomic<int> count{omp_get_max_threads()};
    return count;
}

} // namespace

void setThreads(int count) { chosen().store(std::max(count, 1)); }

int threads() { return chosen().load(); }

void applyThreads() { omp_set_num_threads(threads()); }

void applyThreadsFor(std::int64_t multiplications)
{
    constexpr std::int64_t kWorthTwo = 1 << 20; // some 20 µs on one thread, about what a wake-up takes
    omp_set_num_threads(multiplications < kWorthTwo ? 1 : threads());
}

} // namespace retro::ops
