// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/filled.h"
#include "core/ops/quantise/integers.h"
#include "core/ops/quantise/scalelayout.h"
#include "core/ops/shape/elementtype.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace retro::ops
{

namespace
{

using tensor::DType;
using tensor::Shape;

/// y = saturate(round(x / scale) + zero point), halves rounded to even. In a float of few bits the sum is rounded.
class QuantizeLinear final : public PassiveOperator
{
public:
    QuantizeLinear(TensorType output, DType computing, ScaleLayout layout, tensor::NarrowRounding rounding)
        : m_computing(computing), m_layout(layout), m_rounding(rounding)
    {
        m_outputTypes = {std::move(output)};
    }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const DType type = m_outputTypes[0].dtype;
        if (tensor::isNarrowFloat(type)) {
            return {tensor::narrowed(shares(operands, [](double share, double shift) { return share + shift; }), type,
                                     m_rounding)};
        }
        const auto [least, most] = limitsOf(type);
        const Tensor whole = shares(operands, [low = least, high = most](double share, double shift) {
            return std::clamp(std::nearbyint(share) + shift, low, high);
        });
        return {whole.to(type)};
    }

private:
    /// f(x / scale, zero point) of every element.
    template <class F>
    [[nodiscard]] Tensor shares(std::span<const Tensor> operands, const F& f) const
    {
        const Tensor scale = operands[1].to(m_computing).contiguous();
        const Tensor x = operands[0].to(m_computing).contiguous();
        const Tensor zero = zeroPoints(operands, 2, scale);
        return filled(m_computing, x.shape(), [&](auto* y) {
            const auto* in = elements(x, y);
            const auto* step = elements(scale, y);
            const double* shift = zero.data<double>();
            m_layout.forEach([&](std::int64_t i, std::int64_t at) {
                y[i] = static_cast<std::decay_t<decltype(*y)>>(f(static_cast<double>(in[i] / step[at]), shift[at]));
            });
        });
    }

    DType m_computing;
    ScaleLayout m_layout;
    tensor::NarrowRounding m_rounding;
};

BoundResult bindQuantizeLinear(const BindContext& context)
{
    RETRO_CHECK(expectScales(context));
    const TensorType& x = firstType(context);
    if (!tensor::isFloating(x.dtype) && x.dtype != DType::Int32) {
        return context.error(fmt::format("operand 0 is {}, but must be floating or int32", tensor::nameOf(x.dtype)));
    }
    RETRO_TRY(const DType type, quantisedType(context));
    RETRO_TRY(const ScaleLayout layout, scaleLayoutOf(context));
    RETRO_TRY(const tensor::NarrowRounding rounding, narrowRounding(context));
    return bound<QuantizeLinear>(TensorType{type, x.shape}, computingType(context), layout, rounding);
}

/// y = (x − zero point)·scale. The gradient by the scale is exact; x and the zero point are no floating values.
class DequantizeLinear final : public Operator<Differentiable>
{
public:
    DequantizeLinear(TensorType output, std::span<const TensorType> operands, ScaleLayout layout)
        : Operator(std::move(output)), m_operands(operands.begin(), operands.end()), m_layout(layout)
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const Tensor scale = operands[1].to(m_outputTypes[0].dtype).contiguous();
        const Tensor x = operands[0].to(DType::Float64).contiguous();
        const Tensor zero = zeroPoints(operands, 2, scale);
        return {filled(m_outputTypes[0].dtype, x.shape(), [&](auto* y) {
            const auto* step = elements(scale, y);
            const double* in = x.data<double>();
            const double* shift = zero.data<double>();
            m_layout.forEach([&](std::int64_t i, std::int64_t at) {
                y[i] = static_cast<std::decay_t<decltype(*y)>>(in[i] - shift[at]) * step[at];
            });
        })};
    }
    [[nodiscard]] Reads savedForGradient() const override { return {Reads::bit(0) | Reads::bit(2), 0}; }
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                                  std::size_t slot) const override
    {
        const TensorType& operand = m_operands[slot];
        if (slot != kScaleSlot) {
            return Tensor::zeros(operand.dtype, operand.shape);
        }
        return scaleGradient(s[0].to(DType::Float64).contiguous(), operands);
    }

