// SPDX-License-Identifier: Apache-2.0
#include "app/cli/context.h"
#include "app/cli/planningoptions.h"
#include "core/analysis/criticalsubgraph.h"
#include "core/analysis/report.h"
#include "core/base/bytesize.h"
#include "core/formats/memorycourse.h"
#include "core/formats/memorysnapshot.h"
#include "core/schedule/peaktensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <ranges>

namespace retro::app
{

namespace
{

using base::Result;
using nlohmann::ordered_json;

/// Blocks at the peak by the line of source, most bytes first.
struct LineAtPeak
{
    std::string line;
    std::uint64_t bytes = 0;
    std::size_t blocks = 0;
};

std::vector<LineAtPeak> linesAtPeak(const formats::MemorySnapshot& snapshot, const formats::MemoryCourse& course)
{
    std::map<std::string, LineAtPeak> byLine;
    for (const formats::StackAtPeak& row : course.atPeak) {
        LineAtPeak& line = byLine[formats::frameText(snapshot, row.stack)];
        line.bytes += row.bytes;
        line.blocks += row.blocks;
    }
    std::vector<LineAtPeak> lines;
    for (auto& [text, line] : byLine) {
        line.line = text;
        lines.push_back(line);
    }
    std::ranges::stable_sort(lines, [](const LineAtPeak& a, const LineAtPeak& b) { return a.bytes > b.bytes; });
    return lines;
}

ordered_json courseJson(const formats::MemorySnapshot& snapshot, const formats::MemoryCourse& course)
{
    const ordered_json moments = base::listOf(course.moments, [&](const formats::MemoryMoment& moment) -> ordered_json {
        return {moment.event, moment.allocated, moment.reserved};
    });
    const ordered_json lines = base::listOf(linesAtPeak(snapshot, course), [&](const LineAtPeak& line) -> ordered_json {
        return {{"frame", line.line}, {"bytes", line.bytes}, {"blocks", line.blocks}};
    });
    return {{"device", course.device},
            {"events", course.events},
            {"allocated_peak", course.peak.allocated},
            {"reserved_at_peak", course.peak.reserved},
            {"reserved_peak", course.reservedPeak},
            {"peak_event", course.peak.event},
            {"peak_time_us", course.peakTime},
            {"at_peak", lines},
            {"course", moments}};
}

/// Says of a memory snapshot of PyTorch: reserved and allocated memory over its trace, and what fills the peak by the
/// line of source that asked for it, `rows` of them (0: all, in the JSON answer always).
Result<void> analyzeSnapshot(const Context& context, const std::string& file, std::size_t rows)
{
    RETRO_TRY(const formats::MemorySnapshot snapshot, formats::readMemorySnapshot(file));
    const std::vector<formats::MemoryCourse> courses = formats::memoryCourses(snapshot);
    ordered_json devices = ordered_json::array();
    for (const formats::MemoryCourse& course : courses) {
        if (context.json) {
            devices.push_back(courseJson(snapshot, course));
            continue;
        }
        context.say(fmt::format("device {}: {} events, allocated at most {} (behind event {}), reserved at most {}",
                                course.device, course.events, base::bothBytesText(course.peak.allocated),
                                course.peak.event, base::bothBytesText(course.reservedPeak)));
        const std::vector<LineAtPeak> lines = linesAtPeak(snapshot, course);
        for (std::size_t i = 0; i < (rows == 0 ? lines.size() : std::min(rows, lines.size())); ++i) {
            context.say(fmt::format("{:>12}  {:>6} {}  {}", base::bytesText(lines[i].bytes), lines[i].blocks,
                                    lines[i].blocks == 1 ? "block " : "blocks", lines[i].line));
        }
    }
    if (context.json) {
        context.answer({{"kind", "memory snapshot"},
                        {"segments", snapshot.segments.size()},
                        {"stacks", snapshot.stacks.size()},
                        {"devices", devices}});
    } else if (courses.empty()) {
        context.say("the snapshot has no trace and no block in use");
    }
    return {};
}

using analysis::OpGraph;
using analysis::OpId;
using analysis::Report;

struct AnalyzeOptions
{
    PlanningOptions planning;
    analysis::Machine machine;
    std::size_t rows = 12;

