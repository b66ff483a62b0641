// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/openedforward.h"

#include "core/rewrite/body/functionbody.h"

#include <algorithm>
#include <utility>

namespace retro::diagnosis
{

namespace
{

/// The steps of a node, and the values of the pass that they read.
struct Steps
{
    std::shared_ptr<const graph::Graph> graph;
    std::vector<Tensor> inputs;
};

Steps membersOf(const Facts& facts, const rewrite::FusedNode& fused)
{
    Steps steps{fused.members, {}};
    for (const ValueId input : fused.members->inputs()) {
        steps.inputs.push_back(facts.value(facts.valueOfPass(fused.members->value(input).name)));
    }
    return steps;
}

Steps bodyOf(const Facts& facts, const graph::Node& node)
{
    const execute::BoundModel& model = *facts.pass()->model;
    std::vector<rewrite::BodyOperand> operands;
    for (const ValueId input : node.inputs) {
        if (!input.isValid()) {
            operands.push_back({{}, {}, false, false});
            continue;
        }
        const bool isTracked = model.isTracked(input);
        operands.push_back({model.typeOf(input), isTracked ? Tensor() : facts.value(input), true, !isTracked});
    }
    auto body = rewrite::functionBody(node, operands);
    if (!body) {
        return {};
    }
    Steps steps{body->graph, {}};
    for (const std::size_t slot : body->operands) {
        steps.inputs.push_back(facts.value(node.inputs[slot]).contiguous());
    }
    return steps;
}

} // namespace

Tensor OpenedForward::value(ValueId value) const
{
    if (!value.isValid()) {
        return {};
    }
    return model->isConstant(value) ? model->constant(value) : forward.saved.anyValue(value);
}

std::shared_ptr<const OpenedForward> openedForward(const Facts& facts, NodeId node)
{
    const Pass* pass = facts.pass();
    if (pass == nullptr || !pass->model || !pass->hasForward) {
        return nullptr;
    }
    const graph::Node& own = facts.graph().node(node);
    const auto fused = std::ranges::find(facts.sources().fused, own.name, &rewrite::FusedNode::node);
    const Steps steps =
        fused != facts.sources().fused.end() && fused->members ? membersOf(facts, *fused) : bodyOf(facts, own);
    if (!steps.graph || !std::ranges::all_of(steps.inputs, &Tensor::isValid)) {
        return nullptr;
    }
    std::vector<ops::TensorType> types;
    for (const Tensor& input : steps.inputs) {
        types.push_back({input.dtype(), input.shape()});
    }
    const auto bound =
        execute::BoundModel::bind(steps.graph, types, execute::insideOf(pass->model->precision()), steps.inputs);
    if (!bound) {
        return nullptr;
    }
    auto forward = execute::forward(*bound, steps.inputs, execute::SavePolicy::All, facts.stop());
    if (!forward) {
        return nullptr;
    }
    return std::make_shared<OpenedForward>(OpenedForward{*bound, std::move(forward).value()});
}

} // namespace retro::diagnosis
