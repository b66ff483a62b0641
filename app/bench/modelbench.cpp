// SPDX-License-Identifier: Apache-2.0
#include "app/bench/benchmarks.h"

#include "core/engine/model/binding.h"
#include "core/engine/question/resolve.h"
#include "core/execute/forward.h"

#include <chrono>
#include <functional>

namespace retro::app
{

namespace
{

using base::Result;

/// Passes before the first that counts: weights are read, packed and kept by then.
constexpr int kWarmingPasses = 3;

constexpr std::string_view kForward = "forward";
constexpr std::string_view kRelevance = "relevance/";

Result<BenchmarkFigure> timed(const std::string& name, int runs, const std::function<Result<void>()>& pass)
{
    for (int i = 0; i < kWarmingPasses; ++i) {
        RETRO_CHECK(pass());
    }
    std::vector<double> seconds;
    for (int i = 0; i < runs; ++i) {
        const auto start = std::chrono::steady_clock::now();
        RETRO_CHECK(pass());
        seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return figureOf(name, std::move(seconds), 0);
}

Result<BenchmarkFigure> timedForward(const engine::LoadedModel& model, const std::vector<tensor::Tensor>& inputs,
                                     execute::Precision precision, int runs)
{
    RETRO_TRY(const std::shared_ptr<const execute::BoundModel> bound, engine::bindModel(model, inputs, precision));
    const std::vector<tensor::Tensor> data = engine::inPrecision(bound->graph(), inputs, precision);
    return timed(std::string(kForward), runs, [&]() -> Result<void> {
        RETRO_TRY(const execute::ForwardResult result, execute::forward(bound, data, execute::SavePolicy::Nothing));
        static_cast<void>(result);
        return {};
    });
}

Result<BenchmarkFigure> timedRelevance(const engine::LoadedModelPointer& model,
                                       const std::vector<tensor::Tensor>& inputs, execute::Precision precision,
                                       const std::string& name, int runs)
{
    engine::Explainer explainer(model);
    engine::ExplainRequest request;
    request.inputs = inputs;
    request.precision = precision;
    request.composite = name.substr(kRelevance.size());
    request.inputsOnly = true;
    return timed(name, runs, [&]() -> Result<void> {
        RETRO_TRY(const engine::ExplainResult result, explainer.explain(request));
        static_cast<void>(result);
        return {};
    });
}

Result<void> checkNames(const std::vector<std::string>& names)
{
    for (const std::string& name : names) {
        const bool isKnown = name == kForward || (name.starts_with(kRelevance) && name.size() > kRelevance.size());
        if (!isKnown) {
            return base::usageError("a model file is timed as `forward` or `relevance/COMPOSITE`", name);
        }
    }
    return {};
}

} // namespace

Result<std::vector<BenchmarkFigure>> runModelBenchmarks(const ModelBenchRequest& request, const Context& context)
{
    RETRO_CHECK(checkNames(request.names));
    RETRO_TRY(const engine::LoadedModelPointer model, request.model.load());
    ModelOptions options = request.model;
    if (options.question.inputs.empty()) {
        for (const base::ValueId input : model->graph()->inputs()) {
            options.question.inputs.push_back(model->graph()->value(input).name + "=random:1");
        }
    }
    RETRO_TRY(const std::vector<tensor::Tensor> inputs, options.resolve(*model));
    options.question.precision = context.precision;
    const execute::Precision precision = engine::precisionOf(options.question, *model);
    const std::vector<std::string> names =
        request.names.empty() ? std::vector<std::string>{std::string(kForward)} : request.names;
    std::vector<BenchmarkFigure> figures;
    for (const std::string& name : names) {
        RETRO_TRY(BenchmarkFigure figure, name == kForward
                                              ? timedForward(*model, inputs, precision, request.runs)
                                              : timedRelevance(model, inputs, precision, name, request.runs));
        figures.push_back(std::move(figure));
    }
    return figures;
}

} // namespace retro::app
