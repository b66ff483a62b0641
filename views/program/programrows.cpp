// SPDX-License-Identifier: Apache-2.0
#include "views/program/programrows.h"

#include "core/trace/runprogram.h"

#include <map>
#include <utility>

namespace retro::views
{

namespace
{

using event::EventKind;
using program::Instruction;
using program::Opcode;
using Pair = std::pair<std::uint32_t, std::uint32_t>;

/// Where in the run the traversal did what an instruction does.
class Positions
{
public:
    explicit Positions(const trace::Run& run)
    {
        for (std::size_t i = 0; i < run.events.size(); ++i) {
            note(run.events[i], i + 1);
        }
    }

    [[nodiscard]] std::uint64_t of(const Instruction& step) const
    {
        switch (step.opcode) {
        case Opcode::Fetch:
        case Opcode::Constant:
        case Opcode::Carry:
            return find(m_arguments, {step.promise.value, step.branch});
        case Opcode::Forward:
            return find(m_ready, {step.promise.value, 0});
        case Opcode::Start:
            return step.item < m_starts.size() ? m_starts[step.item] : 0;
        case Opcode::Sum:
        case Opcode::Snapshot:
            return find(m_relevance, {step.node.value, step.item});
        case Opcode::Rule:
            return find(m_rules, {step.node.value, 0});
        }
        return 0;
    }

private:
    using Found = std::map<Pair, std::uint64_t>;

    void note(const trace::Event& event, std::uint64_t position)
    {
        switch (event.kind) {
        case EventKind::Arg:
            m_arguments.emplace(Pair{event.promise, event.branch}, position);
            break;
        case EventKind::Ready:
            m_ready.emplace(Pair{event.promise, 0}, position);
            break;
        case EventKind::Relevance:
            m_relevance.emplace(Pair{event.node, event.slot}, position);
            break;
        case EventKind::Rule:
            m_rules.emplace(Pair{event.node, 0}, position);
            break;
        case EventKind::Land:
            if (event.other == base::NodeId::kInvalid) {
                m_starts.push_back(position);
            }
            break;
        default:
            break;
        }
    }

    static std::uint64_t find(const Found& found, const Pair& what)
    {
        const auto at = found.find(what);
        return at == found.end() ? 0 : at->second;
    }

    Found m_arguments;
    Found m_ready;
    Found m_relevance;
    Found m_rules;
    std::vector<std::uint64_t> m_starts;
};

} // namespace

ProgramRows::ProgramRows(const trace::Run& run)
{
    const base::Result<program::Program> made = trace::programOf(run);
    if (!made) {
        fault = made.error().message;
        return;
    }
    key = made->key;
    arguments = made->argsEnd;
    instructions = made->instructions.size();
    buffers = made->buffers.size();
    const Positions positions(run);
    bool wasArgument = false;
    for (program::ListedInstruction& step : program::listing(*made, *run.graph)) {
        if (rows.empty() || step.isArgument != wasArgument) {
            Row heading;
            heading.isHeading = true;
            heading.step.isArgument = step.isArgument;
            rows.push_back(std::move(heading));
        }
        wasArgument = step.isArgument;
        const Instruction& instruction = made->instructions[step.index];
        rows.push_back({std::move(step), false, positions.of(instruction), instruction.promise});
    }
}

int ProgramRows::lastDone(std::uint64_t position) const
{
    int last = -1;
    std::uint64_t latest = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (!rows[i].isHeading && rows[i].position <= position && rows[i].position >= latest && rows[i].position > 0) {
            last = static_cast<int>(i);
            latest = rows[i].position;
        }
    }
    return last;
}

} // namespace retro::views
