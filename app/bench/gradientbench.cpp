// SPDX-License-Identifier: Apache-2.0
#include "app/bench/gradientbench.h"

#include "app/common/benchmarkmodels.h"
#include "core/engine/gradient/gradient.h"
#include "core/graph/graphbuilder.h"
#include "core/ops/algebra.h"
#include "core/rewrite/rewrite.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

namespace retro::app
{

using base::Result;
using tensor::Tensor;

namespace
{

struct Chain
{
    std::string_view name;
    std::size_t nodes;
    double goal = 0; ///< seconds
};

constexpr std::array kChains{Chain{"gradient/chain10k", 10'000}, Chain{"gradient/chain100k", 100'000, 0.5},
                             Chain{"gradient/chain1m", 1'000'000}};

/// Seconds, of all rewrites together. A pass that looks through the whole chain at each node takes minutes.
constexpr double kRewriteGoal = 1;

/// x ← x · 1.0001, x ← x + 0.0001, in turns.
Result<graph::Graph> chain(std::size_t nodes)
{
    graph::GraphBuilder builder("chain", 17);
    const base::ValueId factor = builder.addConstant("factor", Tensor::scalar(1.0001F));
    const base::ValueId shift = builder.addConstant("shift", Tensor::scalar(0.0001F));
    base::ValueId value = builder.addInput("x", tensor::DType::Float32, tensor::Shape{});
    for (std::size_t i = 0; i < nodes; ++i) {
        const base::ValueId next = builder.addResult(fmt::format("v{}", i));
        graph::Node node;
        node.op = i % 2 == 0 ? "Mul" : "Add";
        node.opset = 17;
        node.inputs = {value, i % 2 == 0 ? factor : shift};
        node.outputs = {next};
        builder.addNode(std::move(node));
        value = next;
    }
    builder.addOutput(value);
    return std::move(builder).build();
}

Result<TimedBody> bodyOf(std::string name, std::shared_ptr<const graph::Graph> graph, const tensor::Shape& shape,
                         double goal)
{
    const std::vector<ops::TensorType> types{{tensor::DType::Float32, shape}};
    RETRO_TRY(const auto model, execute::BoundModel::bind(std::move(graph), types, execute::Precision::Float));
    engine::GradientRequest request;
    request.inputs = {Tensor::full(tensor::DType::Float32, shape, 0.5)};
    request.target.kind = engine::TargetRequest::Kind::Value;
    request.target.value = model->graph().value(model->graph().outputs().front()).name;
    const auto run = [model, request] { return engine::gradient(model, request).ok(); };
    RETRO_TRY(const engine::GradientResult warmed, engine::gradient(model, request));
    static_cast<void>(warmed);
    return TimedBody{std::move(name), run, goal};
}

constexpr std::size_t kProducts = 128;
const tensor::Shape kProductShape{512, 512};

/// x ← x ⊙ w, over and over.
Result<graph::Graph> products(const Tensor& weight)
{
    graph::GraphBuilder builder("products", 17);
    const base::ValueId factor = builder.addConstant("factor", weight);
    base::ValueId value = builder.addInput("x", tensor::DType::Float32, kProductShape);
    for (std::size_t i = 0; i < kProducts; ++i) {
        const base::ValueId next = builder.addOp("Mul", {}, {value, factor}, fmt::format("v{}", i));
        value = next;
    }
    builder.addOutput(value);
    return std::move(builder).build();
}

/// The same numbers by the same kernels, called one after the other, keeping what a tape keeps.
bool directProducts(const Tensor& x, const Tensor& weight)
{
    std::vector<Tensor> values{x};
    for (std::size_t i = 0; i < kProducts; ++i) {
        values.push_back(ops::algebra::multiply(values.back(), weight));
    }
    Tensor gradient = Tensor::full(tensor::DType::Float32, kProductShape, 1);
    for (std::size_t i = 0; i < kProducts; ++i) {
        gradient = ops::algebra::multiply(gradient, weight);
    }
    return gradient.isValid();
}

} // namespace

std::vector<std::string> gradientChains()
{
    std::vector<std::string> names;
    std::ranges::transform(kChains, std::back_inserter(names), [](const Chain& one) { return std::string(one.name); });
    return names;
}

Result<TimedBody> chainBenchmark(const std::string& name)
{
    const auto at = std::ranges::find(kChains, name, &Chain::name);
    if (at == kChains.end()) {
        return base::usageError("there is no chain " + name);
    }
    RETRO_TRY(graph::Graph built, chain(at->nodes));
    return bodyOf(name, std::make_shared<const graph::Graph>(std::move(built)), {}, at->goal);
}

Result<TimedBody> rewriteBenchmark()
{
    RETRO_TRY(graph::Graph built, chain(100'000));
    const auto graph = std::make_shared<const graph::Graph>(std::move(built));
    return TimedBody{kRewrittenChain, [graph] { return rewrite::rewrite(graph, {}).ok(); }, kRewriteGoal};
}

Result<std::vector<TimedBody>> overheadBenchmarks()
{
    const Tensor weight = Tensor::full(tensor::DType::Float32, kProductShape, 0.999);
    RETRO_TRY(graph::Graph built, products(weight));
    RETRO_TRY(TimedBody tape, bodyOf("gradient/operators/tape", std::make_shared<const graph::Graph>(std::move(built)),
                                     kProductShape, 0));
    const Tensor x = Tensor::full(tensor::DType::Float32, kProductShape, 0.5);
    return std::vector<TimedBody>{{"gradient/operators/direct", [x, weight] { return directProducts(x, weight); }, 0},
                                  std::move(tape)};
}

std::vector<std::string> gradientNetworks() { return {"resnet50", "gpt2"}; }

Result<TimedBody> networkGradientBenchmark(const std::string& network)
{
    const auto at = std::ranges::find(benchmarkModels(), network, &BenchmarkModel::name);
    if (at == benchmarkModels().end()) {
        return base::usageError("there is no network " + network);
    }
    RETRO_TRY(graph::Graph built, at->make());
    rewrite::RewriteOptions options;
    options.keepDigits = false; // as a loaded model is rewritten
    RETRO_TRY(const rewrite::Rewritten rewritten,
              rewrite::rewrite(std::make_shared<const graph::Graph>(std::move(built)), options));
    return bodyOf(fmt::format("gradient/{}", network), rewritten.graph, at->input, 0);
}

} // namespace retro::app
