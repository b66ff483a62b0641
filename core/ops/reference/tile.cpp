// SPDX-License-Identifier: Apache-2.0
#include "core/ops/reference/tile.h"

#include "core/ops/kernel/wideregisters.h"

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
