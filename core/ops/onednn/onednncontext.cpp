// SPDX-License-Identifier: Apache-2.0
#include "core/ops/onednn/onednncontext.h"

#include "core/ops/threads.h"

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

dnnl::stream& stream()
{
    thread_local dnnl::stream own(engine());
    applyThreads();
    return own;
}

} // namespace retro::ops::onednn
