// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/siblings.h"

#include "core/diagnosis/magnitudeshare.h"

#include <algorithm>
#include <cstdint>

namespace retro::diagnosis
{

namespace
{

enum class LinearKind : std::uint8_t { Depthwise, Convolution, Dense };

LinearKind kindOf(const Facts& facts, NodeId id)
{
    const graph::Node& node = facts.graph().node(id);
    if (node.op != "Conv" && node.op != "ConvTranspose") {
        return LinearKind::Dense;
    }
    const std::int64_t group = wholeAttribute(node, "group", 1);
    const tensor::Shape shape = facts.shape(node.inputs.front());
    // Of one position, as in a gate over channels: written as a convolution, but dense.
    if (shape.size() > 2 && std::ranges::all_of(shape.begin() + 2, shape.end(), [](auto n) { return n == 1; })) {
        return LinearKind::Dense;
    }
    const bool isOwnGroup = group > 1 && shape.size() > 1 && shape[1] == group;
    return isOwnGroup ? LinearKind::Depthwise : LinearKind::Convolution;
}

std::vector<NodeId> spread(const std::vector<NodeId>& all)
{
    if (all.size() <= kMostSiblings) {
        return all;
    }
    std::vector<NodeId> some;
    for (std::size_t i = 0; i < kMostSiblings; ++i) {
        some.push_back(all[i * (all.size() - 1) / (kMostSiblings - 1)]);
    }
    return some;
}

} // namespace

std::vector<NodeId> siblingsOf(const Facts& facts, NodeId node)
{
    constexpr std::size_t kFewest = 2; // section 2
    std::vector<NodeId> all;
    std::vector<NodeId> same;
    const LinearKind kind = kindOf(facts, node);
    for (std::size_t i = 0; i < facts.graph().nodeCount(); ++i) {
        const NodeId other(i);
        if (other == node || !isLinearMap(facts, other) || !facts.leadsToTarget()[i]) {
            continue;
        }
        all.push_back(other);
        if (kindOf(facts, other) == kind) {
            same.push_back(other);
        }
    }
    return spread(same.size() >= kFewest ? same : all);
}

} // namespace retro::diagnosis
