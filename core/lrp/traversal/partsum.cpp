// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/traversal/partsum.h"

#include "core/lrp/traversal/knownsums.h"
#include "core/ops/algebra.h"
#include "core/ops/algebrasums.h"

#include <algorithm>
#include <utility>

namespace retro::lrp
{

namespace
{

/// An accumulator on the left, parts on the right.
class Adder
{
public:
    explicit Adder(bool countsLost) : m_countsLost(countsLost) {}

    double lost = 0;

    void add(Tensor& sum, Tensor part)
    {
        if (!sum.isValid()) {
            sum = std::move(part);
            return;
        }
        if (!m_countsLost) {
            sum = ops::algebra::add(sum, part);
            return;
        }
        ops::algebra::SummedAddition made = ops::algebra::addAndSum(sum, part);
        keepSums(made.tensor, made.sums); // for the row of whoever gets it
        lost += made.lost;
        sum = std::move(made.tensor);
    }

private:
    bool m_countsLost;
};

} // namespace

PartSum sumOf(std::vector<Tensor> parts, const std::vector<std::uint8_t>& joined, bool countsLost)
{
    Adder adder(countsLost);
    PartSum sum;
    for (std::size_t i = 0; i < parts.size();) {
        Tensor group = std::move(parts[i]);
        for (++i; i < joined.size() && i < parts.size() && joined[i] != 0; ++i) {
            adder.add(group, std::exchange(parts[i], Tensor()));
        }
        adder.add(sum.total, std::move(group));
    }
    sum.lost = adder.lost;
    return sum;
}

std::vector<std::uint8_t> joinedParts(const TraversalGraph& graph, NodeId node, std::uint32_t output)
{
    std::vector<std::uint8_t> joined;
    for (const InEdge& edge : graph.inEdges(node)) {
        if (edge.output == output) {
            joined.push_back(edge.isJoined ? 1 : 0);
        }
    }
    const bool isAny = std::ranges::find(joined, 1) != joined.end();
    return isAny ? joined : std::vector<std::uint8_t>();
}

} // namespace retro::lrp
