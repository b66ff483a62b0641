// SPDX-License-Identifier: Apache-2.0
#include "core/tape/gradientgraph/floattypes.h"

#include <array>
#include <optional>
#include <utility>

namespace retro::tape
{

using graph::Graph;
using graph::Node;
using graph::ValueId;
using graph::ValueKind;
using tensor::DType;

namespace
{

constexpr std::array<std::pair<std::int64_t, DType>, 4> kFloatNumbers{
    {{1, DType::Float32}, {10, DType::Float16}, {11, DType::Float64}, {16, DType::BFloat16}}};

std::optional<DType> castTo(const Node& node)
{
    const auto at = node.attributes.find("to");
    const auto* number = at == node.attributes.end() ? nullptr : std::get_if<std::int64_t>(&at->second);
    for (const auto& [known, type] : kFloatNumbers) {
        if (node.op == "Cast" && number != nullptr && known == *number) {
            return type;
        }
    }
    return std::nullopt;
}

/// Of the results: that of a cast, else that of the first floating operand.
std::optional<DType> resultType(const Node& node, const std::vector<DType>& types)
{
    if (node.domain.empty() && node.op == "Cast") {
        return castTo(node);
    }
    const std::size_t first = node.domain.empty() && node.op == "CastLike" ? 1 : 0;
    for (std::size_t slot = first; slot < node.inputs.size(); ++slot) {
        const ValueId operand = node.inputs[slot];
        if (operand.isValid() && tensor::isFloating(types[operand.index()])) {
            return types[operand.index()];
        }
    }
    return std::nullopt;
}

} // namespace

std::vector<DType> floatTypes(const Graph& graph)
{
    std::vector<DType> types;
    for (std::size_t i = 0; i < graph.valueCount(); ++i) {
        const graph::Value& value = graph.value(ValueId(i));
        types.push_back(value.kind == ValueKind::Constant ? value.constant.dtype() : value.dtype);
    }
    for (const Node& node : graph.nodes()) {
        const std::optional<DType> type = resultType(node, types);
        for (const ValueId output : node.outputs) {
            if (type && output.isValid()) {
                types[output.index()] = *type;
            }
        }
    }
    return types;
}

std::int64_t onnxNumber(DType type)
{
    for (const auto& [number, known] : kFloatNumbers) {
        if (known == type) {
            return number;
        }
    }
    return kFloatNumbers.front().first;
}

} // namespace retro::tape
