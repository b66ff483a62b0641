// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/breakpoints.h"

#include <cstdint>
#include <string>
#include <vector>

namespace retro::trace
{

/// What a BufferReached looks at, in words: "Σ of Output of lut".
[[nodiscard]] std::string bufferMeasureText(const Run& run, const Breakpoint& breakpoint);

/// True for breakpoints that look at numbers: of a value's relevance, of the ledger, of the frontier, of promises, of
/// buffers of table lookups.
[[nodiscard]] bool looksAtNumbers(BreakKind kind);

/// A stop of such a breakpoint, and why.
struct NumberStop
{
    std::uint64_t step = 0; ///< event that makes the condition true
    std::string why;        ///< "Σ of fc1's relevance went from 0.2 to 0.7 with what landed from Relu r1"
};

/// All stops of a breakpoint that looks at numbers, ascending. Relevance of a value is what has landed of it so far,
/// and from the event on that says so, all of it. Linear in the events of the run; those of the frontier replay its
/// state, so the run must be one that a Timeline has opened.
[[nodiscard]] std::vector<NumberStop> numberStops(const Run& run, const Breakpoint& breakpoint);

} // namespace retro::trace
