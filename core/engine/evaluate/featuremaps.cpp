// SPDX-License-Identifier: Apache-2.0
#include "core/engine/evaluate/featuremaps.h"

#include "core/graph/attributes.h"
#include "core/graph/walkback.h"
#include "core/ops/operatoraxes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace retro::engine
{

using base::Result;
using base::ValueId;

namespace
{

constexpr std::size_t kLeastRank = 3; ///< samples, channels, places

/// True where two shapes differ along one axis at most: what a layer, an activation or a slice does to its operand.
bool areAlike(const tensor::Shape& a, const tensor::Shape& b)
{
    std::size_t others = a.size() == b.size() ? 0 : 2;
    for (std::size_t axis = 0; axis < std::min(a.size(), b.size()); ++axis) {
        others += a[axis] == b[axis] ? 0 : 1;
    }
    return others < 2;
}

/// The operand whose axes a node's result has as well; invalid where it has none.
ValueId operandOfSameAxes(const execute::BoundModel& model, const graph::Node& node)
{
    const tensor::Shape& shape = model.typeOf(node.outputs.front()).shape;
    const auto found = std::ranges::find_if(node.inputs, [&](ValueId operand) {
        return operand.isValid() && !model.isConstant(operand) &&
               (node.op == "Transpose" || areAlike(model.typeOf(operand).shape, shape));
    });
    return found == node.inputs.end() ? ValueId() : *found;
}

/// Where an axis goes in a Transpose; nothing without a permutation.
std::optional<std::size_t> turned(const graph::Node& transpose, std::size_t axis)
{
    const auto* list = graph::attributeOf<std::vector<std::int64_t>>(transpose, "perm");
    if (list == nullptr) {
        return std::nullopt;
    }
    return static_cast<std::size_t>(std::ranges::find(*list, static_cast<std::int64_t>(axis)) - list->begin());
}

/// The axis of the channels, followed back to what gives axes their meaning; nothing where the way ends before.
std::optional<std::size_t> channelAxisOf(const execute::BoundModel& model, ValueId value)
{
    const graph::Graph& graph = model.graph();
    std::vector<const graph::Node*> transposes; // on the way
    while (true) {
        const base::NodeId id = graph.nodeOf(value);
        if (!id.isValid() || graph.isInput(id)) {
            return std::nullopt;
        }
        const graph::Node& node = graph.node(id);
        if (ops::operatorAxes(node.op).classes == ops::OperatorAxes::Channels::First) {
            break;
        }
        if (node.op == "Transpose") {
            transposes.push_back(&node);
        }
        value = operandOfSameAxes(model, node);
        if (!value.isValid()) {
            return std::nullopt;
        }
    }
    std::optional<std::size_t> axis = 1;
    for (auto node = transposes.rbegin(); axis && node != transposes.rend(); ++node) {
        axis = turned(**node, *axis);
    }
    return axis;
}

/// Places of a value with channels along an axis.
std::int64_t placeCount(const tensor::Shape& shape, std::size_t channels)
{
    std::int64_t places = 1;
    for (std::size_t axis = 1; axis < shape.size(); ++axis) {
        places *= axis == channels ? 1 : shape[axis];
    }
    return places;
}

Result<FeatureMap> namedMap(const execute::BoundModel& model, const std::string& name)
{
    const std::string where = fmt::format("value \"{}\"", name);
    const auto value = model.graph().findValue(name);
    if (!value) {
        return base::usageError(
            "the graph has no value of this name; the output of a convolution that a rewrite merged "
            "with its normalisation has that one's name (--no-rewrite keeps both)",
            where);
    }
    const std::optional<std::size_t> axis = channelAxisOf(model, *value);
    if (!axis || model.typeOf(*value).shape.size() < kLeastRank) {
        return base::usageError("Grad-CAM needs channels and places, and nothing says which axes of this value they "
                                "are; name the output of a convolution, or of what follows it",
                                where);
    }
    return FeatureMap{name, *axis};
}

} // namespace

Result<FeatureMap> featureMapOf(const execute::BoundModel& model, ValueId target, const std::string& wanted)
{
    if (!wanted.empty()) {
        return namedMap(model, wanted);
    }
    const auto isMap = [&](ValueId value) {
        const tensor::Shape& shape = model.typeOf(value).shape;
        const std::optional<std::size_t> axis =
            model.isTracked(value) && shape.size() >= kLeastRank ? channelAxisOf(model, value) : std::nullopt;
        return axis && placeCount(shape, *axis) > 1;
    };
    ValueId last;
    graph::walkBack(model.graph(), target, [&](ValueId value) {
        const base::NodeId node = model.graph().nodeOf(value);
        if (model.isConstant(value) || !node.isValid() || model.graph().isInput(node) || !isMap(value)) {
            return graph::Walk::GoOn;
        }
        const bool isLater = !last.isValid() || model.graph().nodeOf(last).index() < node.index();
        last = isLater ? value : last;
        return graph::Walk::Turn;
    });
    const std::string where = fmt::format("value \"{}\"", model.graph().value(target).name);
    if (!last.isValid()) {
        return base::usageError("Grad-CAM needs channels and places, and no convolution or pooling makes such a value "
                                "before the target; shapley, occlusion and lrp need none",
                                where);
    }
    if (last == target) {
        return base::usageError("the target has places itself, so there is no last value before they are pooled; name "
                                "the value to explain by: gradcam:VALUE",
                                where);
    }
    return FeatureMap{model.graph().value(last).name, channelAxisOf(model, last).value_or(1)};
}

} // namespace retro::engine
