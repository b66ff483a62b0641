// SPDX-License-Identifier: Apache-2.0
// Gather, GatherElements, GatherND: elements of operand 0 picked by the indices in operand 1, which may be computed.
#include "core/ops/bind/bindcheck.h"
#include "core/ops/families.h"
#include "core/ops/kernel/indices.h"
#include "core/ops/kernel/visitnumber.h"
#include "core/ops/lookup.h"
#include "core/ops/reference/sum.h"
#include "core/ops/shape/mappedelements.h"

#include <fmt/format.h>

#include <cstring>

namespace retro::ops
{

namespace
{

using tensor::DType;
using tensor::Shape;

/// Slices of the operand along an axis; an element may be picked several times, and an embedding is looked up by whole
/// rows. An index outside is refused, or gives zeros.
class Gather final : public Operator<Lookup>
{
public:
    /// Constant `indices`, or an invalid tensor when they are operand 1 of the run.
    Gather(TensorType output, Shape operand, std::size_t axis, const Tensor& indices, bool isTable, bool isZeroOutside)
        : Operator(std::move(output)), m_operand(std::move(operand)), m_axis(axis), m_isSteered(!indices.isValid()),
          m_isTable(isTable), m_isZeroOutside(isZeroOutside)
    {
        if (!m_isSteered) {
            m_indices = indicesFrom(indices, m_operand[m_axis]);
        }
    }

    [[nodiscard]] base::Result<void> check(std::span<const Tensor> operands) const override
    {
        const bool isAnything = !m_isSteered || m_isZeroOutside;
        return isAnything ? base::Result<void>() : indicesInside(operands[1], m_operand[m_axis]);
    }
    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const std::vector<std::int64_t> indices = indicesOf(operands);
        const Tensor x = operands[0].contiguous();
        const TensorType& type = m_outputTypes[0];
        tensor::TensorBuffer picked(x.dtype(), type.shape);
        copyRows(x, indices, picked.rawData());
        return {std::move(picked).freeze().to(type.dtype)}; // rows of a table that stays as it is stored are widened
    }
    [[nodiscard]] Reads savedForGradient() const override
    {
        return m_isSteered ? Reads{Reads::bit(1), 0} : Reads::nothing();
    }
    [[nodiscard]] bool isSteered() const override { return m_isSteered; }
    [[nodiscard]] bool isEmbedding() const override { return m_isSteered && m_isTable; }
    [[nodiscard]] Tensor carryBack(std::span<const Tensor> perOutput, std::size_t slot) const override
    {
        return carryBack(perOutput, {}, slot);
    }
    /// What an element was picked for is summed, in the order of the indices; an index gets the sum of its slices.
    [[nodiscard]] Tensor carryBack(std::span<const Tensor> perOutput, std::span<const Tensor> operands,
                                   std::size_t slot) const override
    {
        if (slot == kIndices) {
            return perIndex(perOutput[0], operands[kIndices].shape());
        }
        tensor::TensorBuffer buffer(m_outputTypes[0].dtype, m_operand);
        buffer.clear();
        if (perOutput[0].isValid() && perOutput[0].size() > 0) {
            const Tensor relevance = perOutput[0].contiguous();
            const std::vector<std::int64_t> indices = indicesOf(operands);
            visitFloat(relevance.dtype(), [&](auto zero) {
                using T = decltype(zero);
                addPicked(relevance.data<T>(), indices, buffer.data<T>());
            });
        }
        return std::move(buffer).freeze();
    }

private:
    [[nodiscard]] Tensor perIndex(const Tensor& arrived, const Shape& indices) const
    {
        tensor::TensorBuffer buffer(m_outputTypes[0].dtype, indices);
        buffer.clear();
        if (arrived.isValid() && arrived.size() > 0) {
            const Tensor relevance = arrived.contiguous();
            visitFloat(relevance.dtype(), [&](auto zero) {
                using T = decltype(zero);
                addSlices(relevance.data<T>(), tensor::elementCount(indices), buffer.data<T>());
            });
        }
        return std::move(buffer).freeze();
    }

    template <class T>
    void addSlices(const T* from, std::int64_t count, T* to) const
    {
        const AxisView view(m_operand, m_axis);
        for (std::int64_t o = 0; o < view.outer; ++o) {
            for (std::int64_t index = 0; index < count; ++index, from += view.inner) {
                to[index] += reference::pairwiseSum<T>(from, view.inner);
            }
        }
    }

    [[nodiscard]] std::vector<std::int64_t> indicesOf(std::span<const Tensor> operands) const
    {
        return m_isSteered ? indicesFrom(operands[1], m_operand[m_axis]) : m_indices;
    }

    void copyRows(const Tensor& x, const std::vector<std::int64_t>& indices, std::byte* out) const
    {
        const AxisView view(m_operand, m_axis);
        const std::size_t row = static_cast<std::size_t>(view.inner) * tensor::sizeOf(x.dtype());
        for (std::int64_t o = 0; o < view.outer; ++o) {
            for (const std::int64_t index : indices) {
                copyRow(x, view, o, index, row, out);
                out += row;
            }
        }
    }

    static void copyRow(const Tensor& x, const AxisView& view, std::int64_t o, std::int64_t index, std::size_t row,
                        std::byte* out)
    {
        if (index < 0) {
            std::memset(out, 0, row);
        } else {
            std::memcpy(out, x.rawData() + static_cast<std::size_t>(o * view.extent + index) * row, row);
        }
    }

