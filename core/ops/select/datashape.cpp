// SPDX-License-Identifier: Apache-2.0
// NonZero, Compress, Unique: how many elements there are depends on data, so they are worked out when the model is
// bound.
#include "core/ops/bind/bindcheck.h"
#include "core/ops/families.h"
#include "core/ops/select/order.h"
#include "core/ops/shape/known.h"
#include "core/ops/shape/mappedelements.h"

#include <fmt/format.h>

#include <numeric>

namespace retro::ops
{

namespace
{

using tensor::DType;
using tensor::Shape;

BoundResult bindNonZero(const BindContext& context)
{
    RETRO_TRY(const Tensor x, context.known(0));
    const Shape& shape = x.shape();
    const auto isSet = x.to(DType::Bool).contiguous();
    const auto* flags = reinterpret_cast<const std::uint8_t*>(isSet.rawData());
    const auto count = std::count_if(flags, flags + x.size(), [](std::uint8_t flag) { return flag != 0; });
    tensor::TensorBuffer buffer(DType::Int64, {static_cast<std::int64_t>(shape.size()), count});
    std::int64_t* perAxis = buffer.data<std::int64_t>();
    std::size_t at = 0;
    std::int64_t found = 0;
    forEachIndex(shape, [&](const Shape& index) {
        if (flags[at++] == 0) {
            return;
        }
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
            perAxis[static_cast<std::int64_t>(axis) * count + found] = index[axis];
        }
        ++found;
    });
    return boundKnown(std::move(buffer).freeze());
}

/// Indices at which the condition holds.
base::Result<std::vector<std::int64_t>> chosen(const BindContext& context, std::int64_t extent)
{
    if (context.operandTypes[1].dtype != DType::Bool || context.operandTypes[1].shape.size() != 1) {
        return context.error("the condition (operand 1) must be a list of bool");
    }
    RETRO_TRY(const auto flags, context.constantInts(1));
    std::vector<std::int64_t> indices;
    for (std::size_t i = 0; i < flags.size(); ++i) {
        if (flags[i] != 0) {
            indices.push_back(static_cast<std::int64_t>(i));
        }
    }
    if (!indices.empty() && indices.back() >= extent) {
        return context.error(
            fmt::format("the condition holds at {}, but there are {} elements", indices.back(), extent));
    }
    return indices;
}

BoundResult bindCompress(const BindContext& context)
{
    const TensorType& operand = firstType(context);
    const bool isFlat = context.node.attributes.find("axis") == context.node.attributes.end();
    Shape source = isFlat ? Shape{tensor::elementCount(operand.shape)} : operand.shape;
    RETRO_TRY(const std::size_t axis, axisWithin(context, context.intAttribute("axis", 0), source.size()));
    RETRO_TRY(const auto indices, chosen(context, source[axis]));
    ElementMap map = alongAxis(source, axis, indices);
    source[axis] = static_cast<std::int64_t>(indices.size());
    return bound<FixedMap>(TensorType{operand.dtype, std::move(source)}, operand.shape, std::move(map));
}

/// Slices along an axis, or single elements, by their values.
struct Groups
{
    std::vector<std::int64_t> first;   // per group: the first slice of it
    std::vector<std::int64_t> inverse; // per slice: its group
    std::vector<std::int64_t> counts;  // per group
};

/// −1, 0 or 1; NaN is above all numbers and like itself.
template <class T>
int comparedNumbers(T left, T right)
{
    if (left == right || (left != left && right != right)) {
        return 0;
    }
    return left < right || right != right ? -1 : 1;
}

/// Compares slices a and b element by element.
template <class T>
int compared(const T* x, const AxisView& view, std::int64_t a, std::int64_t b)
{
    for (std::int64_t o = 0; o < view.outer; ++o) {
        for (std::int64_t i = 0; i < view.inner; ++i) {
            if (const int order = comparedNumbers(x[view.at(o, a, i)], x[view.at(o, b, i)]); order != 0) {
                return order;
            }
        }
    }
    return 0;
}

template <class T>
Groups groupsOf(const T* x, const AxisView& view, bool isSorted)
{
    const auto count = static_cast<std::size_t>(view.extent);
    std::vector<std::int64_t> order(count);
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return compared(x, view, a, b) < 0; });
    std::vector<std::vector<std::int64_t>> members;
    for (std::size_t n = 0; n < count; ++n) {
        if (n == 0 || compared(x, view, order[n - 1], order[n]) != 0) {
            members.emplace_back();
        }
        members.back().push_back(order[n]);
    }
    if (!isSorted) { // by first occurrence
        std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) { return a[0] < b[0]; });
    }
    Groups groups;
    groups.inverse.resize(count);
    for (std::size_t g = 0; g < members.size(); ++g) {
        groups.first.push_back(members[g][0]);
        groups.counts.push_back(static_cast<std::int64_t>(members[g].size()));
        for (const std::int64_t slice : members[g]) {
            groups.inverse[static_cast<std::size_t>(slice)] = static_cast<std::int64_t>(g);
        }
    }
    return groups;
}

