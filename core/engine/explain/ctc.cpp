// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explain/ctc.h"

#include "core/engine/evaluate/channelaxis.h"
#include "core/graph/attributes.h"
#include "core/graph/walkback.h"
#include "core/ops/elements.h"
#include "core/ops/operatoraxes.h"
#include "core/ops/structure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <vector>

namespace retro::engine
{

using base::Result;
using base::ValueId;
using graph::Graph;
using graph::Node;
using tensor::Tensor;

namespace
{

constexpr std::size_t kCtcRank = 3;
constexpr std::int64_t kManySteps = 8;
constexpr std::int64_t kManyClasses = 10;

/// What lies behind the scores.
struct BehindScores
{
    bool isLinear = false;
    bool hasLogSoftmax = false; ///< over the classes
    bool isRecurrent = false;
    bool hasConvolution = false; ///< over more than one step
    bool isNamed = false;
};

bool saysCtc(std::string name)
{
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return name.find("ctc") != std::string::npos;
}

/// A convolution whose window is longer than one element.
bool isWide(const execute::BoundModel& model, const Node& node)
{
    if (!node.op.starts_with("Conv") || node.inputs.size() < 2) {
        return false;
    }
    const tensor::Shape& weight = model.typeOf(node.inputs[1]).shape;
    return std::any_of(weight.begin() + std::min<std::ptrdiff_t>(2, std::ssize(weight)), weight.end(),
                       [](std::int64_t extent) { return extent > 1; });
}

/// Through what leaves the classes as they are, up to what makes them.
void lookAtEnd(const execute::BoundModel& model, ValueId value, BehindScores& behind)
{
    using enum ops::Elements;
    const Graph& graph = model.graph();
    while (graph.value(value).kind == graph::ValueKind::Result) {
        const Node& node = graph.node(graph.nodeOf(value));
        const auto last = static_cast<std::int64_t>(model.typeOf(value).shape.size()) - 1;
        const std::int64_t axis = graph::intAttribute(node, "axis", -1);
        behind.hasLogSoftmax = behind.hasLogSoftmax || (node.op == "LogSoftmax" && (axis == -1 || axis == last));
        const ops::StructureKind kind = model.op(graph.nodeOf(value)).structure().kind();
        behind.isLinear = kind == ops::StructureKind::LinearMap || kind == ops::StructureKind::Bilinear;
        if (kind != ops::StructureKind::Softmax &&
            !ops::areElements(node, {Kept, Converted, Reshaped, Turned, Summed, Divided}) && node.op != "Log") {
            return;
        }
        const auto carrier = std::ranges::find_if(
            node.inputs, [&](ValueId operand) { return operand.isValid() && !model.isConstant(operand); });
        if (carrier == node.inputs.end()) {
            return;
        }
        value = *carrier;
    }
}

BehindScores lookBehind(const execute::BoundModel& model, ValueId value)
{
    const Graph& graph = model.graph();
    BehindScores behind;
    behind.isNamed = saysCtc(graph.name()) || saysCtc(graph.value(value).name);
    lookAtEnd(model, value, behind);
    graph::walkBack(graph, value, [&](ValueId one) {
        const base::NodeId id = graph.nodeOf(one);
        behind.isNamed = behind.isNamed || saysCtc(graph.value(one).name);
        if (id.isValid() && !graph.isInput(id)) {
            const Node& node = graph.node(id);
            behind.isRecurrent = behind.isRecurrent || ops::operatorAxes(node).hasTimeAndSample;
            behind.hasConvolution = behind.hasConvolution || isWide(model, node);
        }
        return graph::Walk::GoOn;
    });
    return behind;
}

/// How many samples the inputs have, by the first one that says it; none where none does.
std::optional<std::int64_t> samplesOfInputs(const execute::BoundModel& model)
{
    for (const ValueId input : model.graph().inputs()) {
        const tensor::Shape& shape = model.typeOf(input).shape;
        if (shape.size() >= 2 && model.isTracked(input)) {
            return shape[inputAxesOf(model.graph(), input, shape.size()).samples];
        }
    }
    return std::nullopt;
}

/// The best class of a row of scores.
std::int64_t bestOfRow(const Tensor& scores, std::int64_t row, std::int64_t classes)
{
    std::int64_t best = 0;
    for (std::int64_t i = 1; i < classes; ++i) {
        best = scores.at(row * classes + i) > scores.at(row * classes + best) ? i : best;
    }
    return best;
}

void findBlank(const Tensor& scores, CtcReading& reading)
{
    const std::int64_t rows = scores.size() / reading.classes;
    std::int64_t first = 0;
    std::int64_t last = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
        const std::int64_t best = bestOfRow(scores, row, reading.classes);
        first += best == 0 ? 1 : 0;
        last += best == reading.classes - 1 ? 1 : 0;
    }
    const bool isLast = last > first && 2 * last >= rows;
    reading.blank = isLast ? reading.classes - 1 : 0;
    reading.blankWins = isLast ? last : first;
}

/// The number that a request gives along an axis of one of these names.
std::optional<std::int64_t> numberAlong(const TargetRequest& request, std::initializer_list<std::string_view> names)
{
    for (const TargetRequest::Coordinate& one : request.place) {
        if (std::ranges::find(names, one.axis) != names.end()) {
            return one.index;
        }
    }
    return std::nullopt;
}

/// Scores in which the blank never wins: without it where some step has another best class, those steps alone count.
Tensor withoutBlank(const CtcReading& reading, const Tensor& known)
{
    constexpr double kNever = -std::numeric_limits<double>::infinity();
    const std::int64_t rows = known.size() / reading.classes;
    std::vector<std::uint8_t> isBlank;
    for (std::int64_t row = 0; row < rows; ++row) {
        isBlank.push_back(bestOfRow(known, row, reading.classes) == reading.blank ? 1 : 0);
    }
    const std::int64_t perSample = reading.isTimeFirst ? rows : reading.steps;
    tensor::TensorBuffer made(tensor::DType::Float64, known.shape());
    double* to = made.data<double>();
    for (std::int64_t row = 0; row < rows; ++row) {
        const auto begin = isBlank.begin() + row / perSample * perSample;
        const bool hasOther = std::any_of(begin, begin + perSample, [](std::uint8_t is) { return is == 0; });
        const bool isOut = hasOther && isBlank[static_cast<std::size_t>(row)] != 0;
        for (std::int64_t i = 0; i < reading.classes; ++i) {
            *to++ = isOut || i == reading.blank ? kNever : known.at(row * reading.classes + i);
        }
    }
    return std::move(made).freeze();
}

/// The step and class of a request, of one sample whose time comes first.
std::pair<std::int64_t, std::int64_t> bestPlace(const CtcReading& reading, const TargetRequest& request,
                                                const Tensor& known)
{
    const auto wantedStep = numberAlong(request, {"time", "token", "step", "position"});
    const auto byPlace = numberAlong(request, {"class", "label"});
    const auto wantedClass = request.kind == TargetRequest::Kind::Class ? std::optional(request.classIndex) : byPlace;
    const Tensor scores = wantedClass || wantedStep ? known : withoutBlank(reading, known);
    std::pair<std::int64_t, std::int64_t> best{-1, -1};
    double most = -std::numeric_limits<double>::infinity();
    for (std::int64_t i = 0; i < scores.size(); ++i) {
        const std::int64_t step = i / reading.classes;
        const std::int64_t own = i % reading.classes;
        const std::int64_t wanted =
            wantedStep && *wantedStep < 0 ? *wantedStep + reading.steps : wantedStep.value_or(step);
        const bool isMeant =
            step == wanted && own == wantedClass.value_or(own) && (wantedClass || own != reading.blank);
        if (isMeant && scores.at(i) > most) {
            most = scores.at(i);
            best = {step, own};
        }
    }
    return best;
}

std::string axesOf(const CtcReading& reading)
{
    return reading.isTimeFirst
               ? fmt::format("axis 0 is time ({}), axis 2 the classes ({})", reading.steps, reading.classes)
               : fmt::format("axis 1 is time ({}), axis 2 the classes ({})", reading.steps, reading.classes);
}

std::string noteOf(const CtcReading& reading, const std::string& name, const std::string& place)
{
    const std::string blank =
        reading.blank < 0
            ? "and no class is known for the blank"
            : fmt::format("class {} is the blank (the best one at {} of {} steps), which is not explained "
                          "by itself",
                          reading.blank, reading.blankWins, reading.steps);
    return fmt::format("the scores \"{}\" are read as those of CTC: {}, {}. Explained is {}; --target time=T,class=C "
                       "names another step and class, --target '{}:i,j,k' an element whatever it means",
                       name, axesOf(reading), blank, place, name);
}

Result<ResolvedTarget> resolveTimeFirst(const CtcReading& reading, const TargetRequest& request,
                                        const StartRequest& start, ValueId value, const Tensor& known)
{
    const auto [step, own] = bestPlace(reading, request, known);
    TargetRequest one = request;
    one.kind = TargetRequest::Kind::Place;
    if (step >= 0) { // else what is asked for is named as it was
        one.place = {{"time", step}, {"class", own}};
    }
    RETRO_TRY(ResolvedTarget target, resolveTarget(one, start, value, known, {"time", "sample", "class"}));
    for (std::size_t i = 0; i < target.index.size(); ++i) {
        target.place[i] = target.index[i] < 0 ? std::string() : fmt::format("time {}, class {}", i, target.index[i]);
    }
    return target;
}

} // namespace

