// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/filled.h"
#include "core/ops/threads.h"

#include <fmt/format.h>

#include <cmath>

namespace retro::ops
{

namespace
{

using tensor::Shape;

/// A tensor as outer × extent of one axis × inner.
struct LineView
{
    std::int64_t outer = 1;
    std::int64_t extent = 1;
    std::int64_t inner = 1;

    LineView(const Shape& shape, std::size_t axis)
        : outer(tensor::elementCount({shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axis)})),
          extent(shape[axis]),
          inner(tensor::elementCount({shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, shape.end()}))
    {}

    /// Calls f(offset of the first element) for every line along the axis; elements are `inner` apart.
    template <class F>
    void forEachLine(const F& f) const
    {
        parallelFor(outer * inner, 16384 / std::max<std::int64_t>(extent, 1),
                    [&](std::int64_t begin, std::int64_t end) {
                        for (std::int64_t line = begin; line < end; ++line) {
                            f(line / inner * extent * inner + line % inner);
                        }
                    });
    }
};

/// back(x, g, r) for every line of an operand, of what arrives and of the result, in x's type and shape.
template <class F>
Tensor linesBack(const LineView& view, const Tensor& operand, const Tensor& arriving, const F& back)
{
    const Tensor x = operand.contiguous();
    const Tensor gradient = arriving.contiguous();
    return filled(x.dtype(), x.shape(), [&](auto* r) {
        const auto* in = elements(x, r);
        const auto* g = elements(gradient, r);
        view.forEachLine([&](std::int64_t at) { back(in + at, g + at, r + at); });
    });
}

/// y = x / ‖x‖ along one axis, 1-norm or 2-norm; a line of zeros stays zero.
class LpNormalization final : public Operator<SelfNormalisation>
{
public:
    LpNormalization(TensorType output, std::size_t axis, bool isFirst)
        : Operator(std::move(output)), m_view(m_outputTypes[0].shape, axis), m_isFirst(isFirst)
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const Tensor x = operands[0].contiguous();
        return {filled(x.dtype(), x.shape(), [&](auto* y) {
            const auto* in = elements(x, y);
            m_view.forEachLine([&](std::int64_t at) {
                const double norm = normOf(in + at);
                for (std::int64_t i = at; i < at + m_view.extent * m_view.inner; i += m_view.inner) {
                    y[i] = norm == 0 ? 0 : static_cast<std::decay_t<decltype(*y)>>(in[i] / norm);
                }
            });
        })};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::firstOperand(); }
    /// g/n − sgn(x)·Σ(g·x)/n² for the 1-norm, g/n − x·Σ(g·x)/n³ for the 2-norm.
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                                  std::size_t) const override
    {
        return linesBack(m_view, operands[0], s[0], [&](const auto* x, const auto* g, auto* r) { lineBack(x, g, r); });
    }

private:
    template <class T>
    [[nodiscard]] double normOf(const T* x) const
    {
        double sum = 0;
        for (std::int64_t i = 0; i < m_view.extent; ++i) {
            const auto v = static_cast<double>(x[i * m_view.inner]);
            sum += m_isFirst ? std::abs(v) : v * v;
        }
        return m_isFirst ? sum : std::sqrt(sum);
    }

    template <class T>
    void lineBack(const T* x, const T* g, T* r) const
    {
        const double norm = normOf(x);
        double product = 0;
        for (std::int64_t i = 0; i < m_view.extent * m_view.inner; i += m_view.inner) {
            product += static_cast<double>(g[i]) * static_cast<double>(x[i]);
        }
        for (std::int64_t i = 0; i < m_view.extent * m_view.inner; i += m_view.inner) {
            const auto v = static_cast<double>(x[i]);
            const double slope = m_isFirst ? static_cast<double>((v > 0) - (v < 0)) : v / norm;
            r[i] = norm == 0 ? T{0} : static_cast<T>((static_cast<double>(g[i]) - slope * product / norm) / norm);
        }
    }

    LineView m_view;
    bool m_isFirst;
};

BoundResult bindLpNormalization(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    const TensorType& x = firstType(context);
    RETRO_TRY(const std::size_t axis, axisWithin(context, context.intAttribute("axis", -1), x.shape.size()));
    const std::int64_t p = context.intAttribute("p", 2);
    if (p != 1 && p != 2) {
        return context.error(fmt::format("p is {}, but must be 1 or 2", p));
    }
    return bound<LpNormalization>(x, axis, p == 1);
}

