// SPDX-License-Identifier: Apache-2.0
#include "core/graph/attributes.h"
#include "core/ops/algebra.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/filled.h"
#include "core/ops/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

/// Chains of functions.

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

} // namespace

const OperatorFamily kFusedActivationOperators{
    {"retrograde", "ElementwiseChain", 1, 0, "element-wise", true, bindElementwiseChain},
};

} // namespace retro::ops
