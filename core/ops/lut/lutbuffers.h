// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/launchwatch.h"
#include "core/ops/tablelookup.h"
#include "kernels/lut/run.h"

#include <map>

namespace retro::ops
{

/// Copies of the buffers that an observer of a launch sees, with their figures. T is the type of the pass.
template <class T>
[[nodiscard]] std::vector<TableBuffer> tableBuffers(const lut::LaunchView<T>& view);

/// Tells a watcher of the launches of one call, with copies of what they read and wrote: what is read again was copied
/// when it was written. T is the type of the passes.
template <class T>
class LaunchTaker
{
public:
    LaunchTaker(LaunchWatcher& to, lut::Backend backend) : m_to(to), m_backend(backend) {}

    /// An operand of the layer, row-major: it is shown as it is, not copied.
    void know(lut::BufferId id, const Tensor& operand);
    /// A launch has ended. On the fused path of the CPU (`mayBeIdle`) one that wrote nothing that is there did nothing,
    /// and nobody is told.
    void take(const lut::LaunchView<T>& view, std::optional<double> seconds, bool mayBeIdle);

private:
    LaunchWatcher& m_to;
    lut::Backend m_backend;
    std::map<lut::BufferId, Tensor> m_operands;
    std::map<lut::BufferId, TableBuffer> m_known;
};

extern template class LaunchTaker<float>;
extern template class LaunchTaker<double>;
extern template std::vector<TableBuffer> tableBuffers(const lut::LaunchView<float>&);
extern template std::vector<TableBuffer> tableBuffers(const lut::LaunchView<double>&);

} // namespace retro::ops
