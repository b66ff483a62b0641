// SPDX-License-Identifier: Apache-2.0
#include "app/cli/programtext.h"

#include "core/base/hash.h"
#include "core/program/listing.h"
#include "core/trace/runprogram.h"

#include <fmt/format.h>

namespace retro::app
{

namespace
{

using base::Result;
using nlohmann::ordered_json;

ordered_json names(const std::vector<program::BufferId>& buffers)
{
    ordered_json all = ordered_json::array();
    for (const program::BufferId buffer : buffers) {
        all.push_back(program::nameOf(buffer));
    }
    return all;
}

std::string lineOf(const program::ListedInstruction& step)
{
    std::string last;
    for (const program::BufferId buffer : step.lastUses) {
        last += (last.empty() ? "last use of " : ", ") + program::nameOf(buffer);
    }
    std::string line = fmt::format("{:>6}  {:<6} {:<64} {}", step.index, step.promise, step.text, last);
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
}

} // namespace

Result<std::vector<std::string>> programLines(const trace::Run& run)
{
    RETRO_TRY(const program::Program program, trace::programOf(run));
    std::vector<std::string> lines{
        fmt::format("program       {}", base::hex(program.key)),
        fmt::format("size          {} instructions ({} in ARGS), {} buffers, {} nodes, {} promises",
                    program.instructions.size(), program.argsEnd, program.buffers.size(), program.nodes,
                    program.promises)};
    const std::vector<program::ListedInstruction> listed = program::listing(program, *run.graph);
    lines.emplace_back("ARGS");
    for (const program::ListedInstruction& step : listed) {
        if (step.index == program.argsEnd) {
            lines.emplace_back("REL");
        }
        lines.push_back(lineOf(step));
    }
    return lines;
}

Result<ordered_json> programJson(const trace::Run& run)
{
    RETRO_TRY(const program::Program program, trace::programOf(run));
    ordered_json steps = ordered_json::array();
    for (const program::ListedInstruction& step : program::listing(program, *run.graph)) {
        steps.push_back({{"instruction", step.index},
                         {"section", step.isArgument ? "ARGS" : "REL"},
                         {"opcode", program::nameOf(step.opcode)},
                         {"node", run.graph->labelOf(step.node)},
                         {"promise", step.promise},
                         {"writes", names(step.made)},
                         {"reads", names(step.read)},
                         {"last_uses", names(step.lastUses)},
                         {"text", step.text}});
    }
    ordered_json results = ordered_json::array();
    for (const program::RelevanceResult& result : program.results) {
        results.push_back({{"node", run.graph->labelOf(result.node)},
                           {"output", result.output},
                           {"buffer", program::nameOf(result.buffer)}});
    }
    return ordered_json{{"key", base::hex(program.key)},
                        {"nodes", program.nodes},
                        {"promises", program.promises},
                        {"arguments", program.argsEnd},
                        {"buffers", program.buffers.size()},
                        {"instructions", steps},
                        {"results", results}};
}

} // namespace retro::app
