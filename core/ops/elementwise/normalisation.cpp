// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/elementloop.h"
#include "core/ops/kernel/visitnumber.h"

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
        return {algebra::addBroadcast(algebra::multiplyBroadcast(operands[0], m_scale), m_shift)};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::firstOperand(); }
    [[nodiscard]] double flops() const override
    {
        return 2.0 * static_cast<double>(tensor::elementCount(m_outputTypes[0].shape));
    }
    [[nodiscard]] Tensor scale() const override { return m_scale; }
    [[nodiscard]] Tensor shift() const override { return m_shift; }

private:
    Tensor m_scale;
    Tensor m_shift;
};

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
        if (!context.constant(slot)) {
            return context.error(fmt::format("{} (operand {}) must be a constant", kNames[slot], slot));
        }
    }
    return {};
}

BoundResult bindBatchNormalization(const BindContext& context)
{
    RETRO_CHECK(expectArity(context, 5, 5, 5));
    RETRO_CHECK(expectFloats(context, {0, 1, 2, 3, 4}));
    RETRO_CHECK(expectAttributes(context, {{"epsilon", AttributeKind::Float},
                                           {"training_mode", AttributeKind::Int},
                                           {"is_test", AttributeKind::Int},
                                           {"spatial", AttributeKind::Int}}));
    const bool isTraining = context.intAttribute("training_mode", 0) != 0 ||
                            (context.node.opset < 7 && context.intAttribute("is_test", 0) == 0);
    if (isTraining || context.node.outputs.size() > 1) {
        return context.error("this BatchNormalization is in training mode; export the model for inference");
    }
    if (context.node.opset < 9 && context.intAttribute("spatial", 1) == 0) {
        return context.error("spatial = 0 (one statistic per element) is not supported; convert the model to opset 9 "
                             "or newer");
    }
    RETRO_CHECK(expectStatistics(context));
    const double epsilon = context.floatAttribute("epsilon", 1e-5);
    Shape shape(firstType(context).shape.size(), 1);
    shape[1] = firstType(context).shape[1];
    return visitFloat(firstType(context).dtype, [&](auto zero) -> BoundResult {
        using T = decltype(zero);
        std::array<Tensor, 5> values;
        for (std::size_t slot = 1; slot < 5; ++slot) {
            values[slot] = context.constants[slot].contiguous();
        }
        tensor::TensorBuffer scale(firstType(context).dtype, shape);
        tensor::TensorBuffer shift(firstType(context).dtype, shape);
        for (std::int64_t c = 0; c < shape[1]; ++c) {
            const double factor = static_cast<double>(values[1].data<T>()[c]) /
                                  std::sqrt(static_cast<double>(values[4].data<T>()[c]) + epsilon);
            scale.data<T>()[c] = static_cast<T>(factor);
            shift.data<T>()[c] = static_cast<T>(static_cast<double>(values[2].data<T>()[c]) -
                                                static_cast<double>(values[3].data<T>()[c]) * factor);
        }
        return bound<BatchNormalization>(firstType(context), std::move(scale).freeze(), std::move(shift).freeze());
    });
}

} // namespace

std::span<const OperatorDeclaration> normalisationDeclarations()
{
    static constexpr std::array kDeclarations{
        OperatorDeclaration{"", "BatchNormalization", 1, 0, "normalisation", true, bindBatchNormalization},
    };
    return kDeclarations;
}

} // namespace retro::ops
