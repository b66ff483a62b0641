// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/growthalong.h"

#include <algorithm>
#include <cmath>

namespace retro::diagnosis
{

namespace
{

/// The part of the values that is near the target (section 4.6, flow.explodes).
constexpr std::size_t kPartsNearTarget = 5;

/// What arrived at an input or at the results of a node.
struct Arrived
{
    NodeId node;
    double magnitude = 0;
};

} // namespace

GrowthAlong growthAlong(const Facts& facts)
{
    const graph::Graph& graph = facts.graph();
    std::vector<double> inputs;
    for (const ValueId input : graph.inputs()) {
        inputs.push_back(facts.magnitude(input));
    }
    std::vector<trace::NodeBalance> balances;
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        balances.push_back(facts.balance(NodeId(i)));
    }
    return growthAlong(graph, balances, inputs);
}

GrowthAlong growthAlong(const graph::Graph& graph, std::span<const trace::NodeBalance> balances,
                        std::span<const double> inputs)
{
    std::vector<Arrived> arrived; // in order of the pass, inputs first
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i] > 0) {
            arrived.push_back({graph.inputNode(graph.inputs()[i]), inputs[i]});
        }
    }
    GrowthAlong growth;
    for (std::size_t i = 0; i < std::min(graph.nodeCount(), balances.size()); ++i) {
        const trace::NodeBalance& balance = balances[i];
        if (balance.rows > 0 && balance.magnitude > 0) {
            arrived.push_back({NodeId(i), balance.magnitude});
            if (balance.growth() > growth.steepest) {
                growth.steepest = balance.growth();
                growth.steepestAt = NodeId(i);
            }
        }
    }
    if (arrived.empty() || !growth.steepestAt.isValid()) {
        return growth;
    }
    const std::size_t near = std::max<std::size_t>(1, arrived.size() / kPartsNearTarget);
    const auto largest = std::ranges::max_element(arrived, {}, &Arrived::magnitude);
    const auto nearTarget =
        std::max_element(arrived.end() - static_cast<std::ptrdiff_t>(near), arrived.end(),
                         [](const Arrived& a, const Arrived& b) { return a.magnitude < b.magnitude; });
    growth.largest = largest->magnitude;
    growth.largestAt = largest->node;
    growth.nearTarget = nearTarget->magnitude;
    growth.decades = std::log10(growth.largest / growth.nearTarget);
    return growth;
}

} // namespace retro::diagnosis
