// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/tablelookup.h"
#include "kernels/lut/run.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace retro::ops
{

/// A kernel that ran for a table lookup.
struct LaunchRecord
{
    lut::Pass pass = lut::Pass::Forward;
    std::size_t place = 0; ///< in the schedule of the pass
    lut::KernelId kernel = lut::KernelId::CheckDetectors;
    std::uint32_t stream = 0;
    lut::Backend backend = lut::Backend::Cpu;
    std::optional<double> seconds; ///< by a clock, of a device by its events; none where it was not measured by itself
    /// What it read and wrote, as it left them, in the order of the schedule. Values are shared with later records that
    /// read them; invalid where they are too large, or stayed on a device.
    std::vector<TableBuffer> buffers;
};

/// Watches the kernels of table lookups. Calls come on the thread that runs the operator, when a kernel has ended.
class LaunchWatcher
{
public:
    virtual ~LaunchWatcher() = default;
    /// A kernel has ended.
    virtual void onLaunch(LaunchRecord record) = 0;
};

/// While it lives, `watcher` sees the kernels that this thread launches, in place of the one before.
class LaunchScope
{
public:
    explicit LaunchScope(LaunchWatcher* watcher);
    ~LaunchScope();
    LaunchScope(const LaunchScope&) = delete;
    LaunchScope& operator=(const LaunchScope&) = delete;

private:
    LaunchWatcher* m_before;
};

/// Who watches this thread; null = nobody.
[[nodiscard]] LaunchWatcher* currentLaunchWatcher();

} // namespace retro::ops
