// SPDX-License-Identifier: Apache-2.0
#include "core/execute/followingnodes.h"

#include "core/base/cancel.h"
#include "core/execute/runnode.h"

#include <algorithm>

namespace retro::execute
{

FollowingNodes::FollowingNodes(const graph::Graph& graph, ValueId from) : m_follows(graph.valueCount(), false)
{
    m_follows[from.index()] = true;
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        const graph::Node& node = graph.node(NodeId(i));
        const bool reads =
            std::ranges::any_of(node.inputs, [this](ValueId value) { return value.isValid() && follows(value); });
        if (!reads) {
            continue;
        }
        m_nodes.emplace_back(i);
        for (const ValueId output : node.outputs) {
            if (output.isValid()) {
                m_follows[output.index()] = true;
            }
        }
        addReads(graph, node);
    }
}

void FollowingNodes::addReads(const graph::Graph& graph, const graph::Node& node)
{
    for (const ValueId input : node.inputs) {
        const bool isOther =
            input.isValid() && !follows(input) && graph.value(input).kind != graph::ValueKind::Constant;
        if (isOther && std::ranges::find(m_reads, input) == m_reads.end()) {
            m_reads.push_back(input);
        }
    }
}

namespace
{

/// Takes from `others` what neither follows nor is there yet. False where `others` lacks one.
bool takeOthers(const BoundModel& model, const FollowingNodes& following, std::span<const ValueId> wanted,
                const ValueStore& others, std::vector<Tensor>& values)
{
    for (const ValueId value : wanted) {
        Tensor& tensor = values[value.index()];
        if (following.follows(value) || model.isConstant(value) || tensor.isValid()) {
            continue;
        }
        tensor = others.get(value);
        if (!tensor.isValid()) {
            return false;
        }
    }
    return true;
}

/// Runs the nodes in order; `store` gets the results that `isKept` names.
base::Result<void> runFollowing(const BoundModel& model, const FollowingNodes& following,
                                const std::vector<bool>& isKept, ValueStore& store, std::vector<Tensor>& values,
                                const std::stop_token& stop)
{
    for (const NodeId id : following.nodes()) {
        RETRO_CHECK(base::checkStop(stop));
        RETRO_TRY(const std::vector<Tensor> results,
                  runNode(
                      model, id, [&values](ValueId value) { return values[value.index()]; }, RunKind::First));
        const std::vector<ValueId>& outputs = model.graph().node(id).outputs;
        for (std::size_t k = 0; k < std::min(results.size(), outputs.size()); ++k) {
            if (!outputs[k].isValid()) {
                continue;
            }
            values[outputs[k].index()] = results[k];
            if (isKept[outputs[k].index()]) {
                store.put(outputs[k], results[k]);
            }
        }
    }
    return {};
}

} // namespace

base::Result<std::optional<ForwardResult>>
forwardFollowing(const std::shared_ptr<ValueStore>& store, const std::shared_ptr<const BoundModel>& model,
                 std::span<const Tensor> inputs, std::span<const ValueId> kept, const ValueStore& others,
                 std::span<const Tensor> made, const FollowingNodes& following, const std::stop_token& stop)
{
    RETRO_CHECK(checkInputs(*model, inputs));
    const graph::Graph& graph = model->graph();
    std::vector<Tensor> values(graph.valueCount());
    std::vector<bool> isKept(graph.valueCount(), false);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        values[graph.inputs()[i].index()] = inputs[i];
    }
    std::vector<ValueId> wanted(kept.begin(), kept.end());
    wanted.insert(wanted.end(), following.reads().begin(), following.reads().end());
    for (const ValueId value : kept) {
        isKept[value.index()] = true;
    }
    if (!takeOthers(*model, following, wanted, others, values)) {
        return std::optional<ForwardResult>();
    }
    for (const ValueId value : kept) {
        if (values[value.index()].isValid()) {
            store->put(value, values[value.index()]);
        }
    }
    RETRO_CHECK(runFollowing(*model, following, isKept, *store, values, stop));
    std::vector<Tensor> results;
    for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
        const ValueId output = graph.outputs()[i];
        results.push_back(model->isConstant(output) ? model->constant(output) : values[output.index()]);
        if (!results.back().isValid() && !following.follows(output) && i < made.size()) {
            results.back() = made[i];
        }
        if (!results.back().isValid()) {
            return std::optional<ForwardResult>();
        }
    }
    return std::optional(ForwardResult{
        std::move(results), SavedValues(model, std::make_shared<const SavePlan>(*model, SavePolicy::Nothing), store),
        store, std::nullopt});
}

} // namespace retro::execute
