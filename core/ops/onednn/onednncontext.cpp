// SPDX-License-Identifier: Apache-2.0
#include "core/ops/onednn/onednncontext.h"

#include "core/ops/threads.h"

#include <omp.h>

namespace retro::ops::onednn
{

const dnnl::engine& engine()
{
    base::requireRoom(kRoom);
    static const dnnl::engine processor(dnnl::engine::kind::cpu, 0);
    return processor;
}

bool hasWideRegisters()
{
    constexpr auto kWide = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
    static const bool isWide = (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & kWide) == kWide;
    return isWide;
}

namespace
{

dnnl::stream& streamOfThisThread()
{
    thread_local dnnl::stream own(engine());
    return own;
}

} // namespace

dnnl::stream& stream()
{
    applyThreads();
    return streamOfThisThread();
}

dnnl::stream& streamOfOneThread()
{
    omp_set_num_threads(1);
    return streamOfThisThread();
}

ThreadsPlanned::ThreadsPlanned(int count) { omp_set_num_threads(count); }
ThreadsPlanned::~ThreadsPlanned() { omp_set_num_threads(threads()); }

void withinThreads(const std::function<void()>& f)
{
    if (omp_in_parallel() != 0) { // the library is then alone on this thread
        f();
        return;
    }
    lut::cpu::FirstException thrown;
    [[maybe_unused]] const int most = threads();
#pragma omp teams num_teams(1) thread_limit(most)
    thrown.run(f);
    thrown.rethrow();
}

} // namespace retro::ops::onednn
