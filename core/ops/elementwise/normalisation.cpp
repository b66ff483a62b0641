// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/mapover.h"
#include "core/ops/kernel/visitnumber.h"
#include "core/ops/normalise/batchstatistics.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace retro::ops
{

namespace
{

using tensor::Shape;

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
    RETRO_CHECK(expect(context, {.least = 5,
                                 .most = 5,
                                 .outputs = 5,
                                 .types = OperandTypes::Floats,
                                 .attributes = {{"epsilon", AttributeKind::Float},
                                                {"momentum", AttributeKind::Float},
                                                {"training_mode", AttributeKind::Int},
                                                {"is_test", AttributeKind::Int},
                                                {"spatial", AttributeKind::Int}}}));
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

std::span<const OperatorDeclaration> normalisationDeclarations()
{
    static constexpr std::array kDeclarations{
        OperatorDeclaration{"", "BatchNormalization", 1, 0, "normalisation, self-normalisation", true,
                            bindBatchNormalization},
    };
    return kDeclarations;
}

} // namespace retro::ops
