// SPDX-License-Identifier: Apache-2.0
#include "core/tape/gradientgraph/applicable.h"

#include "core/tape/gradientgraph/emitrule.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::tape
{

bool isGradientOpset(const execute::BoundModel& model)
{
    return !model.graph().opsets().contains("") || model.graph().opset() >= kLeastGradientOpset;
}

Applicable canBeWritten(const execute::BoundModel& model, graph::NodeId id)
{
    const graph::Node& node = model.graph().node(id);
    graph::GraphBuilder nothing;
    Emitter emit(nothing, model.graph().opset(), tensor::DType::Float32);
    EmitSite site(emit, model, node, {});
    for (const ValueId operand : node.inputs) {
        const bool isWanted =
            operand.isValid() && model.isTracked(operand) && tensor::isFloating(model.typeOf(operand).dtype);
        site.wanted.push_back(isWanted ? 1 : 0);
    }
    const bool passesNothing = model.op(id).structure().kind() == ops::StructureKind::NoRelevance ||
                               std::ranges::find(site.wanted, 1) == site.wanted.end();
    if (passesNothing) {
        return {true, {}};
    }
    if (!isGradientOpset(model)) {
        return {false,
                fmt::format("gradient graphs are written in operator set {} or later; convert the model to a newer "
                            "opset",
                            kLeastGradientOpset)};
    }
    const EmitRule* rule = node.domain.empty() ? findEmitRule(node.op) : nullptr;
    if (rule == nullptr) {
        return {false, "no rule of that name is made of standard operators"};
    }
    const std::string refusal = rule->refusal(site);
    return {refusal.empty(), refusal};
}

} // namespace retro::tape
