// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/elementmap.h"
#include "core/ops/pickedplaces.h"
#include "core/ops/select/order.h"
#include "core/ops/window/rowwindows.h"
#include "core/ops/windowsums.h"

#include <fmt/format.h>

#include <array>
#include <numeric>

namespace retro::ops
{

namespace
{

using tensor::DType;
using tensor::Shape;

/// The k largest (or smallest) elements along an axis and where they were; of equal ones the first come first. Each
/// of them has the whole line for its window.
class TopK final : public Operator<ShapeMap>, public WindowSums, public PickedPlaces
{
public:
    TopK(std::vector<TensorType> outputs, Shape operand, std::size_t axis, std::array<bool, 2> largestSorted)
        : Operator(std::move(outputs)), m_operand(std::move(operand)), m_axis(axis),
          m_lines(m_operand, {axis}, largestSorted[0]), m_isLargest(largestSorted[0]), m_isSorted(largestSorted[1])
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const ElementMap along = places(operands[0]);
        const TensorType& indices = m_outputTypes[1];
        return {gathered(operands[0], positions(along), m_outputTypes[0].shape),
                Tensor::of<std::int64_t>(indices.shape, along)};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::firstOperand(); }
    [[nodiscard]] bool isSteered() const override { return true; }
    [[nodiscard]] Tensor carryBack(std::span<const Tensor>, std::size_t) const override
    {
        return Tensor::zeros(m_outputTypes[0].dtype, m_operand); // without the operand nothing is known
    }
    [[nodiscard]] Tensor carryBack(std::span<const Tensor> perOutput, std::span<const Tensor> operands,
                                   std::size_t slot) const override
    {
        if (!perOutput[0].isValid() || slot != 0) {
            return carryBack(perOutput, slot);
        }
        return scatterSum(perOutput[0], positions(places(operands[0])), m_operand);
    }
    [[nodiscard]] Tensor pick(const Tensor& t, std::span<const Tensor> operands) const override
    {
        return gathered(t, positions(places(operands[0])), m_outputTypes[0].shape);
    }
    [[nodiscard]] Tensor sumWindows(const Tensor& x) const override
    {
        return algebra::broadcastTo(m_lines.sum(x), m_outputTypes[0].shape).contiguous();
    }
    [[nodiscard]] Tensor spreadWindows(const Tensor& s) const override { return m_lines.spread(ofLines(s)); }
    [[nodiscard]] Tensor shareBySoftmax(const Tensor& s, const Tensor& x, double beta) const override
    {
        return m_lines.shareBySoftmax(ofLines(s), x, beta);
    }
    /// Every result of a line shares among the whole line.
    [[nodiscard]] Tensor averageBySoftmax(const Tensor& t, const Tensor& x, double beta) const override
    {
        const Tensor ones = Tensor::full(t.dtype(), m_lines.reduced(), 1);
        return sumWindows(algebra::multiply(m_lines.shareBySoftmax(ones, x, beta), t));
    }

private:
    /// What all results of a line have together.
    [[nodiscard]] Tensor ofLines(const Tensor& s) const { return algebra::reduceTo(s, m_lines.reduced()); }

    /// Index along the axis of each result element, row-major.
    [[nodiscard]] ElementMap places(const Tensor& x) const
    {
        const AxisView view(m_operand, m_axis);
        const std::int64_t k = m_outputTypes[0].shape[m_axis];
        ElementMap result = roomForPositions(view.outer * k * view.inner);
        result.resize(static_cast<std::size_t>(view.outer * k * view.inner));
        withComparable(x, [&](const auto* values) {
            for (std::int64_t o = 0; o < view.outer; ++o) {
                for (std::int64_t i = 0; i < view.inner; ++i) {
                    const auto order = orderOf(values + view.at(o, 0, i), view);
                    for (std::int64_t n = 0; n < k; ++n) {
                        result[static_cast<std::size_t>((o * k + n) * view.inner + i)] =
                            order[static_cast<std::size_t>(n)];
                    }
                }
            }
        });
        return result;
    }

    /// Indices along one line, the wanted ones first.
    template <class T>
    [[nodiscard]] std::vector<std::int64_t> orderOf(const T* line, const AxisView& view) const
    {
        std::vector<std::int64_t> order(static_cast<std::size_t>(view.extent));
        std::iota(order.begin(), order.end(), std::int64_t{0});
        const auto before = [&](std::int64_t a, std::int64_t b) {
            const T x = line[a * view.inner];
            const T y = line[b * view.inner];
            const bool isAlike = x == y || (x != x && y != y);
            const bool isAbove = x != x || x > y; // NaN is above every number
            return isAlike ? a < b : isAbove == m_isLargest;
        };
        const auto end = order.begin() + m_outputTypes[0].shape[m_axis];
        std::partial_sort(order.begin(), end, order.end(), before);
        if (!m_isSorted) {
            std::sort(order.begin(), end);
        }
        return order;
    }

    /// Positions in the operand of the elements at these places.
    [[nodiscard]] ElementMap positions(const ElementMap& along) const
    {
        const AxisView view(m_operand, m_axis);
        const std::int64_t k = m_outputTypes[0].shape[m_axis];
        ElementMap map = roomForPositions(static_cast<std::int64_t>(along.size()));
        map.resize(along.size());
        for (std::size_t n = 0; n < along.size(); ++n) {
            const auto place = static_cast<std::int64_t>(n);
            map[n] = view.at(place / (k * view.inner), along[n], place % view.inner);
        }
        return map;
    }

    Shape m_operand;
    std::size_t m_axis;
    RowWindows m_lines;
    bool m_isLargest;
    bool m_isSorted;
};

base::Result<std::int64_t> countOf(const BindContext& context)
{
    if (context.node.opset < 10) {
        return context.intAttribute("k", -1);
    }
    RETRO_TRY(const auto given, context.constantInts(1));
    return given.size() == 1 ? given[0] : -1;
}

BoundResult bindTopK(const BindContext& context)
{
    const TensorType& operand = firstType(context);
    RETRO_TRY(const std::size_t axis, axisWithin(context, context.intAttribute("axis", -1), operand.shape.size()));
    RETRO_TRY(const std::int64_t k, countOf(context));
    if (k < 0 || k > operand.shape[axis]) {
        return context.error(fmt::format("k is {}, but the axis has {} elements", k, operand.shape[axis]));
    }
    Shape shape = operand.shape;
    shape[axis] = k;
    const bool isNew = context.node.opset >= 11;
    const std::array largestSorted{!isNew || context.intAttribute("largest", 1) != 0,
                                   !isNew || context.intAttribute("sorted", 1) != 0};
    return bound<TopK>(std::vector<TensorType>{{operand.dtype, shape}, {DType::Int64, shape}}, operand.shape, axis,
                       largestSorted);
}

} // namespace

const OperatorFamily kTopKOperators{
    {"", "TopK", 1, 0, "shape map", true, bindTopK},
};

} // namespace retro::ops
