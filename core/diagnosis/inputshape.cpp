// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/inputshape.h"

#include "core/diagnosis/linearweight.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <tuple>

namespace retro::diagnosis
{

namespace
{

constexpr std::size_t kMostPermutedAxes = 6; // 720 orders

/// The declared shape; the channels of one whose file does not say them are those of a convolution that reads it.
std::vector<graph::Dimension> wantedShape(const ModelFacts& model, ValueId input)
{
    const graph::Graph& graph = model.graph();
    std::vector<graph::Dimension> wanted = graph.value(input).shape.value_or(std::vector<graph::Dimension>{});
    for (const graph::Use& use : graph.uses(input)) {
        const graph::Node& node = graph.node(use.node);
        const auto linear = use.slot == 0 && node.op == "Conv" ? linearWeightOf(model, node) : std::nullopt;
        if (!linear) {
            continue;
        }
        if (wanted.empty()) {
            wanted.resize(linear->weight.rank());
        }
        if (wanted.size() > 1 && !wanted[1].extent) {
            wanted[1].extent = linear->weight.shape()[1] * linear->group;
        }
    }
    return wanted;
}

bool fits(const tensor::Shape& shape, const std::vector<graph::Dimension>& wanted)
{
    return shape.size() == wanted.size() &&
           std::equal(shape.begin(), shape.end(), wanted.begin(), [](std::int64_t extent, const auto& dimension) {
               return !dimension.extent || *dimension.extent == extent;
           });
}

std::size_t inversions(const std::vector<std::int64_t>& order)
{
    std::size_t count = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        count += static_cast<std::size_t>(std::count_if(order.begin() + static_cast<std::ptrdiff_t>(i), order.end(),
                                                        [at = order[i]](std::int64_t later) { return later < at; }));
    }
    return count;
}

/// The order of axes that fits: one that keeps the batch where it is, then the one nearest to the given order.
std::vector<std::int64_t> fittingOrder(const tensor::Shape& shape, const std::vector<graph::Dimension>& wanted)
{
    std::vector<std::int64_t> order(shape.size());
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::vector<std::int64_t> best;
    const auto cost = [](const std::vector<std::int64_t>& axes) {
        return std::tuple(axes.front() != 0, inversions(axes), axes);
    };
    if (shape.size() != wanted.size() || shape.size() > kMostPermutedAxes || shape.empty()) {
        return best;
    }
    do {
        tensor::Shape turned;
        std::ranges::transform(order, std::back_inserter(turned),
                               [&shape](std::int64_t axis) { return shape[static_cast<std::size_t>(axis)]; });
        if (fits(turned, wanted) && (best.empty() || cost(order) < cost(best))) {
            best = order;
        }
    } while (std::next_permutation(order.begin(), order.end()));
    return best;
}

} // namespace

std::vector<Misfit> misfitsOf(const Facts& facts)
{
    std::vector<Misfit> misfits;
    const ModelFacts& model = *facts.model();
    for (std::size_t i = 0; i < comparedInputs(facts); ++i) {
        const ValueId input = model.graph().inputs()[i];
        Misfit one{i, model.graph().value(input).name, facts.inputs()[i].shape(), wantedShape(model, input), {}};
        if (!one.wanted.empty() && !fits(one.given, one.wanted)) {
            one.order = fittingOrder(one.given, one.wanted);
            misfits.push_back(std::move(one));
        }
    }
    return misfits;
}

std::size_t comparedInputs(const Facts& facts)
{
    return std::min(facts.inputs().size(), facts.model()->graph().inputs().size());
}

std::string wantedText(const std::vector<graph::Dimension>& wanted)
{
    std::vector<std::string> extents;
    for (const graph::Dimension& dimension : wanted) {
        extents.push_back(dimension.extent ? std::to_string(*dimension.extent)
                                           : (dimension.symbol.empty() ? "?" : dimension.symbol));
    }
    return fmt::format("{}", fmt::join(extents, "×"));
}

} // namespace retro::diagnosis
