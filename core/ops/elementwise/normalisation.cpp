// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/elementloop.h"
#include "core/ops/kernel/filled.h"
#include "core/ops/kernel/mapover.h"
#include "core/ops/kernel/visitnumber.h"
#include "core/ops/normalise/standardised.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numeric>

namespace retro::ops
{

namespace
{

using tensor::Shape;

/// y = (x − mean)/√(variance + ε)·scale + bias over batch and positions; then the running statistics, operands 3 and 4,
/// moved towards these.
class BatchStatistics final : public Operator<SelfNormalisation>, public Detachable
{
public:
    BatchStatistics(std::vector<TensorType> outputs, StandardisedView view, double momentum)
        : Operator(outputs), m_epsilon(view.form.epsilon), m_momentum(momentum),
          m_norm(std::move(outputs), std::move(view))
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        std::vector<Tensor> results = m_norm.forward(operands.first(3));
        if (results.size() > 1) {
            results[1] = moved(operands[3], results[1]);
        }
        if (results.size() > 2) {
            results[2] = moved(operands[4], variance(results[2]));
        }
        return results;
    }
    [[nodiscard]] Reads savedForGradient() const override { return m_norm.savedForGradient(); }
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                                  std::size_t slot) const override
    {
        if (slot >= 3) {
            const std::size_t k = slot - 2;
            return k < s.size() && s[k].isValid() ? algebra::scale(s[k], m_momentum)
                                                  : Tensor::zeros(m_outputTypes[0].dtype, {m_outputTypes[0].shape[1]});
        }
        std::vector<Tensor> arriving(s.begin(), s.end());
        if (arriving.size() > 1 && arriving[1].isValid()) {
            arriving[1] = algebra::scale(arriving[1], 1 - m_momentum);
        }
        if (arriving.size() > 2 && arriving[2].isValid()) { // variance = factor⁻² − ε
            const Tensor factor = m_norm.forward(operands.first(3))[2];
            arriving[2] =
                algebra::scale(algebra::multiply(arriving[2].contiguous(), slopeOfVariance(factor)), 1 - m_momentum);
        }
        return m_norm.pullback(arriving, operands.first(3), {}, slot);
    }
    [[nodiscard]] bool isCentred() const override { return m_norm.isCentred(); }
    [[nodiscard]] Tensor detachedPullback(const Tensor& s, std::span<const Tensor> operands) const override
    {
        return m_norm.detachedPullback(s, operands.first(3));
    }
    [[nodiscard]] Tensor detachedForward(const Tensor& v, std::span<const Tensor> operands) const override
    {
        return m_norm.detachedForward(v, operands.first(3));
    }
    [[nodiscard]] Tensor sumsPerScale(const Tensor& perElement) const override
    {
        return m_norm.sumsPerScale(perElement);
    }

private:
    [[nodiscard]] Tensor moved(const Tensor& running, const Tensor& now) const
    {
        return algebra::add(algebra::scale(running.contiguous(), m_momentum), algebra::scale(now, 1 - m_momentum));
    }
    template <class F>
    [[nodiscard]] static Tensor ofFactor(const Tensor& factor, const F& f)
    {
        return visitFloat(factor.dtype(), [&](auto zero) {
            using T = decltype(zero);
            return mapElements<T>(factor, [&f](T v) { return static_cast<T>(f(static_cast<double>(v))); });
        });
    }
    [[nodiscard]] Tensor variance(const Tensor& factor) const
    {
        return ofFactor(factor, [this](double f) { return 1 / (f * f) - m_epsilon; });
    }
    [[nodiscard]] static Tensor slopeOfVariance(const Tensor& factor)
    {
        return ofFactor(factor, [](double f) { return -2 / (f * f * f); });
    }

    double m_epsilon;
    double m_momentum;
    Standardised m_norm;
};

/// BatchNormalization with training_mode = 1, which has been checked: by mean and variance of its own operand, per
/// channel over batch and positions. Outputs 1 and 2: what becomes of the running mean and variance.
BoundResult bindBatchStatistics(const BindContext& context)
{
    const TensorType& x = firstType(context);
    StandardisedView view;
    view.order.resize(x.shape.size());
    std::iota(view.order.begin(), view.order.end(), std::int64_t{0});
    std::swap(view.order[0], view.order[1]);
    view.form.rows = x.shape[1];
    view.form.length = view.form.rows == 0 ? 0 : tensor::elementCount(x.shape) / view.form.rows;
    view.form.epsilon = context.floatAttribute("epsilon", 1e-5);
    view.affine.assign(x.shape.size(), 1);
    view.affine[1] = x.shape[1];
    view.operands = operandShapes(context);
    std::vector<TensorType> outputs{x};
    for (std::size_t k = 1; k < context.node.outputs.size(); ++k) {
        outputs.push_back({x.dtype, {x.shape[1]}});
    }
    return bound<BatchStatistics>(std::move(outputs), std::move(view), context.floatAttribute("momentum", 0.9));
}

