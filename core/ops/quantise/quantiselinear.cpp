// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/filled.h"
#include "core/ops/quantise/integers.h"
#include "core/ops/shape/elementtype.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace retro::ops
{

namespace
{

using tensor::DType;
using tensor::Shape;

/// Which scale belongs to which element: the operand as outer × extent × inner around the axis, `block` elements of the
/// axis to a scale.
struct ScaleLayout
{
    std::int64_t outer = 1;
    std::int64_t extent = 1;
    std::int64_t inner = 1;
    std::int64_t block = 1;
    bool isBlocked = false;  ///< a scale per block and per element of the other axes
    bool isPerTensor = true; ///< one scale for all

    /// Calls f(element, scale) for all elements in row-major order.
    template <class F>
    void forEach(const F& f) const
    {
        const std::int64_t size = outer * extent * inner;
        for (std::int64_t at = 0; at < size; ++at) {
            f(at, isPerTensor ? 0 : scaleOf(at / (extent * inner), at / inner % extent, at % inner));
        }
    }

private:
    [[nodiscard]] std::int64_t scaleOf(std::int64_t o, std::int64_t e, std::int64_t i) const
    {
        return isBlocked ? (o * ((extent + block - 1) / block) + e / block) * inner + i : e;
    }
};

ScaleLayout scaleLayout(const Shape& shape, std::size_t axis)
{
    const auto at = shape.begin() + static_cast<std::ptrdiff_t>(axis);
    ScaleLayout layout;
    layout.outer = tensor::elementCount({shape.begin(), at});
    layout.extent = *at;
    layout.inner = tensor::elementCount({at + 1, shape.end()});
    layout.isPerTensor = false;
    return layout;
}

base::Result<ScaleLayout> blockedLayout(const BindContext& context, ScaleLayout layout, std::size_t axis,
                                        std::int64_t block)
{
    Shape wanted = firstType(context).shape;
    wanted[axis] = (wanted[axis] + block - 1) / block;
    if (context.operandTypes[1].shape != wanted) {
        return context.error(
            fmt::format("with block_size {} the scale must have the shape [{}]", block, tensor::toText(wanted)));
    }
    layout.block = block;
    layout.isBlocked = true;
    return layout;
}

/// One scale for the tensor, one per element of the axis, or one per block.
base::Result<ScaleLayout> layoutOf(const BindContext& context)
{
    const Shape& x = firstType(context).shape;
    const Shape& scale = context.operandTypes[1].shape;
    const bool isOne = tensor::elementCount(scale) == 1 && scale.size() <= 1;
    const std::int64_t block = context.intAttribute("block_size", 0);
    if (block < 0) {
        return context.error(fmt::format("block_size is {}, but must not be negative", block));
    }
    if (isOne && block == 0) {
        ScaleLayout all;
        all.inner = tensor::elementCount(x);
        return all;
    }
    RETRO_TRY(const std::size_t axis, axisWithin(context, context.intAttribute("axis", 1), x.size()));
    const ScaleLayout layout = scaleLayout(x, axis);
    if (block > 0) {
        return blockedLayout(context, layout, axis, block);
    }
    if (scale != Shape{layout.extent}) {
        return context.error(fmt::format("the scale must be one number or have the shape [{}]", layout.extent));
    }
    return layout;
}

constexpr std::string_view kQuantised = "an integer of at most 16 bits or a float of at most 8 (not float8e8m0)";

/// Type of the scale; the run's floating type where that is no type to compute in.
DType computingType(const BindContext& context)
{
    const DType scale = context.operandTypes[1].dtype;
    return tensor::isFloating(scale) ? scale : context.floatType;
}

/// A zero point has the shape of the scale; one number may be a scalar or not.
base::Result<void> expectZeroPoint(const BindContext& context)
{
    if (!context.present(2) || context.operandTypes[2].shape == context.operandTypes[1].shape) {
        return {};
    }
    const bool areOne = tensor::elementCount(context.operandTypes[1].shape) == 1 &&
                        tensor::elementCount(context.operandTypes[2].shape) == 1;
    return areOne ? base::Result<void>() : context.error("scale and zero point (operands 1 and 2) must have one shape");
}

base::Result<void> expectScales(const BindContext& context)
{
    RETRO_CHECK(expect(context, {.least = 2,
                                 .most = 3,
                                 .attributes = {{"axis", AttributeKind::Int},
                                                {"block_size", AttributeKind::Int},
                                                {"output_dtype", AttributeKind::Int},
                                                {"saturate", AttributeKind::Int}}}));
    const DType scale = context.operandTypes[1].dtype;
    if (!tensor::isFloating(scale) && scale != DType::Float8E8M0 && scale != DType::Int32) {
        return context.error(fmt::format("the scale (operand 1) is {}, but must be floating, float8e8m0 or int32",
                                         tensor::nameOf(scale)));
    }
    return expectZeroPoint(context);
}

/// y = saturate(round(x / scale) + zero point), halves rounded to even. In a float of few bits the sum is rounded.
class QuantizeLinear final : public BoundOperator
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
    [[nodiscard]] Reads savedForGradient() const override { return Reads::nothing(); }
    [[nodiscard]] const Structure& structure() const override { return noRelevance(); }

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

/// The type that a quantised result has: that of the zero point, else output_dtype, else uint8.
base::Result<DType> quantisedType(const BindContext& context)
{
    DType type = DType::UInt8;
    if (context.present(2)) {
        type = context.operandTypes[2].dtype;
    } else if (context.intAttribute("output_dtype", 0) != 0) {
        RETRO_TRY(type, elementType(context, "output_dtype"));
    }
    if (isQuantised(type)) {
        return type;
    }
    return context.error(fmt::format("the quantised type is {}, but must be {}", tensor::nameOf(type), kQuantised));
}

BoundResult bindQuantizeLinear(const BindContext& context)
{
    RETRO_CHECK(expectScales(context));
    const TensorType& x = firstType(context);
    if (!tensor::isFloating(x.dtype) && x.dtype != DType::Int32) {
        return context.error(fmt::format("operand 0 is {}, but must be floating or int32", tensor::nameOf(x.dtype)));
    }
    RETRO_TRY(const DType type, quantisedType(context));
    RETRO_TRY(const ScaleLayout layout, layoutOf(context));
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
            fmt::format("operand 0 is {}, but must be int32, {}", tensor::nameOf(x.dtype), kQuantised));
    }
    RETRO_TRY(const ScaleLayout layout, layoutOf(context));
    return bound<DequantizeLinear>(TensorType{computingType(context), x.shape}, context.operandTypes, layout);
}

