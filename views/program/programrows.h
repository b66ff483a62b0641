// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/program/listing.h"
#include "core/trace/run.h"

#include <cstdint>
#include <string>
#include <vector>

namespace retro::views
{

/// The compiled program of a run as rows: a heading per section, then its instructions. Takes a walk over the events:
/// made off the GUI thread.
struct ProgramRows
{
    struct Row
    {
        program::ListedInstruction step;
        bool isHeading = false; ///< of the section that step.isArgument says
        /// Position of the run after which the traversal had done the same; 0 for headings.
        std::uint64_t position = 0;
        base::PromiseId promise; ///< whose argument, or who splits; may be invalid
    };

    ProgramRows() = default;
    explicit ProgramRows(const trace::Run& run);

    std::vector<Row> rows;
    std::string fault; ///< why there is no program; empty when there is one
    base::Hash128 key;
    std::size_t arguments = 0;
    std::size_t instructions = 0;
    std::size_t buffers = 0;

    /// Row of the instruction that the traversal did last at a position; −1 before the first.
    [[nodiscard]] int lastDone(std::uint64_t position) const;
};

} // namespace retro::views