std::optional<CtcReading> ctcReading(const execute::BoundModel& model, ValueId value, const Tensor& known)
{
    const Graph& graph = model.graph();
    const bool hasTokens = std::ranges::any_of(graph.inputs(), [&](ValueId input) { return model.isOfTokens(input); });
    const auto samples = samplesOfInputs(model);
    if (known.rank() != kCtcRank || known.size() == 0 || hasTokens || !samples || known.shape()[2] < 3) {
        return std::nullopt;
    }
    CtcReading reading;
    reading.isTimeFirst = known.shape()[0] != *samples && known.shape()[1] == *samples;
    reading.steps = known.shape()[reading.isTimeFirst ? 0 : 1];
    reading.classes = known.shape()[2];
    const BehindScores behind = lookBehind(model, value);
    const bool alongTime = behind.isRecurrent || behind.hasConvolution;
    if (!behind.isLinear || !alongTime || reading.steps < 2) {
        return std::nullopt;
    }
    const bool isRead =
        behind.isRecurrent && behind.hasConvolution && reading.steps >= kManySteps && reading.classes >= kManyClasses;
    const bool isOneSample = !reading.isTimeFirst || *samples == 1;
    reading.isSure = isOneSample && (behind.isNamed || reading.isTimeFirst || behind.hasLogSoftmax || isRead);
    findBlank(known, reading);
    const bool winsOften = 2 * reading.blankWins >= reading.steps;
    const bool looksLikeIt = !reading.isTimeFirst && reading.steps >= kManySteps && winsOften;
    const bool isBlankSaid = behind.isNamed || behind.hasLogSoftmax || (behind.isRecurrent && behind.hasConvolution);
    reading.blank = isBlankSaid || winsOften ? reading.blank : -1;
    return reading.isSure || looksLikeIt ? std::optional(reading) : std::nullopt;
}

