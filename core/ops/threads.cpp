// SPDX-License-Identifier: Apache-2.0
#include "core/ops/threads.h"

#include "core/base/signalstack.h"

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

/// oneDNN's kernels use the stack pointer for something else while they read weights, which may lie in a mapped file
/// that gets shorter. OpenMP ends threads that a smaller team left over, so this is done each time; it costs nothing
/// where no file is mapped.
void giveSignalStacks([[maybe_unused]] int count)
{
    if (!base::needsSignalStacks()) {
        return;
    }
    base::useSignalStack();
#ifndef __SANITIZE_THREAD__
    if (count > 1) {
#pragma omp parallel num_threads(count)
        base::useSignalStack();
    }
#endif
}

} // namespace

void setThreads(int count) { chosen().store(std::max(count, 1)); }

int threads() { return chosen().load(); }

void applyThreads()
{
    omp_set_num_threads(threads());
    giveSignalStacks(threads());
}

} // namespace retro::ops
