// SPDX-License-Identifier: Apache-2.0
#include "app/common/exportrun.h"

#include "app/common/guiapplication.h"
#include "app/common/heatmapfile.h"
#include "core/base/file.h"
#include "core/tensor/npy.h"
#include "core/trace/meantrelevance.h"
#include "core/trace/targetplace.h"
#include "core/trace/timeline.h"
#include "views/common/paint/plane.h"
#include "views/common/run/runtexts.h"
#include "views/graph/graphfile.h"
#include "views/heatmap/tableinput.h"

#include <fmt/format.h>

namespace retro::app
{

namespace
{

using base::Result;
using tensor::Tensor;

Result<base::ValueId> chosenValue(const trace::Run& run, const std::string& name)
{
    if (!name.empty()) {
        const auto value = run.graph->findValue(name);
        if (!value) {
            return base::usageError("the run's graph has no value of this name", "--value " + name);
        }
        return *value;
    }
    return run.graph->inputs()[0];
}

/// Handle of the value's relevance in a state; the last Relevance event wins, so no timeline is needed.
base::HandleId relevanceAt(const trace::Run& run, base::ValueId value, std::uint64_t position)
{
    const base::NodeId node = run.graph->nodeOf(value);
    const std::uint32_t output = run.graph->isInput(node) ? 0 : run.graph->value(value).producerOutput;
    base::HandleId handle;
    for (std::uint64_t step = 0; step < std::min(position, run.eventCount()); ++step) {
        const event::Event& event = run.events[step];
        if (event.kind == event::EventKind::Relevance && event.node == node.value && event.slot == output) {
            handle = base::HandleId(event.handle);
        }
    }
    return handle;
}

Result<Tensor> relevanceOf(const trace::Run& run, const ExportRequest& request)
{
    if (run.graph->inputs().empty()) {
        return base::usageError("the run's graph has no input; name a value", "--value");
    }
    RETRO_TRY(const base::ValueId value, chosenValue(run, request.value));
    const base::HandleId handle = relevanceAt(run, value, request.position.value_or(run.eventCount()));
    if (!handle.isValid()) {
        return base::usageError("no relevance has arrived at this value at that position",
                                "value '" + run.graph->value(value).name + "'");
    }
    const Tensor tensor = handle.index() < run.tensors.size() ? run.tensors[handle.index()] : Tensor();
    if (!tensor.isValid()) {
        return base::usageError(
            "the recording did not keep this tensor (its memory limit was reached); explain again with --run",
            "value '" + run.graph->value(value).name + "'");
    }
    return trace::meantRelevance(run, value, tensor);
}

Result<std::string> csvOf(const Tensor& relevance)
{
    views::Plane plane;
    if (relevance.rank() == 3 || relevance.rank() == 4) {
        RETRO_TRY(plane, views::channelSum(relevance));
    } else {
        plane = views::sliceGrid(relevance).plane;
    }
    std::string csv;
    for (int y = 0; y < plane.height; ++y) {
        for (int x = 0; x < plane.width; ++x) {
            csv += fmt::format("{}{}", x == 0 ? "" : ",", plane.at(x, y));
        }
        csv += '\n';
    }
    return csv;
}

/// How the run's pixels became numbers; 0…1 where it does not say.
engine::PictureOptions optionsOf(const trace::Run& run)
{
    const trace::InputFacts facts = run.facts.input.value_or(trace::InputFacts());
    return {facts.layout, facts.channels, facts.scale[0], facts.scale[1], facts.mean, facts.deviation};
}

/// The picture of the run's first input, when it has a picture's shape.
QImage pictureOf(const trace::Run& run)
{
    const base::ValueId input = run.graph->inputs()[0];
    const bool isKept = input.index() < run.values.size() && run.values[input.index()].isValid();
    return isKept ? pictureOfInput(run.values[input.index()], optionsOf(run)) : QImage();
}

/// Steps and words of a series or a text, when this is the relevance of its steps.
void addSteps(HeatmapJob& job, const trace::Run& run)
{
    const base::ValueId input = run.graph->inputs()[0];
    const bool isSeries = run.facts.input && run.facts.input->layout.starts_with("NT");
    const bool hasShape = input.index() < run.shapes.size() && run.shapes[input.index()].size() >= 2;
    const tensor::Shape& shape = job.relevance.shape();
    job.isSeries = isSeries && hasShape && shape.size() >= 2 && shape[1] == run.shapes[input.index()][1];
    const bool hasWords = job.isSeries && static_cast<std::int64_t>(run.facts.input->words.size()) == shape[1];
    job.words = hasWords ? run.facts.input->words : std::vector<std::string>();
}

/// Numbers and names of a table's features, when this is their relevance.
void addFeatures(HeatmapJob& job, const trace::Run& run)
{
    const base::ValueId input = run.graph->inputs()[0];
    if (run.graph->inputs().size() != 1 || input.index() >= run.values.size()) {
        return;
    }
    const Tensor& row = run.values[input.index()];
    const trace::InputFacts facts = run.facts.input.value_or(trace::InputFacts());
    const auto names = static_cast<std::int64_t>(facts.words.size());
    if (!views::isTableRow(row, QString::fromStdString(facts.layout), names) || job.relevance.shape() != row.shape()) {
        return;
    }
    for (std::int64_t i = 0; i < row.size(); ++i) {
        job.features.push_back(row.at(i));
    }
    job.words = names == row.size() ? facts.words : std::vector<std::string>();
}

} // namespace

Result<void> exportHeatmap(const trace::Run& run, const std::filesystem::path& path, const ExportRequest& request)
{
    RETRO_TRY(const Tensor relevance, relevanceOf(run, request));
    if (path.extension() == ".npy") {
        return tensor::writeNpy(path, relevance);
    }
    if (path.extension() == ".csv") {
        RETRO_TRY(const std::string csv, csvOf(relevance));
        return base::writeFile(path, csv);
    }
    HeatmapJob job;
    job.relevance = relevance;
    job.picture = pictureOf(run);
    addSteps(job, run);
    addFeatures(job, run);
    job.colormap = request.colormap;
    job.overlay = request.overlay;
    job.isPlain = request.isPlain;
    job.bits = request.bits;
    job.modelName = run.facts.modelName;
    job.modelHash = views::modelHashText(*run.graph);
    job.step = std::min(request.position.value_or(run.eventCount()), run.eventCount());
    job.composite = run.facts.composite;
    const std::int64_t target = run.facts.targetIndex.empty() ? -1 : run.facts.targetIndex.front();
    const bool hasLabel = target >= 0 && static_cast<std::size_t>(target) < run.facts.labels.size();
    const bool isDense = target >= 0 && trace::hasDenseTarget(run);
    job.target = isDense    ? trace::placeInTarget(run, target)
                 : hasLabel ? run.facts.labels[static_cast<std::size_t>(target)]
                            : std::to_string(target);
    job.visit = request.position ? run.visitOf(*request.position) : run.visitCount();
    return writeHeatmap(path, job);
}

Result<void> exportGraph(const std::shared_ptr<const trace::Run>& run, const std::filesystem::path& path,
                         const ExportRequest& request)
{
    ensureGuiApplication();
    RETRO_TRY(trace::Timeline timeline, trace::Timeline::open(run));
    timeline.seek(request.position.value_or(run->eventCount()));
    return views::writeGraphFigure(path, *run->graph, &timeline.state(), *run, std::nullopt, request.select);
}

} // namespace retro::app
