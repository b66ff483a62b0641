// SPDX-License-Identifier: Apache-2.0
#include "core/ops/reference/tile.h"

// The choice is made while the program is loaded, before a sanitizer is ready for it.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define RETRO_WIDE_REGISTERS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define RETRO_WIDE_REGISTERS
#endif

namespace retro::ops::reference::detail
{

RETRO_WIDE_REGISTERS void multiplyPanels(const float* a, const float* b, std::int64_t depth, float* sum)
{
    multiplyPanelsInline(a, b, depth, sum);
}

RETRO_WIDE_REGISTERS void multiplyPanels(const double* a, const double* b, std::int64_t depth, double* sum)
{
    multiplyPanelsInline(a, b, depth, sum);
}

} // namespace retro::ops::reference::detail
