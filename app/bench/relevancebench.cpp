// SPDX-License-Identifier: Apache-2.0
#include "app/bench/benchmarks.h"

#include "app/common/benchmarkmodels.h"
#include "app/common/freedmemory.h"
#include "core/engine/diagnose.h"
#include "core/engine/explain/explain.h"
#include "core/rewrite/rewrite.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>

namespace retro::app
{

using base::Result;

namespace
{

/// Weights before BatchNorm was merged, which here would lie in memory; those of a file are mapped.
void dropUnmerged(rewrite::Rewritten& rewritten)
{
    rewritten.before = rewritten.graph;
    std::erase_if(rewritten.fused, [&](const rewrite::FusedNode& fused) {
        const auto nodes = rewritten.graph->nodes();
        return std::ranges::any_of(
            nodes, [&](const graph::Node& node) { return node.op == "Conv" && node.name == fused.node; });
    });
}

Result<engine::LoadedModelPointer> loadedNetwork(const BenchmarkModel& network)
{
    RETRO_TRY(graph::Graph built, network.make());
    auto model = std::make_shared<engine::LoadedModel>();
    model->name = std::string(network.name);
    rewrite::RewriteOptions options;
    options.keepDigits = false; // as a loaded model is rewritten
    RETRO_TRY(model->rewritten, rewrite::rewrite(std::make_shared<const graph::Graph>(std::move(built)), options));
    dropUnmerged(model->rewritten);
    return engine::LoadedModelPointer(std::move(model));
}

/// The network that is being timed.
class Stage
{
public:
    /// Makes the network unless it is there, and explains twice: the first pass leaves weights and program behind.
    Result<void> prepare(const BenchmarkModel& network, const std::string& composite, std::int64_t batch)
    {
        const std::string asked = fmt::format("{} {} {}", network.name, composite, batch);
        if (asked == m_asked) {
            return {};
        }
        m_asked.clear();
        if (m_name != network.name) {
            giveBackFreedMemory();
            m_explainer.reset(); // before the next one takes memory
            m_name = network.name;
            RETRO_TRY(engine::LoadedModelPointer model, loadedNetwork(network));
            m_explainer.emplace(std::move(model));
        }
        tensor::Shape shape = network.input;
        shape[0] = batch;
        m_request = {};
        m_request.inputs = {tensor::Tensor::full(tensor::DType::Float32, shape, 0.5)};
        m_request.composite = composite;
        m_request.inputsOnly = true; // which is what the peers give
        for (int i = 0; i < 2; ++i) {
            RETRO_TRY(const engine::ExplainResult result, m_explainer->explain(m_request));
            static_cast<void>(result);
        }
        m_asked = asked;
        return {};
    }

    [[nodiscard]] bool run() { return m_explainer && m_explainer->explain(m_request).ok(); }

private:
    std::string m_name;
    std::string m_asked; ///< what is prepared
    std::optional<engine::Explainer> m_explainer;
    engine::ExplainRequest m_request;
};

/// The network whose explanations are timed with and without checks: each is the first one of its model, as of a verb.
class CheckedStage
{
public:
    Result<void> prepare(const BenchmarkModel& network, const std::string& composite)
    {
        if (m_model && m_model->name == network.name) {
            return {};
        }
        m_model.reset();
        RETRO_TRY(m_model, loadedNetwork(network));
        m_weights = std::make_shared<diagnosis::ModelFacts>(m_model->graph());
        m_request = {};
        m_request.inputs = {tensor::Tensor::full(tensor::DType::Float32, network.input, 0.5)};
        m_request.composite = composite;
        m_request.keepsForward = true;
        return {};
    }

    [[nodiscard]] bool run(bool isChecked)
    {
        Result<engine::ExplainResult> result = engine::explain(*m_model, m_request);
        return result.ok() && (!isChecked || engine::addDiagnosis(*m_model, m_request, *result, m_weights).ok());
    }

private:
    engine::LoadedModelPointer m_model;
    std::shared_ptr<diagnosis::ModelFacts> m_weights;
    engine::ExplainRequest m_request;
};

bool told(const Result<void>& prepared)
{
    if (!prepared) {
        fmt::print(stderr, "retrograde-cli: {}\n", prepared.error().text());
    }
    return prepared.ok();
}

} // namespace

std::vector<PreparedBody> relevanceBenchmarks()
{
    const auto stage = std::make_shared<Stage>();
    std::vector<PreparedBody> bodies;
    const auto add = [&](std::string_view name, const std::string& composite, std::int64_t batch) {
        const std::span<const BenchmarkModel> networks = benchmarkModels();
        const auto network =
            std::ranges::find_if(networks, [name](const BenchmarkModel& each) { return each.name == name; });
        if (network != networks.end()) {
            bodies.push_back({fmt::format("relevance/{}/{}/{}", name, composite, batch),
                              [stage, network = *network, composite, batch] {
                                  return told(stage->prepare(network, composite, batch));
                              },
                              [stage] { return stage->run(); }});
        }
    };
    for (const std::string_view name : {"vgg16", "resnet18", "resnet50"}) {
        for (const std::int64_t batch : {1, 8}) {
            add(name, "epsilon_plus_flat", batch);
            add(name, "epsilon_gamma_box", batch);
        }
    }
    for (const std::int64_t batch : {1, 8}) {
        add("gpt2", "attnlrp", batch);
        add("gpt2", "attnlrp:form=gradient_x_input", batch);
    }
    const auto checked = std::make_shared<CheckedStage>();
    const auto addChecked = [&](const BenchmarkModel& network, const std::string& composite) {
        for (const bool isChecked : {false, true}) {
            bodies.push_back({fmt::format("diagnose/{}/{}", network.name, isChecked ? "checked" : "explained"),
                              [checked, network, composite] { return told(checked->prepare(network, composite)); },
                              [checked, isChecked] { return checked->run(isChecked); }});
        }
    };
    for (const BenchmarkModel& network : benchmarkModels()) {
        addChecked(network, "auto");
    }
    return bodies;
}

} // namespace retro::app
