// SPDX-License-Identifier: Apache-2.0
#include "app/gui/facts/diagnosefacts.h"

#include "core/base/cancel.h"
#include "core/engine/diagnose.h"
#include "core/engine/input/inputs.h"
#include "core/engine/population.h"
#include "core/formats/modelfile.h"
#include "core/trace/runfile.h"

#include <filesystem>

namespace retro::app
{

using base::Result;
using base::ValueId;

namespace
{

using FactsPointer = std::shared_ptr<diagnosis::Facts>;

Result<engine::ExplainRequest> askedOf(ExplainJob& job)
{
    RETRO_TRY(engine::ExplainRequest request, requestOf(job));
    RETRO_TRY(request.inputs, readInputs(job));
    return request;
}

/// The pass that the run on screen is of, with the model that made it.
diagnosis::Pass passOf(const DiagnoseRequest& request, const std::stop_token& stop)
{
    const bool isBound = request.bound && request.bound->sharedGraph() == request.run->graph;
    diagnosis::Pass pass = engine::passOf(request.run, isBound ? nullptr : request.job.model.get(), stop);
    if (isBound) {
        pass.model = request.bound;
        pass.assigned = request.assigned;
        pass.shapes.clear();
        for (std::size_t i = 0; i < pass.graph->valueCount(); ++i) {
            pass.shapes.push_back(request.bound->typeOf(ValueId(i)).shape);
        }
    }
    return pass;
}

FactsPointer recordedFacts(const std::shared_ptr<const trace::Run>& run, const std::filesystem::path& file,
                           const std::stop_token& stop)
{
    return engine::factsOf(run, engine::modelOfRun(*run, file, stop), file.filename().string(), stop);
}

/// Those of the run before, when it was of the same model.
void takeWeights(const DiagnoseRequest& request, diagnosis::Sources& sources)
{
    const auto& graph = request.job.model->read ? request.job.model->read : request.job.model->rewritten.before;
    if (!request.weighed) {
        return;
    }
    if (request.weighed->of != graph) {
        request.weighed->of = graph;
        request.weighed->facts = sources.model;
    }
    sources.model = request.weighed->facts;
}

/// What the model says of the inputs of a folder, asked as on screen; null where there is none.
Result<std::shared_ptr<const diagnosis::Population>> populationOf(const DiagnoseRequest& request,
                                                                  const std::stop_token& stop)
{
    if (request.folder.empty() || request.scope == DiagnoseScope::Cheap) {
        return std::shared_ptr<const diagnosis::Population>();
    }
    const engine::LoadedModelPointer& model = request.job.model;
    RETRO_TRY(auto inputs, engine::labelledInputs({request.folder}, request.labels, *model));
    return inputs ? engine::populationOf(model, request.job.question, std::move(*inputs), stop, request.progress)
                  : base::inputError("this is no folder", request.folder);
}

/// Facts of the run on screen; its model explains again only what a deep check asks for.
Result<FactsPointer> factsOf(DiagnoseRequest& request, const std::stop_token& stop)
{
    if (!request.job.model) {
        return recordedFacts(request.run, request.job.path.toStdString(), stop);
    }
    if (!request.run) {
        RETRO_TRY(request.job.model, modelOf(request.job, stop));
    }
    RETRO_TRY(const engine::ExplainRequest asked, askedOf(request.job));
    RETRO_TRY(auto population, populationOf(request, stop));
    FactsPointer facts = engine::factsOf(request.job.model, asked, stop, std::move(population));
    if (!request.run) {
        return facts;
    }
    diagnosis::Sources sources = facts->sources();
    sources.makesPasses = request.scope != DiagnoseScope::Cheap;
    takeWeights(request, sources);
    sources.makePass = [request, stop]() -> Result<diagnosis::Pass> { return passOf(request, stop); };
    return std::make_shared<diagnosis::Facts>(std::move(sources));
}

/// Another run, the same question to another model, or another input of the same model.
Result<FactsPointer> referenceOf(const DiagnoseRequest& request, const std::stop_token& stop)
{
    const std::filesystem::path file = request.reference;
    if (file.extension() == ".retro") {
        RETRO_TRY(const std::shared_ptr<const trace::Run> run, trace::readRun(file));
        return recordedFacts(run, file, stop);
    }
    if (!request.job.model) {
        return base::usageError("beside a recorded run, choose another recorded run (.retro)", file.string());
    }
    ExplainJob job = request.job;
    if (formats::hasModelEnding(file)) {
        RETRO_TRY(job.model, engine::loadModel(file, engine::LoadOptions(), stop));
    } else {
        job.question.inputs = {file.string()};
        job.tensors.clear();
        job.cover.reset();
    }
    RETRO_TRY(const engine::ExplainRequest asked, askedOf(job));
    return engine::factsOf(job.model, asked, stop);
}

} // namespace

Result<diagnosis::Diagnosis> diagnosisOf(DiagnoseRequest request, const std::stop_token& stop)
{
    std::unique_lock<std::mutex> lock;
    if (request.weighed) {
        lock = std::unique_lock(request.weighed->mutex);
        RETRO_CHECK(base::checkStop(stop));
    }
    RETRO_TRY(const FactsPointer facts, factsOf(request, stop));
    if (!request.reference.empty()) {
        RETRO_TRY(const FactsPointer reference, referenceOf(request, stop));
        facts->setReference(reference);
    }
    diagnosis::Options options;
    options.isDeep = request.scope == DiagnoseScope::Deep;
    options.isCheapAlone = request.scope == DiagnoseScope::Cheap && request.reference.empty();
    return diagnosis::diagnose(*facts, options);
}

} // namespace retro::app
