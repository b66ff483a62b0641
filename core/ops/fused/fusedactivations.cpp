// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/elementwise/activation.h"
#include "core/ops/families.h"
#include "core/ops/fused/elementwisechain.h"
#include "core/ops/kernel/filled.h"
#include "core/ops/registry.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numbers>

/// Activations that com.microsoft names, and SwiGLU.
namespace retro::ops
{

namespace
{

using tensor::Shape;

/// x·Φ(x) with the normal distribution function Φ.
struct NormalGate : ReadsOperand
{
    template <class T>
    [[nodiscard]] T value(T x) const
    {
        return x * (1 + std::erf(x * std::numbers::sqrt2_v<T> / 2)) / 2;
    }
    template <class T>
    [[nodiscard]] T slope(T x) const
    {
        const T density = std::exp(-x * x / 2) * std::numbers::inv_sqrtpi_v<T> * std::numbers::sqrt2_v<T> / 2;
        return (1 + std::erf(x * std::numbers::sqrt2_v<T> / 2)) / 2 + x * density;
    }
};

/// The tanh form of it: x/2·(1 + tanh(√(2/π)·(x + 0.044715·x³))).
struct TanhGate : ReadsOperand
{
    template <class T>
    [[nodiscard]] static T inner(T x)
    {
        const T factor = std::numbers::sqrt2_v<T> * std::numbers::inv_sqrtpi_v<T>;
        return factor * (x + static_cast<T>(0.044715) * x * x * x);
    }
    template <class T>
    [[nodiscard]] T value(T x) const
    {
        return x * (1 + std::tanh(inner(x))) / 2;
    }
    template <class T>
    [[nodiscard]] T slope(T x) const
    {
        const T factor = std::numbers::sqrt2_v<T> * std::numbers::inv_sqrtpi_v<T>;
        const T t = std::tanh(inner(x));
        return (1 + t) / 2 + x * (1 - t * t) * factor * (1 + static_cast<T>(3 * 0.044715) * x * x) / 2;
    }
};

/// x·σ(αx).
struct LogisticGate : ReadsOperand
{
    double alpha = 1;

    template <class T>
    [[nodiscard]] T value(T x) const
    {
        return x / (1 + std::exp(-static_cast<T>(alpha) * x));
    }
    template <class T>
    [[nodiscard]] T slope(T x) const
    {
        const T s = 1 / (1 + std::exp(-static_cast<T>(alpha) * x));
        return s + static_cast<T>(alpha) * x * s * (1 - s);
    }
};

/// An activation of operand + bias (operand 1, broadcast).
template <class F>
class BiasedActivation final : public Operator<Composed>
{
public:
    BiasedActivation(const TensorType& output, TensorType bias)
        : Operator(output), m_activation(output, F{}), m_bias(std::move(bias))
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const Tensor sum = algebra::addBroadcast(operands[0], operands[1]);
        return m_activation.forward({&sum, 1});
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::allOperands(); }
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                                  std::size_t slot) const override
    {
        const Tensor slope = m_activation.derivative(algebra::addBroadcast(operands[0], operands[1]), {});
        const Tensor gradient = algebra::multiply(s[0], slope);
        return slot == 0 ? gradient : algebra::reduceTo(gradient, m_bias.shape);
    }

private:
    Activation<F> m_activation;
    TensorType m_bias;
};

/// The function of the standard that an operator of another name is.
BoundResult boundAs(const BindContext& context, const char* op, std::int64_t opset, graph::Attributes attributes)
{
    graph::Node node = context.node;
    node.domain.clear();
    node.op = op;
    node.opset = opset;
    node.attributes = std::move(attributes);
    node.inputs.resize(1);
    return bind({context.graph, context.id, node, context.operandTypes.first(1), context.constants.first(1),
                 context.floatType, context.source});
}

BoundResult bindContribGelu(const BindContext& context)
{
    RETRO_CHECK(expect(context, {.types = OperandTypes::Floats}));
    return boundAs(context, "Gelu", 20, {});
}

/// With a bias as operand 1, which may be missing: then it is Gelu by tanh.
template <class F, std::size_t Least>
BoundResult bindBiased(const BindContext& context)
{
    RETRO_CHECK(expect(context, {.least = Least, .most = 2, .types = OperandTypes::Floats}));
    if (!context.present(1)) {
        return boundAs(context, "Gelu", 20, {{"approximate", std::string("tanh")}});
    }
    RETRO_TRY(const Shape shape, broadcastShape(context, firstType(context).shape, context.operandTypes[1].shape));
    if (shape != firstType(context).shape) {
        return context.error("the bias does not broadcast to operand 0");
    }
    return bound<BiasedActivation<F>>(firstType(context), context.operandTypes[1]);
}

BoundResult bindQuickGelu(const BindContext& context)
{
    RETRO_CHECK(expect(context, {.types = OperandTypes::Floats, .attributes = {{"alpha", AttributeKind::Float}}}));
    return boundAs(context, "Swish", 24, {{"alpha", context.floatAttribute("alpha", 1.702)}});
}

/// a·σ(αa)·b of two operands of one shape.
class SwiGlu final : public Operator<Composed>
{
public:
    SwiGlu(const TensorType& output, const LogisticGate& gate) : Operator(output), m_gate(output, gate) {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        return {algebra::multiply(m_gate.forward(operands.first(1)).front(), operands[1])};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::allOperands(); }
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                                  std::size_t slot) const override
    {
        if (slot == 1) {
            return algebra::multiply(s[0], m_gate.forward(operands.first(1)).front());
        }
        return algebra::multiply(algebra::multiply(s[0], m_gate.derivative(operands[0], {})), operands[1]);
    }

private:
    Activation<LogisticGate> m_gate;
};

BoundResult bindSwiGlu(const BindContext& context)
{
    RETRO_CHECK(expect(
        context,
        {.least = 2, .most = 2, .types = OperandTypes::Floats, .attributes = {{"alpha", AttributeKind::Float}}}));
    if (context.operandTypes[1].shape != firstType(context).shape) {
        return context.error("both operands must have one shape; insert an Expand");
    }
    LogisticGate gate;
    gate.alpha = context.floatAttribute("alpha", 1);
    return bound<SwiGlu>(firstType(context), gate);
}

} // namespace

std::span<const OperatorDeclaration> fusedActivationDeclarations()
{
    static constexpr std::string_view kDomain = "com.microsoft";
    static constexpr std::array kDeclarations{
        OperatorDeclaration{kDomain, "Gelu", 1, 0, "element-wise", true, bindContribGelu},
        OperatorDeclaration{kDomain, "BiasGelu", 1, 0, "composed", true, bindBiased<NormalGate, 2>},
        OperatorDeclaration{kDomain, "FastGelu", 1, 0, "element-wise, composed", true, bindBiased<TanhGate, 1>},
        OperatorDeclaration{kDomain, "QuickGelu", 1, 0, "element-wise", true, bindQuickGelu},
        OperatorDeclaration{"", "SwiGLU", 28, 0, "composed", true, bindSwiGlu},
        OperatorDeclaration{"retrograde", "ElementwiseChain", 1, 0, "element-wise", true, bindElementwiseChain},
    };
    return kDeclarations;
}

} // namespace retro::ops
