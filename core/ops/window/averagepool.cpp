// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/bind/windows.h"
#include "core/ops/families.h"
#include "core/ops/kernel/axisreduction.h"
#include "core/ops/kernel/elementloop.h"
#include "core/ops/kernel/visitnumber.h"
#include "core/ops/reference/pool.h"

#include <array>
#include <numeric>

namespace retro::ops
{

namespace
{

using reference::WindowAxis;
using tensor::Shape;

/// Elements that window `o` of one axis is divided by: taps in the image, or in image and padding.
std::int64_t tapsCounted(const WindowAxis& axis, std::int64_t o, bool countsPadding)
{
    // A window that ceil_mode lets stick out beyond the padding is not divided by what lies out there.
    const WindowAxis::Taps taps = countsPadding ? axis.tapsBefore(o, axis.image + axis.padEnd) : axis.tapsInside(o);
    return countsPadding ? taps.end : taps.end - taps.first;
}

/// `counts` times the counts of one more, inner axis.
std::vector<double> countsWith(const std::vector<double>& counts, const WindowAxis& axis, bool countsPadding)
{
    std::vector<double> longer;
    for (const double count : counts) {
        for (std::int64_t o = 0; o < axis.windows; ++o) {
            longer.push_back(count * static_cast<double>(tapsCounted(axis, o, countsPadding)));
        }
    }
    return longer;
}

/// 1 / number of elements per window.
std::vector<double> factorsOf(const std::array<WindowAxis, 3>& axes, bool countsPadding)
{
    std::vector<double> factors{1};
    for (const WindowAxis& axis : axes) {
        factors = countsWith(factors, axis, countsPadding);
    }
    for (double& factor : factors) {
        factor = 1 / std::max(factor, 1.0); // no elements: the sum is 0 already
    }
    return factors;
}

/// The same in the type that is computed in; empty where nothing is.
Tensor factorsFor(const reference::PoolShape& shape, bool countsPadding, tensor::DType type)
{
    const std::vector<double> factors =
        shape.batch * shape.channels > 0 ? factorsOf(shape.axes, countsPadding) : std::vector<double>();
    return Tensor::of<double>({static_cast<std::int64_t>(factors.size())}, factors).to(type);
}

/// AveragePool over windows. Computes in channels-last order, whatever the order of the operand.
class WindowMean final : public Operator<AveragePool>
{
public:
    WindowMean(TensorType output, Shape operand, const std::vector<WindowAxis>& axes, bool countsPadding)
        : Operator(std::move(output)),
          m_operand(std::move(operand)), m_shape{m_operand[0], m_operand[1], reference::threeAxes(axes)},
          m_factors(factorsFor(m_shape, countsPadding, m_outputTypes[0].dtype))
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        return {computed(operands[0], m_outputTypes[0].shape, [this](const auto* x, const auto& factors, auto* y) {
            reference::sumPool(m_shape, x, factors, y);
        })};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::firstOperand(); }
    [[nodiscard]] Tensor pullback(const Tensor& s) const override
    {
        return computed(s, m_operand, [this](const auto* from, const auto& factors, auto* r) {
            reference::spreadOverWindows(m_shape, from, factors, r);
        });
    }

private:
    template <class F>
    [[nodiscard]] Tensor computed(const Tensor& t, const Shape& shape, const F& kernel) const
    {
        const Tensor in = channelsLast(t);
        const Tensor factors = m_factors.to(t.dtype());
        tensor::TensorBuffer buffer(t.dtype(), shape, tensor::channelsLastStrides(shape));
        if (t.dtype() == tensor::DType::Float64) {
            kernel(in.data<double>(), factors.data<double>(), buffer.data<double>());
        } else {
            kernel(in.data<float>(), factors.data<float>(), buffer.data<float>());
        }
        return std::move(buffer).freeze();
    }

    Shape m_operand;
    reference::PoolShape m_shape;
    Tensor m_factors; // per window; a tensor, so that it counts as memory
};

/// GlobalAveragePool: the mean over all spatial axes.
class GlobalMean final : public Operator<AveragePool>
{
public:
    GlobalMean(TensorType output, Shape operand) : Operator(std::move(output)), m_operand(std::move(operand))
    {
        m_axes.resize(m_operand.size() - 2);
        std::iota(m_axes.begin(), m_axes.end(), std::size_t{2});
        m_factor = 1 / static_cast<double>(extentOf(m_operand, m_axes));
    }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        return {algebra::scale(sumOverAxes(operands[0], m_axes), m_factor)};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::firstOperand(); }
    [[nodiscard]] Tensor pullback(const Tensor& s) const override
    {
        return algebra::broadcastTo(algebra::scale(s, m_factor), m_operand);
    }

private:
    Shape m_operand;
    std::vector<std::size_t> m_axes;
    double m_factor;
};

BoundResult bindAveragePool(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    RETRO_TRY(const auto axes, poolWindows(context));
    RETRO_TRY(Shape shape, pooledShape(context, axes));
    const TensorType& x = firstType(context);
    return bound<WindowMean>(TensorType{x.dtype, std::move(shape)}, x.shape, axes,
                             context.intAttribute("count_include_pad", 0) != 0);
}

BoundResult bindGlobalAveragePool(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    const TensorType& x = firstType(context);
    RETRO_TRY(GlobalWindow all, globalWindow(context));
    if (all.axis.image == 0) {
        return context.error("the mean of no elements is not defined");
    }
    return bound<GlobalMean>(TensorType{x.dtype, std::move(all.shape)}, x.shape);
}

} // namespace

const OperatorFamily kAveragePoolOperators{
    {"", "AveragePool", 1, 0, "average pool", true, bindAveragePool},
    {"", "GlobalAveragePool", 1, 0, "average pool", true, bindGlobalAveragePool},
};

} // namespace retro::ops