/// BatchNormalization at inference: scale = g / √(v + ε), shift = b − m·scale.
class BatchNormalization final : public Operator<Normalisation>
{
public:
    BatchNormalization(TensorType output, Tensor scale, Tensor shift)
        : Operator(std::move(output)), m_scale(std::move(scale)), m_shift(std::move(shift))
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        return {normalised(operands[0], nullptr)};
    }
    [[nodiscard]] std::vector<Tensor> forwardOver(std::span<Tensor> operands) const override
    {
        return {normalised(std::move(operands[0]), nullptr)};
    }
    [[nodiscard]] Tensor forwardThrough(std::span<Tensor> operands, const RowsOver& rows) const override
    {
        return normalised(std::move(operands[0]), &rows);
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::firstOperand(); }
    [[nodiscard]] double flops() const override
    {
        return 2.0 * static_cast<double>(tensor::elementCount(m_outputTypes[0].shape));
    }
    [[nodiscard]] Tensor scale() const override { return m_scale; }
    [[nodiscard]] Tensor shift() const override { return m_shift; }

private:
    /// In x's memory when nobody else holds it. `rows`, of float32 alone, may be null.
    [[nodiscard]] Tensor normalised(Tensor x, const RowsOver* rows) const
    {
        return visitFloat(x.dtype(), [&](auto zero) {
            using T = decltype(zero);
            const tensor::Shape strides = resultStrides(x.shape(), {&x});
            const ElementLoop loop{
                x.shape(),
                {strides, x.strides(), broadcastStrides(m_scale, x.shape()), broadcastStrides(m_shift, x.shape())}};
            const T* const in = x.data<T>();
            const auto fill = [&](T* out) {
                loop.run<4>([&](const std::array<std::int64_t, 4>& offsets, std::int64_t count) {
                    T* const row = out + offsets[0];
                    normaliseRow<T>({row, in + offsets[1], loop.innerStride(1), m_scale.data<T>() + offsets[2],
                                     m_shift.data<T>() + offsets[3], loop.innerStride(2), count});
                    if constexpr (std::is_same_v<T, float>) {
                        if (rows != nullptr) {
                            rows->over(row, count);
                        }
                    }
                });
            };
            if (T* const out = writable<T>(x)) {
                fill(out);
                return x;
            }
            tensor::TensorBuffer buffer(x.dtype(), x.shape(), strides);
            fill(buffer.data<T>());
            return std::move(buffer).freeze();
        });
    }

    template <class T>
    struct Row
    {
        T* out; ///< without gaps
        const T* x;
        std::int64_t xStride;
        const T* scale;
        const T* shift;
        std::int64_t stride; ///< of scale and shift: 1, or 0 where the row is of one channel
        std::int64_t count;
    };

    template <class T>
    static void normaliseRow(const Row<T>& row)
    {
        if (row.xStride == 1 && row.stride == 1) {
            onWidestRegisters([row] {
#pragma GCC ivdep
                for (std::int64_t i = 0; i < row.count; ++i) {
                    row.out[i] = row.x[i] * row.scale[i] + row.shift[i];
                }
            });
            return;
        }
        if (row.xStride == 1 && row.stride == 0) {
            onWidestRegisters([row, scale = *row.scale, shift = *row.shift] {
#pragma GCC ivdep
                for (std::int64_t i = 0; i < row.count; ++i) {
                    row.out[i] = row.x[i] * scale + shift;
                }
            });
            return;
        }
        for (std::int64_t i = 0; i < row.count; ++i) {
            row.out[i] = row.x[i * row.xStride] * row.scale[i * row.stride] + row.shift[i * row.stride];
        }
    }

    Tensor m_scale;
    Tensor m_shift;
};

/// BatchNormalization whose scale, bias, mean or variance is computed: (x − m)·g / √(v + ε) + b.
class DynamicBatchNormalization final : public Operator<SelfNormalisation>
{
public:
    DynamicBatchNormalization(TensorType output, double epsilon)
        : Operator(std::move(output)), m_channels(m_outputTypes[0].shape.size(), 1), m_epsilon(epsilon)
    {
        m_channels[1] = m_outputTypes[0].shape[1];
    }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const Tensor scaled = algebra::multiplyBroadcast(standardised(operands), perChannel(operands[1]));
        return {algebra::addBroadcast(scaled, perChannel(operands[2]))};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::allOperands(); }
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                                  std::size_t slot) const override
    {
        const Tensor scale = perChannel(operands[1]);
        const Tensor factor = algebra::multiply(scale, inverse(operands[4]));
        switch (slot) {
        case 0:
            return algebra::multiplyBroadcast(s[0], factor);
        case 1:
            return summed(algebra::multiply(s[0], standardised(operands)));
        case 2:
            return summed(s[0]);
        case 3:
            return algebra::scale(summed(algebra::multiplyBroadcast(s[0], factor)), -1);
        default: // d(v + ε)^(−1/2)/dv = −(v + ε)^(−1)/2 · (v + ε)^(−1/2)
            return algebra::scale(summed(algebra::multiplyBroadcast(algebra::multiply(s[0], standardised(operands)),
                                                                    algebra::multiply(factor, inverse(operands[4])))),
                                  -0.5);
        }
    }

