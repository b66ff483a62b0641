// SPDX-License-Identifier: Apache-2.0
#include "core/engine/results/results.h"

#include "core/base/file.h"
#include "core/base/filebatch.h"
#include "core/base/hash.h"
#include "core/base/jsonout.h"
#include "core/base/record.h"
#include "core/diagnosis/diagnosis.h"
#include "core/engine/explain/ctc.h"
#include "core/engine/forwarding/forwardedpass.h"
#include "core/engine/forwarding/forwardingjson.h"
#include "core/engine/lut/lutpath.h"
#include "core/engine/model/precision.h"
#include "core/engine/model/uniquenames.h"
#include "core/engine/plan/carriedplan.h"
#include "core/engine/plan/plannedsaving.h"
#include "core/engine/results/runfacts.h"
#include "core/ops/algebra.h"
#include "core/schedule/peaktensors.h"
#include "core/tensor/npy.h"
#include "core/trace/profiletext.h"
#include "core/trace/targetplace.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace retro::engine
{

using nlohmann::ordered_json;

namespace
{

void addTarget(const LoadedModel& model, const graph::Graph& graph, const ResolvedTarget& resolved,
               ordered_json& targets)
{
    const std::string& output = graph.value(resolved.value).name;
    const tensor::Shape& shape = resolved.start.shape();
    const std::vector<std::string> axes = trace::axisNames(graph, resolved.value, shape.size());
    for (std::size_t i = 0; i < resolved.index.size(); ++i) {
        const std::int64_t index = resolved.index[i];
        ordered_json target{{"output", output}, {"index", index}, {"logit", resolved.logit[i]}};
        if (isStepOfTime(resolved, i)) {
            target["place"] = {{"time", i}, {"class", index}};
        } else if (index >= 0 && trace::isDense(axes, shape)) {
            const std::vector<std::int64_t> indices = trace::indicesInSample(shape, index);
            for (std::size_t axis = 1; axis < axes.size(); ++axis) {
                target["place"][axes[axis]] = indices[axis - 1];
            }
        }
        if (index < 0 && i < resolved.place.size() && !resolved.place[i].empty()) {
            target["place"] = resolved.place[i]; // a segment
        }
        const std::int64_t label = index < 0 ? index : trace::classOf(axes, shape, index);
        if (model.card && label >= 0 && static_cast<std::size_t>(label) < model.card->labels.size()) {
            target["label"] = model.card->labels[static_cast<std::size_t>(label)];
        }
        targets.push_back(std::move(target));
    }
}

ordered_json targetsJson(const LoadedModel& model, const ExplainResult& result)
{
    ordered_json targets = ordered_json::array();
    addTarget(model, result.model->graph(), result.target, targets);
    for (const ResolvedTarget& target : result.alsoTargets) {
        addTarget(model, result.model->graph(), target, targets);
    }
    return targets;
}

std::string checkpointFile(const ExplainResult& result, const TakenCheckpoint& checkpoint)
{
    return "checkpoints/" + fileNames(result.model->graph())[checkpoint.value.index()] + ".npy";
}

ordered_json checkpointsJson(const ExplainResult& result)
{
    return base::listOf(result.checkpoints, [&](const TakenCheckpoint& checkpoint) -> ordered_json {
        return {{"value", result.model->graph().value(checkpoint.value).name},
                {"visit", base::orNull(checkpoint.visit)},
                {"relevance", ops::algebra::sum(checkpoint.relevance)},
                {"file", checkpointFile(result, checkpoint)}};
    });
}

std::string parameterFile(const std::vector<std::string>& names, const ParameterRelevance& parameter)
{
    return "relevance/" + names[parameter.value.index()] + ".npy";
}

ordered_json parametersJson(const ExplainResult& result)
{
    const std::vector<std::string> names = fileNames(result.model->graph());
    return base::listOf(result.parameters, [&](const ParameterRelevance& parameter) -> ordered_json {
        const std::string& name = result.model->graph().value(parameter.value).name;
        if (!parameter.relevance.isValid()) {
            return {{"parameter", name}, {"reasons", parameter.reasons}};
        }
        return {{"parameter", name},
                {"relevance", ops::algebra::sum(parameter.relevance)},
                {"file", parameterFile(names, parameter)}};
    });
}

base::Result<void> writeParameters(base::FileBatch& files, const std::filesystem::path& folder,
                                   const ExplainResult& result, const std::vector<std::string>& names)
{
    for (const ParameterRelevance& parameter : result.parameters) {
        if (parameter.relevance.isValid()) {
            RETRO_CHECK(files.add(folder / parameterFile(names, parameter), tensor::toNpy(parameter.relevance)));
        }
    }
    return {};
}

ordered_json regionJson(const ExplainResult& result)
{
    const graph::Graph& graph = result.model->graph();
    const std::vector<std::string> names = fileNames(graph);
    ordered_json json{{"mask", result.region->text}, {"total", result.region->total}};
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
        const tensor::Tensor& mask = result.region->masks[i];
        if (mask.isValid()) {
            json["masks"][graph.value(graph.inputs()[i]).name] = ops::algebra::sum(mask);
        }
    }
    json["values"] = ordered_json::object();
    for (const RegionShare& share : regionShares(*result.region, result.relevance, graph)) {
        json["values"][graph.value(share.value).name] =
            base::objectOf({{"total", share.total},
                            {"relevance", share.relevance},
                            {"weight_sum", share.weightSum},
                            {"arrives", base::ifAny(share.arrives)},
                            {"channel_axis", base::ifAny(share.axis)},
                            {"per_channel", share.axis ? ordered_json(share.perChannel) : base::kLeftOut},
                            {"file", "region/" + names[share.value.index()] + ".npy"}});
    }
    json["seconds"] = result.region->seconds;
    return json;
}

ordered_json conditionsJson(const LoadedModel& model, const ExplainRequest& request, const ExplainResult& result)
{
    const bool isOnly = request.conditionForm == ConditionForm::Only;
    ordered_json json{{"form", isOnly ? "only" : "beside"}, {"values", ordered_json::array()}};
    for (const PassedCondition& one : result.conditions) {
        json["values"].push_back({{"value", result.model->graph().value(one.value).name},
                                  {"conditions", one.texts},
                                  {"arrived", one.arrived},
                                  {"passed", one.passed}});
    }
    if (result.asked) {
        ordered_json asked = ordered_json::array();
        addTarget(model, result.model->graph(), *result.asked, asked);
        json["asked"] = std::move(asked);
    }
    return json;
}

base::Result<void> writeRegion(base::FileBatch& files, const std::filesystem::path& folder, const ExplainResult& result,
                               const std::vector<std::string>& names)
{
    if (!result.region) {
        return {};
    }
    RETRO_CHECK(base::makeFolder(folder / "region"));
    for (std::size_t i = 0; i < result.region->weights.size(); ++i) {
        if (result.region->weights[i].isValid()) {
            RETRO_CHECK(files.add(folder / "region" / (names[i] + ".npy"), tensor::toNpy(result.region->weights[i])));
        }
    }
    return {};
}

base::Result<void> writeCheckpoints(base::FileBatch& files, const std::filesystem::path& folder,
                                    const ExplainResult& result)
{
    if (result.checkpoints.empty()) {
        return {};
    }
    RETRO_CHECK(base::makeFolder(folder / "checkpoints"));
    for (const TakenCheckpoint& checkpoint : result.checkpoints) {
        RETRO_CHECK(files.add(folder / checkpointFile(result, checkpoint), tensor::toNpy(checkpoint.relevance)));
    }
    return {};
}

/// Writes the values of one opened node; says what it wrote.
base::Result<ordered_json> writeOpened(base::FileBatch& files, const std::filesystem::path& folder,
                                       const std::string& subfolder, const OpenedFused& one)
{
    RETRO_CHECK(base::makeFolder(folder / subfolder));
    ordered_json members = ordered_json::array();
    const graph::Graph& graph = one.opened.model->graph();
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        const lrp::AssignedRule& rule = one.opened.rules[i];
        members.push_back({{"node", graph.nodes()[i].name},
                           {"operator", graph.nodes()[i].op},
                           {"rule", rule.rule ? rule.rule->text() : "-"},
                           {"matcher", rule.matcher}});
    }
    ordered_json values = ordered_json::array();
    UniqueNames names;
    for (const lrp::OpenedValue& value : one.opened.values) {
        if (value.relevance.isValid()) {
            const std::string file = subfolder + "/" + names.of(value.name) + ".npy";
            RETRO_CHECK(files.add(folder / file, tensor::toNpy(value.relevance)));
            values.push_back({{"value", value.name},
                              {"operand", value.isOperand},
                              {"relevance", ops::algebra::sum(value.relevance)},
                              {"file", file}});
        }
    }
    return ordered_json{{"node", one.node}, {"members", members}, {"values", values}};
}

