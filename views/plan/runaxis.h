// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"
#include "views/plan/memorystack.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace retro::views
{

/// A time in which a dropped value is on its way: a promise that will bring it was made, and has not found it yet.
struct ScheduleGap
{
    std::uint32_t row = 0;
    std::uint32_t from = 0;  ///< column of its creation
    std::uint32_t until = 0; ///< column at which it is found
    std::uint32_t promise = 0;
};

/// The time of a run that a plan carried out. Immutable.
struct RunAxis
{
    std::shared_ptr<const trace::Run> run;
    std::uint32_t firstVisit = 0;  ///< of the run: column 0
    std::vector<ScheduleGap> gaps; ///< by row, then start
    MemoryStack stack;             ///< what was measured; as the simulator has it where nothing ran

    /// The run is a pass, and not the steps of a plan alone.
    [[nodiscard]] bool isMeasured() const { return run->facts.kind != "plan"; }
    /// Gap of a row at a column; null where none is.
    [[nodiscard]] const ScheduleGap* gapAt(std::uint32_t row, std::uint32_t column) const;
};
using RunAxisPointer = std::shared_ptr<const RunAxis>;

/// Visit at which a plan begins in a run that it carried out: that of the first value that is made. Nothing in runs of
/// another kind. O(events) until there.
[[nodiscard]] std::optional<std::uint32_t> firstPlannedVisit(const trace::Run& run);

} // namespace retro::views