    /// Inputs that the critical subgraph starts at; none: every one.
    [[nodiscard]] const std::vector<std::string>& from() const { return planning.model.question.from; }
};

/// The inputs that the critical subgraph starts at.
Result<std::vector<analysis::FlowName>> startsOf(const OpGraph& graph, const AnalyzeOptions& options)
{
    std::vector<analysis::FlowName> all = analysis::differentiableInputs(graph);
    if (options.from().empty()) {
        return all;
    }
    std::vector<std::string> known;
    std::vector<analysis::FlowName> chosen;
    for (const analysis::FlowName input : all) {
        known.push_back(graph.value(input).name);
        if (std::ranges::find(options.from(), known.back()) != options.from().end()) {
            chosen.push_back(input);
        }
    }
    for (const std::string& name : options.from()) {
        if (std::ranges::find(known, name) == known.end()) {
            return base::usageError(
                fmt::format("the graph has no differentiable input of this name; it has {}",
                            known.empty() ? "none at all" : fmt::format("{}", fmt::join(known, ", "))),
                "--from " + name);
        }
    }
    return chosen;
}

const base::Fields<analysis::ScoredOrder>& orderFields()
{
    using analysis::ScoredOrder;
    static const base::Fields<ScoredOrder> kFields{
        {"name", [](const ScoredOrder& one) { return analysis::nameOf(one.heuristic); }, "{:<14}", "order"},
        {"peak", &ScoredOrder::peak, "{:>12}", "peak", [](const ScoredOrder& one) { return bytesText(one.peak); }},
        {"peak_live", &ScoredOrder::peakLive, "{:>12}", "live",
         [](const ScoredOrder& one) { return bytesText(one.peakLive); }},
        {"", nullptr, " {}", "how", [](const ScoredOrder& one) { return analysis::descriptionOf(one.heuristic); }}};
    return kFields;
}

ordered_json compressibilityJson(const analysis::Compressibility& facts)
{
    const ordered_json criteria = base::listOf(facts.criteria, [&](const analysis::Criterion& one) -> ordered_json {
        return {{"name", one.name},
                {"measured", one.measured},
                {"limit", one.limit},
                {"limit_is", one.isLeast ? "least" : "most"},
                {"holds", one.holds}};
    });
    return {{"compressible", facts.isCompressible},
            {"too_small", facts.isTooSmall},
            {"depth_ratio", facts.depthRatio},
            {"width", facts.width},
            {"ratio", facts.ratio},
            {"percentile_95", facts.percentile95},
            {"average", facts.average},
            {"depth", facts.depth},
            {"fan_out", facts.mostReaders},
            {"criteria", criteria}};
}

ordered_json profileJson(const OpGraph& graph, const Report& report)
{
    ordered_json rows = ordered_json::array();
    const analysis::FrontierProfile& profile = report.profile;
    const auto goes = analysis::leaving(profile);
    for (std::size_t i = 0; i < profile.order.size(); ++i) {
        const ordered_json leaving =
            base::listOf(goes[i], [&](const analysis::OpValueId id) { return graph.value(id).name; });
        rows.push_back({{"node", graph.op(profile.order[i]).name},
                        {"transient", profile.transient[i]},
                        {"live", profile.live[i]},
                        {"legacy", profile.legacy[i]},
                        {"leaving", leaving}});
    }
    return rows;
}

ordered_json summaryJson(const analysis::FrontierSummary& summary)
{
    return {{"peak", summary.peak},
            {"peak_at", summary.peakAt},
            {"peak_live", summary.peakLive},
            {"peak_live_at", summary.peakLiveAt},
            {"average_live", summary.averageLive},
            {"median_live", summary.medianLive},
            {"percentile_95", summary.percentile95},
            {"percentile_99", summary.percentile99},
            {"tail", summary.tail}};
}

/// What is said of an operator's cost.
base::Fields<OpId> costFields(const OpGraph& graph, const Report& report)
{
    const auto of = [&report](double analysis::OpCost::*member) {
        return [&report, member](OpId id) { return report.cost.ops[id].*member; };
    };
    const auto boundBy = [&](OpId id) { return report.cost.ops[id].isMemoryBound ? "memory" : "arithmetic"; };
    return {{"node", [&](OpId id) { return graph.op(id).name; }, "{:<32.32}", "node"},
            {"op", [&](OpId id) { return graph.op(id).type; }, "{:<18.18}", "operator"},
            {"flops", of(&analysis::OpCost::flops), "{:>10.3f}", "MFLOP",
             [&](OpId id) { return report.cost.ops[id].flops / 1e6; }},
            {"bytes", of(&analysis::OpCost::bytes), "{:>11}", "traffic",
             [&](OpId id) { return bytesText(static_cast<std::uint64_t>(report.cost.ops[id].bytes)); }},
            {"intensity", of(&analysis::OpCost::intensity), "{:>9.2f}", "FLOP/B"},
            {"seconds", of(&analysis::OpCost::seconds)},
            {"bound_by", boundBy, " {}", "bound by"}};
}

ordered_json boundsJson(const OpGraph& graph, const Report& report)
{
    ordered_json bounds;
    bounds["forward_any_order"] = {{"bytes", report.forwardBound.bytes},
                                   {"node", graph.op(report.forwardBound.at).name}};
    bounds["forward_exact"] = report.exact
                                  ? ordered_json{{"transient", report.exact->transient}, {"live", report.exact->live}}
                                  : ordered_json();
    return bounds;
}

ordered_json jointJson(const Report& report)
{
    if (!report.joint) {
        return nullptr;
    }
    return {{"operators", report.joint->operators},
            {"store_all_peak", report.joint->storeAllPeak},
            {"cost", report.joint->cost},
            {"largest_operator", {{"bytes", report.joint->largest.bytes}, {"node", report.joint->largestAt}}},
            {"floor", {{"bytes", report.joint->floor.bytes}, {"node", report.joint->floorAt}}}};
}

ordered_json criticalJson(const OpGraph& graph, std::span<const analysis::FlowName> from)
{
    const analysis::CriticalSubgraph found = analysis::criticalSubgraph(graph, from);
    const ordered_json inputs =
        base::listOf(from, [&](const analysis::FlowName input) { return graph.value(input).name; });
    ordered_json leftOut = ordered_json::array();
    for (std::size_t i = 0; i < found.skipped.size(); ++i) {
        const analysis::Op& op = graph.op(found.skipped[i]);
        leftOut.push_back({{"node", op.name}, {"op", op.type}, {"reason", analysis::textOf(found.reasons[i])}});
    }
    return {{"from", inputs}, {"operators", found.critical.size()}, {"left_out", leftOut}};
}

ordered_json reportJson(const analysis::PlanningGraph& planning, const Report& report, const AnalyzeOptions& options,
                        std::span<const analysis::FlowName> from)
{
    const OpGraph& graph = planning.graph;
    const ordered_json path = base::listOf(report.cost.criticalPath, [&](const OpId id) { return graph.op(id).name; });
    ordered_json result{{"operators", graph.size()},
                        {"values", graph.values().size()},
                        {"bytes", graph.totalBytes()},
                        {"constant_bytes", planning.constantBytes},
                        {"cost_unit", analysis::nameOf(planning.unit)},
                        {"warnings", planning.warnings}};
    result["orders"] = orderFields().list(report.orders);
    result["order"] = analysis::nameOf(report.orders.front().heuristic);
    result["summary"] = summaryJson(report.summary);
    result["bounds"] = boundsJson(graph, report);
    result["height_compressible"] = compressibilityJson(report.compressibility);
    result["height_compressible_legacy"] = compressibilityJson(report.legacy);
    result["joint"] = jointJson(report);
    result["critical_subgraph"] = criticalJson(graph, from);
    result["machine"] = {{"flops_per_second", options.machine.flopsPerSecond},
                         {"bytes_per_second", options.machine.bytesPerSecond},
                         {"balance", options.machine.balance()}};
    result["cost"] = {{"flops", report.cost.flops},
                      {"bytes", report.cost.bytes},
                      {"work_seconds", report.cost.workSeconds},
                      {"depth_seconds", report.cost.depthSeconds},
                      {"parallelism", report.cost.parallelism()},
                      {"critical_path", path}};
    result["longest_skip"] = {{"value", report.longestSkip.value == analysis::kNone
                                            ? ordered_json()
                                            : ordered_json(graph.value(report.longestSkip.value).name)},
                              {"positions", report.longestSkip.positions}};
    result["long_lived_share"] = report.compressibility.longLivedShare;
    result["profile"] = profileJson(graph, report);
    result["nodes"] = costFields(graph, report).list(std::views::iota(OpId{0}, static_cast<OpId>(graph.size())));
    return result;
}

void sayOrders(const Context& context, const OpGraph& graph, const Report& report)
{
    context.say("");
    context.table(orderFields(), report.orders);
    if (report.exact) {
        context.say(fmt::format("{:<14} {:>12} {:>12}  {}", "exact", bytesText(report.exact->transient),
                                bytesText(report.exact->live), "least of all orders, nothing computed twice"));
    }
    context.say(fmt::format("{:<14} {:>12} {:>12}  no order needs less: {}", "lower bound",
                            bytesText(report.forwardBound.bytes), "", graph.op(report.forwardBound.at).name));
}

void sayCompressibility(const Context& context, const analysis::Compressibility& facts)
{
    context.say("");
    context.say(fmt::format("height-compressible: {} (depth {}, widest frontier {})",
                            facts.isTooSmall       ? "too small to say"
                            : facts.isCompressible ? "yes"
                                                   : "no",
                            facts.depth, bytesText(facts.width)));
    for (const analysis::Criterion& one : facts.criteria) {
        context.say(fmt::format("  {:<26} {:>8.3f}  at {} {:<6g} {}", one.name, one.measured,
                                one.isLeast ? "least" : "most", one.limit, one.holds ? "holds" : "fails"));
    }
}

void sayJoint(const Context& context, const Report& report, const AnalyzeOptions& options)
{
    context.say("");
    if (!report.joint) {
        context.say("joint graph: nothing is differentiable");
        return;
    }
    context.say(fmt::format("joint graph (forward + {}): {} operators, peak {} when nothing is computed twice",
                            options.planning.isRelevance ? "relevance" : "gradient", report.joint->operators,
                            bytesText(report.joint->storeAllPeak)));
    context.say(
        fmt::format("  no plan needs less than {} ({})", bytesText(report.joint->floor.bytes), report.joint->floorAt));
}

/// What a gradient of all outputs visits, and how many operators are left out for each reason.
void sayCritical(const Context& context, const OpGraph& graph, std::span<const analysis::FlowName> from)
{
    const analysis::CriticalSubgraph found = analysis::criticalSubgraph(graph, from);
    context.say(fmt::format("critical subgraph: {} of {} operators", found.critical.size(),
                            found.critical.size() + found.skipped.size()));
    std::map<analysis::LeftOut, std::size_t> counts;
    for (const analysis::LeftOut reason : found.reasons) {
        ++counts[reason];
    }
    for (const auto& [reason, count] : counts) {
        context.say(fmt::format("  {:>6} left out: {}", count, analysis::textOf(reason)));
    }
}

/// The costliest nodes first.
void sayNodes(const Context& context, const OpGraph& graph, const Report& report, std::size_t rows)
{
    std::vector<OpId> ids(graph.size());
    std::iota(ids.begin(), ids.end(), OpId{0});
    std::stable_sort(ids.begin(), ids.end(),
                     [&](OpId a, OpId b) { return report.cost.ops[a].seconds > report.cost.ops[b].seconds; });
    ids.resize(std::min(ids.size(), rows));
    context.say("");
    context.table(costFields(graph, report), ids);
}

void sayReport(const Context& context, const analysis::PlanningGraph& planning, const Report& report,
               const AnalyzeOptions& options, std::span<const analysis::FlowName> from)
{
    const OpGraph& graph = planning.graph;
    context.say(fmt::format("{} operators, {} values of {}, constants {}", graph.size(), graph.values().size(),
                            bytesText(graph.totalBytes()), bytesText(planning.constantBytes)));
    for (const std::string& warning : planning.warnings) {
        context.say("note: " + warning);
    }
    sayOrders(context, graph, report);
    context.say(fmt::format("forward frontier of the first: peak {} at {}, average {}, at the end {}",
                            bytesText(report.summary.peak), graph.op(report.profile.order[report.summary.peakAt]).name,
                            bytesText(static_cast<std::uint64_t>(report.summary.averageLive)),
                            bytesText(report.summary.tail)));
    sayCompressibility(context, report.compressibility);
    sayJoint(context, report, options);
    sayCritical(context, graph, from);
    context.say("");
    context.say(
        fmt::format("on {:g} FLOP/s and {:g} B/s: work {:.6f} s, depth {:.6f} s, {} operators on the critical path",
                    options.machine.flopsPerSecond, options.machine.bytesPerSecond, report.cost.workSeconds,
                    report.cost.depthSeconds, report.cost.criticalPath.size()));
    sayNodes(context, graph, report, options.rows);
}

Result<void> analyzeGraph(const Context& context, const AnalyzeOptions& options)
{
    if (formats::looksLikePickle(options.planning.model.model)) {
        return analyzeSnapshot(context, options.planning.model.model, options.rows);
    }
    RETRO_TRY(const engine::LoadedModelPointer model, options.planning.open());
    RETRO_TRY(const engine::SubjectPlanning made, options.planning.planningOf(*model));
    const analysis::PlanningGraph& planning = made.planning;
    RETRO_TRY(const std::vector<engine::CountedBand> bands, options.planning.bands(*model, planning));
    RETRO_TRY(const std::vector<analysis::FlowName> from, startsOf(planning.graph, options));
    RETRO_TRY(const Report report,
              analysis::makeReport(planning.graph, options.machine, options.planning.joint(planning.unit)));
    if (context.json) {
        ordered_json json = reportJson(planning, report, options, from);
        addBands(json, bands);
        const auto joint =
            analysis::jointOf(planning.graph, planning.graph.order(), options.planning.joint(planning.unit));
        json["peak_tensors"] =
            joint ? schedule::peakTensorsJson(schedule::storeAllPeakTensors(joint->graph)) : ordered_json();
        context.answer(json);
    } else {
        sayBands(context, bands);
        sayReport(context, planning, report, options, from);
    }
    return {};
}

} // namespace

void addAnalyze(CLI::App& program, Context& context)
{
    auto options = std::make_shared<AnalyzeOptions>();
    CLI::App* verb =
        addVerb(program, context, "analyze",
                "Frontier profile, orders, bounds, height-compressibility, critical subgraph, cost per node",
                [&context, options] { return analyzeGraph(context, *options); });
    options->planning.addTo(*verb, context);
    verb->add_option("--flops-per-second", options->machine.flopsPerSecond, "Of the machine that costs are stated for")
        ->check(positiveNumber());
    addBytesOption(
        *verb, "--bytes-per-second",
        [options](std::uint64_t bytes) { options->machine.bytesPerSecond = static_cast<double>(bytes); },
        "Of its memory, such as 100GB");
    verb->add_option("--rows", options->rows, "Rows of the table of nodes (default 12)")->check(wholeNumber());
}

} // namespace retro::app
