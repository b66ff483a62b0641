// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/formats/memorycourse.h"
#include "views/plan/shownplan.h"

#include <QString>

#include <cstdint>
#include <memory>
#include <vector>

namespace retro::views
{

/// Blocks in use at the peak, by the line of source that asked for them.
struct LineAtPeak
{
    QString line;
    std::uint64_t bytes = 0;
    std::size_t blocks = 0;
};

/// The memory of a device as a snapshot of PyTorch tells it. Immutable.
struct DeviceMemory
{
    QString file; ///< without folder
    formats::MemoryCourse course;
    std::vector<LineAtPeak> atPeak; ///< most bytes first
    /// Blocks that were handed out, in order: after how many events, and of how many bytes.
    std::vector<std::pair<std::size_t, std::uint64_t>> allocations;
};
using DeviceMemoryPointer = std::shared_ptr<const DeviceMemory>;

/// The devices of a snapshot.
[[nodiscard]] std::vector<DeviceMemoryPointer> deviceMemories(const formats::MemorySnapshot& snapshot,
                                                              const QString& file);

/// A plan over the events of a trace.
struct PlanOverTrace
{
    std::vector<double> events; ///< per column of the plan: after how many events it ran
    std::size_t matched = 0;    ///< columns whose results were found among the allocations
    std::size_t columns = 0;    ///< that make something
    [[nodiscard]] bool isEmpty() const { return events.empty(); }
};

/// Finds the results of the plan's computations among the allocations, in order: an allocator hands out a block of as
/// many bytes, rounded up to 512. What is not found stands between its neighbours that were, in equal steps.
[[nodiscard]] PlanOverTrace planOverTrace(const ShownPlan& plan, const DeviceMemory& memory);

} // namespace retro::views
