// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"
#include "core/program/program.h"

#include <string>
#include <vector>

namespace retro::program
{

/// An instruction in words.
struct ListedInstruction
{
    InstructionIndex index = 0;
    bool isArgument = false; ///< of the section ARGS
    Opcode opcode = Opcode::Fetch;
    NodeId node;
    std::string promise;        ///< "P3.1" when it makes an argument, "P3" when a promise splits or answers, or empty
    std::vector<BufferId> made; ///< without those that nobody reads
    std::vector<BufferId> read; ///< in the order of Instruction; invalid ones left out
    std::string reads;          ///< what it works on: "b3; b1, b2", "b4 + b6", "operand 1"
    std::vector<BufferId> lastUses; ///< buffers that no later instruction reads and that are no results
    std::string text;               ///< "b4 ← forward /Add (b1, b2)"
};

/// "b7".
[[nodiscard]] std::string nameOf(BufferId buffer);

/// The program in words, an entry per instruction. Linear.
[[nodiscard]] std::vector<ListedInstruction> listing(const Program& program, const graph::Graph& graph);

} // namespace retro::program
