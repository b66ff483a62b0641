// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/columnweights.h"

#include "core/ops/algebra.h"

#include <algorithm>
#include <numeric>

namespace retro::lrp
{

namespace
{

constexpr std::int64_t kMostResults = 1024;

Tensor unitAt(tensor::DType dtype, const tensor::Shape& shape, std::int64_t at)
{
    std::vector<double> unit(static_cast<std::size_t>(tensor::elementCount(shape)), 0);
    unit[static_cast<std::size_t>(at)] = 1;
    return Tensor::of<double>(shape, unit).to(dtype);
}

/// Σ over operands of w · part.
double reaching(std::span<const Tensor> weights, std::span<const Tensor> parts)
{
    double sum = 0;
    for (std::size_t slot = 0; slot < std::min(weights.size(), parts.size()); ++slot) {
        if (weights[slot].isValid() && parts[slot].isValid()) {
            sum += ops::algebra::dot(weights[slot], ops::algebra::laidOutAs(parts[slot], weights[slot]));
        }
    }
    return sum;
}

} // namespace

bool hasFewResults(const ops::BoundOperator& op)
{
    const auto types = op.outputTypes();
    return std::accumulate(types.begin(), types.end(), std::int64_t{0},
                           [](std::int64_t sum, const ops::TensorType& type) {
                               return sum + tensor::elementCount(type.shape);
                           }) <= kMostResults;
}

std::vector<Tensor> weighByColumns(const Rule& rule, const WeighContext& context)
{
    const auto known = std::ranges::find_if(context.weights, &Tensor::isValid);
    const auto types = context.op.outputTypes();
    std::vector<Tensor> made(types.size());
    for (std::size_t k = 0; k < types.size(); ++k) {
        if (!tensor::isFloating(types[k].dtype)) {
            continue;
        }
        std::vector<double> weights;
        for (std::int64_t at = 0; at < tensor::elementCount(types[k].shape); ++at) {
            if (context.stop.stop_requested()) {
                return made;
            }
            std::vector<Tensor> relevance(types.size());
            relevance[k] = unitAt(known->dtype(), types[k].shape, at);
            weights.push_back(reaching(context.weights, rule.apply(context.with(relevance))));
        }
        made[k] = Tensor::of<double>(types[k].shape, weights).to(known->dtype());
    }
    return made;
}

} // namespace retro::lrp
