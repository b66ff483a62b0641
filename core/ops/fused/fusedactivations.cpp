// SPDX-License-Identifier: Apache-2.0
#include "core/graph/attributes.h"
#include "core/ops/algebra.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/elementwise/activation.h"
#include "core/ops/families.h"
#include "core/ops/fused/standardactivation.h"
#include "core/ops/kernel/filled.h"
#include "core/ops/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

/// Activations that com.microsoft names, and SwiGLU.

namespace retro::ops
{

namespace
{

using graph::Node;
using Functions = std::vector<std::unique_ptr<BoundOperator>>;

/// Elements of a block: a few of them fit a core's own cache.
constexpr std::int64_t kBlock = 32768;

const ElementWise& structureOf(const BoundOperator& op) { return static_cast<const ElementWise&>(op.structure()); }

/// Without gaps, in memory order as it lies.
Tensor dense(const Tensor& x) { return x.isDense() ? x : x.contiguous(); }

class ElementwiseChain final : public Operator<ElementWise>
{
public:
    ElementwiseChain(TensorType type, Functions blocks, Functions rest)
        : Operator(std::move(type)), m_blocks(std::move(blocks)), m_rest(std::move(rest))
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        return {blockwise(operands[0], [](const Functions& functions, Tensor x) {
            for (const auto& function : functions) {
                x = function->run(std::span(&x, 1)).front();
            }
            return x;
        })};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::firstOperand(); }
    [[nodiscard]] Tensor derivative(const Tensor& x, const Tensor&) const override { return blockwise(x, slope); }
    [[nodiscard]] bool derivativeReadsOutput() const override { return false; }

private:
    /// The chain rule on one block, from the last function to the first.
    static Tensor slope(const Functions& functions, const Tensor& x)
    {
        std::vector<Tensor> values{x};
        for (const auto& function : functions) {
            values.push_back(function->run(std::span(&values.back(), 1)).front());
        }
        Tensor product;
        for (std::size_t i = functions.size(); i-- > 0;) {
            const Tensor own = structureOf(*functions[i]).derivative(values[i], values[i + 1]);
            product = product.isValid() ? algebra::multiply(product, own) : own;
        }
        return product;
    }

    template <class F>
    [[nodiscard]] Tensor blockwise(const Tensor& given, const F& f) const
    {
        const Tensor x = dense(given);
        tensor::TensorBuffer made(x.dtype(), x.shape(), x.strides());
        const std::size_t width = tensor::sizeOf(x.dtype());
        for (std::int64_t begin = 0; begin < x.size(); begin += kBlock) {
            const std::int64_t count = std::min(kBlock, x.size() - begin);
            const Tensor block(x.dtype(), {count}, {1}, x.offset() + begin, x.storage());
            const Tensor result = f(count == kBlock ? m_blocks : m_rest, block).contiguous();
            std::memcpy(made.rawData() + static_cast<std::size_t>(begin) * width, result.rawData(),
                        static_cast<std::size_t>(count) * width);
        }
        return std::move(made).freeze();
    }