private:
    static constexpr std::size_t kScaleSlot = 1;

    /// Σ s·(x − zero point) over all elements of one scale.
    [[nodiscard]] Tensor scaleGradient(const Tensor& s, std::span<const Tensor> operands) const
    {
        const TensorType& scale = m_operands[kScaleSlot];
        const Tensor x = operands[0].to(DType::Float64).contiguous();
        const Tensor zero = zeroPoints(operands, 2, Tensor::zeros(scale.dtype, scale.shape));
        std::vector<double> sums(static_cast<std::size_t>(tensor::elementCount(scale.shape)), 0);
        m_layout.forEach([&](std::int64_t i, std::int64_t at) {
            sums[static_cast<std::size_t>(at)] += s.data<double>()[i] * (x.data<double>()[i] - zero.data<double>()[at]);
        });
        return Tensor::of<double>(scale.shape, sums).to(scale.dtype);
    }

    std::vector<TensorType> m_operands;
    ScaleLayout m_layout;
};

BoundResult bindDequantizeLinear(const BindContext& context)
{
    RETRO_CHECK(expectScales(context));
    const TensorType& x = firstType(context);
    if (!isQuantised(x.dtype) && x.dtype != DType::Int32) {
        return context.error(
            fmt::format("operand 0 is {}, but must be int32, {}", tensor::nameOf(x.dtype), kQuantisedTypes));
    }
    RETRO_TRY(const ScaleLayout layout, scaleLayoutOf(context));
    return bound<DequantizeLinear>(TensorType{computingType(context), x.shape}, context.operandTypes, layout);
}

/// uint8 of a floating operand, with scale and zero point from its own range (which always contains 0).
class DynamicQuantizeLinear final : public PassiveOperator
{
public:
    explicit DynamicQuantizeLinear(const TensorType& x)
    {
        m_outputTypes = {{DType::UInt8, x.shape}, {x.dtype, {}}, {DType::UInt8, {}}};
    }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const Tensor x = operands[0].contiguous();
        double zero = 0;
        Tensor scale = Tensor::zeros(x.dtype(), {});
        const Tensor values = filled(x.dtype(), x.shape(), [&](auto* y) {
            using T = std::decay_t<decltype(*y)>;
            const auto in = x.span<T>();
            const T least = std::accumulate(in.begin(), in.end(), T{0}, [](T a, T b) { return std::min(a, b); });
            const T most = std::accumulate(in.begin(), in.end(), T{0}, [](T a, T b) { return std::max(a, b); });
            const T step = most > least ? (most - least) / T{255} : T{1};
            const double begin = std::nearbyint(static_cast<double>(-least / step));
            // A range without end has NaN, and 255 as ONNX Runtime has it; one below all steps has inf.
            zero = std::isnan(begin) ? 255 : std::min(begin, 255.0);
            scale = Tensor::scalar<T>(step);
            for (std::size_t i = 0; i < in.size(); ++i) {
                y[i] = static_cast<T>(std::clamp(std::nearbyint(static_cast<double>(in[i] / step)) + zero, 0.0, 255.0));
            }
        });
        return {values.to(DType::UInt8), scale, Tensor::scalar<std::uint8_t>(static_cast<std::uint8_t>(zero))};
    }
};

BoundResult bindDynamicQuantizeLinear(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    return bound<DynamicQuantizeLinear>(firstType(context));
}

} // namespace

const OperatorFamily kQuantiseOperators{
    {"", "QuantizeLinear", 10, 0, "no relevance", false, bindQuantizeLinear, true, Elements::Quantised},
    {"", "DequantizeLinear", 10, 0, "function", true, bindDequantizeLinear, true, Elements::Quantised},
    {"com.microsoft", "QuantizeLinear", 1, 0, "no relevance", false, bindQuantizeLinear, true, Elements::Quantised},
    {"com.microsoft", "DequantizeLinear", 1, 0, "function", true, bindDequantizeLinear, true, Elements::Quantised},
    {"", "DynamicQuantizeLinear", 11, 0, "no relevance", false, bindDynamicQuantizeLinear},
};

} // namespace retro::ops
