// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/ways.h"

#include <fmt/format.h>

namespace retro::diagnosis
{

bool reachesTarget(const Facts& facts, NodeId node)
{
    return !facts.pass()->target.isValid() || facts.leadsToTarget()[node.index()];
}

std::vector<bool> linearBehind(const Facts& facts)
{
    const graph::Graph& graph = facts.graph();
    std::vector<bool> isBehind(graph.runNodeCount(), false);
    for (std::size_t i = graph.nodeCount(); i-- > 0;) {
        const NodeId node(i);
        if (!reachesTarget(facts, node)) {
            continue;
        }
        const bool isOne =
            facts.isKind(node, ops::StructureKind::LinearMap) || facts.isKind(node, ops::StructureKind::Bilinear) ||
            facts.isKind(node, ops::StructureKind::Composed) || facts.isKind(node, ops::StructureKind::TableLookup);
        for (const ValueId input : graph.node(node).inputs) {
            const NodeId before = input.isValid() ? graph.nodeOf(input) : NodeId();
            if (before.isValid() && (isOne || isBehind[i])) {
                isBehind[before.index()] = true;
            }
        }
    }
    return isBehind;
}

std::optional<std::size_t> samplesThatHold(const Facts& facts, const Tensor& value,
                                           const std::function<bool(std::span<const double>)>& holds)
{
    const std::size_t samples = facts.pass()->targetIndex.size();
    const bool isBatch = samples > 1 && value.rank() > 0 && value.shape()[0] == static_cast<std::int64_t>(samples);
    if (!isBatch) {
        return std::nullopt;
    }
    const std::vector<double> numbers = numbersIn(value);
    const std::size_t each = numbers.size() / samples;
    std::size_t count = 0;
    for (std::size_t i = 0; i < samples; ++i) {
        count += holds(std::span(numbers).subspan(i * each, each)) ? 1 : 0;
    }
    return count;
}

std::string samplesText(const Facts& facts, const Tensor& value,
                        const std::function<bool(std::span<const double>)>& holds)
{
    const auto count = samplesThatHold(facts, value, holds);
    const std::size_t samples = facts.pass()->targetIndex.size();
    if (!count) {
        return "for this input";
    }
    return *count == samples ? fmt::format("for each of {} samples", samples)
                             : fmt::format("for these {} samples together", samples);
}

} // namespace retro::diagnosis
