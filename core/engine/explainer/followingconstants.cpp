// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explainer/followingconstants.h"

#include "core/ops/kernel/elementmap.h"
#include "core/ops/kernel/slices.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <variant>
#include <vector>

namespace retro::engine
{

namespace
{

bool isSameAttribute(const graph::Attribute& a, const graph::Attribute& b)
{
    const auto equal = [&b](const auto& one) {
        using Kind = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<Kind, graph::Subgraph>) {
            return false;
        } else if constexpr (std::is_same_v<Kind, tensor::Tensor>) {
            return one.bitEqual(std::get<Kind>(b));
        } else {
            return one == std::get<Kind>(b);
        }
    };
    return a.index() == b.index() && std::visit(equal, a);
}

bool areSameAttributes(const graph::Attributes& a, const graph::Attributes& b)
{
    return std::ranges::equal(a, b, [](const auto& one, const auto& other) {
        return one.first == other.first && isSameAttribute(one.second, other.second);
    });
}

/// How a whole number follows from an extent: factor · extent + offset.
struct FollowingNumber
{
    std::int64_t factor = 0;
    std::int64_t offset = 0;
};

/// The law of a number that was seen at three extents; nothing where there is none.
std::optional<FollowingNumber> numberFollowing(const ThreeExtents& extents, const std::array<std::int64_t, 3>& seen)
{
    const std::int64_t rise = seen[1] - seen[0];
    const std::int64_t step = extents[1] - extents[0];
    if (rise % step != 0) {
        return std::nullopt;
    }
    const FollowingNumber law{rise / step, seen[0] - rise / step * extents[0]};
    return seen[2] == law.factor * extents[2] + law.offset ? std::optional(law) : std::nullopt;
}

/// A list of whole numbers as nodes; nothing where one of them follows no law.
ValueId numbersFollowing(RelevanceSteps& steps, const std::function<ValueId()>& extent, const ThreeExtents& extents,
                         const std::array<std::vector<std::int64_t>, 3>& seen)
{
    std::vector<std::int64_t> factors;
    std::vector<std::int64_t> offsets;
    for (std::size_t i = 0; i < seen[0].size(); ++i) {
        const auto law = numberFollowing(extents, {seen[0][i], seen[1][i], seen[2][i]});
        if (!law) {
            return {};
        }
        factors.push_back(law->factor);
        offsets.push_back(law->offset);
    }
    return steps.add(steps.node("Mul", {steps.ints(factors), extent()}), steps.ints(offsets));
}

/// The shape that all three have, with 1 for an axis whose extent is not the same.
tensor::Shape reducedShape(const ThreeTensors& seen)
{
    const tensor::Shape& shape = seen[0]->shape();
    tensor::Shape reduced = shape;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if (seen[1]->shape()[axis] != shape[axis] || seen[2]->shape()[axis] != shape[axis]) {
            reduced[axis] = 1;
        }
    }
    return reduced;
}

/// Place in a tensor of `reduced` that belongs to a flat place in one of `of`, with the axes that were reduced at 0.
std::int64_t reducedPlace(std::int64_t flat, const tensor::Shape& of, const tensor::Shape& reduced)
{
    std::int64_t place = 0;
    std::int64_t step = 1;
    for (std::size_t axis = of.size(); axis-- > 0;) {
        const std::int64_t at = flat % of[axis];
        flat /= of[axis];
        place += reduced[axis] == 1 ? 0 : at * step;
        step *= reduced[axis];
    }
    return place;
}

/// The elements at place 0 of each axis that was reduced.
tensor::Tensor firstSlice(tensor::Tensor first, const tensor::Shape& reduced)
{
    for (std::size_t axis = 0; axis < reduced.size(); ++axis) {
        if (first.shape()[axis] != reduced[axis]) {
            first = ops::slice(first, axis, 0, 1);
        }
    }
    return first.contiguous();
}

/// Integers by their bits: not all of them are numbers of double.
bool isSameElement(const tensor::Tensor& a, std::int64_t i, const tensor::Tensor& b, std::int64_t j)
{
    const std::size_t width = tensor::sizeOf(a.dtype());
    return tensor::isFloating(a.dtype()) ? a.at(i) == b.at(j)
                                         : std::memcmp(a.rawData() + static_cast<std::size_t>(i) * width,
                                                       b.rawData() + static_cast<std::size_t>(j) * width, width) == 0;
}

/// What lies at place 0 of each axis whose extent is not the same in all three; nothing where another place differs.
std::optional<tensor::Tensor> sameSlices(const ThreeTensors& seen)
{
    const tensor::Shape reduced = reducedShape(seen);
    tensor::Tensor kept = firstSlice(*seen[0], reduced);
    for (const tensor::Tensor* one : seen) {
        const tensor::Tensor data = one->contiguous();
        for (std::int64_t i = 0; i < data.size(); ++i) {
            if (!isSameElement(data, i, kept, reducedPlace(i, one->shape(), reduced))) {
                return std::nullopt;
            }
        }
    }
    return kept;
}

/// A scalar or list of whole numbers.
ValueId listFollowing(RelevanceSteps& steps, const std::function<ValueId()>& extent, const ThreeExtents& extents,
                      const ThreeTensors& seen)
{
    std::array<std::vector<std::int64_t>, 3> numbers;
    for (std::size_t k = 0; k < seen.size(); ++k) {
        numbers[k] = ops::integersOf(*seen[k]);
    }
    const ValueId vector = numbersFollowing(steps, extent, extents, numbers);
    const bool isScalar = seen[0]->shape().empty();
    return vector.isValid() && isScalar ? steps.node("Squeeze", {vector, steps.ints({0})}) : vector;
}

} // namespace

bool areSameNodes(const graph::Graph& a, const graph::Graph& b)
{
    return a.valueCount() == b.valueCount() &&
           std::ranges::equal(a.nodes(), b.nodes(), [](const graph::Node& one, const graph::Node& other) {
               return one.op == other.op && one.inputs == other.inputs && one.outputs == other.outputs &&
                      areSameAttributes(one.attributes, other.attributes);
           });
}

ValueId constantFollowing(RelevanceSteps& steps, const std::function<ValueId()>& extent, const ThreeExtents& extents,
                          const ThreeTensors& seen)
{
    const tensor::Tensor& first = *seen[0];
    const std::size_t rank = first.shape().size();
    const bool areAlike = std::ranges::all_of(seen, [&](const tensor::Tensor* one) {
        return one->dtype() == first.dtype() && one->shape().size() == rank && one->size() > 0;
    });
    if (!areAlike) {
        return {};
    }
    const bool haveOneShape = seen[1]->shape() == first.shape() && seen[2]->shape() == first.shape();
    if (first.dtype() == tensor::DType::Int64 && rank < 2 && haveOneShape) {
        return listFollowing(steps, extent, extents, seen);
    }
    const std::optional<tensor::Tensor> slice = haveOneShape ? std::nullopt : sameSlices(seen);
    if (!slice) {
        return {};
    }
    std::array<std::vector<std::int64_t>, 3> numbers;
    for (std::size_t k = 0; k < seen.size(); ++k) {
        numbers[k] = {seen[k]->shape().begin(), seen[k]->shape().end()};
    }
    const ValueId shape = numbersFollowing(steps, extent, extents, numbers);
    if (!shape.isValid()) {
        return {};
    }
    const bool isFilled = slice->size() == 1 && slice->dtype() == steps.floatType();
    return isFilled ? steps.filledBy(shape, slice->at(0)) : steps.node("Expand", {steps.constant(*slice), shape});
}

} // namespace retro::engine
