// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/quantisedvalue.h"

#include "core/diagnosis/ways.h"
#include "core/graph/attributes.h"
#include "core/ops/layerkind.h"

#include <algorithm>
#include <cmath>

namespace retro::diagnosis
{

namespace
{

using tensor::DType;

DType typeOfNumber(std::int64_t number)
{
    switch (number) { // ONNX's enumeration of types
    case 3:
        return DType::Int8;
    case 4:
        return DType::UInt16;
    case 5:
        return DType::Int16;
    case 21:
        return DType::UInt4;
    case 22:
        return DType::Int4;
    case 2:
        return DType::UInt8;
    default:
        return DType::Float32;
    }
}

/// The type of a zero point decides; without one the attribute, else uint8.
DType levelType(const Facts& facts, const graph::Node& node)
{
    if (node.inputs.size() > 2 && node.inputs[2].isValid()) {
        const DType declared = facts.graph().value(node.inputs[2]).dtype;
        const Tensor zero = facts.value(node.inputs[2]);
        return zero.isValid() && levelsOf(zero.dtype()) ? zero.dtype() : declared;
    }
    const std::int64_t number = graph::intAttribute(node, "output_dtype", 0);
    return number == 0 ? DType::UInt8 : typeOfNumber(number);
}

/// Index along the axis of scales, of a row-major position.
struct ScaleIndex
{
    std::int64_t inner = 1;
    std::int64_t extent = 1;

    [[nodiscard]] std::size_t of(std::size_t position) const
    {
        return static_cast<std::size_t>(static_cast<std::int64_t>(position) / inner % extent);
    }
};

ScaleIndex scaleIndex(const graph::Node& node, const tensor::Shape& shape, std::size_t scales)
{
    ScaleIndex index;
    if (scales < 2 || shape.empty()) {
        return index;
    }
    const auto rank = static_cast<std::int64_t>(shape.size());
    const std::int64_t axis = graph::intAttribute(node, "axis", 1);
    const auto at = static_cast<std::size_t>(std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank - 1));
    index.extent = static_cast<std::int64_t>(scales);
    for (std::size_t i = at + 1; i < shape.size(); ++i) {
        index.inner *= shape[i];
    }
    return index;
}

bool isQuantiser(const graph::Node& node)
{
    return node.op == "QuantizeLinear" || ops::isDynamicQuantize(node) ||
           (node.domain == "retrograde" && node.op == "FakeQuantize");
}

/// Operand `slot`; empty where the node has none.
std::vector<double> operandNumbers(const Facts& facts, const graph::Node& node, std::size_t slot)
{
    return node.inputs.size() > slot && node.inputs[slot].isValid() ? numbersIn(facts.value(node.inputs[slot]))
                                                                    : std::vector<double>();
}

/// The values as levels, where floats stand for them.
void toLevels(QuantisedValue& quantised, const std::vector<double>& zeros, const ScaleIndex& index)
{
    for (std::size_t i = 0; i < quantised.levels.size(); ++i) {
        const std::size_t at = index.of(i);
        quantised.levels[i] = std::round(quantised.levels[i] / quantised.scales[at]) + zeros[at];
    }
}

/// How many of the exact numbers lie outside the levels. Where they are not there any more, what lies at an end counts.
/// The exact numbers become levels.
void countCut(QuantisedValue& quantised, const std::vector<double>& zeros, const ScaleIndex& index)
{
    const bool isKnown = !quantised.exact.empty();
    for (std::size_t i = 0; i < quantised.levels.size(); ++i) {
        const std::size_t at = index.of(i);
        const double level = isKnown ? quantised.exact[i] / quantised.scales[at] + zeros[at] : quantised.levels[i];
        const bool isAbove = isKnown ? level > quantised.most + 1 : level >= quantised.most;
        const bool isBelow = isKnown ? level < quantised.least - 1 : level <= quantised.least;
        quantised.cut += isAbove || (quantised.countsLeast && isBelow) ? 1 : 0;
        if (isKnown) {
            quantised.exact[i] = std::clamp(level, quantised.least, quantised.most);
        }
    }
}

} // namespace

std::optional<std::pair<double, double>> levelsOf(DType type)
{
    switch (type) {
    case DType::UInt8:
        return std::pair(0.0, 255.0);
    case DType::Int8:
        return std::pair(-128.0, 127.0);
    case DType::UInt16:
        return std::pair(0.0, 65535.0);
    case DType::Int16:
        return std::pair(-32768.0, 32767.0);
    case DType::UInt4:
        return std::pair(0.0, 15.0);
    case DType::Int4:
        return std::pair(-8.0, 7.0);
    default:
        return std::nullopt;
    }
}

std::optional<QuantisedValue> quantisedValueOf(const Facts& facts, NodeId id)
{
    const graph::Graph& graph = facts.graph();
    const graph::Node& node = graph.node(id);
    const bool isSite = isQuantiser(node) && graph.nodeOf(node.inputs.front()).isValid() && reachesTarget(facts, id);
    const Tensor value = isSite ? facts.value(node.outputs.front()) : Tensor();
    if (!value.isValid() || graph::intAttribute(node, "block_size", 0) > 0) {
        return std::nullopt;
    }
    QuantisedValue quantised;
    quantised.levels = numbersIn(value);
    quantised.exact = numbersIn(facts.value(node.inputs.front()));
    if (node.inputs.size() < 2 || !node.inputs[1].isValid()) {
        return quantised; // by its own range: nothing is cut off
    }
    const auto range = levelsOf(levelType(facts, node));
    quantised.scales = numbersIn(facts.value(node.inputs[1]));
    std::vector<double> zeros = operandNumbers(facts, node, 2);
    zeros.resize(quantised.scales.size(), 0);
    const ScaleIndex index = scaleIndex(node, value.shape(), quantised.scales.size());
    const bool fits = static_cast<std::size_t>(index.extent) == std::max<std::size_t>(1, quantised.scales.size());
    if (!range || quantised.scales.empty() || !fits) {
        return std::nullopt;
    }
    quantised.least = range->first;
    quantised.most = range->second;
    // A lower end that stands for 0 is where a rectifier puts what it cuts off.
    quantised.countsLeast =
        range->first < 0 && std::ranges::none_of(zeros, [&](double z) { return z <= range->first; });
    if (node.op == "FakeQuantize") {
        toLevels(quantised, zeros, index);
    }
    countCut(quantised, zeros, index);
    return quantised;
}

} // namespace retro::diagnosis
