// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/linear/convolutiongeometry.h"
#include "core/ops/quantise/integers.h"

#include <fmt/format.h>

namespace retro::ops
{

namespace
{

using tensor::DType;
using tensor::Shape;

/// Operands of the two operators.
struct Slots
{
    std::size_t xZero;
    std::size_t weight;
    std::size_t weightZero;
    bool isQuantised; ///< QLinearConv: scales, and a result of the quantised type
};
constexpr Slots kConvInteger{2, 1, 3, false};
constexpr Slots kQLinearConv{2, 3, 5, true};
constexpr std::size_t kXScale = 1;
constexpr std::size_t kWeightScale = 4;
constexpr std::size_t kResultScale = 6;
constexpr std::size_t kResultZero = 7;
constexpr std::size_t kBias = 8;
constexpr std::size_t kNoBias = 99;

/// (x − zero) * (w − zero), exactly, in double. Padding is x's zero point.
class IntegerConvolution final : public PassiveOperator
{
public:
    IntegerConvolution(TensorType output, reference::ConvolutionShape shape, const Slots& slots)
        : m_shape(std::move(shape)), m_slots(slots)
    {
        m_outputTypes = {std::move(output)};
    }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const Shape& output = m_outputTypes[0].shape;
        const Tensor x = shifted(operands, 0, m_slots.xZero, {}).contiguous();
        const Tensor w =
            shifted(operands, m_slots.weight, m_slots.weightZero, perFilter(operands, m_slots.weightZero)).contiguous();
        tensor::TensorBuffer buffer(DType::Float64, output);
        buffer.clear();
        if (x.size() > 0 && w.size() > 0 && tensor::elementCount(output) > 0) {
            reference::convolve(m_shape, x.data<double>(), w.data<double>(), buffer.data<double>());
        }
        const Tensor z = std::move(buffer).freeze();
        return {m_slots.isQuantised ? quantised(operands, z) : z.to(m_outputTypes[0].dtype)};
    }

private:
    /// Shape in which a parameter of the weights broadcasts to them: filters × 1 ….
    [[nodiscard]] Shape perFilter(std::span<const Tensor> operands, std::size_t slot) const
    {
        if (slot >= operands.size() || !operands[slot].isValid() || operands[slot].size() == 1) {
            return {};
        }
        Shape shape(operands[m_slots.weight].rank(), 1);
        shape[0] = operands[slot].size();
        return shape;
    }
    /// A parameter per filter as it broadcasts to the result: 1 × filters × 1 ….
    [[nodiscard]] Tensor perChannel(const Tensor& t) const
    {
        const Tensor wide = t.to(DType::Float64).contiguous();
        Shape shape(m_outputTypes[0].shape.size(), 1);
        shape[1] = wide.size();
        return wide.reshaped(std::move(shape));
    }
    [[nodiscard]] Tensor quantised(std::span<const Tensor> operands, const Tensor& z) const
    {
        const bool hasBias = operands.size() > kBias && operands[kBias].isValid();
        const Tensor sum = hasBias ? algebra::addBroadcast(z, perChannel(operands[kBias])) : z;
        const double factor = operands[kXScale].at(0) / operands[kResultScale].at(0);
        const Tensor scale = algebra::scale(perChannel(operands[kWeightScale]), factor);
        const Tensor zero = operands[kResultZero].to(DType::Float64).contiguous().reshaped({});
        return requantised(sum, scale, zero, m_outputTypes[0].dtype);
    }

    reference::ConvolutionShape m_shape;
    Slots m_slots;
};

/// A zero point, if there is one, is one number or `most`.
base::Result<void> expectZero(const BindContext& context, std::size_t slot, std::int64_t most)
{
    const std::int64_t count =
        context.present(slot) ? tensor::elementCount(context.operandTypes[slot].shape) : std::int64_t{1};
    if (count != 1 && count != most) {
        return context.error(fmt::format("the zero point (operand {}) has {} elements", slot, count));
    }
    return {};
}

base::Result<void> expectBytes(const BindContext& context, const Slots& slots)
{
    for (const std::size_t slot : {std::size_t{0}, slots.weight}) {
        const DType type = context.operandTypes[slot].dtype;
        if (type != DType::Int8 && type != DType::UInt8) {
            return context.error(
                fmt::format("operand {} is {}, but must be int8 or uint8", slot, tensor::nameOf(type)));
        }
    }
    const std::int64_t filters = context.operandTypes[slots.weight].shape[0];
    RETRO_CHECK(expectZero(context, slots.xZero, 1));
    return expectZero(context, slots.weightZero, filters);
}

BoundResult bindConvInteger(const BindContext& context)
{
    RETRO_TRY(ConvolutionGeometry geometry, convolutionGeometry(context, {1, kNoBias}));
    RETRO_CHECK(expectBytes(context, kConvInteger));
    return bound<IntegerConvolution>(TensorType{DType::Int32, std::move(geometry.output)}, std::move(geometry.shape),
                                     kConvInteger);
}

/// A scale is one floating number or `most`.
base::Result<void> expectScale(const BindContext& context, std::size_t slot, std::int64_t most)
{
    const std::int64_t count = tensor::elementCount(context.operandTypes[slot].shape);
    if ((count != 1 && count != most) || !tensor::isFloating(context.operandTypes[slot].dtype)) {
        return context.error(fmt::format("the scale (operand {}) must be one floating number{}", slot,
                                         most > 1 ? " or one per filter" : ""));
    }
    return {};
}

base::Result<void> expectConvolutionScales(const BindContext& context)
{
    RETRO_CHECK(expectScale(context, kXScale, 1));
    RETRO_CHECK(expectScale(context, kWeightScale, context.operandTypes[kQLinearConv.weight].shape[0]));
    RETRO_CHECK(expectScale(context, kResultScale, 1));
    if (!isQuantised(context.operandTypes[kResultZero].dtype) ||
        tensor::elementCount(context.operandTypes[kResultZero].shape) != 1) {
        return context.error("the result's zero point (operand 7) must be one int8 or uint8");
    }
    return {};
}

BoundResult bindQLinearConv(const BindContext& context)
{
    RETRO_TRY(ConvolutionGeometry geometry, convolutionGeometry(context, {kQLinearConv.weight, kBias}));
    RETRO_CHECK(expectBytes(context, kQLinearConv));
    RETRO_CHECK(expectConvolutionScales(context));
    return bound<IntegerConvolution>(TensorType{context.operandTypes[kResultZero].dtype, std::move(geometry.output)},
                                     std::move(geometry.shape), kQLinearConv);
}

} // namespace

const OperatorFamily kIntegerConvolutionOperators{
    {"", "ConvInteger", 10, 0, "no relevance", false, bindConvInteger},
    {"", "QLinearConv", 10, 0, "no relevance", false, bindQLinearConv},
};

} // namespace retro::ops
