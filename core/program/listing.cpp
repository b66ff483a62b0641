// SPDX-License-Identifier: Apache-2.0
#include "core/program/listing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace retro::program
{

namespace
{

std::vector<BufferId> valid(std::span<const BufferId> buffers)
{
    std::vector<BufferId> found;
    for (const BufferId buffer : buffers) {
        if (buffer.isValid()) {
            found.push_back(buffer);
        }
    }
    return found;
}

std::string names(std::span<const BufferId> buffers, const char* between = ", ")
{
    std::vector<std::string> texts;
    for (const BufferId buffer : buffers) {
        texts.push_back(buffer.isValid() ? nameOf(buffer) : "–");
    }
    return fmt::format("{}", fmt::join(texts, between));
}

std::string promiseText(const Instruction& step)
{
    if (!step.promise.isValid()) {
        return {};
    }
    const bool isWhole = step.opcode == Opcode::Forward || step.opcode == Opcode::Rule;
    return isWhole ? fmt::format("P{}", step.promise.value) : fmt::format("P{}.{}", step.promise.value, step.branch);
}

/// What an instruction works on, in the words of each opcode.
std::string readsText(const Program& program, const Instruction& step)
{
    switch (step.opcode) {
    case Opcode::Fetch:
        return step.item == 0 ? "" : fmt::format("output {}", step.item);
    case Opcode::Constant:
        return fmt::format("operand {}", step.item);
    case Opcode::Carry:
    case Opcode::Forward:
    case Opcode::Snapshot:
        return names(program.readsOf(step));
    case Opcode::Start:
        return program.starts > 1 ? fmt::format("start {}", step.item) : "";
    case Opcode::Sum:
        return names(program.readsOf(step), " + ");
    case Opcode::Rule: {
        const bool hasArguments = !valid(program.operandsOf(step)).empty();
        return names(program.relevanceOf(step)) + (hasArguments ? "; " + names(program.operandsOf(step)) : "");
    }
    }
    return {};
}

std::string textOf(const graph::Graph& graph, const ListedInstruction& line)
{
    const std::string reads = line.reads.empty() ? "" : fmt::format(" ({})", line.reads);
    return fmt::format("{}{}{} {}{}", names(line.made), line.made.empty() ? "" : " ← ", nameOf(line.opcode),
                       graph.labelOf(line.node), reads);
}

} // namespace

std::string nameOf(BufferId buffer) { return fmt::format("b{}", buffer.value); }

std::vector<ListedInstruction> listing(const Program& program, const graph::Graph& graph)
{
    std::vector<ListedInstruction> lines(program.instructions.size());
    for (InstructionIndex i = 0; i < lines.size(); ++i) {
        const Instruction& step = program.instructions[i];
        ListedInstruction& line = lines[i];
        line.index = i;
        line.isArgument = i < program.argsEnd;
        line.opcode = step.opcode;
        line.node = step.node;
        line.promise = promiseText(step);
        line.made = valid(program.writesOf(step));
        line.read = valid(program.readsOf(step));
        line.reads = readsText(program, step);
        line.text = textOf(graph, line);
    }
    for (std::uint32_t id = 0; id < program.buffers.size(); ++id) {
        const Buffer& buffer = program.buffers[id];
        if (buffer.lastUse != kNever && !buffer.isResult) {
            lines[buffer.lastUse].lastUses.emplace_back(id);
        }
    }
    return lines;
}

} // namespace retro::program
