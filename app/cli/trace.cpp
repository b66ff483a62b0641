// SPDX-License-Identifier: Apache-2.0
#include "app/cli/context.h"
#include "app/cli/outputfolder.h"
#include "app/cli/statetext.h"
#include "core/base/hash.h"
#include "core/base/result.h"
#include "core/diagnosis/diagnosis.h"
#include "core/diagnosis/modelfacts.h"
#include "core/engine/diagnose.h"
#include "core/engine/region/history.h"
#include "core/engine/region/historyjson.h"
#include "core/program/listing.h"
#include "core/tensor/npy.h"
#include "core/trace/breakpoints.h"
#include "core/trace/describe.h"
#include "core/trace/lutdetail.h"
#include "core/trace/run.h"
#include "core/trace/runfile.h"
#include "core/trace/runprogram.h"
#include "core/trace/timeline.h"
#include "core/trace/valuebreaks.h"
#include "core/trace/why.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

namespace retro::app
{

namespace
{

using base::Result;
using nlohmann::ordered_json;

ordered_json names(const std::vector<program::BufferId>& buffers)
{
    return base::listOf(buffers, [&](const program::BufferId buffer) { return program::nameOf(buffer); });
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

/// The compiled program of a recorded run as lines of text: both sections, a line per instruction with its buffers, the
/// promise that it belongs to, and the buffers whose last use it is. Errors: as trace::programOf.
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

/// The same for machines: key, nodes, promises, buffers, results and instructions.
Result<ordered_json> programJson(const trace::Run& run)
{
    RETRO_TRY(const program::Program program, trace::programOf(run));
    const ordered_json steps = base::listOf(program::listing(program, *run.graph),
                                            [&](const program::ListedInstruction& step) -> ordered_json {
                                                return {{"instruction", step.index},
                                                        {"section", step.isArgument ? "ARGS" : "REL"},
                                                        {"opcode", program::nameOf(step.opcode)},
                                                        {"node", run.graph->labelOf(step.node)},
                                                        {"promise", step.promise},
                                                        {"writes", names(step.made)},
                                                        {"reads", names(step.read)},
                                                        {"last_uses", names(step.lastUses)},
                                                        {"text", step.text}};
                                            });
    const ordered_json results =
        base::listOf(program.results, [&](const program::RelevanceResult& result) -> ordered_json {
            return {{"node", run.graph->labelOf(result.node)},
                    {"output", result.output},
                    {"buffer", program::nameOf(result.buffer)}};
        });
    return ordered_json{{"key", base::hex(program.key)},
                        {"nodes", program.nodes},
                        {"promises", program.promises},
                        {"arguments", program.argsEnd},
                        {"buffers", program.buffers.size()},
                        {"instructions", steps},
                        {"results", results}};
}

std::string fileNameOf(std::string_view name)
{
    std::string file(name);
    std::ranges::transform(file, file.begin(),
                           [](unsigned char c) { return c == ' ' ? '_' : static_cast<char>(std::tolower(c)); });
    return file + ".npy";
}

std::string_view roleWord(lut::Role role)
{
    switch (role) {
    case lut::Role::Given:
        return "given";
    case lut::Role::Learned:
        return "learned";
    case lut::Role::Kept:
        return "kept";
    case lut::Role::Scratch:
        return "scratch";
    case lut::Role::Result:
        return "result";
    }
    return "";
}

std::string_view useWord(const ops::TableBuffer& buffer)
{
    return buffer.isRead && buffer.isWritten ? "read, written"
           : buffer.isRead                   ? "read"
           : buffer.isWritten                ? "written"
                                             : "";
}

/// A launch and the buffers of its pass as it left them: name, role, shape, what the launch did with each, figures.
nlohmann::ordered_json launchJson(const trace::LaunchDetail& detail)
{
    const lut::Launch& launch = detail.schedule.launches[detail.launch];
    nlohmann::ordered_json buffers = nlohmann::ordered_json::array();
    for (const ops::TableBuffer& one : detail.buffers) {
        const lut::Buffer& declared = *detail.schedule.find(one.id);
        nlohmann::ordered_json entry{{"name", declared.name},        {"role", roleWord(declared.role)},
                                     {"shape", declared.shape},      {"bytes", declared.bytes},
                                     {"read", one.isRead},           {"written", one.isWritten},
                                     {"elements", one.count},        {"non_zeros", one.nonZeros},
                                     {"least", one.least},           {"most", one.most},
                                     {"whole", one.values.isValid()}};
        if (const std::vector<std::string> columns = ops::columnsOf(one.id); !columns.empty()) {
            entry["columns"] = columns;
        }
        buffers.push_back(std::move(entry));
    }
    return {{"kernel", lut::nameOf(launch.kernel)},
            {"variant", lut::nameOf(launch.variant)},
            {"stream", launch.stream},
            {"path", detail.schedule.path == lut::Path::Documented ? "documented" : "fused"},
            {"buffers", buffers}};
}

/// The same for a terminal.
std::vector<std::string> launchLines(const trace::LaunchDetail& detail)
{
    const lut::Launch& launch = detail.schedule.launches[detail.launch];
    const std::string_view variant = lut::nameOf(launch.variant);
    std::vector<std::string> lines{fmt::format("launch        {}{}{} on stream {}", lut::nameOf(launch.kernel),
                                               variant.empty() ? "" : ", ", variant, launch.stream)};
    for (const ops::TableBuffer& one : detail.buffers) {
        const lut::Buffer& declared = *detail.schedule.find(one.id);
        lines.push_back(fmt::format("  {:<30} {:<13} {:<22} {:>10} of {:>10} not 0   {:.6g} … {:.6g}", declared.name,
                                    useWord(one), fmt::format("{}", fmt::join(declared.shape, " × ")), one.nonZeros,
                                    one.count, one.least, one.most));
    }
    if (detail.schedule.path == lut::Path::Fused) {
        lines.emplace_back("  Firing Statistics and Before Detectors Gradients are buffers of the documented path: "
                           "explain --lut-path documented");
    }
    return lines;
}

/// Writes each buffer as FOLDER/<name>.npy ("firing_statistics.npy"); those beyond 64 MiB are left out. Errors: Output.
base::Result<void> writeBuffers(const std::filesystem::path& folder, const trace::LaunchDetail& detail)
{
    RETRO_TRY(const HeldFolder lock, holdFolder(folder));
    for (const ops::TableBuffer& one : detail.buffers) {
        if (one.values.isValid()) {
            RETRO_CHECK(tensor::writeNpy(folder / fileNameOf(detail.schedule.find(one.id)->name), one.values));
        }
    }
    return {};
}

struct TraceOptions
{
    std::string file;
    std::uint64_t from = 0;
    std::optional<std::uint64_t> to;
    std::optional<std::uint64_t> at;
    std::string why;
    bool program = false;
    bool forwarding = false;
    std::string history;
    std::string model;
    std::size_t most = 5;
    std::vector<std::string> breaks;
    bool back = false;
    std::string buffers;
};

/// What is said of an event, by its position.
base::Fields<std::uint64_t> eventFields(const trace::Run& run)
{
    using Step = std::uint64_t;
    const auto at = [&run](Step step) -> const event::Event& { return run.events[step]; };
    const auto ofPromise = [at](std::uint32_t event::Event::*member) {
        return [at, member](Step step) {
            return base::PromiseId(at(step).promise).isValid() ? ordered_json(at(step).*member) : base::kLeftOut;
        };
    };
    return {{"event", std::identity(), "{:>8}"},
            {"visit", [at](Step step) { return at(step).visit; }, "{:>6}"},
            {"kind", [at](Step step) { return event::nameOf(at(step).kind); }},
            {"mode", [at](Step step) { return event::shortName(at(step).mode); }, "{:<4}"},
            {"node",
             [at, &run](Step step) {
                 const base::NodeId node(at(step).node);
                 return node.index() < run.graph->runNodeCount() ? ordered_json(run.graph->labelOf(node))
                                                                 : base::kLeftOut;
             },
             "{:<11}", "", [at](Step step) { return trace::eventKindWord(at(step).kind); }},
            {"promise", ofPromise(&event::Event::promise)},
            {"branch", ofPromise(&event::Event::branch)},
            {"text", [&run](Step step) { return trace::describe(run, step); }, "{}"}};
}

Result<void> listEvents(const Context& context, const trace::Run& run, const TraceOptions& options)
{
    const std::uint64_t end = std::min(options.to.value_or(run.eventCount()), run.eventCount());
    context.list(eventFields(run), std::views::iota(std::min(options.from, end), end));
    return {};
}

/// Position at which "why" is asked when none is given: just before the node's first visit.
std::uint64_t beforeFirstVisit(const trace::Run& run, base::NodeId node)
{
    for (std::uint64_t step = 0; step < run.eventCount(); ++step) {
        if (run.events[step].kind == event::EventKind::Visit && run.events[step].node == node.value) {
            return step;
        }
    }
    return run.eventCount();
}

Result<base::NodeId> nodeOf(const trace::Run& run, const std::string& name)
{
    if (const auto node = run.graph->findNode(name)) {
        return *node;
    }
    const auto value = run.graph->findValue(name);
    if (value && run.graph->nodeOf(*value).isValid()) {
        return run.graph->nodeOf(*value);
    }
    return base::usageError("the run's graph has no node or value of this name", "--why " + name);
}

/// Where the way to a node that no relevance reaches is cut, in words; empty where some does, or nobody knows.
Result<std::vector<std::string>> cutLines(const std::shared_ptr<const trace::Run>& run, const std::string& file,
                                          base::NodeId node)
{
    const auto facts = engine::factsOf(run, engine::modelOfRun(*run, file), file);
    double arrived = facts->balance(node).magnitude;
    for (const base::ValueId output : run->graph->outputsOf(node)) {
        arrived += output.isValid() ? facts->magnitude(output) : 0;
    }
    std::vector<std::string> lines;
    if (arrived > 0 || !facts->pass()->hasRelevance) {
        return lines;
    }
    diagnosis::Options options;
    options.families = {"flow"};
    RETRO_TRY(const diagnosis::Diagnosis found, diagnosis::diagnose(*facts, options));
    const std::vector<bool> isBehind = diagnosis::descendantsOf(*run->graph, node);
    const auto add = [&](const diagnosis::Finding& finding) {
        const base::NodeId at = finding.place.node;
        const bool isCut = finding.id == "flow.cut" || finding.id == "flow.unconnected";
        if (isCut && at.isValid() &&
            (isBehind[at.index()] || diagnosis::descendantsOf(*run->graph, at)[node.index()])) {
            lines.push_back("no relevance reaches it: " + finding.line());
            lines.push_back("  " + finding.meaning());
        }
    };
    for (const diagnosis::Finding& finding : found.findings) {
        add(finding);
        std::ranges::for_each(finding.also, add);
    }
    return lines;
}

Result<void> explainWait(const Context& context, trace::Timeline& timeline, const TraceOptions& options,
                         const std::shared_ptr<const trace::Run>& run)
{
    RETRO_TRY(const base::NodeId node, nodeOf(timeline.run(), options.why));
    timeline.seek(options.at.value_or(beforeFirstVisit(timeline.run(), node)));
    trace::Why why = trace::whyNotVisited(timeline, node);
    if (!options.at) {
        RETRO_TRY(std::vector<std::string> cut, cutLines(run, options.file, node));
        std::ranges::move(cut, std::back_inserter(why.lines));
    }
    if (context.json) {
        const ordered_json missing = base::listOf(why.missing, [&](const trace::MissingEdge& edge) -> ordered_json {
            return {{"slot", edge.slot},
                    {"from", edge.consumer.isValid() ? ordered_json(timeline.run().graph->labelOf(edge.consumer))
                                                     : ordered_json(nullptr)}};
        });
        context.answer({{"node", options.why},
                        {"position", timeline.position()},
                        {"visits", why.visits},
                        {"missing", missing},
                        {"lines", why.lines}});
        return {};
    }
    context.say(fmt::format("at position {}:", timeline.position()));
    for (const std::string& line : why.lines) {
        context.say(line);
    }
    return {};
}

Result<void> showProgram(const Context& context, const trace::Run& run, const std::string& file)
{
    if (context.json) {
        RETRO_TRY(auto json, base::within(programJson(run), file));
        context.answer(json);
        return {};
    }
    RETRO_TRY(auto lines, base::within(programLines(run), file));
    for (const std::string& line : lines) {
        context.say(line);
    }
    return {};
}

/// How each forward value got to the rules that read it.
Result<void> showForwarding(const Context& context, const trace::Run& run, const std::string& file)
{
    if (run.facts.forwarded.empty()) {
        return base::inputError("the run does not say how forward values were forwarded; record it with --forward",
                                file);
    }
    using Value = trace::ForwardedValue;
    context.list(
        base::Fields<Value>{
            {"value", [&](const Value& one) { return run.graph->value(one.value).name; }, "{:<32}"},
            {"form", [](const Value& one) { return trace::nameOf(one.form); }, "{:<9}"},
            {"bytes", &Value::bytes},
            {"kept", &Value::kept, "{}", "",
             [](const Value& one) { return fmt::format("{:>12} of {:>12} B ", one.kept, one.bytes); }},
            {"reason", &Value::reason, "{}", "",
             [](const Value& one) { return (one.isFallback ? "not as asked for: " : "") + one.reason; }},
            {"fallback", &Value::isFallback}},
        run.facts.forwarded);
    return {};
}

std::string placeText(const std::vector<std::int64_t>& index)
{
    std::vector<std::string> places;
    for (const std::int64_t i : index) {
        places.push_back(i == engine::HistoryPlace::kAll ? std::string("*") : std::to_string(i));
    }
    return fmt::format("{}", fmt::join(places, ","));
}

void sayHistoryRow(const Context& context, const trace::Run& run, const engine::HistoryRow& row)
{
    context.say(fmt::format("{:>8}  {:<28} {:+.6g} by {} {}{}", row.step ? fmt::format("{}", *row.step) : "-",
                            run.graph->value(row.value).name, row.sum, row.elements,
                            row.elements == 1 ? "element" : "elements",
                            row.isWhole ? "" : ", and the rest goes round it"));
    for (const engine::HistoryElement& one : row.largest) {
        context.say(fmt::format("            [{}] {:+.6g} = {:.6g} of its {:+.6g}", placeText(one.index), one.part,
                                one.way, one.relevance));
    }
    if (!row.rule.empty()) {
        context.say(fmt::format("            {}: {}", row.rule, row.formula));
    }
}

void sayLastStep(const Context& context, const trace::Run& run, const engine::HistoryLastStep& step)
{
    std::string numbers;
    for (const engine::HistoryNumber& number : step.numbers) {
        numbers += fmt::format("{}{} = {:.6g}", numbers.empty() ? "" : ", ", number.name, number.value);
    }
    context.say(fmt::format("last step   {} handed on {:+.6g}; of it {:+.6g} from [{}]", run.graph->labelOf(step.node),
                            step.all, step.part, placeText(step.from)));
    context.say(fmt::format("            {}: {}", step.rule, numbers));
}

void sayHistory(const Context& context, const trace::Run& run, const engine::History& history)
{
    context.say(fmt::format("{}[{}] has {:+.6g} of {:+.6g}", run.graph->value(history.value).name,
                            placeText(history.index), history.relevance, history.start));
    for (const engine::HistoryRow& row : history.rows) {
        sayHistoryRow(context, run, row);
    }
    for (const engine::HistoryLastStep& step : history.last) {
        sayLastStep(context, run, step);
    }
}

/// How the relevance of one element came to be.
Result<void> showHistory(const Context& context, const std::shared_ptr<const trace::Run>& run,
                         const TraceOptions& options)
{
    RETRO_TRY(const engine::HistoryPlace place, engine::parseHistoryPlace(options.history));
    RETRO_CHECK(engine::historyValue(*run, place));
    engine::LoadedModelPointer model;
    if (options.model.empty()) {
        model = engine::modelOfRun(*run, options.file);
    } else {
        RETRO_TRY(model, engine::loadModel(options.model));
    }
    RETRO_TRY(const engine::Historian historian, engine::Historian::open(run, model));
    RETRO_TRY(const engine::History history, historian.of(place, options.most));
    if (context.json) {
        context.answer(engine::historyJson(*run, history));
    } else {
        sayHistory(context, *run, history);
    }
    return {};
}

/// Positions at which a run stops, and why.
using Stops = std::vector<std::pair<std::uint64_t, std::string>>;

/// Where one breakpoint stops the run: everywhere, or next from a position on.
Result<void> addStops(const trace::Run& run, const std::string& condition, const TraceOptions& options, Stops& stops)
{
    RETRO_TRY(const trace::Breakpoint breakpoint, trace::parseBreakpoint(run, condition));
    std::map<std::uint64_t, std::string> whys;
    for (const trace::NumberStop& stop : trace::numberStops(run, breakpoint)) {
        whys[stop.step + 1] = stop.why;
    }
    std::vector<std::uint64_t> positions;
    if (!options.at) {
        positions = trace::allStops(run, breakpoint);
    } else if (const auto stop = options.back ? trace::previousStop(run, breakpoint, *options.at)
                                              : trace::nextStop(run, breakpoint, *options.at)) {
        positions = {*stop};
    }
    for (const std::uint64_t position : positions) {
        const auto why = whys.find(position);
        stops.emplace_back(position, why == whys.end() ? trace::text(run, breakpoint) : why->second);
    }
    return {};
}

void sayStops(const Context& context, const trace::Run& run, const Stops& stops)
{
    using Stop = Stops::value_type;
    context.list(base::Fields<Stop>{{"position", &Stop::first, "{:>8}"},
                                    {"visit", [&](const Stop& stop) { return run.visitOf(stop.first - 1); }, "{:>6}"},
                                    {"why", &Stop::second, " {}"}},
                 stops);
    if (!context.json && stops.empty()) {
        context.say("the run stops nowhere");
    }
}

/// Where the run stops at breakpoints, and why: everywhere, or the next stop from a position on.
Result<void> showStops(const Context& context, const std::shared_ptr<const trace::Run>& run,
                       const TraceOptions& options)
{
    RETRO_TRY(const trace::Timeline timeline, trace::Timeline::open(run)); // events that contradict each other
    Stops stops;
    for (const std::string& condition : options.breaks) {
        RETRO_CHECK(addStops(*run, condition, options, stops));
    }
    std::ranges::stable_sort(stops, {}, [](const auto& stop) { return stop.first; });
    if (options.at && stops.size() > 1) {
        stops = {options.back ? stops.back() : stops.front()};
    }
    sayStops(context, *run, stops);
    return {};
}

/// The launch of a kernel that the run has just come past, with its buffers, which are written where that is asked for.
/// Nothing where the run does not hold them: then they were not asked for either.
Result<std::optional<trace::LaunchDetail>> launchBefore(const trace::Run& run, std::uint64_t position,
                                                        const TraceOptions& options)
{
    std::uint64_t behind = position; // the buffers of a launch follow it
    while (behind > 0 && run.events[behind - 1].kind == event::EventKind::Buffer) {
        --behind;
    }
    const bool isLaunch = behind > 0 && run.events[behind - 1].kind == event::EventKind::Launch;
    if (!isLaunch && options.buffers.empty()) {
        return std::optional<trace::LaunchDetail>();
    }
    Result<trace::LaunchDetail> detail =
        isLaunch ? trace::launchDetail(run, behind - 1)
                 : base::usageError("no kernel was launched by the event before this position; `trace RUN` lists the "
                                    "launches",
                                    "--buffers");
    if (!detail) {
        return options.buffers.empty() ? Result<std::optional<trace::LaunchDetail>>(std::nullopt)
                                       : Result<std::optional<trace::LaunchDetail>>(std::move(detail).error());
    }
    if (!options.buffers.empty()) {
        RETRO_CHECK(writeBuffers(options.buffers, *detail));
    }
    return std::optional(*std::move(detail));
}

Result<void> showTrace(const Context& context, const TraceOptions& options)
{
    RETRO_TRY(const std::shared_ptr<const trace::Run> run, trace::readRun(options.file));
    if (options.at.value_or(0) > run->eventCount()) {
        return base::usageError(fmt::format("the run has {} events: write a number from 0 (before the first) to {}",
                                            run->eventCount(), run->eventCount()),
                                "--at");
    }
    if (options.forwarding) {
        return showForwarding(context, *run, options.file);
    }
    if (options.program) {
        return showProgram(context, *run, options.file);
    }
    if (!options.history.empty()) {
        return showHistory(context, run, options);
    }
    if (!options.breaks.empty()) {
        return showStops(context, run, options);
    }
    if (!options.at && options.why.empty()) {
        return listEvents(context, *run, options);
    }
    RETRO_TRY(trace::Timeline timeline, trace::Timeline::open(run));
    if (!options.why.empty()) {
        return explainWait(context, timeline, options, run);
    }
    timeline.seek(*options.at);
    RETRO_TRY(const std::optional<trace::LaunchDetail> launch, launchBefore(*run, timeline.position(), options));
    if (context.json) {
        ordered_json state = stateJson(timeline);
        if (launch) {
            state["launch"] = launchJson(*launch);
        }
        context.answer(state);
        return {};
    }
    for (const std::string& line : stateLines(timeline)) {
        context.say(line);
    }
    for (const std::string& line : launch ? launchLines(*launch) : std::vector<std::string>()) {
        context.say(line);
    }
    return {};
}

} // namespace

void addTrace(CLI::App& program, Context& context)
{
    auto options = std::make_shared<TraceOptions>();
    CLI::App* verb =
        addVerb(program, context, "trace", "Events of a recorded run, the state at one, or why a node waits",
                [&context, options] { return showTrace(context, *options); });
    verb->add_option("FILE", options->file, "Recorded run (.retro)")->required();
    verb->add_option("--from", options->from, "First event");
    verb->add_option("--to", options->to, "One past the last event");
    verb->add_option("--at", options->at,
                     "Show the state after this many events: collections, promises, nodes, frontier");
    verb->add_option("--buffers", options->buffers,
                     "Folder for the buffers of a LUT kernel, as its launch at --at left them (.npy each)");
    verb->add_option("--why", options->why,
                     "Print what this node waits for (at --at, else just before its first visit)");
    verb->add_option("--history", options->history,
                     "VALUE:i,j,…: how the relevance of this element came to be, layer by layer (docs/history.md)")
        ->check([](const std::string& text) { return text.empty() ? "write VALUE:i,j,…" : std::string(); });
    verb->add_option("--model", options->model, "Of --history: the model, where it is not found");
    verb->add_option("--most", options->most, "Of --history: as many elements of each value")
        ->check(CLI::Range(std::size_t{1}, std::size_t{1000}));
    verb->add_option("--break", options->breaks,
                     "Where the run stops at this condition, and why; from --at on the next stop alone")
        ->allow_extra_args(false);
    verb->add_flag("--back", options->back, "Of --break with --at: the stop before");
    verb->add_flag("--program", options->program,
                   "Show the compiled program, derived from the run's events (docs/program.md)");
    verb->add_flag(
        "--forwarding", options->forwarding,
        "Show how each forward value got to the rules that read it: form, bytes, why it is not in the form asked for");
}

} // namespace retro::app
