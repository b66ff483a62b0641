// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/filled.h"
#include "core/ops/quantise/integers.h"
#include "core/ops/quantise/scalelayout.h"
#include "core/ops/quantise/straightthrough.h"
#include "core/ops/shape/elementtype.h"
#include "core/tensor/narrow.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace retro::ops
{

namespace
{

using tensor::DType;
using tensor::Shape;

/// What lies farther beyond the range of a type has saturated: at least so many steps (what is nearer is rounded as
/// everything else is), and so large a part of the range. The largest element of what a quantiser has measured lies at
/// the end of the range, and the roundings of the layers before it carry it a few steps beyond.
constexpr double kLeastBeyond = 0.501;
constexpr double kPartBeyond = 1.0 / 64;

/// Least and largest number of a quantised type.
std::pair<double, double> rangeOf(DType type)
{
    if (!tensor::isNarrowFloat(type)) {
        return limitsOf(type);
    }
    double most = 0;
    for (const float number : tensor::narrowTable(type)) {
        most = std::isfinite(number) ? std::max(most, static_cast<double>(number)) : most;
    }
    return {-most, most};
}

/// QuantizeLinear and then DequantizeLinear with the same scale and zero point: y = (saturate(round(x / s) + z) − z)·s.
/// Straight through in reverse: what arrives at an element that the type can hold goes to x as it is, what arrives at a
/// saturated one goes nowhere.
class FakeQuantize final : public Operator<ShapeMap>, public StraightThrough
{
public:
    struct Setting
    {
        DType levels = DType::UInt8;
        DType computing = DType::Float32;
        ScaleLayout layout;
        tensor::NarrowRounding rounding;
        Shape scale;
        bool truncates = false; ///< what is behind the decimal point of a level is left out; else it is rounded
    };

    FakeQuantize(TensorType output, Setting setting) : Operator(std::move(output)), m_setting(std::move(setting)) {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const Tensor levels = levelsOf(operands);
        const Tensor scale = operands[1].to(m_setting.computing).contiguous();
        const Tensor zero = zeroPoints(operands, 2, scale);
        return {filled(m_setting.computing, m_outputTypes[0].shape, [&](auto* y) {
            const auto* step = elements(scale, y);
            const double* level = levels.data<double>();
            const double* shift = zero.data<double>();
            m_setting.layout.forEach([&](std::int64_t i, std::int64_t at) {
                y[i] = static_cast<std::decay_t<decltype(*y)>>(level[i] - shift[at]) * step[at];
            });
        })};
    }
    [[nodiscard]] Reads savedForGradient() const override { return {Reads::bit(0) | Reads::bit(1) | Reads::bit(2), 0}; }
    [[nodiscard]] bool isSteered() const override { return true; }
    [[nodiscard]] bool saturates() const override { return true; }
    [[nodiscard]] Tensor carryBack(std::span<const Tensor>, std::size_t slot) const override
    {
        return zeros(slot); // without the operand nothing is known
    }
    [[nodiscard]] Tensor carryBack(std::span<const Tensor> perOutput, std::span<const Tensor> operands,
                                   std::size_t slot) const override
    {
        if (slot != 0 || !perOutput[0].isValid()) {
            return zeros(slot);
        }
        const auto [least, most] = rangeOf(m_setting.levels);
        const double beyond = tensor::isNarrowFloat(m_setting.levels) ? 0 : saturationMargin(least, most);
        const Tensor arrived = perOutput[0].contiguous();
        const Tensor share = shares(operands);
        return filled(arrived.dtype(), arrived.shape(), [&, low = least - beyond, high = most + beyond](auto* part) {
            const auto* r = elements(arrived, part);
            const double* x = share.data<double>();
            for (std::int64_t i = 0; i < arrived.size(); ++i) {
                part[i] = x[i] >= low && x[i] <= high ? r[i] : std::decay_t<decltype(*part)>{0};
            }
        });
    }

private:
    [[nodiscard]] Tensor zeros(std::size_t slot) const
    {
        return Tensor::zeros(m_outputTypes[0].dtype, slot == 0 ? m_outputTypes[0].shape : m_setting.scale);
    }
    /// x / scale + zero point of every element, in double.
    [[nodiscard]] Tensor shares(std::span<const Tensor> operands) const
    {
        return shares(operands, [](double share, double shift) { return share + shift; });
    }
    /// f(x / scale, zero point) of every element, in double.
    template <class F>
    [[nodiscard]] Tensor shares(std::span<const Tensor> operands, const F& f) const
    {
        const Tensor scale = operands[1].to(m_setting.computing).contiguous();
        const Tensor x = operands[0].to(m_setting.computing).contiguous();
        const Tensor zero = zeroPoints(operands, 2, scale);
        tensor::TensorBuffer buffer(DType::Float64, x.shape());
        auto* const y = buffer.data<double>();
        const double* shift = zero.data<double>();
        visitFloat(m_setting.computing, [&](auto of) {
            const auto* in = elements(x, &of);
            const auto* step = elements(scale, &of);
            m_setting.layout.forEach(
                [&](std::int64_t i, std::int64_t at) { y[i] = f(static_cast<double>(in[i] / step[at]), shift[at]); });
        });
        return std::move(buffer).freeze();
    }
    /// What QuantizeLinear gives, in double.
    [[nodiscard]] Tensor levelsOf(std::span<const Tensor> operands) const
    {
        if (tensor::isNarrowFloat(m_setting.levels)) {
            const Tensor share = shares(operands).to(m_setting.computing);
            return tensor::narrowed(share, m_setting.levels, m_setting.rounding).to(DType::Float64).contiguous();
        }
        const auto [least, most] = limitsOf(m_setting.levels);
        if (m_setting.truncates) {
            constexpr double kAlmostNext = 1.0 / 1024; // levels that became floats and were mixed may lie so near
            return shares(operands, [low = least, high = most](double share, double shift) {
                const double level = share + shift;
                return std::clamp(std::trunc(level + std::copysign(kAlmostNext, level)), low, high);
            });
        }
        return shares(operands, [low = least, high = most](double share, double shift) {
            return std::clamp(std::nearbyint(share) + shift, low, high);
        });
    }

    Setting m_setting;
};

/// DynamicQuantizeLinear and then DequantizeLinear: uint8 by the operand's own range, which nothing is beyond.
class DynamicFakeQuantize final : public Operator<ShapeMap>, public StraightThrough
{
public:
    explicit DynamicFakeQuantize(TensorType output, std::unique_ptr<BoundOperator> quantise)
        : Operator(std::move(output)), m_quantise(std::move(quantise))
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const std::vector<Tensor> parts = m_quantise->forward(operands.first(1));
        const Tensor levels = parts[0].to(DType::Float64).contiguous();
        const double shift = parts[2].at(0);
        return {filled(m_outputTypes[0].dtype, levels.shape(), [&](auto* y) {
            using T = std::decay_t<decltype(*y)>;
            const T step = static_cast<T>(parts[1].at(0));
            const double* level = levels.data<double>();
            for (std::int64_t i = 0; i < levels.size(); ++i) {
                y[i] = static_cast<T>(level[i] - shift) * step;
            }
        })};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::nothing(); }
    [[nodiscard]] bool isRearrangement() const override { return true; }
    [[nodiscard]] Tensor carryBack(std::span<const Tensor> perOutput, std::size_t) const override
    {
        return perOutput[0].isValid() ? perOutput[0] : Tensor::zeros(m_outputTypes[0].dtype, m_outputTypes[0].shape);
    }

private:
    std::unique_ptr<BoundOperator> m_quantise;
};

BoundResult bindDynamicFakeQuantize(const BindContext& context)
{
    graph::Node node = context.node;
    node.op = "DynamicQuantizeLinear";
    node.domain.clear();
    node.opset = kNewestOpset;
    RETRO_TRY(auto quantise, bind({context.graph, context.id, node, context.operandTypes, context.constants,
                                   context.floatType, context.source}));
    return bound<DynamicFakeQuantize>(firstType(context), std::move(quantise));
}

BoundResult bindFakeQuantize(const BindContext& context)
{
    if (context.node.inputs.size() == 1) {
        return bindDynamicFakeQuantize(context);
    }
    if (!context.present(1)) {
        return context.error("operand 1 is missing; FakeQuantize of given zero points needs a scale");
    }
    RETRO_CHECK(expectScales(context));
    const TensorType& x = firstType(context);
    if (!tensor::isFloating(x.dtype)) {
        return context.error(fmt::format("operand 0 is {}, but must be floating", tensor::nameOf(x.dtype)));
    }
    FakeQuantize::Setting setting;
    RETRO_TRY(setting.levels, quantisedType(context));
    RETRO_TRY(setting.layout, scaleLayoutOf(context));
    RETRO_TRY(setting.rounding, narrowRounding(context));
    setting.computing = computingType(context);
    setting.truncates = context.intAttribute("truncates", 0) != 0;
    setting.scale = context.operandTypes[1].shape;
    return bound<FakeQuantize>(TensorType{setting.computing, x.shape}, std::move(setting));
}

} // namespace

double saturationMargin(double least, double most) { return std::max(kLeastBeyond, (most - least) * kPartBeyond); }

const OperatorFamily kFakeQuantizeOperators{
    {"retrograde", "FakeQuantize", 1, 0, "shape map", true, bindFakeQuantize, true, Elements::Quantised},
};

} // namespace retro::ops