Tensor list(const std::vector<std::int64_t>& values)
{
    return Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

/// Unique of computed floating values: which of them are taken follows from the values that the model is bound to.
class UniqueOfValues final : public Operator<ShapeMap>
{
public:
    /// `map`: where in the operand each element of output 0 lies. `lists`: outputs 1 to 3.
    UniqueOfValues(TensorType output, Shape operand, ElementMap map, std::vector<Tensor> lists)
        : Operator(std::move(output)), m_operand(std::move(operand)), m_map(std::move(map)), m_lists(std::move(lists))
    {
        for (const Tensor& each : m_lists) {
            m_outputTypes.push_back({each.dtype(), each.shape()});
        }
    }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        std::vector<Tensor> results{gathered(operands[0].contiguous(), m_map, m_outputTypes[0].shape)};
        results.insert(results.end(), m_lists.begin(), m_lists.end());
        return results;
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::nothing(); }
    [[nodiscard]] Tensor carryBack(std::span<const Tensor> perOutput, std::size_t) const override
    {
        return perOutput[0].isValid() ? scatterSum(perOutput[0], m_map, m_operand)
                                      : Tensor::zeros(m_outputTypes[0].dtype, m_operand);
    }

private:
    Shape m_operand;
    ElementMap m_map;
    std::vector<Tensor> m_lists;
};

BoundResult bindUnique(const BindContext& context)
{
    RETRO_TRY(Tensor x, context.known(0));
    if (context.node.attributes.find("axis") == context.node.attributes.end()) {
        x = x.reshaped({x.size()});
    }
    RETRO_TRY(const std::size_t axis, axisWithin(context, context.intAttribute("axis", 0), x.rank()));
    const bool isSorted = context.intAttribute("sorted", 1) != 0;
    const AxisView view(x.shape(), axis);
    const Groups groups = withComparable(x, [&](const auto* values) { return groupsOf(values, view, isSorted); });
    Shape shape = x.shape();
    shape[axis] = static_cast<std::int64_t>(groups.first.size());
    ElementMap map = alongAxis(x.shape(), axis, groups.first);
    std::vector<Tensor> lists{list(groups.first), list(groups.inverse), list(groups.counts)};
    if (tensor::isFloating(x.dtype()) && !context.constant(0)) {
        return bound<UniqueOfValues>(TensorType{x.dtype(), std::move(shape)}, firstType(context).shape, std::move(map),
                                     std::move(lists));
    }
    lists.insert(lists.begin(), gathered(x, map, shape));
    return bound<Known>(std::move(lists));
}

} // namespace

const OperatorFamily kDataShapeOperators{
    {"", "Compress", 9, 0, "shape map", true, bindCompress, false, Elements::PickedBy},
    {"", "NonZero", 9, 0, "no relevance", false, bindNonZero},
    {"", "Unique", 11, 0, "shape map, no relevance", true, bindUnique},
};

} // namespace retro::ops
