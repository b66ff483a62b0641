// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/reverseflops.h"

#include "core/ops/structure.h"

#include <algorithm>

namespace retro::lrp
{

namespace
{

/// Wanted operands among the first `count`.
std::size_t wantedAmong(std::span<const std::uint8_t> wanted, std::size_t count)
{
    return static_cast<std::size_t>(std::ranges::count(wanted.first(std::min(count, wanted.size())), 1));
}

/// Wanted operands that may be a factor of a product: a shift has one axis at most.
std::size_t wantedFactors(const execute::BoundModel& model, const graph::Node& node,
                          std::span<const std::uint8_t> wanted)
{
    std::size_t count = 0;
    for (std::size_t slot = 0; slot < std::min(wanted.size(), node.inputs.size()); ++slot) {
        count += wanted[slot] != 0 && model.typeOf(node.inputs[slot]).shape.size() > 1 ? 1 : 0;
    }
    return count;
}

/// How many forward computations a reverse rule takes.
std::size_t timesForward(const execute::BoundModel& model, base::NodeId id, std::span<const std::uint8_t> wanted)
{
    const std::size_t factors = wantedFactors(model, model.graph().node(id), wanted);
    switch (model.op(id).structure().kind()) {
    case ops::StructureKind::LinearMap:
    case ops::StructureKind::Bilinear:
        return wantedAmong(wanted, 2);
    case ops::StructureKind::Differentiable: // Einsum, convolutions with computed weights
        return std::max<std::size_t>(factors, 1);
    case ops::StructureKind::Composed:
        return std::clamp<std::size_t>(factors, 1, 2);
    default:
        return 1;
    }
}

} // namespace

double reverseFlops(const execute::BoundModel& model, base::NodeId node, std::span<const std::uint8_t> wanted)
{
    return model.op(node).flops() * static_cast<double>(timesForward(model, node, wanted));
}

} // namespace retro::lrp