base::Result<ordered_json> writeOpened(base::FileBatch& files, const std::filesystem::path& folder,
                                       const std::vector<OpenedFused>& opened)
{
    ordered_json all = ordered_json::array();
    UniqueNames names;
    for (const OpenedFused& one : opened) {
        RETRO_TRY(ordered_json json, writeOpened(files, folder, "opened/" + names.of(one.node), one));
        all.push_back(std::move(json));
    }
    return all;
}

const char* nameOf(EngineKind engine)
{
    switch (engine) {
    case EngineKind::Promise:
        return "promise";
    case EngineKind::Compiled:
        return "compiled";
    case EngineKind::Oracle:
        return "oracle";
    }
    return "";
}

/// The program that gave the relevance, or was made on the way.
ordered_json programJson(const ExplainResult& result)
{
    const program::Program& program = *result.program;
    return {{"key", base::hex(program.key)},
            {"reused", result.programReused},
            {"instructions", program.instructions.size()},
            {"arguments", program.argsEnd},
            {"buffers", program.buffers.size()}};
}

/// When a value went, and how it came back.
ordered_json droppedJson(const trace::DroppedValue& dropped, const graph::Graph& graph)
{
    const ordered_json returns = base::listOf(dropped.returns, [&](const trace::ValueReturn& one) -> ordered_json {
        return {{"way", nameOf(one.way)},
                {"visit", one.visit},
                {"promise", one.promise.isValid() ? ordered_json(one.promise.value) : ordered_json()},
                {"nodes", base::listOf(one.again, [&](base::NodeId node) { return graph.node(node).name; })}};
    });
    return {{"value", graph.value(dropped.value).name},
            {"bytes", dropped.bytes},
            {"step", dropped.step},
            {"came_back", returns}};
}

