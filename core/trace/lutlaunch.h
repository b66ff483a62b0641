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

/// Name of the kernel of a Launch event: "check_detectors".
[[nodiscard]] std::string kernelName(const event::Event& launch);
/// Its time as people read it, after a comma: ", 12.5 µs", ", 3 µs on the GPU"; empty where nobody measured it.
[[nodiscard]] std::string launchTime(const event::Event& launch);
/// Name of the buffer of a Buffer event: "Lookup Indices".
[[nodiscard]] std::string bufferName(const event::Event& buffer);

/// What the kernel of the Launch event at a step reads and writes: as its schedule says, without what this pass had no
/// use for and did not write. Both are empty when the run's node has no such launch.
[[nodiscard]] LaunchBuffers launchBuffers(const Run& run, std::uint64_t step);

} // namespace retro::trace
