// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/lut/lut.h"
#include "kernels/lut/schedule.h"

#include <functional>
#include <optional>
#include <vector>

namespace retro::views
{

/// What a modelled processor does: it moves bytes, and each launch costs it a while.
struct StreamModel
{
    double bytesPerSecond = 10e9; ///< copying in memory, reads and writes together
    double launchSeconds = 2e-6;
};

/// When a launch runs on its stream, in seconds from the start of the first pass.
struct LaunchTime
{
    std::size_t pass = 0;
    std::size_t launch = 0;
    double start = 0;
    double end = 0;
    double waitsUntil = 0; ///< end of the last launch on another stream that it waits for; 0 = none
    std::uint64_t bytes = 0;
    bool isMeasured = false; ///< on a GPU, by itself
    bool isRecorded = false; ///< when the run ran it
    bool isIdle = false;     ///< not in a run that recorded its pass: another launch did its work, and it takes no time
};

/// Seconds that a launch (its pass, its place there) took in a run; none where the run does not say.
using RecordedSeconds = std::function<std::optional<double>(lut::Pass, std::size_t)>;

/// The launches of passes that follow each other: each starts when its stream is free and what it waits for is done,
/// and takes as long as was measured on a device, else as it took in the run, else as the model says.
[[nodiscard]] std::vector<LaunchTime> launchTimes(const std::vector<lut::Schedule>& schedules,
                                                  const ops::LutDeviceTimes* measured = nullptr,
                                                  const RecordedSeconds& recorded = {}, const StreamModel& model = {});

} // namespace retro::views
