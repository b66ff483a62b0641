// SPDX-License-Identifier: Apache-2.0
#include "core/trace/targetplace.h"

#include "core/graph/attributes.h"
#include "core/ops/axismap.h"
#include "core/ops/elements.h"
#include "core/ops/layerkind.h"
#include "core/ops/operatoraxes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace retro::trace
{

namespace
{

using base::ValueId;
using graph::Graph;
using graph::Node;

/// Most nodes that are walked over.
constexpr int kMostSteps = 64;

/// The axis that has the classes in the result of a node that says so.
std::optional<std::size_t> saidBy(const Node& node, std::size_t rank)
{
    if (ops::isSoftmax(node)) {
        const std::int64_t axis = intAttribute(node, "axis", node.opset >= 13 ? -1 : 1);
        const std::int64_t counted = axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
        return counted >= 0 && counted < static_cast<std::int64_t>(rank) ? static_cast<std::size_t>(counted) : rank - 1;
    }
    using enum ops::OperatorAxes::Channels;
    const ops::OperatorAxes::Channels classes = ops::operatorAxes(node).classes;
    if (classes == First) {
        return 1;
    }
    return classes == Last ? std::optional(rank - 1) : std::nullopt;
}

/// The operand of a node that has its axes: the first one that is no constant.
ValueId carrierOf(const Graph& graph, const Node& node)
{
    const std::size_t first = ops::areElements(node, {ops::Elements::Chosen}) ? 1 : 0;
    for (std::size_t slot = first; slot < node.inputs.size(); ++slot) {
        const ValueId operand = node.inputs[slot];
        if (operand.isValid() && graph.value(operand).kind != graph::ValueKind::Constant) {
            return operand;
        }
    }
    return {};
}

/// The axis that has the classes; nothing when the graph does not say it.
std::optional<std::size_t> classAxisOf(const Graph& graph, ValueId value, std::size_t rank)
{
    std::vector<const Node*> moves; // Transposes between, the last one first
    std::optional<std::size_t> said;
    for (int step = 0; step < kMostSteps && value.isValid() && !said; ++step) {
        const base::NodeId at = graph.nodeOf(value);
        if (!at.isValid() || graph.isInput(at)) {
            return std::nullopt;
        }
        const Node& node = graph.node(at);
        said = saidBy(node, rank);
        if (said) {
            break;
        }
        if (ops::areElements(node, {ops::Elements::Turned})) {
            moves.push_back(&node);
        } else if (!ops::operatorAxes(node).keepsClasses) {
            return std::nullopt;
        }
        value = carrierOf(graph, node);
    }
    for (auto move = moves.rbegin(); said && move != moves.rend(); ++move) {
        said = ops::axisBehind({**move, rank}, *said);
    }
    return said;
}

std::vector<std::string> positionNames(std::size_t count)
{
    switch (count) {
    case 1:
        return {"token"};
    case 2:
        return {"row", "column"};
    case 3:
        return {"depth", "row", "column"};
    default:
        return {};
    }
}

std::vector<std::string> namesWith(std::size_t rank, std::size_t classes)
{
    if (rank < 2) {
        return std::vector<std::string>(rank, "class");
    }
    const std::vector<std::string> positions = positionNames(rank - 2);
    std::vector<std::string> names{"sample"};
    for (std::size_t axis = 1, next = 0; axis < rank; ++axis) {
        if (axis == classes) {
            names.emplace_back("class");
        } else {
            names.push_back(next < positions.size() ? positions[next] : fmt::format("axis{}", axis));
            ++next;
        }
    }
    return names;
}

std::size_t usualClassAxis(std::size_t rank) { return rank < 4 ? std::max<std::size_t>(rank, 1) - 1 : 1; }

/// The numbers of an element, its class last.
std::string join(const std::vector<std::string>& names, const tensor::Shape& shape, std::int64_t position,
                 std::string_view between, char equals)
{
    if (!isDense(names, shape)) {
        return std::to_string(position);
    }
    const std::vector<std::int64_t> indices = indicesInSample(shape, position);
    std::string text;
    std::string last;
    for (std::size_t i = 0; i < indices.size(); ++i) {
        const std::string one = fmt::format("{}{}{}", names[i + 1], equals, indices[i]);
        if (names[i + 1] == "class") {
            last = one;
        } else {
            text += one;
            text += between;
        }
    }
    return text + last;
}

/// Names of the axes of a run's target, and its shape; empty where nothing is known of it.
std::pair<std::vector<std::string>, tensor::Shape> targetAxes(const Run& run)
{
    const ValueId value = run.facts.targetValue;
    if (!run.graph || !value.isValid() || value.index() >= run.shapes.size()) {
        return {};
    }
    const tensor::Shape& shape = run.shapes[value.index()];
    return {axisNames(*run.graph, value, shape.size()), shape};
}

} // namespace

std::vector<std::string> axisNames(const Graph& graph, ValueId value, std::size_t rank)
{
    const std::optional<std::size_t> said = rank < 2 ? std::nullopt : classAxisOf(graph, value, rank);
    return namesWith(rank, said && *said > 0 ? *said : usualClassAxis(rank)); // axis 0 has the samples
}

std::vector<std::string> usualAxisNames(std::size_t rank) { return namesWith(rank, usualClassAxis(rank)); }

bool isDense(const std::vector<std::string>& names, const tensor::Shape& shape)
{
    for (std::size_t axis = 1; axis < shape.size() && names.size() == shape.size(); ++axis) {
        if (names[axis] != "class" && shape[axis] > 1) {
            return true;
        }
    }
    return false;
}

std::vector<std::int64_t> indicesInSample(const tensor::Shape& shape, std::int64_t position)
{
    std::vector<std::int64_t> indices;
    const std::size_t first = shape.size() < 2 ? 0 : 1;
    for (std::size_t axis = shape.size(); axis > first; --axis) {
        const std::int64_t extent = std::max<std::int64_t>(1, shape[axis - 1]);
        indices.insert(indices.begin(), position % extent);
        position /= extent;
    }
    return indices;
}

std::int64_t classOf(const std::vector<std::string>& names, const tensor::Shape& shape, std::int64_t position)
{
    const auto axis = static_cast<std::size_t>(std::ranges::find(names, "class") - names.begin());
    const bool isNamed = isDense(names, shape) && axis > 0 && axis < shape.size();
    return isNamed ? indicesInSample(shape, position)[axis - 1] : position;
}

std::string placeText(const std::vector<std::string>& names, const tensor::Shape& shape, std::int64_t position)
{
    return join(names, shape, position, ", ", ' ');
}

std::string placeCode(const std::vector<std::string>& names, const tensor::Shape& shape, std::int64_t position)
{
    return join(names, shape, position, ",", '=');
}

std::string placeInTarget(const Run& run, std::int64_t position)
{
    const auto [names, shape] = targetAxes(run);
    return placeText(names, shape, position);
}

std::int64_t classInTarget(const Run& run, std::int64_t position)
{
    const auto [names, shape] = targetAxes(run);
    return classOf(names, shape, position);
}

bool hasDenseTarget(const Run& run)
{
    const auto [names, shape] = targetAxes(run);
    return isDense(names, shape);
}

std::optional<std::int64_t> segmentOf(const Run& run)
{
    const auto found = run.facts.numbers.find(kSegmentNumber);
    return found == run.facts.numbers.end() ? std::nullopt : std::optional(static_cast<std::int64_t>(found->second));
}

std::string targetCode(const Run& run)
{
    if (const auto segment = segmentOf(run)) {
        return fmt::format("segment={}", *segment);
    }
    const auto [names, shape] = targetAxes(run);
    const std::int64_t index = run.facts.targetIndex.empty() ? -1 : run.facts.targetIndex.front();
    if (index < 0) {
        const ValueId value = run.facts.targetValue;
        return run.graph && value.isValid() && value.index() < run.graph->valueCount() ? run.graph->value(value).name
                                                                                       : std::string("argmax");
    }
    return placeCode(names, shape, index);
}

} // namespace retro::trace
