// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explain/inputrelevance.h"

#include "core/engine/model/binding.h"
#include "core/ops/algebra.h"

namespace retro::engine
{

using base::ValueId;
using tensor::Tensor;

namespace
{

/// Forward values that take more together are not all kept: those that are cheap to compute again are not.
constexpr std::int64_t kMostKeptAsIs = 256LL << 20;

} // namespace

std::vector<ValueId> InputPass::keptValues(const std::shared_ptr<const execute::BoundModel>& model,
                                           const lrp::ProgramRunner& runner, std::span<const ValueId> targets)
{
    return execute::RebuildingStore(model, runner.readValues(), targets, kMostKeptAsIs).keptValues();
}

base::Result<execute::ForwardResult> InputPass::forward(const std::shared_ptr<const execute::BoundModel>& model,
                                                        std::span<const Tensor> inputs,
                                                        std::span<const ValueId> targets, const std::stop_token& stop,
                                                        const execute::Progress& progress)
{
    m_store = std::make_shared<execute::RebuildingStore>(model, m_runner.readValues(), targets, kMostKeptAsIs);
    return execute::forwardInto(m_store, model, inputs, m_store->keptValues(), stop, progress);
}

base::Result<void> InputPass::run(const execute::SavedValues& saved, std::span<const Tensor> starts,
                                  const std::stop_token& stop,
                                  const std::function<void(std::size_t, std::size_t)>& progress, ExplainResult& result)
{
    const graph::Graph& graph = result.model->graph();
    result.relevance.resize(graph.valueCount());
    const auto take = [&](base::NodeId node, std::uint32_t output, const Tensor& relevance) {
        if (graph.isInput(node)) {
            result.relevance[graph.outputsOf(node)[output].index()] = relevance;
        }
    };
    const auto isRead = [this](ValueId value) { m_store->letGo(value); };
    RETRO_TRY(const lrp::RelevanceTable empty,
              m_runner.run(saved, starts, stop, &result.ledger, progress, nullptr, take, isRead));
    static_cast<void>(empty);
    return {};
}

void keepRelevance(base::NodeId node, std::size_t k, const Tensor& relevance, ExplainResult& result)
{
    const auto outputs = result.model->graph().outputsOf(node);
    if (k < outputs.size() && outputs[k].isValid()) {
        result.relevance[outputs[k].index()] = relevance;
    }
}

void takeTable(const lrp::RelevanceTable& table, ExplainResult& result)
{
    result.relevance.resize(result.model->graph().valueCount());
    for (std::size_t i = 0; i < table.size(); ++i) {
        for (std::size_t k = 0; k < table[i].size(); ++k) {
            keepRelevance(base::NodeId(i), k, table[i][k], result);
        }
    }
}

void dropUnwanted(const ExplainRequest& request, ExplainResult& result)
{
    const graph::Graph& graph = result.model->graph();
    const bool isWanted = !request.inputsOnly || request.record;
    for (std::size_t i = 0; !isWanted && i < result.relevance.size(); ++i) {
        if (!graph.isInput(graph.nodeOf(ValueId(i)))) {
            result.relevance[i] = {};
        }
    }
}

void multiplyByInputs(const ExplainRequest& request, ExplainResult& result)
{
    const auto inputs = inPrecision(result.model->graph(), request.inputs, request.precision);
    const auto ids = result.model->graph().inputs();
    for (std::size_t i = 0; i < ids.size(); ++i) {
        Tensor& relevance = result.relevance[ids[i].index()];
        if (relevance.isValid() && tensor::isFloating(inputs[i].dtype())) {
            relevance = ops::algebra::multiply(relevance, inputs[i]);
        }
    }
}

double relevanceOfInputs(const ExplainResult& result)
{
    double sum = 0;
    for (const ValueId input : result.model->graph().inputs()) {
        const Tensor& relevance = result.relevance[input.index()];
        sum += relevance.isValid() ? ops::algebra::sum(relevance) : 0;
    }
    return sum;
}

} // namespace retro::engine
