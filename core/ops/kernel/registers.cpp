// SPDX-License-Identifier: Apache-2.0
#include "core/ops/kernel/registers.h"

#include <oneapi/dnnl/dnnl.hpp>

namespace retro::ops
{

namespace
{

#if defined(__x86_64__)
bool isAllowed(dnnl::cpu_isa least)
{
    const auto wanted = static_cast<unsigned>(least);
    return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & wanted) == wanted;
}

Registers widest()
{
    const bool hasMiddle = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
                           __builtin_cpu_supports("bmi") != 0 && __builtin_cpu_supports("bmi2") != 0;
    const bool hasWide = __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
                         __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
                         __builtin_cpu_supports("avx512cd") != 0;
    if (hasMiddle && hasWide && isAllowed(dnnl::cpu_isa::avx512_core)) {
        return Registers::Wide;
    }
    return hasMiddle && isAllowed(dnnl::cpu_isa::avx2) ? Registers::Middle : Registers::Narrow;
}
bool findPairsOfBfloats()
{
    return widest() == Registers::Wide && __builtin_cpu_supports("avx512bf16") != 0 &&
           isAllowed(dnnl::cpu_isa::avx512_core_bf16);
}
#else
Registers widest() { return Registers::Narrow; }
bool findPairsOfBfloats() { return false; }
#endif

} // namespace

Registers registersAtHand()
{
    static const Registers registers = widest();
    return registers;
}

bool hasPairsOfBfloats()
{
    static const bool has = findPairsOfBfloats();
    return has;
}

} // namespace retro::ops
