// SPDX-License-Identifier: Apache-2.0
#include "core/ops/onednn/onednncontext.h"

#include "core/ops/threads.h"

namespace retro::ops::onednn
{

const dnnl::engine& engine()
{
    static const dnnl::engine processor(dnnl::engine::kind::cpu, 0);
    return processor;
}

dnnl::stream& stream()
{
    thread_local dnnl::stream own(engine());
    applyThreads();
    return own;
}

} // namespace retro::ops::onednn