private:
    [[nodiscard]] Tensor perChannel(const Tensor& t) const { return t.contiguous().reshaped(m_channels); }
    /// 1 / √(v + ε).
    [[nodiscard]] Tensor inverse(const Tensor& variance) const
    {
        return visitFloat(variance.dtype(), [&](auto zero) {
            using T = decltype(zero);
            return mapElements<T>(perChannel(variance), [this](T v) {
                return static_cast<T>(1 / std::sqrt(static_cast<double>(v) + m_epsilon));
            });
        });
    }
    [[nodiscard]] Tensor standardised(std::span<const Tensor> operands) const
    {
        const Tensor centred = algebra::addBroadcast(operands[0], algebra::scale(perChannel(operands[3]), -1));
        return algebra::multiplyBroadcast(centred, inverse(operands[4]));
    }
    [[nodiscard]] Tensor summed(const Tensor& t) const
    {
        return algebra::reduceTo(t, m_channels).contiguous().reshaped({m_channels[1]});
    }

    Shape m_channels;
    double m_epsilon;
};

/// Since opset 14, an attribute says that the operand's own statistics count.
bool usesOwnStatistics(const BindContext& context)
{
    return context.node.opset >= 14 && context.intAttribute("training_mode", 0) != 0;
}

base::Result<void> expectInference(const BindContext& context)
{
    const bool isOldTraining = context.node.opset < 7 && context.intAttribute("is_test", 0) == 0;
    const std::size_t most = usesOwnStatistics(context) ? 3 : 1;
    if (isOldTraining || context.node.outputs.size() > most) {
        return context.error("this BatchNormalization is in training mode; export the model for inference");
    }
    if (context.node.opset < 9 && context.intAttribute("spatial", 1) == 0) {
        return context.error("spatial = 0 (one statistic per element) is not supported; convert the model to opset 9 "
                             "or newer");
    }
    return {};
}

base::Result<void> expectStatistics(const BindContext& context)
{
    static constexpr std::array<std::string_view, 5> kNames{"x", "scale", "bias", "mean", "variance"};
    const Shape& x = firstType(context).shape;
    if (x.size() < 2) {
        return context.error("the operand needs at least the axes batch × channels");
    }
    for (std::size_t slot = 1; slot < 5; ++slot) {
        if (context.operandTypes[slot].shape != Shape{x[1]}) {
            return context.error(fmt::format("{} (operand {}) must have the shape [{}], one value per channel",
                                             kNames[slot], slot, x[1]));
        }
    }
    return {};
}

/// scale and shift of every channel, shaped to broadcast to x; worked out in double.
template <class T>
BoundResult boundNormalisation(const BindContext& context, double epsilon)
{
    const TensorType& x = firstType(context);
    Shape shape(x.shape.size(), 1);
    shape[1] = x.shape[1];
    std::array<Tensor, 5> values;
    for (std::size_t slot = 1; slot < 5; ++slot) {
        values[slot] = context.constants[slot].to(tensor::DType::Float64).contiguous();
    }
    tensor::TensorBuffer scale(x.dtype, shape);
    tensor::TensorBuffer shift(x.dtype, shape);
    for (std::int64_t c = 0; c < shape[1]; ++c) {
        const double factor = values[1].data<double>()[c] / std::sqrt(values[4].data<double>()[c] + epsilon);
        scale.data<T>()[c] = static_cast<T>(factor);
        shift.data<T>()[c] = static_cast<T>(values[2].data<double>()[c] - values[3].data<double>()[c] * factor);
    }
    return bound<BatchNormalization>(x, std::move(scale).freeze(), std::move(shift).freeze());
}

BoundResult bindBatchNormalization(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    RETRO_CHECK(expectInference(context));
    RETRO_CHECK(expectStatistics(context));
    if (usesOwnStatistics(context)) {
        return bindBatchStatistics(context);
    }
    const double epsilon = context.floatAttribute("epsilon", 1e-5);
    const bool isConstant = context.constant(1) && context.constant(2) && context.constant(3) && context.constant(4);
    if (!isConstant) {
        return bound<DynamicBatchNormalization>(firstType(context), epsilon);
    }
    return firstType(context).dtype == tensor::DType::Float64 ? boundNormalisation<double>(context, epsilon)
                                                              : boundNormalisation<float>(context, epsilon);
}

} // namespace

const OperatorFamily kNormalisationOperators{
    {"", "BatchNormalization", 1, 0, "normalisation, self-normalisation", true, bindBatchNormalization},
};

} // namespace retro::ops
