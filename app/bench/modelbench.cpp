// SPDX-License-Identifier: Apache-2.0
#include "app/bench/benchmarks.h"

#include "core/engine/model/binding.h"
#include "core/engine/question/resolve.h"
#include "core/execute/forward.h"

#include <chrono>
#include <functional>
#include <optional>

namespace retro::app
{

namespace
{

using base::Result;

/// Passes before the first that counts: weights are read, packed and kept by then.
constexpr int kWarmingPasses = 3;

constexpr std::string_view kForward = "forward";
constexpr std::string_view kRelevance = "relevance/";
constexpr std::string_view kSecond = "second/";

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

/// Seconds from a question to the first step of its relevance pass.
Result<double> secondsToRelevance(engine::Explainer& explainer, const engine::ExplainRequest& request)
{
    const auto start = std::chrono::steady_clock::now();
    std::optional<double> seconds;
    const auto told = [&](const std::string& stage, std::size_t, std::size_t) {
        if (stage == "relevance" && !seconds) {
            seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        }
    };
    RETRO_TRY(const engine::ExplainResult result, explainer.explain(request, {}, told));
    static_cast<void>(result);
    return seconds.value_or(0);
}

/// What a second question about the same text waits for before its relevance pass: of another word, and of another
/// position, each time one that was not asked before.
Result<std::vector<BenchmarkFigure>> timedSecond(const engine::LoadedModelPointer& model,
                                                 const std::vector<tensor::Tensor>& inputs, const std::string& name,
                                                 int runs)
{
    engine::Explainer explainer(model);
    engine::ExplainRequest request;
    request.inputs = inputs;
    request.composite = name.substr(kSecond.size());
    request.inputsOnly = request.keepsPass = true;
    request.target.kind = engine::TargetRequest::Kind::Place;
    const std::int64_t tokens = inputs.front().rank() == 2 ? inputs.front().shape()[1] : 0;
    if (tokens < runs + 2) {
        return base::usageError("a second question wants batch × tokens, and more tokens than runs", name);
    }
    const auto ask = [&](std::int64_t position, std::int64_t word) {
        request.target.place = {{"token", position}, {"class", word}};
        return secondsToRelevance(explainer, request);
    };
    RETRO_TRY(const double first, ask(tokens - 1, 0));
    std::vector<double> words;
    std::vector<double> positions;
    for (int i = 1; i <= runs; ++i) {
        RETRO_TRY(words.emplace_back(), ask(tokens - 1, i));
    }
    for (int i = 1; i <= runs; ++i) {
        RETRO_TRY(positions.emplace_back(), ask(tokens - 1 - i, 0));
    }
    return std::vector{figureOf(name + "/first", {first}, 0), figureOf(name + "/word", std::move(words), 0),
                       figureOf(name + "/position", std::move(positions), 0)};
}

Result<void> checkNames(const std::vector<std::string>& names)
{
    for (const std::string& name : names) {
        const bool isKnown = name == kForward || (name.starts_with(kRelevance) && name.size() > kRelevance.size()) ||
                             (name.starts_with(kSecond) && name.size() > kSecond.size());
        if (!isKnown) {
            return base::usageError("a model file is timed as `forward`, `relevance/COMPOSITE` or `second/COMPOSITE`",
                                    name);
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
        if (name.starts_with(kSecond)) {
            RETRO_TRY(const std::vector<BenchmarkFigure> some, timedSecond(model, inputs, name, request.runs));
            figures.insert(figures.end(), some.begin(), some.end());
            continue;
        }
        RETRO_TRY(BenchmarkFigure figure, name == kForward
                                              ? timedForward(*model, inputs, precision, request.runs)
                                              : timedRelevance(model, inputs, precision, name, request.runs));
        figures.push_back(std::move(figure));
    }
    return figures;
}

} // namespace retro::app
