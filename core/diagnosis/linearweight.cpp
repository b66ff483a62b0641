// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/linearweight.h"
#include "core/graph/attributes.h"
#include "core/ops/layerkind.h"

#include <algorithm>
#include <cmath>

namespace retro::diagnosis
{

namespace
{

/// Grouped, transposed: channel m of each group has its own column in the rows of its group.
std::vector<double> transposedNorms(const LinearWeight& linear)
{
    const tensor::Shape& shape = linear.weight.shape();
    const std::int64_t rows = shape[0];
    const std::int64_t perGroup = shape[1];
    const std::int64_t inner = rows * perGroup > 0 ? linear.weight.size() / (rows * perGroup) : 0;
    const std::int64_t rowsOfGroup = std::max<std::int64_t>(1, rows / std::max<std::int64_t>(1, linear.group));
    std::vector<double> squares(static_cast<std::size_t>(linear.group * perGroup));
    const std::vector<double> numbers = numbersIn(linear.weight);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i) / inner;
        const auto channel = static_cast<std::size_t>((at / perGroup) / rowsOfGroup * perGroup + at % perGroup);
        if (channel < squares.size()) {
            squares[channel] += numbers[i] * numbers[i];
        }
    }
    std::ranges::for_each(squares, [](double& x) { x = std::sqrt(x); });
    return squares;
}

/// Where the channels of the weight are, and its groups.
void setAxes(LinearWeight& linear, const graph::Node& node)
{
    const std::size_t rank = linear.weight.rank();
    if (node.op == "Conv") {
        linear.group = std::max<std::int64_t>(1, graph::intAttribute(node, "group", 1));
    } else if (node.op == "ConvTranspose") {
        linear.group = std::max<std::int64_t>(1, graph::intAttribute(node, "group", 1));
        linear.outputAxis = 1;
        linear.inputAxis = 0;
    } else if (node.op == "Gemm") {
        const bool isTurned = graph::intAttribute(node, "transB", 0) != 0;
        linear.outputAxis = isTurned ? 0 : 1;
        linear.inputAxis = isTurned ? 1 : 0;
    } else {
        linear.outputAxis = linear.slot == 1 ? rank - 1 : rank - 2;
        linear.inputAxis = linear.slot == 1 ? rank - 2 : rank - 1;
    }
}

} // namespace

std::vector<double> LinearWeight::outputNorms(const ModelFacts& model) const
{
    return group > 1 && outputAxis == 1 ? transposedNorms(*this) : model.norms(weight, outputAxis);
}

std::optional<LinearWeight> linearWeightOf(const ModelFacts& model, const graph::Node& node)
{
    LinearWeight linear;
    const bool isConvolution = ops::isConvolution(node);
    if (!node.domain.empty() || (!isConvolution && node.op != "Gemm" && node.op != "MatMul")) {
        return std::nullopt;
    }
    linear.weight = model.weightOperand(node, 1);
    if (node.op == "MatMul" && !linear.weight.isValid()) {
        linear.slot = 0;
        linear.weight = model.weightOperand(node, 0);
    }
    if (!linear.weight.isValid() || linear.weight.rank() < 2) {
        return std::nullopt;
    }
    setAxes(linear, node);
    return linear;
}

} // namespace retro::diagnosis
