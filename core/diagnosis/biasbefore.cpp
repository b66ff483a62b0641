// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/biasbefore.h"

#include "core/diagnosis/magnitudeshare.h"
#include "core/diagnosis/numbertext.h"
#include "core/ops/algebra.h"
#include "core/ops/elements.h"
#include "core/ops/layerkind.h"

#include <fmt/format.h>

namespace retro::diagnosis
{

namespace
{

namespace algebra = ops::algebra;

/// From which share on a bias is said to make a result (section 4.6, flow.bias).
constexpr double kMakesIt = 0.6;

bool handsOn(const graph::Node& node)
{
    using enum ops::Elements;
    return ops::areElements(node, {Kept, Reshaped, Turned}) || ops::isBatchNormalisation(node) ||
           ops::isMaxPool(node) || node.op == "AveragePool";
}

/// The linear map behind which nothing but such nodes stands; invalid where there is none.
NodeId mapBefore(const Facts& facts, NodeId node)
{
    const graph::Graph& graph = facts.graph();
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        const auto& inputs = graph.node(node).inputs;
        const NodeId before = inputs.empty() || !inputs[0].isValid() ? NodeId() : graph.value(inputs[0]).producer;
        if (!before.isValid() || isLinearMap(facts, before)) {
            return before;
        }
        if (!handsOn(graph.node(before))) {
            return {};
        }
        node = before;
    }
    return {};
}

} // namespace

std::optional<BiasBefore> biasBefore(const Facts& facts, NodeId node)
{
    const NodeId before = mapBefore(facts, node);
    if (!before.isValid()) {
        return std::nullopt;
    }
    const auto& map = static_cast<const ops::LinearMap&>(facts.op(before)->structure());
    const Tensor bias = map.hasBias() ? map.bias({}) : Tensor();
    const Tensor z = facts.value(facts.graph().node(before).outputs.front());
    if (!bias.isValid() || !z.isValid() || z.size() == 0) {
        return std::nullopt;
    }
    const Tensor all = algebra::absolute(algebra::addBroadcast(algebra::filledLike(z, 0), bias));
    const double ofBias = algebra::sumAbsolute(all);
    const double others = algebra::sumAbsolute(algebra::addBroadcast(z, algebra::scale(bias, -1)));
    const double share = ofBias + others > 0 ? ofBias / (ofBias + others) : 0;
    return share > kMakesIt ? std::optional(BiasBefore{before, share}) : std::nullopt;
}

std::string adviceBefore(const Facts& facts, NodeId node, const std::string& otherwise)
{
    const auto bias = biasBefore(facts, node);
    return bias ? fmt::format("Look at the bias of {}: it is {} of the magnitude of what that gives",
                              facts.graph().labelOf(bias->node), percentText(bias->share))
                : otherwise;
}

} // namespace retro::diagnosis