    template <class T>
    void addPicked(const T* from, const std::vector<std::int64_t>& indices, T* to) const
    {
        const AxisView view(m_operand, m_axis);
        for (std::int64_t o = 0; o < view.outer; ++o) {
            for (const std::int64_t index : indices) {
                T* row = to + view.at(o, std::max<std::int64_t>(index, 0), 0);
                for (std::int64_t i = 0; i < view.inner; ++i) {
                    row[i] += index < 0 ? T{0} : from[i];
                }
                from += view.inner;
            }
        }
    }

    Shape m_operand;
    std::size_t m_axis;
    bool m_isSteered;
    bool m_isTable;
    bool m_isZeroOutside;
    std::vector<std::int64_t> m_indices;
};

/// Elements with the position of the result, but for the index along one axis.
class GatherElements final : public MappedElements
{
public:
    GatherElements(TensorType output, Shape operand, std::size_t axis)
        : MappedElements(std::move(output), std::move(operand), true), m_axis(axis)
    {}

    [[nodiscard]] base::Result<void> check(std::span<const Tensor> operands) const override
    {
        return indicesInside(operands[1], operandShape()[m_axis]);
    }

protected:
    [[nodiscard]] ElementMap sources(std::span<const Tensor> operands) const override
    {
        return elementPositions(operands[1], operandShape(), m_axis);
    }

private:
    std::size_t m_axis;
};

/// Slices at the index tuples of operand 1, per batch.
class GatherNd final : public MappedElements
{
public:
    GatherNd(TensorType output, Shape operand, std::size_t batchAxes)
        : MappedElements(std::move(output), std::move(operand), true), m_batchAxes(batchAxes)
    {}

    [[nodiscard]] base::Result<void> check(std::span<const Tensor> operands) const override
    {
        return tuplesInside(operands[1], operandShape(), m_batchAxes);
    }

protected:
    [[nodiscard]] ElementMap sources(std::span<const Tensor> operands) const override
    {
        return tuplePositions(operands[1], operandShape(), m_batchAxes);
    }

private:
    std::size_t m_batchAxes;
};

base::Result<void> expectConstantInside(const BindContext& context, std::int64_t extent)
{
    if (!context.constant(1)) {
        return {};
    }
    if (const base::Result<void> inside = indicesInside(context.constants[1], extent); !inside.ok()) {
        return context.error(inside.error().message);
    }
    return {};
}

BoundResult bindGather(const BindContext& context)
{
    RETRO_CHECK(expectIndices(context, 1));
    const TensorType& operand = firstType(context);
    RETRO_TRY(const std::size_t axis, axisWithin(context, context.intAttribute("axis", 0), operand.shape.size()));
    const bool isZeroOutside = context.node.domain == "retrograde";
    if (!isZeroOutside) {
        RETRO_CHECK(expectConstantInside(context, operand.shape[axis]));
    }
    Shape shape = operand.shape;
    const auto at = shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
    const Shape& indexShape = context.operandTypes[1].shape;
    shape.insert(at, indexShape.begin(), indexShape.end());
    RETRO_CHECK(expectSize(context, shape));
    return bound<Gather>(TensorType{operand.dtype, std::move(shape)}, operand.shape, axis, context.constants[1],
                         context.constant(0), isZeroOutside);
}

/// Ranks agree, and the indices reach no further than the operand along the other axes.
base::Result<void> expectElementIndices(const BindContext& context, std::size_t axis)
{
    const Shape& operand = firstType(context).shape;
    const Shape& indices = context.operandTypes[1].shape;
    bool fits = operand.size() == indices.size();
    for (std::size_t i = 0; fits && i < operand.size(); ++i) {
        fits = i == axis || indices[i] <= operand[i];
    }
    if (!fits) {
        return context.error(fmt::format("indices of shape [{}] do not fit an operand of shape [{}] along axis {}",
                                         tensor::toText(indices), tensor::toText(operand), axis));
    }
    return {};
}

BoundResult bindGatherElements(const BindContext& context)
{
    RETRO_CHECK(expectIndices(context, 1));
    const TensorType& operand = firstType(context);
    RETRO_TRY(const std::size_t axis, axisWithin(context, context.intAttribute("axis", 0), operand.shape.size()));
    RETRO_CHECK(expectElementIndices(context, axis));
    RETRO_CHECK(expectConstantInside(context, operand.shape[axis]));
    return bound<GatherElements>(TensorType{operand.dtype, context.operandTypes[1].shape}, operand.shape, axis);
}

BoundResult bindGatherNd(const BindContext& context)
{
    RETRO_CHECK(expectIndices(context, 1));
    const TensorType& operand = firstType(context);
    const std::int64_t batch = context.node.opset < 12 ? 0 : context.intAttribute("batch_dims", 0);
    RETRO_TRY(const std::size_t axes, tupleAxes(context, context.operandTypes[1].shape, operand.shape, batch));
    Shape shape(context.operandTypes[1].shape.begin(), context.operandTypes[1].shape.end() - 1);
    shape.insert(shape.end(), operand.shape.begin() + static_cast<std::ptrdiff_t>(axes), operand.shape.end());
    RETRO_CHECK(expectSize(context, shape));
    return bound<GatherNd>(TensorType{operand.dtype, std::move(shape)}, operand.shape, static_cast<std::size_t>(batch));
}

} // namespace

const OperatorFamily kGatherOperators{
    {"", "Gather", 1, 0, "shape map", true, bindGather, true, Elements::PickedBy},
    {"retrograde", "Gather", 1, 0, "shape map", true, bindGather, true, Elements::PickedBy},
    {"", "GatherElements", 11, 0, "shape map", true, bindGatherElements, false, Elements::PickedBy},
    {"", "GatherND", 11, 0, "shape map", true, bindGatherNd, false, Elements::PickedBy},
};

} // namespace retro::ops
