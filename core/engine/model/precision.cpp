// SPDX-License-Identifier: Apache-2.0
#include "core/engine/model/precision.h"

#include "core/ops/kernel/roundnumbers.h"
#include "core/ops/numbertypes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace retro::engine
{

using execute::Precision;
using tensor::DType;

namespace
{

/// The largest number of a type, for messages.
std::string_view largestOf(DType type)
{
    switch (type) {
    case DType::Float16:
        return "65504";
    case DType::BFloat16:
        return "3.39e38";
    default:
        return "3.40e38";
    }
}

} // namespace

Precision precisionOf(const LoadedModel& model)
{
    return ops::computesInFloat64(*model.graph()) ? Precision::Declared : Precision::Float;
}

std::vector<std::string> roundedTypes(const graph::Graph& graph, Precision precision)
{
    std::vector<std::string> names;
    if (precision == Precision::Double) {
        return names;
    }
    const std::vector<DType> types = ops::numberTypes(graph);
    for (const DType type : {DType::Float32, DType::Float16, DType::BFloat16}) {
        const bool isThere =
            ops::isWiderThan(execute::dtypeOf(precision), type) && std::ranges::find(types, type) != types.end();
        if (isThere) {
            names.emplace_back(tensor::nameOf(type));
        }
    }
    return names;
}

std::string precisionText(const graph::Graph& graph, Precision precision)
{
    std::string text(tensor::nameOf(execute::dtypeOf(precision)));
    if (precision == Precision::Declared) {
        text += ", which the model has";
    }
    const std::vector<std::string> rounded = roundedTypes(graph, precision);
    if (!rounded.empty()) {
        text += fmt::format("; {} values are rounded to their type behind every operator", fmt::join(rounded, ", "));
    }
    return text;
}

std::string overflowWarning(const graph::Graph& graph, const std::optional<execute::OverflowedValue>& overflow)
{
    if (!overflow) {
        return {};
    }
    const graph::Node& node = graph.node(overflow->node);
    return fmt::format("node '{}' ({}): its result \"{}\" is {} in the model, whose largest number is {}; {} of its "
                       "elements {} beyond that and became infinite, as the model says. It is the first node where "
                       "this happens; --precision double computes without the types of the model",
                       node.name, node.op, graph.value(overflow->value).name, tensor::nameOf(overflow->type),
                       largestOf(overflow->type), overflow->count, overflow->count == 1 ? "was" : "were");
}

} // namespace retro::engine