    Functions m_blocks;
    Functions m_rest; ///< bound to what is left behind the last whole block
};

/// The i-th function as a node of its own.
base::Result<Node> functionNode(const BindContext& context, std::size_t i)
{
    const auto texts = [&](std::string_view name) -> std::string {
        const auto* list = graph::attributeOf<std::vector<std::string>>(context.node, name);
        return list != nullptr && i < list->size() ? (*list)[i] : std::string();
    };
    const std::vector<std::int64_t> opsets = context.intsAttribute("opsets", {});
    Node node;
    node.op = texts("operators");
    node.domain = texts("domains");
    node.name = context.node.name;
    node.opset = i < opsets.size() ? opsets[i] : 0;
    node.inputs = context.node.inputs;
    node.outputs = context.node.outputs;
    const std::string prefix = fmt::format("{}.", i);
    for (const auto& [name, attribute] : context.node.attributes) {
        if (name.starts_with(prefix)) {
            node.attributes[name.substr(prefix.size())] = attribute;
        }
    }
    if (node.op == "ElementwiseChain") {
        return context.error("a chain inside a chain; list its functions one by one");
    }
    return node;
}

base::Result<Functions> functionsFor(const BindContext& context, std::size_t count, std::int64_t elements)
{
    Functions functions;
    const TensorType type{firstType(context).dtype, {elements}};
    for (std::size_t i = 0; i < count; ++i) {
        RETRO_TRY(const Node node, functionNode(context, i));
        const Tensor none;
        RETRO_TRY(auto function, bind({context.graph, context.id, node, std::span(&type, 1), std::span(&none, 1),
                                       context.floatType, nullptr, context.numbers}));
        const StructureKind kind = function->structure().kind();
        const bool isFunction = kind == StructureKind::ElementWise || kind == StructureKind::NoRelevance;
        if (!isFunction || function->outputTypes() != std::vector{type}) {
            return context.error(fmt::format("{} is no function from elements to elements of one type", node.op));
        }
        functions.push_back(std::move(function));
    }
    return functions;
}

/// Binds retrograde.ElementwiseChain: functions of one operand behind each other. `operators`, `domains` and `opsets`
/// name them in order; attributes of the i-th one are `<i>.<name>`. It keeps its operand alone and works block by
/// block, so that what is between the functions never reaches memory. Errors: as those of its functions; one that is
/// not element by element.
BoundResult bindElementwiseChain(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::AllNumbers));
    const std::size_t count = context.intsAttribute("opsets", {}).size();
    if (count == 0) {
        return context.error("it names no functions in `operators`, `domains` and `opsets`");
    }
    const TensorType& type = firstType(context);
    const std::int64_t elements = tensor::elementCount(type.shape);
    RETRO_TRY(Functions blocks, functionsFor(context, count, kBlock));
    RETRO_TRY(Functions rest, functionsFor(context, count, elements % kBlock));
    return bound<ElementwiseChain>(type, std::move(blocks), std::move(rest));
}

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
    [[nodiscard]] auto value(auto x) const { return x * (1 + std::tanh(inner(x))) / 2; }
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

/// As the function of the standard that the node is.
BoundResult bindStandard(const BindContext& context)
{
    const graph::Node node = standardActivation(context.node).value();
    return bind({context.graph, context.id, node, context.operandTypes.first(1), context.constants.first(1),
                 context.floatType, context.source});
}

BoundResult bindContribGelu(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    return bindStandard(context);
}

/// With a bias as operand 1, which may be missing: then it is Gelu by tanh.
template <class F, std::size_t Least>
BoundResult bindBiased(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    if (!context.present(1)) {
        return bindStandard(context);
    }
    RETRO_TRY(const Shape shape, broadcastShape(context, firstType(context).shape, context.operandTypes[1].shape));
    if (shape != firstType(context).shape) {
        return context.error("the bias does not broadcast to operand 0");
    }
    return bound<BiasedActivation<F>>(firstType(context), context.operandTypes[1]);
}

BoundResult bindQuickGelu(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    return bindStandard(context);
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
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    if (context.operandTypes[1].shape != firstType(context).shape) {
        return context.error("both operands must have one shape; insert an Expand");
    }
    LogisticGate gate;
    gate.alpha = context.floatAttribute("alpha", 1);
    return bound<SwiGlu>(firstType(context), gate);
}

} // namespace

std::optional<Node> standardActivation(const Node& node)
{
    const bool hasBias = node.inputs.size() > 1 && node.inputs[1].isValid();
    if (node.domain != "com.microsoft" || hasBias || node.inputs.empty()) {
        return std::nullopt;
    }
    Node standard = node;
    standard.domain.clear();
    standard.inputs.resize(1);
    if (node.op == "Gelu" || node.op == "FastGelu") {
        standard.op = "Gelu";
        standard.opset = 20;
        standard.attributes = {{"approximate", std::string(node.op == "Gelu" ? "none" : "tanh")}};
        return standard;
    }
    if (node.op == "QuickGelu") {
        standard.op = "Swish";
        standard.opset = 24;
        standard.attributes.try_emplace("alpha", 1.702);
        return standard;
    }
    return std::nullopt;
}

const OperatorFamily kFusedActivationOperators{
    {"com.microsoft", "Gelu", 1, 0, "element-wise", true, bindContribGelu},
    {"com.microsoft", "BiasGelu", 1, 0, "composed", true, bindBiased<NormalGate, 2>},
    {"com.microsoft", "FastGelu", 1, 0, "element-wise, composed", true, bindBiased<TanhGate, 1>},
    {"com.microsoft", "QuickGelu", 1, 0, "element-wise", true, bindQuickGelu},
    {"", "SwiGLU", 28, 0, "composed", true, bindSwiGlu},
    {"retrograde", "ElementwiseChain", 1, 0, "element-wise", true, bindElementwiseChain},
};

} // namespace retro::ops
