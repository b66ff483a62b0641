// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/operandcheck.h"

#include "core/rewrite/attributes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace retro::rewrite
{

namespace
{

using graph::Node;

/// Operators that the passes look into, by the operands that they cannot do without.
constexpr std::array<std::string_view, 30> kOne{
    "Cast",        "Clip",       "ConstantOfShape", "Dropout",   "Erf",     "Exp",   "Gelu",
    "HardSigmoid", "HardSwish",  "Identity",        "IsNaN",     "Max",     "Min",   "Mish",
    "Neg",         "Reciprocal", "ReduceMean",      "ReduceSum", "Relu",    "Shape", "Sigmoid",
    "Slice",       "Softmax",    "Softplus",        "Sqrt",      "Squeeze", "Swish", "Tanh",
    "Transpose",   "Unsqueeze"};
constexpr std::array<std::string_view, 15> kTwo{
    "Add", "Conv", "ConvTranspose",    "Div",     "Equal", "Expand", "Gather", "Gemm", "LayerNormalization", "MatMul",
    "Mul", "Pow",  "RMSNormalization", "Reshape", "Sub"};
constexpr std::array<std::string_view, 2> kThree{"Attention", "Where"};

std::size_t neededBy(const Node& node)
{
    if (node.op == "Reshape" && node.opset < 5) { // the shape was an attribute
        return 1;
    }
    if (node.op == "Einsum") {
        const auto equation = attributeOr<std::string>(node, "equation", "");
        return 1 + static_cast<std::size_t>(std::ranges::count(equation.substr(0, equation.find("->")), ','));
    }
    if (node.op == "BatchNormalization") {
        return 5;
    }
    const auto isAmong = [&](const auto& names) { return std::ranges::find(names, node.op) != names.end(); };
    if (isAmong(kOne)) {
        return 1;
    }
    return isAmong(kTwo) ? 2 : (isAmong(kThree) ? 3 : 0);
}

} // namespace

std::optional<std::string> lackingOperands(const graph::Graph& graph)
{
    for (const Node& node : graph.nodes()) {
        if (!node.domain.empty()) { // passes ask of other domains what they need
            continue;
        }
        const std::size_t needed = neededBy(node);
        const auto end = node.inputs.begin() + static_cast<std::ptrdiff_t>(std::min(needed, node.inputs.size()));
        const auto given = static_cast<std::size_t>(
            std::count_if(node.inputs.begin(), end, [](graph::ValueId id) { return id.isValid(); }));
        if (given < needed) {
            return fmt::format("{} ({}) has {} of {} operands", node.name, node.op, given, needed);
        }
    }
    return std::nullopt;
}

} // namespace retro::rewrite
