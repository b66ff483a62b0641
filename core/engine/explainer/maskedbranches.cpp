// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explainer/maskedbranches.h"

#include "core/ops/elements.h"
#include "core/ops/structure.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <string_view>

namespace retro::engine
{

using base::NodeId;
using graph::Node;
using graph::ValueId;

namespace
{

constexpr std::array<std::string_view, 9> kMakers{"Acos", "Acosh", "Asin", "Atanh",     "Exp",
                                                  "Log",  "Pow",   "Sqrt", "Reciprocal"};

using enum ops::Elements;

bool isChoice(const Node& node) { return ops::areElements(node, {Chosen}); }

bool makesWrong(const execute::BoundModel& model, const Node& node)
{
    const bool isQuotient = ops::areElements(node, {Divided}) && !model.isConstant(node.inputs[1]);
    return node.domain.empty() && (isQuotient || std::ranges::find(kMakers, node.op) != kMakers.end());
}

} // namespace

MaskedBranches::MaskedBranches(const execute::BoundModel& model)
    : m_mayBeWrong(model.graph().valueCount(), false), m_isReplaced(model.graph().valueCount(), false)
{
    const graph::Graph& graph = model.graph();
    const auto isOne = [](const std::vector<bool>& of, const std::vector<ValueId>& values) {
        return std::ranges::any_of(values, [&](ValueId value) { return value.isValid() && of[value.index()]; });
    };
    for (const Node& node : graph.nodes()) {
        const bool isWrong = !isChoice(node) && (makesWrong(model, node) || isOne(m_mayBeWrong, node.inputs));
        for (const ValueId output : node.outputs) {
            if (output.isValid()) {
                m_mayBeWrong[output.index()] = isWrong && tensor::isFloating(model.typeOf(output).dtype);
            }
        }
    }
    for (const Node& node : graph.nodes() | std::views::reverse) {
        const bool isReplaced = isChoice(node) || isOne(m_isReplaced, node.outputs);
        for (const ValueId input : node.inputs) {
            if (input.isValid() && isReplaced) {
                m_isReplaced[input.index()] = true;
            }
        }
    }
}

bool isOfPlaces(const execute::BoundModel& model, NodeId node)
{
    return model.op(node).structure().kind() == ops::StructureKind::Normalisation ||
           ops::areElements(model.graph().node(node),
                            {Bounded, Function, Combined, Summed, Subtracted, Multiplied, Divided});
}

} // namespace retro::engine
