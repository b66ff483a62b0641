// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <functional>
#include <string>
#include <vector>

namespace retro::app
{

/// One thing to time: its name, what to run (false = it failed), and seconds that it should stay below (0 = none).
struct TimedBody
{
    std::string name;
    std::function<bool()> run;
    double goal = 0;
};

/// What the control of the traversal costs: null arithmetic on residual graphs of 1,000 to 100,000 nodes, without and
/// with a recorder. The goals are 1 µs and 3 µs per node and edge. The names begin with "traversal/control".
[[nodiscard]] std::vector<TimedBody> controlBenchmarks();

/// Recording a pass may take this much of the time of the pass without.
inline constexpr double kRecordingFactor = 1.10;

/// A relevance pass through a network of the shape of ResNet-50, without and with recording, and the writing of the run
/// file alone. The names begin with "traversal/resnet50". Makes the network: seconds and some hundred megabytes.
[[nodiscard]] base::Result<std::vector<TimedBody>> recordingBenchmarks();

} // namespace retro::app