ordered_json savingJson(const PlanSaving& saving, const graph::Graph& graph)
{
    ordered_json promised = ordered_json::object();
    for (const auto& [value, times] : saving.promised) {
        promised[graph.value(value).name] = times;
    }
    ordered_json recomputed = ordered_json::object();
    for (const auto& [node, times] : saving.recomputed) {
        recomputed[graph.node(node).name] = times;
    }
    ordered_json json{
        {"kept", base::listOf(saving.kept, [&](base::ValueId value) { return graph.value(value).name; })},
        {"kept_bytes", saving.keptBytes},
        {"by_promise", promised},
        {"recomputed", recomputed},
        {"dropped", base::listOf(saving.dropped, [&](const auto& one) { return droppedJson(one, graph); })}};
    if (saving.plan) {
        json["plan_peak"] = saving.plan->predicted.peak;
        json["peak_tensors"] = schedule::peakTensorsJson(
            schedule::peakTensors(saving.plan->program->graph(), saving.plan->chosen.plan, saving.plan->predicted));
    }
    json["held_peak"] = saving.heldPeak;
    return json;
}

ordered_json rewritesJson(const LoadedModel& model, const ExplainResult& result)
{
    ordered_json rewrites = ordered_json::array();
    for (const rewrite::RewriteStep& step : model.rewritten.steps) {
        rewrites.push_back({{"rewrite", step.rewrite}, {"what", step.text}});
    }
    for (const std::string& step : result.writtenOut) {
        rewrites.push_back({{"rewrite", "write out"}, {"what", step}});
    }
    return rewrites;
}

