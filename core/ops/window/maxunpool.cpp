// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/operatorbase.h"
#include "core/ops/bind/windows.h"
#include "core/ops/families.h"
#include "core/ops/kernel/filled.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::ops
{

namespace
{

using tensor::Shape;

/// Elements put where MaxPool's Indices say, zeros elsewhere; of several for one place the last one stays. Indices
/// count within the shape that the windows imply; a larger result has zeros behind it.
class MaxUnpool final : public Operator<ShapeMap>
{
public:
    MaxUnpool(TensorType output, Shape operand, Shape implied)
        : Operator(std::move(output)), m_operand(std::move(operand)), m_implied(std::move(implied))
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const Tensor x = operands[0].contiguous();
        const std::vector<std::int64_t> places = placesOf(operands[1]);
        return {accumulated(x.dtype(), m_outputTypes[0].shape, [&](auto* y) {
            const auto* in = elements(x, y);
            for (std::size_t i = 0; i < places.size(); ++i) {
                if (places[i] >= 0) {
                    y[places[i]] = in[i];
                }
            }
        })};
    }
    [[nodiscard]] base::Result<void> check(std::span<const Tensor> operands) const override
    {
        const std::vector<std::int64_t> places = placesOf(operands[1]);
        const auto outside = std::find(places.begin(), places.end(), -1);
        if (outside == places.end()) {
            return {};
        }
        const Tensor indices = operands[1].contiguous();
        return base::inputError(
            fmt::format("index {} is outside the {} elements of the shape [{}] or of the result",
                        indices.span<std::int64_t>()[static_cast<std::size_t>(outside - places.begin())],
                        tensor::elementCount(m_implied), tensor::toText(m_implied)));
    }
    [[nodiscard]] Reads savedForGradient() const override { return {Reads::bit(1), 0}; }
    [[nodiscard]] bool isSteered() const override { return true; }
    [[nodiscard]] Tensor carryBack(std::span<const Tensor>, std::size_t) const override
    {
        return Tensor::zeros(m_outputTypes[0].dtype, m_operand); // never asked: it is steered
    }
    [[nodiscard]] Tensor carryBack(std::span<const Tensor> perOutput, std::span<const Tensor> operands,
                                   std::size_t) const override
    {
        const Tensor relevance = perOutput[0].contiguous();
        const std::vector<std::int64_t> places = placesOf(operands[1]);
        std::vector<bool> isTaken(static_cast<std::size_t>(relevance.size()), false);
        return accumulated(relevance.dtype(), m_operand, [&](auto* r) {
            const auto* from = elements(relevance, r);
            for (std::size_t i = places.size(); i-- > 0;) {
                if (places[i] >= 0 && !isTaken[static_cast<std::size_t>(places[i])]) {
                    isTaken[static_cast<std::size_t>(places[i])] = true;
                    r[i] = from[places[i]];
                }
            }
        });
    }

private:
    /// Where each element goes in the result, row-major; −1 for an index outside it.
    [[nodiscard]] std::vector<std::int64_t> placesOf(const Tensor& indices) const
    {
        const Tensor plain = indices.contiguous();
        const Shape strides = tensor::rowMajorStrides(m_outputTypes[0].shape);
        const std::int64_t count = tensor::elementCount(m_implied);
        std::vector<std::int64_t> places;
        for (std::int64_t index : plain.span<std::int64_t>()) {
            std::int64_t place = index < 0 || index >= count ? -1 : 0;
            for (std::size_t axis = m_implied.size(); place >= 0 && axis-- > 0; index /= m_implied[axis]) {
                const std::int64_t at = index % m_implied[axis];
                place = at < m_outputTypes[0].shape[axis] ? place + at * strides[axis] : -1;
            }
            places.push_back(place);
        }
        return places;
    }

    Shape m_operand;
    Shape m_implied;
};

/// The shape that windows imply: (extent − 1)·stride + kernel − pads.
base::Result<Shape> impliedShape(const BindContext& context)
{
    const std::vector<std::int64_t> kernel = context.intsAttribute("kernel_shape", {});
    RETRO_TRY(const std::size_t count, spatialAxes(context, kernel));
    RETRO_TRY(const WindowAttributes windows, windowAttributes(context, count));
    Shape shape = firstType(context).shape;
    for (std::size_t i = 0; i < count; ++i) {
        shape[2 + i] = (shape[2 + i] - 1) * windows.strides[i] + kernel[i] - windows.pads[i] - windows.pads[count + i];
    }
    RETRO_CHECK(expectSize(context, shape));
    return shape;
}

BoundResult bindMaxUnpool(const BindContext& context)
{
    const TensorType& x = firstType(context);
    const TensorType& indices = context.operandTypes[1];
    if ((x.dtype != tensor::DType::Float32 && x.dtype != tensor::DType::Float64) ||
        indices.dtype != tensor::DType::Int64 || indices.shape != x.shape) {
        return context.error("operand 0 must be floating and operand 1 its int64 indices of the same shape");
    }
    RETRO_TRY(const Shape implied, impliedShape(context));
    RETRO_TRY(const auto given, context.constantInts(2));
    Shape shape = context.present(2) ? Shape(given) : implied;
    RETRO_CHECK(expectSize(context, shape));
    if (shape.size() != implied.size()) {
        return context.error(
            fmt::format("output_shape has {} entries, but {} are needed", shape.size(), implied.size()));
    }
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if (shape[axis] < implied[axis]) {
            return context.error(fmt::format("output_shape [{}] is smaller than the windows' own [{}]",
                                             tensor::toText(shape), tensor::toText(implied)));
        }
    }
    return bound<MaxUnpool>(TensorType{x.dtype, std::move(shape)}, x.shape, implied);
}

} // namespace

const OperatorFamily kMaxUnpoolOperators{
    {"", "MaxUnpool", 9, 0, "shape map", true, bindMaxUnpool},
};

} // namespace retro::ops
