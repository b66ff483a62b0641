// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/tablelookup.h"
#include "kernels/lut/run.h"

namespace retro::ops
{

/// Copies of the buffers that an observer of a launch sees, with their figures. T is the type of the pass.
template <class T>
[[nodiscard]] std::vector<TableBuffer> tableBuffers(const lut::LaunchView<T>& view);

extern template std::vector<TableBuffer> tableBuffers(const lut::LaunchView<float>&);
extern template std::vector<TableBuffer> tableBuffers(const lut::LaunchView<double>&);

} // namespace retro::ops
