// SPDX-License-Identifier: Apache-2.0
#include "app/cli/context.h"
#include "app/cli/programtext.h"
#include "app/cli/statetext.h"
#include "core/diagnosis/diagnosis.h"
#include "core/diagnosis/modelfacts.h"
#include "core/engine/diagnose.h"
#include "core/trace/describe.h"
#include "core/trace/runfile.h"
#include "core/trace/timeline.h"
#include "core/trace/why.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>

namespace retro::app
{

namespace
{

/// A kind of event for people; `--json` and files have its name (docs/formats/retro.md).
std::string_view wordOf(event::EventKind kind)
{
    switch (kind) {
    case event::EventKind::ArgNode:
        return "found";
    case event::EventKind::Arg:
        return "argument";
    case event::EventKind::PromiseRelevance:
        return "received";
    case event::EventKind::BranchRelevance:
        return "receives";
    default:
        return event::nameOf(kind);
    }
}

using base::Result;
using nlohmann::ordered_json;

struct TraceOptions
{
    std::string file;
    std::uint64_t from = 0;
    std::optional<std::uint64_t> to;
    std::optional<std::uint64_t> at;
    std::string why;
    bool program = false;
    bool forwarding = false;
};

ordered_json eventJson(const trace::Run& run, std::uint64_t step)
{
    const event::Event& event = run.events[step];
    ordered_json json{{"event", step},
                      {"visit", event.visit},
                      {"kind", event::nameOf(event.kind)},
                      {"mode", event::shortName(event.mode)}};
    if (event.node < run.graph->runNodeCount()) {
        json["node"] = run.graph->labelOf(base::NodeId(event.node));
    }
    if (base::PromiseId(event.promise).isValid()) {
        json["promise"] = event.promise;
        json["branch"] = event.branch;
    }
    json["text"] = trace::describe(run, step);
    return json;
}

Result<void> listEvents(const Context& context, const trace::Run& run, const TraceOptions& options)
{
    const std::uint64_t end = std::min(options.to.value_or(run.eventCount()), run.eventCount());
    ordered_json all = ordered_json::array();
    for (std::uint64_t step = options.from; step < end; ++step) {
        if (context.json) {
            all.push_back(eventJson(run, step));
            continue;
        }
        const event::Event& event = run.events[step];
        context.say(fmt::format("{:>8} {:>6} {:<4} {:<9} {}", step, event.visit, event::shortName(event.mode),
                                wordOf(event.kind), trace::describe(run, step)));
    }
    if (context.json) {
        context.answer(all);
    }
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
        ordered_json missing = ordered_json::array();
        for (const trace::MissingEdge& edge : why.missing) {
            missing.push_back(
                {{"slot", edge.slot},
                 {"from", edge.consumer.isValid() ? ordered_json(timeline.run().graph->labelOf(edge.consumer))
                                                  : ordered_json(nullptr)}});
        }
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
        Result<ordered_json> json = programJson(run);
        if (!json) {
            return base::within(std::move(json).error(), file);
        }
        context.answer(*json);
        return {};
    }
    Result<std::vector<std::string>> lines = programLines(run);
    if (!lines) {
        return base::within(std::move(lines).error(), file);
    }
    for (const std::string& line : *lines) {
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
    ordered_json all = ordered_json::array();
    for (const trace::ForwardedValue& one : run.facts.forwarded) {
        const std::string& name = run.graph->value(one.value).name;
        if (context.json) {
            all.push_back({{"value", name},
                           {"form", trace::nameOf(one.form)},
                           {"bytes", one.bytes},
                           {"kept", one.kept},
                           {"reason", one.reason},
                           {"fallback", one.isFallback}});
            continue;
        }
        context.say(fmt::format("{:<32} {:<9} {:>12} of {:>12} B  {}{}", name, trace::nameOf(one.form), one.kept,
                                one.bytes, one.isFallback ? "not as asked for: " : "", one.reason));
    }
    if (context.json) {
        context.answer(all);
    }
    return {};
}

Result<void> showTrace(const Context& context, const TraceOptions& options)
{
    RETRO_TRY(const std::shared_ptr<const trace::Run> run, trace::readRun(options.file));
    if (options.forwarding) {
        return showForwarding(context, *run, options.file);
    }
    if (options.program) {
        return showProgram(context, *run, options.file);
    }
    if (!options.at && options.why.empty()) {
        return listEvents(context, *run, options);
    }
    RETRO_TRY(trace::Timeline timeline, trace::Timeline::open(run));
    if (!options.why.empty()) {
        return explainWait(context, timeline, options, run);
    }
    timeline.seek(*options.at);
    if (context.json) {
        context.answer(stateJson(timeline));
        return {};
    }
    for (const std::string& line : stateLines(timeline)) {
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
    verb->add_option("--why", options->why,
                     "Print what this node waits for (at --at, else just before its first visit)");
    verb->add_flag("--program", options->program,
                   "Show the compiled program, derived from the run's events (docs/program.md)");
    verb->add_flag(
        "--forwarding", options->forwarding,
        "Show how each forward value got to the rules that read it: form, bytes, why it is not in the form asked for");
}

} // namespace retro::app