/// How a traversal by the document went: it ends at the checkpoints, and then leaves inputs without relevance.
void addTraversal(const ExplainResult& result, ordered_json& summary)
{
    summary["traversal"] = "document";
    summary["rescues"] = result.counts.rescues;
    summary["ended"] = result.stoppedEarly ? "checkpoints" : "exhausted";
    ordered_json notReached = ordered_json::array();
    const graph::Graph& graph = result.model->graph();
    for (const base::ValueId input : graph.inputs()) {
        if (result.model->isTracked(input) && !result.relevance[input.index()].isValid()) {
            notReached.push_back(graph.value(input).name);
        }
    }
    summary["not_reached"] = notReached;
}

/// Parameters, checkpoints, the traversal by the document, conditions and region.
void addAskedFor(const LoadedModel& model, const ExplainRequest& request, const ExplainResult& result,
                 ordered_json& summary)
{
    if (request.parameters) {
        summary["parameters"] = parametersJson(result);
    }
    if (!result.checkpoints.empty()) {
        summary["checkpoints"] = checkpointsJson(result);
        summary["stopped_early"] = result.stoppedEarly;
    }
    if (request.followsDocument) {
        addTraversal(result, summary);
    }
    if (!result.conditions.empty()) {
        summary["conditions"] = conditionsJson(model, request, result);
    }
    if (result.region) {
        summary["region"] = regionJson(result);
    }
}

void addSaving(const ExplainRequest& request, const ExplainResult& result, ordered_json& summary)
{
    summary["save"] = result.forwarding         ? kForwardedSaving
                      : keepsForInputs(request) ? "frozen"
                                                : execute::nameOf(request.save);
    if (result.forwarding) {
        summary["forwarding"] = forwardingJson(*result.forwarding, result.model->graph());
    }
    if (result.planSaving) {
        summary["plan_saving"] = savingJson(*result.planSaving, result.model->graph());
    }
}

/// What was in memory at most. Of a pass by a plan, budget, prediction and measurement count the same tensors: all but
/// inputs and constants; what a recorded run keeps beside them is in the peak of all tensors alone. A traversal that is
/// not recorded is measured by that peak.
void addPeak(const ExplainResult& result, ordered_json& summary)
{
    const bool isTraversed = result.planSaving && result.planSaving->plan;
    const CarriedPlan* carried = isTraversed ? result.planSaving->plan.get() : result.carried.get();
    summary["peak_bytes"] = result.peakBytes;
    if (carried == nullptr) {
        return;
    }
    if (carried->chosen.plan.budget) {
        summary["budget_bytes"] = *carried->chosen.plan.budget;
    }
    summary["planned_peak_bytes"] = isTraversed ? result.planSaving->foretoldPeak : carried->predicted.peak;
    if (!isTraversed || result.planSaving->peak > 0) {
        summary["peak_bytes"] = isTraversed ? result.planSaving->peak : carried->run->peak;
    }
    summary["tensors_peak_bytes"] = result.peakBytes;
}

void addLut(const ExplainRequest& request, const ExplainResult& result, ordered_json& summary)
{
    if (hasLutLayer(result.model->graph())) {
        if (result.run || result.lutLayers) {
            summary["lut"] = lutDecisionsJson(lutLayersOf(result));
        }
        const LutPlace place = lutPlace(result.model->graph(), execute::dtypeOf(request.precision));
        summary["lut_backend"] = {{"backend", place.backend == lut::Backend::Cuda ? "cuda" : "cpu"}};
        if (!place.why.empty()) {
            summary["lut_backend"]["why"] = place.why;
        }
    }
}

} // namespace

ordered_json targetJson(const LoadedModel& model, const graph::Graph& graph, const ResolvedTarget& target)
{
    ordered_json targets = ordered_json::array();
    addTarget(model, graph, target, targets);
    return targets;
}

std::vector<std::string> fileNames(const graph::Graph& graph)
{
    UniqueNames unique;
    std::vector<std::string> names;
    names.reserve(graph.valueCount());
    for (const graph::Value& value : graph.values()) {
        names.push_back(unique.of(value.name));
    }
    return names;
}

std::vector<LutLayer> lutLayersOf(const ExplainResult& result)
{
    return result.run ? lutLayers(*result.run) : result.lutLayers ? *result.lutLayers : std::vector<LutLayer>();
}