/// uint8 of a floating operand, with scale and zero point from its own range (which always contains 0).
class DynamicQuantizeLinear final : public BoundOperator
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
            zero = std::nearbyint(static_cast<double>(-least / step));
            scale = Tensor::scalar<T>(step);
            for (std::size_t i = 0; i < in.size(); ++i) {
                y[i] = static_cast<T>(std::clamp(std::nearbyint(static_cast<double>(in[i] / step)) + zero, 0.0, 255.0));
            }
        });
        return {values.to(DType::UInt8), scale, Tensor::scalar<std::uint8_t>(static_cast<std::uint8_t>(zero))};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::nothing(); }
    [[nodiscard]] const Structure& structure() const override { return noRelevance(); }
};

BoundResult bindDynamicQuantizeLinear(const BindContext& context)
{
    RETRO_CHECK(expect(context, {.outputs = 3, .types = OperandTypes::Floats}));
    return bound<DynamicQuantizeLinear>(firstType(context));
}

} // namespace

std::span<const OperatorDeclaration> quantiseDeclarations()
{
    static constexpr std::array kDeclarations{
        OperatorDeclaration{"", "QuantizeLinear", 10, 0, "no relevance", false, bindQuantizeLinear, true},
        OperatorDeclaration{"", "DequantizeLinear", 10, 0, "function", true, bindDequantizeLinear, true},
        OperatorDeclaration{"", "DynamicQuantizeLinear", 11, 0, "no relevance", false, bindDynamicQuantizeLinear},
    };
    return kDeclarations;
}

} // namespace retro::ops
