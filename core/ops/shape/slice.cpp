// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/slices.h"

#include <fmt/format.h>

#include <numeric>

namespace retro::ops
{

namespace
{

using tensor::Shape;

/// What Slice takes of one axis: count elements from start on, step apart (may be negative).
struct Range
{
    std::int64_t start = 0;
    std::int64_t step = 1;
    std::int64_t count = 0;
};

/// Every step-th element between bounds along each axis, as a view.
class Slicing final : public Operator<ShapeMap>
{
public:
    Slicing(TensorType output, Shape operand, std::vector<Range> ranges)
        : Operator(std::move(output)), m_operand(std::move(operand)), m_ranges(std::move(ranges))
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const Tensor& x = operands[0];
        const Shape& shape = m_outputTypes[0].shape;
        if (m_outputTypes[0].shape.empty() || tensor::elementCount(shape) == 0) {
            return {tensor::elementCount(shape) == 0 ? Tensor::zeros(x.dtype(), shape) : x};
        }
        return {Tensor(x.dtype(), shape, stepped(x.strides()), x.offset() + startIn(x.strides()), x.storage())};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::nothing(); }
    [[nodiscard]] Tensor carryBack(std::span<const Tensor> perOutput, std::size_t) const override
    {
        tensor::TensorBuffer buffer(m_outputTypes[0].dtype, m_operand);
        buffer.clear();
        if (perOutput[0].isValid() && perOutput[0].size() > 0) {
            const Shape strides = tensor::rowMajorStrides(m_operand);
            place(buffer, stepped(strides), startIn(strides), perOutput[0]);
        }
        return std::move(buffer).freeze();
    }

private:
    [[nodiscard]] Shape stepped(Shape strides) const
    {
        for (std::size_t axis = 0; axis < strides.size(); ++axis) {
            strides[axis] *= m_ranges[axis].step;
        }
        return strides;
    }
    [[nodiscard]] std::int64_t startIn(const Shape& strides) const
    {
        std::int64_t offset = 0;
        for (std::size_t axis = 0; axis < strides.size(); ++axis) {
            offset += m_ranges[axis].start * strides[axis];
        }
        return offset;
    }

    Shape m_operand;
    std::vector<Range> m_ranges; // per axis
};

/// Bounds counted from the end made plain and cut to the axis, as the standard has it: a start is cut to an element
/// that is there (NumPy would take none), an end may lie before the first.
Range rangeOf(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t extent)
{
    const std::int64_t last = step > 0 ? extent : extent - 1;
    const auto plain = [&](std::int64_t bound, std::int64_t lowest) {
        return std::clamp(bound < 0 ? std::max(bound, -extent - 1) + extent : bound, lowest, std::max(last, lowest));
    };
    const std::int64_t first = plain(start, 0);
    const std::int64_t behind = plain(end, step > 0 ? 0 : -1);
    const std::int64_t length = extent == 0 ? 0 : step > 0 ? behind - first : first - behind;
    const std::int64_t stride =
        std::clamp<std::int64_t>(step, -std::max<std::int64_t>(extent, 1), std::max<std::int64_t>(extent, 1));
    return {first, stride, length <= 0 ? 0 : (length - 1) / std::abs(stride) + 1};
}

/// starts, ends, axes, steps as the node gives them.
struct SliceBounds
{
    std::vector<std::int64_t> starts;
    std::vector<std::int64_t> ends;
    std::vector<std::int64_t> axes;
    std::vector<std::int64_t> steps;
};

base::Result<SliceBounds> boundsOf(const BindContext& context)
{
    SliceBounds bounds;
    RETRO_TRY(bounds.starts, intsFrom(context, "starts", 1, 10));
    RETRO_TRY(bounds.ends, intsFrom(context, "ends", 2, 10));
    RETRO_TRY(bounds.axes, intsFrom(context, "axes", 3, 10));
    RETRO_TRY(bounds.steps,
              context.node.opset < 10 ? base::Result(std::vector<std::int64_t>{}) : context.constantInts(4));
    const std::size_t count = bounds.starts.size();
    if (!hasInts(context, "axes", 3, 10)) {
        bounds.axes.resize(count);
        std::iota(bounds.axes.begin(), bounds.axes.end(), std::int64_t{0});
    }
    if (context.node.opset < 10 || !context.present(4)) {
        bounds.steps.assign(count, 1);
    }
    if (bounds.ends.size() != count || bounds.axes.size() != count || bounds.steps.size() != count) {
        return context.error(fmt::format("starts, ends, axes and steps have {}, {}, {} and {} entries", count,
                                         bounds.ends.size(), bounds.axes.size(), bounds.steps.size()));
    }
    return bounds;
}

base::Result<std::vector<Range>> rangesOf(const BindContext& context, const Shape& operand)
{
    RETRO_TRY(const SliceBounds bounds, boundsOf(context));
    RETRO_CHECK(axesWithin(context, bounds.axes, operand.size()));
    std::vector<Range> ranges;
    for (const std::int64_t extent : operand) {
        ranges.push_back({0, 1, extent});
    }
    for (std::size_t i = 0; i < bounds.starts.size(); ++i) {
        RETRO_TRY(const std::size_t axis, axisWithin(context, bounds.axes[i], operand.size()));
        if (bounds.steps[i] == 0) {
            return context.error("a step is 0");
        }
        ranges[axis] = rangeOf(bounds.starts[i], bounds.ends[i], bounds.steps[i], operand[axis]);
    }
    return ranges;
}

BoundResult bindSlice(const BindContext& context)
{
    const TensorType& operand = firstType(context);
    RETRO_TRY(auto ranges, rangesOf(context, operand.shape));
    Shape shape;
    for (const Range& range : ranges) {
        shape.push_back(range.count);
    }
    return bound<Slicing>(TensorType{operand.dtype, std::move(shape)}, operand.shape, std::move(ranges));
}

} // namespace

const OperatorFamily kSliceOperators{
    {"", "Slice", 1, 0, "shape map", true, bindSlice, true, Elements::Taken},
};

} // namespace retro::ops
