// SPDX-License-Identifier: Apache-2.0
// What --target says, and which value it is.
#include "core/base/editdistance.h"
#include "core/engine/explain/segment.h"
#include "core/graph/walkback.h"
#include "core/ops/elements.h"
#include "core/ops/scoretail.h"
#include "core/trace/targetplace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace retro::engine
{

namespace
{

using base::inputError;
using base::Result;
using base::usageError;

std::optional<std::int64_t> wholeNumber(std::string_view text)
{
    std::int64_t value = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
    return ec == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// "3,4" → {3, 4}; nothing when a part is not a whole number.
std::optional<std::vector<std::int64_t>> wholeNumbers(std::string_view text)
{
    std::vector<std::int64_t> numbers;
    while (true) {
        const std::size_t comma = text.find(',');
        const auto number = wholeNumber(text.substr(0, comma));
        if (!number) {
            return std::nullopt;
        }
        numbers.push_back(*number);
        if (comma == std::string_view::npos) {
            return numbers;
        }
        text.remove_prefix(comma + 1);
    }
}

bool isAxisName(std::string_view text)
{
    return !text.empty() && std::all_of(text.begin(), text.end(),
                                        [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
}

/// The class of a label; whatever the case, where no label is spelt so and one alone is then meant.
std::optional<std::int64_t> labelNamed(std::string_view text, std::span<const std::string> labels)
{
    const auto isSpeltSo = [text](const std::string& label) { return label == text; };
    const auto isNearlySo = [text](const std::string& label) {
        return std::ranges::equal(label, text,
                                  [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
    };
    auto found = std::ranges::find_if(labels, isSpeltSo);
    if (found == labels.end() && std::ranges::count_if(labels, isNearlySo) == 1) {
        found = std::ranges::find_if(labels, isNearlySo);
    }
    return found == labels.end() ? std::nullopt : std::optional<std::int64_t>(found - labels.begin());
}

/// "token=11" or "class=cat"; nothing when the text is something else.
std::optional<TargetRequest::Coordinate> coordinateIn(std::string_view text, std::span<const std::string> labels)
{
    const std::size_t equals = text.find('=');
    const std::string axis(text.substr(0, equals));
    if (equals == std::string_view::npos || !isAxisName(axis)) {
        return std::nullopt;
    }
    const std::string_view written = text.substr(equals + 1);
    const bool namesClass = axis == "class" || axis == kSegmentAxis;
    const auto label = namesClass ? labelNamed(written, labels) : std::nullopt;
    const auto number = label ? label : wholeNumber(written);
    return number ? std::optional(TargetRequest::Coordinate{axis, *number}) : std::nullopt;
}

/// "token=11,class=504" → its coordinates; nothing when the text is something else.
std::optional<std::vector<TargetRequest::Coordinate>> placeIn(std::string_view text,
                                                              std::span<const std::string> labels)
{
    std::vector<TargetRequest::Coordinate> place;
    while (true) {
        const std::size_t comma = text.find(',');
        const auto coordinate = coordinateIn(text.substr(0, comma), labels);
        if (!coordinate) {
            return std::nullopt;
        }
        place.push_back(*coordinate);
        if (comma == std::string_view::npos) {
            return place;
        }
        text.remove_prefix(comma + 1);
    }
}

/// VALUE, VALUE:i,j,…, VALUE:token=11,class=504 or token=11,class=504.
TargetRequest valueTarget(const std::string& text, std::span<const std::string> labels)
{
    TargetRequest request;
    request.kind = TargetRequest::Kind::Value;
    request.value = text;
    const std::size_t colon = text.rfind(':');
    const std::string_view behind =
        colon == std::string::npos ? std::string_view(text) : std::string_view(text).substr(colon + 1);
    if (const auto place = placeIn(behind, labels)) {
        request.kind = TargetRequest::Kind::Place;
        request.place = *place;
        request.value = colon == std::string::npos ? std::string() : text.substr(0, colon);
    } else if (const auto index = colon == std::string::npos ? std::nullopt : wholeNumbers(behind)) {
        request.value = text.substr(0, colon);
        request.index = *index;
    }
    return request;
}

base::Error noSuchValue(const TargetRequest& request, const graph::Graph& graph)
{
    std::vector<std::string_view> near(request.nearLabels.begin(), request.nearLabels.end());
    std::ranges::transform(graph.values(), std::back_inserter(near), &graph::Value::name);
    return usageError("the graph has no value of this name (retrograde-cli info lists inputs and outputs); write "
                      "argmax, a class index, token=I,class=J, segment=J, or "
                      "VALUE[:i,j,…]" +
                          base::guessText(request.value, near),
                      "--target " + request.value);
}

/// True for an input of the model, and for one that was only handed on.
bool isInputAsItIs(const graph::Graph& graph, base::ValueId value)
{
    base::NodeId node = graph.nodeOf(value);
    while (node.isValid() && !graph.isInput(node) && ops::areElements(graph.node(node), {ops::Elements::Kept})) {
        node = graph.nodeOf(graph.node(node).inputs.front());
    }
    return node.isValid() && graph.isInput(node);
}

/// The floating values nearest before a value, in the order of operands.
std::optional<base::ValueId> floatingBefore(const execute::BoundModel& model, base::ValueId value)
{
    std::optional<base::ValueId> found;
    graph::walkBack(model.graph(), value, [&](base::ValueId one) {
        if (!model.isTracked(one) || !tensor::isFloating(model.typeOf(one).dtype) ||
            isInputAsItIs(model.graph(), one)) {
            return graph::Walk::GoOn;
        }
        found = one;
        return graph::Walk::Stop;
    });
    return found;
}

/// "--target s", which has the scores that outputs of integers are made of, or what to put in its place.
std::string scoresBefore(const execute::BoundModel& model, std::span<const base::ValueId> values)
{
    for (const base::ValueId value : values) {
        if (const auto before = floatingBefore(model, value)) {
            return fmt::format("--target '{}', the floating value that \"{}\" is made of",
                               model.graph().value(*before).name, model.graph().value(value).name);
        }
    }
    return "--target VALUE";
}

/// Why an output of a bound model is not the default target; empty = it is one.
std::string refusalOf(const execute::BoundModel& model, base::ValueId output)
{
    const tensor::DType dtype = model.typeOf(output).dtype;
    if (!tensor::isFloating(dtype)) {
        return fmt::format("is {}", tensor::nameOf(dtype));
    }
    if (isInputAsItIs(model.graph(), output)) {
        return "is an input as it is";
    }
    return model.isTracked(output) ? "" : "depends on no floating input or token by operators that carry relevance";
}

/// The first floating output that is computed and that relevance can reach; of several refusals, `skipped` takes all.
base::ValueId firstReached(const execute::BoundModel& model, std::string& skipped)
{
    for (const base::ValueId output : model.graph().outputs()) {
        const std::string refusal = refusalOf(model, output);
        if (refusal.empty()) {
            return output;
        }
        skipped += fmt::format("{}\"{}\" {}", skipped.empty() ? "" : ", ", model.graph().value(output).name, refusal);
    }
    return {};
}

/// Without one that relevance reaches, the first floating output: what keeps relevance away is said where it starts.
base::ValueId firstFloating(const execute::BoundModel& model)
{
    for (const base::ValueId output : model.graph().outputs()) {
        if (tensor::isFloating(model.typeOf(output).dtype)) {
            return output;
        }
    }
    return {};
}

/// Axes of a sample along which the largest element is looked for.
std::ptrdiff_t searchedAxes(const TargetRequest& request, const tensor::Shape& shape)
{
    const std::size_t first = shape.size() < 2 ? 0 : 1;
    const auto open = std::count_if(shape.begin() + static_cast<std::ptrdiff_t>(first), shape.end(),
                                    [](std::int64_t extent) { return extent > 1; });
    const auto fixed = std::ranges::count_if(request.place, [](const TargetRequest::Coordinate& one) {
        return one.axis != "class" && one.axis != "sample" && one.axis != "batch";
    });
    return open - fixed;
}

/// Whether a question chooses the same element among the scores as among their results. A softmax ranks the elements of
/// one row alone, and a factor of each class ranks classes anew.
bool choosesSame(const TargetRequest& request, const ops::ScoreTail& tail, const tensor::Shape& shape)
{
    const bool isOneClass =
        request.kind == TargetRequest::Kind::Element || request.kind == TargetRequest::Kind::Class ||
        std::ranges::find(request.place, "class", &TargetRequest::Coordinate::axis) != request.place.end();
    if (!tail.ranksSame && !isOneClass) {
        return false;
    }
    return !tail.isMixed || request.kind == TargetRequest::Kind::Element || segmentIn(request) ||
           searchedAxes(request, shape) <= 1;
}

/// The axes of a value: their names and extents.
using NamedAxes = std::vector<std::pair<std::string, std::int64_t>>;
NamedAxes namedAxes(const graph::Graph& graph, base::ValueId value, const tensor::Shape& shape)
{
    const std::vector<std::string> names = trace::axisNames(graph, value, shape.size());
    NamedAxes axes;
    for (std::size_t axis = 0; axis < names.size(); ++axis) {
        axes.emplace_back(names[axis], shape[axis]);
    }
    return axes;
}

/// The scores of a default target, where it is a result of some; else the target itself.
base::ValueId scoresOf(const TargetRequest& request, const execute::BoundModel& model, base::ValueId target,
                       std::string* note)
{
    const graph::Graph& graph = model.graph();
    const ops::ScoreTail tail = request.atScores ? ops::scoreTail(graph, target) : ops::ScoreTail();
    const bool isComputed = tail.isValid() && !isInputAsItIs(graph, tail.scores) && model.isTracked(tail.scores);
    const bool isTurned = tail.isTurned && request.kind != TargetRequest::Kind::Element;
    if (!isComputed || (!tail.keepsOrder && !isTurned) || !tail.rises) {
        return target;
    }
    const tensor::Shape& shape = model.typeOf(target).shape;
    const ops::TensorType& scores = model.typeOf(tail.scores);
    NamedAxes here = namedAxes(graph, target, shape);
    if (isTurned && here.size() == 3) {
        std::swap(here[1], here[2]);
    }
    if (here != namedAxes(graph, tail.scores, scores.shape) || !tensor::isFloating(scores.dtype) ||
        !choosesSame(request, tail, shape)) {
        return target;
    }
    if (note != nullptr) {
        *note += fmt::format("{}the output \"{}\" is the result of {}, so relevance starts at the scores \"{}\" before "
                             "it; --target '{}:…' with the indices of an element starts at the output itself",
                             note->empty() ? "" : "; ", graph.value(target).name, tail.words(),
                             graph.value(tail.scores).name, graph.value(target).name);
    }
    return tail.scores;
}

} // namespace

Result<TargetRequest> parseTarget(const std::string& text, std::span<const std::string> labels)
{
    TargetRequest request;
    if (text.empty() || text == "argmax") {
        return request;
    }
    if (const auto label = labelNamed(text, labels)) {
        request.kind = TargetRequest::Kind::Class;
        request.classIndex = *label;
        return request;
    }
    if (const auto number = wholeNumber(text)) {
        if (*number < 0) {
            return usageError("a class index cannot be negative", "--target " + text);
        }
        request.kind = TargetRequest::Kind::Class;
        request.classIndex = *number;
        return request;
    }
    TargetRequest named = valueTarget(text, labels);
    const std::vector<std::string_view> near =
        base::nearestNames(text, std::vector<std::string_view>(labels.begin(), labels.end()));
    named.nearLabels.assign(near.begin(), near.end());
    return named;
}

Result<base::ValueId> targetValue(const TargetRequest& request, const graph::Graph& graph)
{
    if (request.namesValue()) {
        const auto value = graph.findValue(request.value);
        return value ? Result<base::ValueId>(*value) : noSuchValue(request, graph);
    }
    const auto floating = std::ranges::find_if(
        graph.outputs(), [&graph](base::ValueId output) { return tensor::isFloating(graph.value(output).dtype); });
    return floating == graph.outputs().end() ? graph.outputs()[0] : *floating;
}

Result<base::ValueId> targetValue(const TargetRequest& request, const execute::BoundModel& model, std::string* note)
{
    if (request.namesValue()) {
        RETRO_TRY(const base::ValueId value, targetValue(request, model.graph()));
        const tensor::DType dtype = model.typeOf(value).dtype;
        if (!tensor::isFloating(dtype)) {
            return inputError(fmt::format("its elements are {}; relevance starts at floating values alone: name {}",
                                          tensor::nameOf(dtype), scoresBefore(model, {&value, 1})),
                              "--target " + request.value);
        }
        return value;
    }
    std::string skipped;
    const base::ValueId reached = firstReached(model, skipped);
    const base::ValueId chosen = reached.isValid() ? reached : firstFloating(model);
    if (!chosen.isValid()) {
        return inputError(fmt::format("no output has floating elements to explain ({}); name a value inside the model "
                                      "with {}",
                                      skipped, scoresBefore(model, model.graph().outputs())),
                          model.graph().name());
    }
    if (note != nullptr && !skipped.empty() && reached.isValid()) {
        *note = fmt::format("the output \"{}\" is explained, because {}; --target VALUE chooses another one",
                            model.graph().value(chosen).name, skipped);
    }
    return scoresOf(request, model, chosen, note);
}

} // namespace retro::engine
