// SPDX-License-Identifier: Apache-2.0
#include "core/engine/evaluate/attribution.h"
#include "core/engine/evaluate/subject.h"
#include "core/graph/attributes.h"
#include "core/graph/walkback.h"
#include "core/ops/axismap.h"
#include "core/ops/elements.h"
#include "core/ops/operatoraxes.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

/// Grad-CAM as pytorch-grad-cam 1.5 computes it (base_cam.py, grad_cam_plusplus.py, utils/image.py).

namespace retro::engine
{

using base::Result;
using base::ValueId;
using tensor::Shape;
using tensor::Tensor;

namespace
{

/// A value with channels and places: a feature map.
struct FeatureMap
{
    std::string name;
    std::size_t channels = 1; ///< the axis that has them; the others, but for the first one, are places
};

constexpr std::size_t kLeastRank = 3; ///< samples, channels, places

using enum ops::Elements;

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
               (ops::areElements(node, {Turned}) || areAlike(model.typeOf(operand).shape, shape));
    });
    return found == node.inputs.end() ? ValueId() : *found;
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
        if (ops::operatorAxes(node).classes == ops::OperatorAxes::Channels::First) {
            break;
        }
        if (ops::areElements(node, {Turned})) {
            transposes.push_back(&node);
        }
        value = operandOfSameAxes(model, node);
        if (!value.isValid()) {
            return std::nullopt;
        }
    }
    std::optional<std::size_t> axis = 1;
    for (auto node = transposes.rbegin(); axis && node != transposes.rend(); ++node) {
        axis = ops::axisBehind({**node, model.typeOf((*node)->inputs.front()).shape.size()}, *axis);
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

/// The feature map that a target is explained by: the value of that name, else the last one before the target with more
/// than one place (what pooling over all places reads). Errors (Usage): no such value; one whose axes nothing names; no
/// such value before the target, or a target that has places itself.
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

constexpr double kScaleEpsilon = 1e-7;    ///< of scale_cam_image()
constexpr double kPositiveEpsilon = 1e-6; ///< of GradCAMPlusPlus

using Numbers = std::vector<double>;

/// A value of one sample, channel by channel.
struct Channels
{
    std::size_t count = 0;
    Shape places;
    Numbers values;

    [[nodiscard]] std::span<const double> of(std::size_t channel) const
    {
        const auto size = static_cast<std::size_t>(tensor::elementCount(places));
        return std::span(values).subspan(channel * size, size);
    }
};

Channels byChannel(const Tensor& value, std::size_t axis)
{
    std::vector<std::int64_t> order(value.rank());
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::rotate(order.begin() + 1, order.begin() + static_cast<std::ptrdiff_t>(axis),
                order.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
    const Tensor plain = value.permuted(order);
    Channels channels{
        static_cast<std::size_t>(plain.shape()[1]), Shape(plain.shape().begin() + 2, plain.shape().end()), {}};
    for (std::int64_t i = 0; i < plain.size(); ++i) {
        channels.values.push_back(plain.at(i));
    }
    return channels;
}

double meanWeight(std::span<const double> gradient)
{
    return std::accumulate(gradient.begin(), gradient.end(), 0.0) / static_cast<double>(gradient.size());
}

/// Equation 19 of Chattopadhay et al. 2018, for a score that is an exponential.
double positiveWeight(std::span<const double> activation, std::span<const double> gradient)
{
    const double sum = std::accumulate(activation.begin(), activation.end(), 0.0);
    double weight = 0;
    for (const double g : gradient) {
        const double share = g * g / (2 * g * g + sum * g * g * g + kPositiveEpsilon);
        weight += g > 0 ? share * g : 0;
    }
    return weight;
}

/// To 0 … 1.
void toUnitRange(Numbers& map)
{
    const double least = *std::ranges::min_element(map);
    const double range = *std::ranges::max_element(map) - least + kScaleEpsilon;
    std::ranges::transform(map, map.begin(), [&](double value) { return (value - least) / range; });
}

/// Along one axis from `extent` to `wanted`, linear between the middles of the places (as OpenCV's resize).
Numbers resizedAlong(const Numbers& map, std::int64_t outer, std::int64_t extent, std::int64_t wanted)
{
    const std::int64_t inner = static_cast<std::int64_t>(map.size()) / (outer * extent);
    Numbers result(static_cast<std::size_t>(outer * wanted * inner));
    for (std::int64_t to = 0; to < wanted; ++to) {
        const double at =
            (static_cast<double>(to) + 0.5) * static_cast<double>(extent) / static_cast<double>(wanted) - 0.5;
        const double inside = std::clamp(at, 0.0, static_cast<double>(extent - 1));
        const auto low = static_cast<std::int64_t>(inside);
        const std::int64_t high = std::min(low + 1, extent - 1);
        const double share = inside - static_cast<double>(low);
        for (std::int64_t i = 0; i < outer * inner; ++i) {
            const std::int64_t first = i / inner * extent * inner + i % inner;
            result[static_cast<std::size_t>((i / inner * wanted + to) * inner + i % inner)] =
                (1 - share) * map[static_cast<std::size_t>(first + low * inner)] +
                share * map[static_cast<std::size_t>(first + high * inner)];
        }
    }
    return result;
}

Numbers resizedTo(Numbers map, Shape places, const Shape& wanted)
{
    std::int64_t outer = 1;
    for (std::size_t axis = 0; axis < places.size(); ++axis) {
        map = resizedAlong(map, outer, places[axis], wanted[axis]);
        outer *= wanted[axis];
    }
    return map;
}

class GradCam final : public Attribution
{
public:
    GradCam(CamWeights weights, std::string value) : m_weights(weights), m_value(std::move(value)) {}

    [[nodiscard]] std::string_view name() const override
    {
        return m_weights == CamWeights::Mean ? "gradcam" : "gradcam++";
    }
    /// The gradient of one value needs no relevance of the composite.
    [[nodiscard]] Passes passes() const override { return Passes::Forward; }
    [[nodiscard]] bool takesTokens() const override { return false; }

    [[nodiscard]] Result<Attributed> attribute(const Subject& subject, const Units& units,
                                               const EvaluationProgress& progress) const override
    {
        RETRO_TRY(const FeatureMap chosen, featureMapOf(subject.model(), subject.value(), m_value));
        RETRO_TRY(const Subject exact, subject.inDouble()); // float32 moves a map by up to 1e-4
        RETRO_TRY(const std::vector<Tensor> values, exact.values({chosen.name}, exact.input()));
        report(progress, 1, 2);
        RETRO_TRY(const Tensor gradient, exact.gradientAt(chosen.name));
        const Channels activations = byChannel(values.front(), chosen.channels);
        const Channels gradients = byChannel(gradient, chosen.channels);
        if (units.places().size() != activations.places.size()) {
            return base::usageError(fmt::format("it has {} axes of places, and the input \"{}\" is not cut along so "
                                                "many; name another value, or say with --channel-axis where the "
                                                "channels of the input are",
                                                activations.places.size(), subject.inputName()),
                                    fmt::format("value \"{}\"", chosen.name));
        }
        const Numbers raw = weighted(activations, gradients);
        Numbers map = raw;
        std::ranges::transform(map, map.begin(), [](double value) { return std::max(value, 0.0); });
        toUnitRange(map);
        map = resizedTo(std::move(map), activations.places, units.places());
        toUnitRange(map);
        Attributed result{inInput(map, subject.input(), units)};
        result.arrays = {{"map", Tensor::of<double>(units.places(), map).to(tensor::DType::Float32)},
                         {"raw", Tensor::of<double>(activations.places, raw)}};
        result.how = fmt::format("of \"{}\", {} channels × {}", chosen.name, activations.count,
                                 tensor::toText(activations.places));
        return result;
    }

private:
    /// The sum of all channels, each by its weight.
    [[nodiscard]] Numbers weighted(const Channels& activations, const Channels& gradients) const
    {
        Numbers sum(static_cast<std::size_t>(tensor::elementCount(activations.places)), 0);
        for (std::size_t channel = 0; channel < activations.count; ++channel) {
            const std::span<const double> activation = activations.of(channel);
            const double weight = m_weights == CamWeights::Mean ? meanWeight(gradients.of(channel))
                                                                : positiveWeight(activation, gradients.of(channel));
            for (std::size_t i = 0; i < sum.size(); ++i) {
                sum[i] += weight * activation[i];
            }
        }
        return sum;
    }

    /// In the input's shape: equal parts for the channels of a place.
    static Tensor inInput(const Numbers& map, const Tensor& input, const Units& units)
    {
        Numbers values;
        for (std::int64_t i = 0; i < input.size(); ++i) {
            values.push_back(map[static_cast<std::size_t>(units.placeOf(i))] / static_cast<double>(units.channels()));
        }
        return Tensor::of<double>(input.shape(), values).to(input.dtype());
    }

    CamWeights m_weights;
    std::string m_value;
};

} // namespace

AttributionPointer gradCam(CamWeights weights, const std::string& value)
{
    return std::make_shared<const GradCam>(weights, value);
}

} // namespace retro::engine