/// What LRN is told.
struct ResponseSize
{
    std::int64_t before = 0; ///< channels of the window in front of the own one
    std::int64_t after = 0;
    double factor = 0; ///< alpha / size
    double beta = 0.75;
    double bias = 1;
};

/// y = x / d^β with d = bias + alpha/size · Σ x² over neighbouring channels.
class LocalResponse final : public Operator<SelfNormalisation>
{
public:
    LocalResponse(TensorType output, const ResponseSize& size)
        : Operator(std::move(output)), m_view(m_outputTypes[0].shape, 1), m_size(size)
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const Tensor x = operands[0].contiguous();
        return {filled(x.dtype(), x.shape(), [&](auto* y) {
            const auto* in = elements(x, y);
            m_view.forEachLine([&](std::int64_t at) {
                for (std::int64_t c = 0; c < m_view.extent; ++c) {
                    const std::int64_t i = at + c * m_view.inner;
                    y[i] = static_cast<std::decay_t<decltype(*y)>>(in[i] * std::pow(divisor(in + at, c), -m_size.beta));
                }
            });
        })};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::firstOperand(); }
    /// g_i·d_i^−β − 2·β·alpha/size · x_i · Σ_j g_j·x_j·d_j^(−β−1) over the windows j that read i.
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                                  std::size_t) const override
    {
        return linesBack(m_view, operands[0], s[0], [&](const auto* x, const auto* g, auto* r) { lineBack(x, g, r); });
    }

private:
    template <class T>
    [[nodiscard]] double divisor(const T* line, std::int64_t c) const
    {
        double sum = 0;
        for (std::int64_t i = std::max<std::int64_t>(c - m_size.before, 0);
             i <= std::min(c + m_size.after, m_view.extent - 1); ++i) {
            const auto v = static_cast<double>(line[i * m_view.inner]);
            sum += v * v;
        }
        return m_size.bias + m_size.factor * sum;
    }

    template <class T>
    void lineBack(const T* x, const T* g, T* r) const
    {
        const std::int64_t step = m_view.inner;
        std::vector<double> shares; // g·x·d^(−β−1) per channel
        for (std::int64_t c = 0; c < m_view.extent; ++c) {
            const double d = divisor(x, c);
            shares.push_back(static_cast<double>(g[c * step]) * static_cast<double>(x[c * step]) *
                             std::pow(d, -m_size.beta - 1));
            r[c * step] = static_cast<T>(g[c * step] * std::pow(d, -m_size.beta));
        }
        for (std::int64_t c = 0; c < m_view.extent; ++c) {
            double sum = 0;
            for (std::int64_t j = std::max<std::int64_t>(c - m_size.after, 0);
                 j <= std::min(c + m_size.before, m_view.extent - 1); ++j) {
                sum += shares[static_cast<std::size_t>(j)];
            }
            r[c * step] -= static_cast<T>(2 * m_size.beta * m_size.factor * static_cast<double>(x[c * step]) * sum);
        }
    }

    LineView m_view;
    ResponseSize m_size;
};

BoundResult bindLrn(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    const TensorType& x = firstType(context);
    const std::int64_t size = context.intAttribute("size", 0);
    if (x.shape.size() < 2 || size < 1 || size > kMaxElements) {
        return context.error(fmt::format("LRN needs the axes batch × channels and a size of at least 1, not {}", size));
    }
    constexpr std::int64_t kLargest = 4096;
    constexpr double kSmall = 1LL << 31; // elements read
    const std::int64_t read = std::min(size, x.shape[1]);
    if (read > kLargest && static_cast<double>(tensor::elementCount(x.shape)) * static_cast<double>(read) > kSmall) {
        return context.error(fmt::format("each element would read {} channels; make the size smaller", read));
    }
    const double alpha = context.floatAttribute("alpha", 1e-4);
    return bound<LocalResponse>(x,
                                ResponseSize{(size - 1) / 2, size / 2, alpha / static_cast<double>(size),
                                             context.floatAttribute("beta", 0.75), context.floatAttribute("bias", 1)});
}

} // namespace

const OperatorFamily kNormByAxisOperators{
    {"", "LpNormalization", 1, 0, "self-normalisation", true, bindLpNormalization},
    {"", "LRN", 1, 0, "self-normalisation", true, bindLrn},
};

} // namespace retro::ops
