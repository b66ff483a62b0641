// SPDX-License-Identifier: Apache-2.0
#include "core/ops/reference/poollanes.h"

#include "core/ops/kernel/wideregisters.h"

namespace retro::ops::reference
{

RETRO_WIDE_REGISTERS void takeLarger(float* best, const float* x, std::int64_t count)
{
    takeLarger<float>(best, x, count);
}
RETRO_WIDE_REGISTERS void takeLarger(double* best, const double* x, std::int64_t count)
{
    takeLarger<double>(best, x, count);
}

RETRO_WIDE_REGISTERS void takeShare(const float* x, const float* best, float* left, float* r, std::int64_t count)
{
    takeShare<float>(x, best, left, r, count);
}
RETRO_WIDE_REGISTERS void takeShare(const double* x, const double* best, double* left, double* r, std::int64_t count)
{
    takeShare<double>(x, best, left, r, count);
}

} // namespace retro::ops::reference