ordered_json summaryJson(const LoadedModel& model, const ExplainRequest& request, const ExplainResult& result,
                         const ResultKey& asked)
{
    ordered_json summary{{"format", "retrograde-summary/1"}, {"model", model.name}};
    if (!asked.hash.empty()) {
        addKey(asked, summary);
    }
    if (request.preparation && !request.pictures.empty()) {
        summary["pictures"] = pictureJson(request.pictures, *model.graph(), *request.preparation, request.inputs);
    }
    base::add(summary, {{"target", targetsJson(model, result)},
                        {"start", nameOf(request.start)},
                        {"composite", result.composite.name},
                        {"composite_reason", base::ifAny(result.composite.reason)},
                        {"warnings", base::ifAny(result.warnings)},
                        {"rewrites", base::ifAny(rewritesJson(model, result))},
                        {"engine", nameOf(request.engine)},
                        {"program", result.program ? programJson(result) : base::kLeftOut}});
    addSaving(request, result, summary);
    const lrp::TraversalCounts& counts = result.counts;
    base::add(summary, {{"precision", tensor::nameOf(execute::dtypeOf(request.precision))},
                        {"rounded_to", base::ifAny(roundedTypes(result.model->graph(), request.precision))},
                        {"nodes", result.nodes},
                        {"steps", counts.visits},
                        {"events", counts.events},
                        {"visits_max", counts.visitsMax},
                        {"promises", counts.promises},
                        {"modes", {{"ntm", counts.normal}, {"ptm", counts.search}, {"pfm", counts.fulfilment}}},
                        {"relevance_start", result.relevanceStart},
                        {"relevance_inputs", result.relevanceInputs},
                        {"conserved", !carriesGradient(result)},
                        {"causes", causeTotals(result.ledger)}});
    addLut(request, result, summary);
    addAskedFor(model, request, result, summary);
    if (request.profile && result.profile) {
        summary["profile"] = trace::profileJson(result.model->graph(), *result.profile);
        summary["memory_decisions"] = trace::decisionsJson(result.model->graph(), *result.profile);
    }
    if (result.diagnosis) {
        summary["diagnosis"] = diagnosis::findingsJson(result.diagnosis->findings);
    }
    summary["seconds"] = {{"load", model.seconds},
                          {"bind", result.secondsBind},
                          {"forward", result.secondsForward},
                          {"relevance", result.secondsRelevance}};
    if (result.program) {
        summary["seconds"]["program"] = result.secondsProgram;
    }
    addPeak(result, summary);
    return summary;
}

base::Result<void> writeExplanation(const std::filesystem::path& folder, const LoadedModel& model,
                                    const ExplainRequest& request, const ExplainResult& result,
                                    const std::vector<OpenedFused>& opened, const ResultKey& asked,
                                    std::vector<std::filesystem::path> handedOut)
{
    const std::filesystem::path relevance = folder / "relevance";
    RETRO_CHECK(base::makeFolder(relevance));
    RETRO_CHECK(removeResult(folder / "summary.json"));
    const std::vector<std::string> names = fileNames(result.model->graph());
    base::FileBatch files;
    for (std::size_t i = 0; i < result.relevance.size(); ++i) {
        if (result.relevance[i].isValid()) {
            RETRO_CHECK(files.add(relevance / (names[i] + ".npy"), tensor::toNpy(result.relevance[i])));
        }
    }
    RETRO_CHECK(writeParameters(files, folder, result, names));
    RETRO_CHECK(writeRegion(files, folder, result, names));
    RETRO_CHECK(writeCheckpoints(files, folder, result));
    RETRO_CHECK(writeLutMaps(files, folder / "lut", lutLayersOf(result), result.model->graph(), names));
    ordered_json summary = summaryJson(model, request, result, asked);
    if (!opened.empty()) {
        RETRO_TRY(summary["opened"], writeOpened(files, folder, opened));
    }
    RETRO_CHECK(files.finish());
    handedOut.insert(handedOut.end(), files.added().begin(), files.added().end());
    listFiles(handedOut, folder, summary);
    return base::writeFile(folder / "summary.json", base::jsonOut(summary, 2) + "\n");
}

} // namespace retro::engine
