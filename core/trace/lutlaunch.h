// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"

#include <string>

namespace retro::trace
{

/// Names of the buffers of a launch, in the order of its schedule: "Input, Anchors".
struct LaunchBuffers
{
    std::string reads;
    std::string writes;
};

/// What the kernel of a Launch event reads and writes. Both are empty when the run's node has no such launch.
[[nodiscard]] LaunchBuffers launchBuffers(const Run& run, const event::Event& launch);

} // namespace retro::trace
