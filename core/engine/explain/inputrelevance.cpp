// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explain/inputrelevance.h"

#include "core/engine/model/binding.h"
#include "core/execute/followingnodes.h"
#include "core/execute/weightbytes.h"
#include "core/ops/algebra.h"
#include "core/ops/gradienttimes.h"

#include <algorithm>

namespace retro::engine
{

using base::ValueId;
using tensor::Tensor;

namespace
{

/// Forward values that take more together are not all kept: those that are cheap to compute again are not.
constexpr std::int64_t kMostKeptAsIs = 256LL << 20;
/// Of the weights, what forward values of one sample may take before results of products are computed again.
constexpr std::uint64_t kPartOfWeights = 5;
/// Times that budget, beyond which no saving of time counts.
constexpr std::int64_t kMostBudgets = 4;
/// Operations of a forward pass that are done again, at most, for the sake of the budget.
constexpr double kMostAgain = 0.35;

/// A batch shares its weights: there the memory of a sample is what was asked for.
bool isOneSample(const execute::BoundModel& model)
{
    return std::ranges::all_of(model.graph().inputs(), [&model](ValueId input) {
        const tensor::Shape& shape = model.typeOf(input).shape;
        return shape.empty() || shape.front() == 1;
    });
}

} // namespace

std::shared_ptr<execute::RebuildingStore> InputPass::emptyStore(const std::shared_ptr<const execute::BoundModel>& model,
                                                                const lrp::ProgramRunner& runner,
                                                                std::span<const ValueId> asIs)
{
    execute::KeepingBounds bounds;
    bounds.least = kMostKeptAsIs;
    if (isOneSample(*model)) {
        bounds.budget =
            std::max(kMostKeptAsIs, static_cast<std::int64_t>(execute::weightBytes(*model) / kPartOfWeights));
        bounds.most = kMostBudgets * bounds.budget;
        bounds.share = kMostAgain;
    }
    return std::make_shared<execute::RebuildingStore>(model, runner.readValues(), asIs, bounds);
}

base::Result<execute::ForwardResult> InputPass::forward(const std::shared_ptr<const execute::BoundModel>& model,
                                                        std::span<const Tensor> inputs,
                                                        std::span<const ValueId> targets, const std::stop_token& stop,
                                                        const execute::Progress& progress, bool keeps,
                                                        std::span<const ValueId> alsoKept)
{
    std::vector<ValueId> asIs(targets.begin(), targets.end());
    asIs.insert(asIs.end(), alsoKept.begin(), alsoKept.end());
    m_store = emptyStore(model, m_runner, asIs);
    RETRO_TRY(execute::ForwardResult made,
              execute::forwardInto(m_store, model, inputs, m_store->keptValues(), stop, progress));
    return keeps ? resume(made, m_store) : std::move(made);
}

base::Result<std::optional<execute::ForwardResult>>
InputPass::forwardBeside(const std::shared_ptr<const execute::BoundModel>& model, std::span<const Tensor> inputs,
                         std::span<const ValueId> targets, const execute::RebuildingStore& other,
                         std::span<const Tensor> outputs, ValueId changed, const std::stop_token& stop)
{
    const execute::FollowingNodes following(model->graph(), changed);
    std::vector<ValueId> asIs(targets.begin(), targets.end());
    asIs.insert(asIs.end(), following.reads().begin(), following.reads().end());
    m_store = emptyStore(model, m_runner, asIs);
    RETRO_TRY(std::optional<execute::ForwardResult> made,
              execute::forwardFollowing(m_store, model, inputs, m_store->keptValues(), execute::RebuildingStore(other),
                                        outputs, following, stop));
    return made ? std::optional(resume(*made, m_store)) : std::nullopt;
}

execute::ForwardResult InputPass::resume(const execute::ForwardResult& forward,
                                         std::shared_ptr<const execute::RebuildingStore> kept)
{
    m_kept = std::move(kept);
    m_store = std::make_shared<execute::RebuildingStore>(*m_kept); // tensors share their memory
    const std::shared_ptr<const execute::BoundModel>& model = forward.saved.sharedModel();
    return {forward.outputs,
            execute::SavedValues(model, std::make_shared<const execute::SavePlan>(*model, execute::SavePolicy::Nothing),
                                 m_store),
            m_store, forward.overflow};
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
            relevance = ops::algebra::gradientTimes(relevance, inputs[i]);
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
