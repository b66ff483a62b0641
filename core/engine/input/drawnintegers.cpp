// SPDX-License-Identifier: Apache-2.0
#include "core/engine/input/drawnintegers.h"

#include "core/graph/attributes.h"
#include "core/ops/elements.h"
#include "core/ops/layerkind.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace retro::engine
{

namespace
{

using base::ValueId;
using graph::Graph;
using graph::Node;
using graph::Use;

/// Both ends included.
using Range = std::pair<std::int64_t, std::int64_t>;

constexpr std::int64_t kLeastDrawn = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kMostDrawn = std::numeric_limits<std::int32_t>::max();
constexpr Range kAnything{kLeastDrawn, kMostDrawn};
/// Deepest way from an input to what reads it.
constexpr int kMostDrawSteps = 64;

using enum ops::Elements;

/// The one number of a constant; nothing of other values.
std::optional<std::int64_t> numberOf(const Graph& graph, const Node& node, std::size_t slot)
{
    if (slot >= node.inputs.size() || !node.inputs[slot].isValid()) {
        return std::nullopt;
    }
    const tensor::Tensor& constant = graph.value(node.inputs[slot]).constant;
    return constant.isValid() && constant.size() == 1 ? std::optional(static_cast<std::int64_t>(constant.at(0)))
                                                      : std::nullopt;
}

/// Declared extents of a table, looked for through what makes it; empty where they are not known.
std::vector<std::int64_t> extentsOf(const Graph& graph, ValueId value, int steps = 0)
{
    const graph::Value& table = graph.value(value);
    std::vector<std::int64_t> extents;
    for (const graph::Dimension& dimension : table.shape.value_or(std::vector<graph::Dimension>())) {
        extents.push_back(dimension.extent.value_or(0));
    }
    const bool isKnown = !extents.empty() && std::ranges::find(extents, 0) == extents.end();
    if (isKnown || !table.producer.isValid() || steps > kMostDrawSteps) {
        return extents;
    }
    const Node& node = graph.node(table.producer);
    const bool keepsShape = ops::areElements(node, {Kept, Converted, Quantised, Multiplied});
    return keepsShape && node.inputs.front().isValid() ? extentsOf(graph, node.inputs.front(), steps + 1) : extents;
}

/// Numbers of the rows of a table along one axis.
Range rowsOf(const Graph& graph, const Node& node, std::size_t table, std::int64_t axis)
{
    const bool isThere = table < node.inputs.size() && node.inputs[table].isValid();
    const std::vector<std::int64_t> extents =
        isThere ? extentsOf(graph, node.inputs[table]) : std::vector<std::int64_t>();
    const auto rank = static_cast<std::int64_t>(extents.size());
    axis += axis < 0 ? rank : 0;
    const bool isKnown = axis >= 0 && axis < rank && extents[static_cast<std::size_t>(axis)] > 0;
    return isKnown ? Range(0, extents[static_cast<std::size_t>(axis)] - 1) : kAnything;
}

Range both(const Range& a, const Range& b) { return {std::max(a.first, b.first), std::min(a.second, b.second)}; }

/// What all readers of a value together allow.
class Readers
{
public:
    bool isChosenBy = false; ///< something compares it, or chooses by it

    Range of(const Graph& graph, ValueId value, int steps = 0)
    {
        Range range = kAnything;
        if (steps > kMostDrawSteps || !m_seen.emplace(&graph, value).second) {
            return range;
        }
        for (const Use& use : graph.uses(value)) {
            range = both(range, of(graph, use, steps + 1));
        }
        return range;
    }

private:
    Range of(const Graph& graph, const Use& use, int steps)
    {
        const Node& node = graph.node(use.node);
        if (const auto inner = innerOf(node, use.slot)) {
            return of(*inner->first, inner->second, steps);
        }
        if (const auto looked = lookedUp(graph, node, use.slot)) {
            return *looked;
        }
        if (ops::combinesTwo(node, {Summed, Subtracted})) {
            return shifted(graph, node, use.slot, steps);
        }
        const bool isChoice = ops::areElements(node, {Chosen});
        if (ops::areElements(node, {Compared}) || ops::isBranch(node) || (isChoice && use.slot == 0)) {
            isChosenBy = true;
            return kAnything;
        }
        const bool isMove = ops::movesElements(node) || ops::areElements(node, {Converted, Padded});
        const bool handsOn = (isMove && use.slot == 0) || isChoice || ops::areElements(node, {Joined});
        return handsOn ? handedOn(graph, node, steps) : kAnything;
    }

    /// Of what chooses a row by the operand; nothing for other operators and operands.
    static std::optional<Range> lookedUp(const Graph& graph, const Node& node, std::uint32_t slot)
    {
        if (slot == 1 && (node.op == "Gather" || node.op == "GatherElements")) {
            return rowsOf(graph, node, 0, graph::intAttribute(node, "axis", 0));
        }
        if (node.op == "OneHot" && slot == 0) {
            return Range(0, std::max<std::int64_t>(numberOf(graph, node, 1).value_or(kMostDrawn) - 1, 0));
        }
        return std::nullopt;
    }

    /// The value of a nested graph that a captured operand is there.
    static std::optional<std::pair<const Graph*, ValueId>> innerOf(const Node& node, std::uint32_t slot)
    {
        for (const auto& [name, attribute] : node.attributes) {
            const auto* nested = std::get_if<graph::Subgraph>(&attribute);
            if (nested == nullptr || nested->captured == 0 || slot + nested->captured < node.inputs.size()) {
                continue;
            }
            const auto inputs = nested->graph->inputs();
            const std::size_t fromEnd = node.inputs.size() - slot;
            if (fromEnd <= inputs.size()) {
                return std::pair(nested->graph.get(), inputs[inputs.size() - fromEnd]);
            }
        }
        return std::nullopt;
    }

    Range handedOn(const Graph& graph, const Node& node, int steps)
    {
        Range range = kAnything;
        for (const ValueId output : node.outputs) {
            range = output.isValid() ? both(range, of(graph, output, steps)) : range;
        }
        return range;
    }

    /// x + c and x − c: what the result may be, moved back. 1 − x is a mask that is turned over.
    Range shifted(const Graph& graph, const Node& node, std::uint32_t slot, int steps)
    {
        const std::optional<std::int64_t> other = numberOf(graph, node, slot == 0 ? 1 : 0);
        if (!other) {
            return kAnything;
        }
        const bool isDifference = ops::areElements(node, {Subtracted});
        if (isDifference && slot == 1) {
            isChosenBy = isChosenBy || *other == 1;
            return kAnything;
        }
        const Range range = handedOn(graph, node, steps);
        const std::int64_t by = isDifference ? -*other : *other;
        return range == kAnything ? range : Range(range.first - by, range.second - by);
    }

    std::set<std::pair<const Graph*, ValueId>> m_seen;
};

bool says(std::string name, std::string_view word)
{
    std::ranges::transform(name, name.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    return name.find(word) != std::string::npos;
}

/// What the type alone allows.
Range ofType(tensor::DType dtype)
{
    switch (dtype) {
    case tensor::DType::UInt8:
        return {0, 255};
    case tensor::DType::Int8:
        return {-128, 127};
    default:
        return {0, 1};
    }
}

} // namespace

IntegerRange integersFor(const Graph& graph, ValueId input, std::int64_t length)
{
    const graph::Value& value = graph.value(input);
    Readers readers;
    const Range read = readers.of(graph, input);
    const bool isBounded = read.second < kMostDrawn && read.first <= read.second;
    if (isBounded) { // rows of a table; those behind x + c begin below 0, and negative numbers count from its end
        return {std::max<std::int64_t>(read.first, 0), std::max<std::int64_t>(read.second, 0), false};
    }
    const bool isMask = value.dtype == tensor::DType::Bool || readers.isChosenBy || says(value.name, "mask");
    if (isMask) {
        return {0, 1, says(value.name, "mask") || value.dtype != tensor::DType::Bool};
    }
    if (says(value.name, "position") || says(value.name, "pos_id")) {
        return {0, std::max<std::int64_t>(length - 1, 0), false};
    }
    const Range whole = ofType(value.given ? value.given->type : value.dtype);
    return {whole.first, whole.second, false};
}

} // namespace retro::engine
