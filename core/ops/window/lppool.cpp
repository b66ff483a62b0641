// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/operatorbase.h"
#include "core/ops/bind/windows.h"
#include "core/ops/families.h"
#include "core/ops/kernel/elementloop.h"
#include "core/ops/kernel/filled.h"
#include "core/ops/reference/pool.h"
#include "core/ops/threads.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace retro::ops
{

namespace
{

using reference::WindowAxis;
using tensor::Shape;

/// y = (Σ |x|^p)^(1/p) over windows. Computes in channels-last order.
class WindowNorm final : public Operator<Differentiable>
{
public:
    /// The kernels see the operand as batch × channels × `axes`; the operand may have more axes.
    WindowNorm(TensorType output, Shape operand, const std::vector<WindowAxis>& axes, double p)
        : Operator(std::move(output)), m_operand(std::move(operand)),
          m_shape{m_operand[0], m_operand[1], reference::threeAxes(axes)}, m_image{m_operand[0], m_operand[1]},
          m_windows(m_image), m_p(p)
    {
        for (const WindowAxis& axis : axes) {
            m_image.push_back(axis.image);
            m_windows.push_back(axis.windows);
        }
    }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        return {norms(operands[0]).reshaped(m_outputTypes[0].shape)};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::firstOperand(); }
    /// g·sgn(x)·|x|^(p−1)·y^(1−p), summed over the windows that read x.
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                                  std::size_t) const override
    {
        const Tensor x = channelsLast(operands[0].reshaped(m_image));
        const Tensor y = channelsLast(norms(operands[0]));
        const Tensor gradient = channelsLast(s[0].reshaped(m_windows));
        tensor::TensorBuffer buffer(x.dtype(), m_image, tensor::channelsLastStrides(m_image));
        buffer.clear();
        visitFloat(x.dtype(), [&](auto zero) {
            using T = decltype(zero);
            spread(x.data<T>(), y.data<T>(), gradient.data<T>(), buffer.data<T>());
        });
        return std::move(buffer).freeze().reshaped(m_operand);
    }

private:
    [[nodiscard]] Tensor norms(const Tensor& operand) const
    {
        const Tensor x = channelsLast(operand.reshaped(m_image));
        tensor::TensorBuffer buffer(x.dtype(), m_windows, tensor::channelsLastStrides(m_windows));
        visitFloat(x.dtype(), [&](auto zero) {
            using T = decltype(zero);
            pool(x.data<T>(), buffer.data<T>());
        });
        return std::move(buffer).freeze();
    }

    template <class T>
    void pool(const T* x, T* y) const
    {
        const auto powers = powersOf(x);
        reference::forEachResult(m_shape, y, [&](const reference::PoolWindow& window) {
            std::array<double, reference::kMostLanes> sum{};
            for (const std::int64_t tap : window.taps) {
                const double* in = powers.data() + window.imageAt + tap * m_shape.channels;
                for (std::int64_t c = 0; c < window.channels; ++c) {
                    sum[static_cast<std::size_t>(c)] += in[c];
                }
            }
            for (std::int64_t c = 0; c < window.channels; ++c) {
                y[window.at + c] = static_cast<T>(std::pow(sum[static_cast<std::size_t>(c)], 1 / m_p));
            }
        });
    }

    /// |x|^p of all elements: windows overlap.
    template <class T>
    [[nodiscard]] std::vector<double> powersOf(const T* x) const
    {
        std::vector<double> powers(static_cast<std::size_t>(tensor::elementCount(m_image)));
        parallelFor(static_cast<std::int64_t>(powers.size()), 4096, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                powers[static_cast<std::size_t>(i)] = std::pow(std::abs(static_cast<double>(x[i])), m_p);
            }
        });
        return powers;
    }

    template <class T>
    void spread(const T* x, const T* y, const T* g, T* r) const
    {
        reference::forEachWindow(m_shape, [&](reference::PoolWindow& window) {
            const bool isKept = window.taps.size() * static_cast<std::size_t>(window.channels) <= kMostKept;
            if (isKept && !window.isRepeat) {
                slopesOf(x, y, window);
            }
            const double* kept = window.kept.data();
            for (const std::int64_t tap : window.taps) {
                const std::int64_t at = window.imageAt + tap * m_shape.channels;
                for (std::int64_t c = 0; c < window.channels; ++c) {
                    const double slope = isKept ? *kept++ : slopeOf(x[at + c], y[window.at + c]);
                    r[at + c] += static_cast<T>(static_cast<double>(g[window.at + c]) * slope);
                }
            }
        });
    }

    /// dy/dx of each tap and channel, into window.kept.
    template <class T>
    void slopesOf(const T* x, const T* y, reference::PoolWindow& window) const
    {
        window.kept.clear();
        for (const std::int64_t tap : window.taps) {
            const T* in = x + window.imageAt + tap * m_shape.channels;
            for (std::int64_t c = 0; c < window.channels; ++c) {
                window.kept.push_back(slopeOf(in[c], y[window.at + c]));
            }
        }
    }

    /// dy/dx; 0 for a window of zeros.
    [[nodiscard]] double slopeOf(double x, double y) const
    {
        return y == 0 ? 0 : std::copysign(std::pow(std::abs(x) / y, m_p - 1), x);
    }

    /// Slopes that a window hands to the next one.
    static constexpr std::size_t kMostKept = 1U << 16U;

    Shape m_operand;
    reference::PoolShape m_shape;
    Shape m_image;
    Shape m_windows;
    double m_p;
};

/// p, a float before opset 2.
base::Result<double> powerOf(const BindContext& context)
{
    const bool isFloat = context.node.opset < 2;
    const double p = isFloat ? context.floatAttribute("p", 2) : static_cast<double>(context.intAttribute("p", 2));
    if (!(p >= 1)) {
        return context.error(fmt::format("p is {}, but must be at least 1", p));
    }
    return p;
}

BoundResult bindLpPool(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    RETRO_TRY(const double p, powerOf(context));
    RETRO_TRY(const auto axes, poolWindows(context));
    RETRO_TRY(Shape shape, pooledShape(context, axes));
    const TensorType& x = firstType(context);
    return bound<WindowNorm>(TensorType{x.dtype, std::move(shape)}, x.shape, axes, p);
}

BoundResult bindGlobalLpPool(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    RETRO_TRY(const double p, powerOf(context));
    const TensorType& x = firstType(context);
    RETRO_TRY(GlobalWindow all, globalWindow(context));
    return bound<WindowNorm>(TensorType{x.dtype, std::move(all.shape)}, x.shape, std::vector{all.axis}, p);
}

} // namespace

const OperatorFamily kLpPoolOperators{
    {"", "LpPool", 1, 0, "function", true, bindLpPool},
    {"", "GlobalLpPool", 1, 0, "function", true, bindGlobalLpPool},
};

} // namespace retro::ops