bool isStepOfTime(const ResolvedTarget& target, std::size_t step)
{
    return step < target.place.size() && target.place[step].starts_with("time ") && target.index[step] >= 0;
}

bool readsAsCtc(const CtcReading& reading, const TargetRequest& request, const StartRequest& start)
{
    using enum TargetRequest::Kind;
    const bool isOfClass = request.kind == Argmax || request.kind == Class || request.kind == Place;
    const bool namesAxes = std::ranges::any_of(request.place, [](const TargetRequest::Coordinate& one) {
        return one.axis == "sample" || one.axis.starts_with("axis") || one.axis == "segment";
    });
    return reading.isSure && isOfClass && !namesAxes && start.kind != StartKind::Given &&
           start.kind != StartKind::All && (!request.namesValue() || reading.isTimeFirst);
}

Result<ResolvedTarget> resolveCtc(const CtcReading& reading, const TargetRequest& request, const StartRequest& start,
                                  ValueId value, const Tensor& known, const std::string& name)
{
    ResolvedTarget target;
    if (reading.isTimeFirst) {
        RETRO_TRY(target, resolveTimeFirst(reading, request, start, value, known));
    } else {
        const bool isOpen = request.kind == TargetRequest::Kind::Argmax ||
                            (request.kind == TargetRequest::Kind::Place && !numberAlong(request, {"class", "label"}));
        RETRO_TRY(target, resolveTarget(request, start, value, isOpen ? withoutBlank(reading, known) : known,
                                        {"sample", "token", "class"}));
        target.start = target.start.to(known.dtype());
    }
    const auto chosen = std::ranges::find_if(target.place, [](const std::string& place) { return !place.empty(); });
    target.notes.push_back(noteOf(reading, name, chosen == target.place.end() ? "no step" : *chosen));
    return target;
}

std::string ctcHint(const CtcReading& reading, const std::string& name)
{
    return fmt::format("class {} of \"{}\" is the best one at {} of {} places along axis {}. Where these are scores of "
                       "CTC, {} and that class is the blank: name a step and a class with --target token=T,class=C. "
                       "Nothing in the graph says so, so the largest score is explained",
                       reading.blank, name, reading.blankWins, reading.steps, reading.isTimeFirst ? 0 : 1,
                       axesOf(reading));
}

} // namespace retro::engine
