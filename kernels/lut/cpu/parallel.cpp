// SPDX-License-Identifier: Apache-2.0
#include "kernels/lut/cpu/parallel.h"

#include <omp.h>

namespace retro::lut::cpu
{

int threadCount(int wanted) { return wanted > 0 ? wanted : omp_get_max_threads(); }

} // namespace retro::lut::cpu
