// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/formats/memorysnapshot.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace retro::formats
{

/// A moment of a trace: behind the event of this position.
struct MemoryMoment
{
    std::size_t event = 0; ///< 0 = before the first
    std::uint64_t allocated = 0;
    std::uint64_t reserved = 0;
};

/// Blocks of one stack that are in use at the peak.
struct StackAtPeak
{
    std::uint32_t stack = kNoStack;
    std::uint64_t bytes = 0;
    std::size_t blocks = 0;
};

/// The memory of one device over a trace.
struct MemoryCourse
{
    std::size_t device = 0;
    std::size_t events = 0;
    std::vector<MemoryMoment> moments; ///< of events that change it; thinned out, the peaks stay
    MemoryMoment peak;                 ///< the first at which most is allocated
    std::int64_t peakTime = 0;         ///< microseconds, as the trace has it
    std::uint64_t reservedPeak = 0;
    std::vector<StackAtPeak> atPeak; ///< most bytes first; their bytes sum to the peak
};

/// Follows the trace of each device. A trace may have lost its beginning: what is in use before it follows from the
/// segments at its end. Memory is allocated from `alloc` until `free_completed`. `moments` bounds the curve of a
/// device.
[[nodiscard]] std::vector<MemoryCourse> memoryCourses(const MemorySnapshot& snapshot, std::size_t moments = 4096);

/// The innermost line of a stack that is not of PyTorch itself: "model.py:12 forward"; "no stack was recorded".
[[nodiscard]] std::string frameText(const MemorySnapshot& snapshot, std::uint32_t stack);

} // namespace retro::formats
