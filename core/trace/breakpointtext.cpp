// SPDX-License-Identifier: Apache-2.0
// Conditions of breakpoints as text, both ways.
#include "core/trace/breakpoints.h"

#include "kernels/lut/schedule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <charconv>
#include <cmath>

namespace retro::trace
{

using event::Mode;

namespace
{

struct ModeWord
{
    std::string_view word;
    Mode mode;
};
constexpr std::array kModes{ModeWord{"normal", Mode::Normal}, ModeWord{"search", Mode::Search},
                            ModeWord{"fulfilment", Mode::Fulfilment}};

std::optional<Mode> modeOf(std::string_view word)
{
    for (const ModeWord& entry : kModes) {
        if (entry.word == word) {
            return entry.mode;
        }
    }
    return std::nullopt;
}

std::string_view wordOf(Mode mode)
{
    for (const ModeWord& entry : kModes) {
        if (entry.mode == mode) {
            return entry.word;
        }
    }
    return {};
}

std::string_view trimmed(std::string_view text)
{
    constexpr std::string_view kBlank = " \t";
    const auto first = text.find_first_not_of(kBlank);
    return first == std::string_view::npos ? std::string_view()
                                           : text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

/// Takes the first word off `rest`.
std::string_view takeWord(std::string_view& rest)
{
    const auto end = std::min(rest.find(' '), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest = trimmed(rest.substr(end));
    return word;
}

base::Error unclear(std::string message, std::string_view text)
{
    return base::usageError(std::move(message), std::string(text));
}

base::Result<NodeId> nodeOf(const Run& run, std::string_view name)
{
    const auto node = run.graph->findNode(name);
    if (!node) {
        return unclear("this model has no node of that name", name);
    }
    return *node;
}

bool hasOperator(const Run& run, std::string_view op)
{
    for (std::size_t i = 0; i < run.graph->runNodeCount(); ++i) {
        if (run.graph->opOf(NodeId(i)) == op) {
            return true;
        }
    }
    return false;
}

/// Takes " in MODE" off the end, if it is there.
Mode takeDuring(std::string_view& rest)
{
    const auto at = rest.rfind(" in ");
    const auto mode = at == std::string_view::npos ? std::nullopt : modeOf(trimmed(rest.substr(at + 4)));
    if (!mode) {
        return Mode::None;
    }
    rest = trimmed(rest.substr(0, at));
    return *mode;
}

base::Result<Breakpoint> parseNode(const Run& run, std::string_view rest)
{
    Breakpoint breakpoint;
    breakpoint.kind = BreakKind::NodeVisited;
    if (!run.graph->findNode(rest)) {
        breakpoint.only = takeDuring(rest);
    }
    const auto node = nodeOf(run, rest);
    if (!node) {
        return node.error();
    }
    breakpoint.node = *node;
    return breakpoint;
}

base::Result<Breakpoint> parseOperator(const Run& run, std::string_view rest)
{
    Breakpoint breakpoint;
    breakpoint.kind = BreakKind::OperatorVisited;
    breakpoint.only = takeDuring(rest);
    breakpoint.op = std::string(rest);
    if (!hasOperator(run, rest)) {
        return unclear("this model has no operator of that type", rest);
    }
    return breakpoint;
}

base::Result<Breakpoint> parseMode(const Run& /*run*/, std::string_view rest)
{
    Breakpoint breakpoint;
    breakpoint.kind = BreakKind::ModeChanged;
    if (rest == "changes") {
        return breakpoint;
    }
    const auto mode = modeOf(rest);
    if (!mode) {
        return unclear("after 'mode' comes normal, search, fulfilment or changes", rest);
    }
    breakpoint.kind = BreakKind::ModeEntered;
    breakpoint.mode = *mode;
    return breakpoint;
}

/// A number of 0 or more that is the whole text.
base::Result<double> numberIn(std::string_view text, std::string_view message)
{
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool isNumber = error == std::errc() && end == text.data() + text.size() && std::isfinite(number);
    return isNumber && number >= 0 ? base::Result<double>(number) : unclear(std::string(message), text);
}

/// Takes the last word off `text`.
std::string_view takeLast(std::string_view& text)
{
    const auto at = text.rfind(' ');
    const std::string_view word = at == std::string_view::npos ? text : text.substr(at + 1);
    text = at == std::string_view::npos ? std::string_view() : trimmed(text.substr(0, at));
    return word;
}

constexpr std::string_view kValueForm = "after 'value' comes a name, with sum, max or :i,j behind it, then changes, "
                                        "crosses NUMBER, sign or nan";

/// "changes", "sign", "nan", or "crosses" and a number, off the end of `rest`.
bool takeChange(std::string_view& rest, Breakpoint& breakpoint)
{
    const std::string_view last = takeLast(rest);
    if (last == "changes" || last == "sign" || last == "nan") {
        breakpoint.change = last == "changes" ? ValueChange::Changes
                            : last == "sign"  ? ValueChange::ChangesSign
                                              : ValueChange::BecomesNaN;
        return true;
    }
    const auto [end, error] = std::from_chars(last.data(), last.data() + last.size(), breakpoint.number);
    breakpoint.change = ValueChange::Crosses;
    return error == std::errc() && end == last.data() + last.size() && std::isfinite(breakpoint.number) &&
           takeLast(rest) == "crosses";
}

/// ":i,j,…" off the end of `rest`; nothing is taken where it is no such list.
bool takeIndex(std::string_view& rest, std::vector<std::int64_t>& index)
{
    const auto colon = rest.rfind(':');
    if (colon == std::string_view::npos) {
        return false;
    }
    std::string_view numbers = rest.substr(colon + 1);
    while (true) {
        const auto comma = numbers.find(',');
        const std::string_view part = numbers.substr(0, comma);
        std::int64_t number = 0;
        const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
        if (error != std::errc() || end != part.data() + part.size() || number < 0) {
            return false;
        }
        index.push_back(number);
        if (comma == std::string_view::npos) {
            rest = rest.substr(0, colon);
            return true;
        }
        numbers.remove_prefix(comma + 1);
    }
}

/// "sum", "max" or ":i,j" off the end of `rest`; false where it is none of these.
bool takeMeasure(std::string_view& rest, Breakpoint& breakpoint)
{
    std::string_view name = rest;
    const std::string_view measure = takeLast(name);
    if (!name.empty() && (measure == "sum" || measure == "max")) {
        breakpoint.measure = measure == "sum" ? ValueMeasure::Sum : ValueMeasure::Largest;
    } else if (name = rest; takeIndex(name, breakpoint.index)) {
        breakpoint.measure = ValueMeasure::Element;
    } else {
        return false;
    }
    rest = name;
    return true;
}

base::Result<Breakpoint> parseLaunch(const Run& run, std::string_view rest)
{
    Breakpoint breakpoint;
    breakpoint.kind = BreakKind::LaunchRan;
    std::string_view word = takeWord(rest);
    if (!word.empty() && word != "at") {
        for (std::size_t i = 0; i < lut::kKernelCount && breakpoint.op.empty(); ++i) {
            breakpoint.op = lut::nameOf(static_cast<lut::KernelId>(i)) == word ? std::string(word) : std::string();
        }
        if (breakpoint.op.empty()) {
            return unclear("there is no kernel of that name; `trace` lists those that ran", word);
        }
        word = takeWord(rest);
    }
    if (word.empty()) {
        return breakpoint;
    }
    if (word != "at") {
        return unclear("after the kernel comes 'at' and the name of a node", word);
    }
    RETRO_TRY(breakpoint.node, nodeOf(run, rest));
    return breakpoint;
}

base::Result<Breakpoint> parseBuffer(const Run& run, std::string_view rest)
{
    constexpr std::string_view kForm = "after 'buffer' comes its name, 'of' and the name of a node, with sum, max or "
                                       ":i,j behind it, then changes, crosses NUMBER, sign or nan";
    Breakpoint breakpoint;
    breakpoint.kind = BreakKind::BufferReached;
    if (!takeChange(rest, breakpoint) || !takeMeasure(rest, breakpoint)) {
        return unclear(std::string(kForm), rest);
    }
    for (std::uint32_t id = 0; id <= static_cast<std::uint32_t>(lut::BufferId::PairMap); ++id) {
        const std::string name(lut::nameOf(static_cast<lut::BufferId>(id)));
        if (rest.starts_with(name + " of ")) {
            breakpoint.op = name;
            RETRO_TRY(breakpoint.node, nodeOf(run, trimmed(rest.substr(name.size() + 4))));
            return breakpoint;
        }
    }
    return unclear(std::string(kForm), rest);
}

/// Relevance came to the value, and the run dropped all of it: sums are all that is known.
bool isDropped(const Run& run, ValueId value)
{
    const NodeId node = run.graph->nodeOf(value);
    bool hasCome = false;
    for (const event::Event& event : run.events) {
        const bool isOurs = event.node == node.value &&
                            (event.kind == event::EventKind::Land || event.kind == event::EventKind::Relevance);
        if (isOurs && event.handle < run.tensors.size() && run.tensors[event.handle].isValid()) {
            return false;
        }
        hasCome = hasCome || isOurs;
    }
    return hasCome;
}

base::Result<Breakpoint> parseValue(const Run& run, std::string_view rest)
{
    Breakpoint breakpoint;
    breakpoint.kind = BreakKind::ValueReached;
    if (!takeChange(rest, breakpoint)) {
        return unclear(std::string(kValueForm), rest);
    }
    std::string_view name = rest;
    if (!takeMeasure(name, breakpoint)) {
        return unclear(std::string(kValueForm), rest);
    }
    const auto value = run.graph->findValue(name);
    if (!value || run.graph->value(*value).kind == graph::ValueKind::Constant) {
        return unclear("this model has no value of that name that relevance could reach", name);
    }
    breakpoint.value = *value;
    if (breakpoint.measure == ValueMeasure::Element && value->index() < run.shapes.size()) {
        const tensor::Shape& shape = run.shapes[value->index()];
        if (breakpoint.index.size() != shape.size() ||
            !std::equal(shape.begin(), shape.end(), breakpoint.index.begin(), std::greater<>())) {
            return unclear(fmt::format("the value is {}, and that is no place in it", tensor::toText(shape)), rest);
        }
    }
    if (breakpoint.measure != ValueMeasure::Sum && isDropped(run, *value)) {
        return unclear("the run did not keep the relevance of this value, only its sum: ask for sum", rest);
    }
    return breakpoint;
}

template <BreakKind kKind>
base::Result<Breakpoint> parseBare(const Run& /*run*/, std::string_view rest)
{
    if (!rest.empty()) {
        return unclear("nothing may follow this word", rest);
    }
    Breakpoint breakpoint;
    breakpoint.kind = kKind;
    return breakpoint;
}

/// A word of plans, alone or with the node whose value is meant.
base::Result<Breakpoint> parseLoss(const Run& run, std::string_view rest)
{
    if (rest.empty()) {
        return parseBare<BreakKind::RelevanceLost>(run, rest);
    }
    Breakpoint breakpoint;
    breakpoint.kind = BreakKind::LossAbove;
    RETRO_TRY(breakpoint.number, numberIn(takeWord(rest), "after 'loss' comes a number of per cent"));
    if (rest.empty()) {
        return breakpoint;
    }
    if (takeWord(rest) != "at") {
        return unclear("after the loss comes 'at' and the name of a node", rest);
    }
    RETRO_TRY(breakpoint.node, nodeOf(run, rest));
    return breakpoint;
}

base::Result<Breakpoint> parseFrontier(const Run& /*run*/, std::string_view rest)
{
    constexpr std::string_view kForm = "after 'frontier' comes a number, then tensors or bytes";
    Breakpoint breakpoint;
    RETRO_TRY(breakpoint.number, numberIn(takeWord(rest), kForm));
    if (rest != "tensors" && rest != "bytes") {
        return unclear(std::string(kForm), rest);
    }
    breakpoint.kind = rest == "bytes" ? BreakKind::FrontierBytes : BreakKind::FrontierTensors;
    return breakpoint;
}

base::Result<Breakpoint> parsePromise(const Run& run, std::string_view rest)
{
    const std::string_view word = takeWord(rest);
    Breakpoint breakpoint;
    breakpoint.kind = word == "opened" ? BreakKind::PromiseOpened : BreakKind::PromiseFulfilled;
    if (word == "older") {
        breakpoint.kind = BreakKind::PromiseOlder;
        RETRO_TRY(breakpoint.number, numberIn(rest, "after 'promise older' comes a number of visits"));
        return breakpoint;
    }
    if (word != "opened" && word != "fulfilled") {
        return unclear("after 'promise' comes opened, fulfilled or older", word);
    }
    if (rest.empty()) {
        return breakpoint;
    }
    if (takeWord(rest) != "at") {
        return unclear("after the promise comes 'at' and the name of a node", rest);
    }
    const auto node = nodeOf(run, rest);
    if (!node) {
        return node.error();
    }
    breakpoint.node = *node;
    return breakpoint;
}

base::Result<Breakpoint> parseViolation(const Run& /*run*/, std::string_view rest)
{
    Breakpoint breakpoint;
    breakpoint.kind = BreakKind::LedgerViolation;
    if (rest.empty()) {
        return breakpoint;
    }
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), breakpoint.tolerance);
    const bool isNumber = error == std::errc() && end == rest.data() + rest.size();
    if (!isNumber || !(breakpoint.tolerance >= 0) || !std::isfinite(breakpoint.tolerance)) {
        return unclear("the tolerance of a violation is a number such as 0.0001", rest);
    }
    return breakpoint;
}

template <BreakKind kKind>
base::Result<Breakpoint> parsePlan(const Run& run, std::string_view rest)
{
    Breakpoint breakpoint;
    breakpoint.kind = kKind;
    if (rest.empty()) {
        return breakpoint;
    }
    if (takeWord(rest) != "at") {
        return unclear("after this word comes 'at' and the name of a node", rest);
    }
    RETRO_TRY(breakpoint.node, nodeOf(run, rest));
    return breakpoint;
}

struct Form
{
    std::string_view word;
    base::Result<Breakpoint> (*parse)(const Run&, std::string_view);
};
constexpr std::array kForms{Form{"node", parseNode},
                            Form{"op", parseOperator},
                            Form{"mode", parseMode},
                            Form{"promise", parsePromise},
                            Form{"violation", parseViolation},
                            Form{"nan", parseBare<BreakKind::NonFinite>},
                            Form{"recompute", parsePlan<BreakKind::Recomputed>},
                            Form{"drop", parsePlan<BreakKind::Dropped>},
                            Form{"free", parsePlan<BreakKind::Freed>},
                            Form{"layer", parseBare<BreakKind::LayerReached>},
                            Form{"value", parseValue},
                            Form{"loss", parseLoss},
                            Form{"frontier", parseFrontier},
                            Form{"launch", parseLaunch},
                            Form{"buffer", parseBuffer}};

std::string nameOf(const Run& run, NodeId node)
{
    const bool isKnown = node.isValid() && node.index() < run.graph->runNodeCount();
    return isKnown ? run.graph->labelOf(node) : std::string("?");
}

/// Of a value or of a buffer.
std::string valueSource(const Run& run, const Breakpoint& breakpoint)
{
    const bool isBuffer = breakpoint.kind == BreakKind::BufferReached;
    const bool isKnown = breakpoint.value.isValid() && breakpoint.value.index() < run.graph->valueCount();
    std::string what = isBuffer  ? fmt::format("buffer {} of {}", breakpoint.op, nameOf(run, breakpoint.node))
                       : isKnown ? "value " + run.graph->value(breakpoint.value).name
                                 : std::string("value ?");
    if (breakpoint.measure == ValueMeasure::Element) {
        what += fmt::format(":{}", fmt::join(breakpoint.index, ","));
    } else {
        what += breakpoint.measure == ValueMeasure::Sum ? " sum" : " max";
    }
    switch (breakpoint.change) {
    case ValueChange::Changes:
        return what + " changes";
    case ValueChange::Crosses:
        return fmt::format("{} crosses {}", what, breakpoint.number);
    case ValueChange::ChangesSign:
        return what + " sign";
    case ValueChange::BecomesNaN:
        return what + " nan";
    }
    return {};
}

} // namespace

base::Result<Breakpoint> parseBreakpoint(const Run& run, std::string_view text)
{
    std::string_view rest = trimmed(text);
    const std::string_view word = takeWord(rest);
    for (const Form& form : kForms) {
        if (form.word == word) {
            return form.parse(run, rest);
        }
    }
    return unclear("a condition begins with node, op, mode, promise, violation, nan, recompute, drop, free, layer, "
                   "value, loss, frontier, launch or buffer",
                   word);
}

std::string source(const Run& run, const Breakpoint& breakpoint)
{
    const std::string at = breakpoint.node.isValid() ? " at " + nameOf(run, breakpoint.node) : std::string();
    const std::string during =
        breakpoint.only == Mode::None ? std::string() : fmt::format(" in {}", wordOf(breakpoint.only));
    switch (breakpoint.kind) {
    case BreakKind::NodeVisited:
        return fmt::format("node {}{}", nameOf(run, breakpoint.node), during);
    case BreakKind::OperatorVisited:
        return fmt::format("op {}{}", breakpoint.op, during);
    case BreakKind::ModeEntered:
        return fmt::format("mode {}", wordOf(breakpoint.mode));
    case BreakKind::ModeChanged:
        return "mode changes";
    case BreakKind::PromiseOpened:
        return "promise opened" + at;
    case BreakKind::PromiseFulfilled:
        return "promise fulfilled" + at;
    case BreakKind::LedgerViolation:
        return fmt::format("violation {}", breakpoint.tolerance);
    case BreakKind::NonFinite:
        return "nan";
    case BreakKind::Recomputed:
        return "recompute" + at;
    case BreakKind::Dropped:
        return "drop" + at;
    case BreakKind::Freed:
        return "free" + at;
    case BreakKind::RelevanceLost:
        return "loss";
    case BreakKind::LayerReached:
        return "layer";
    case BreakKind::ValueReached:
        return valueSource(run, breakpoint);
    case BreakKind::LossAbove:
        return fmt::format("loss {}{}", breakpoint.number, at);
    case BreakKind::FrontierTensors:
        return fmt::format("frontier {} tensors", breakpoint.number);
    case BreakKind::FrontierBytes:
        return fmt::format("frontier {} bytes", breakpoint.number);
    case BreakKind::PromiseOlder:
        return fmt::format("promise older {}", breakpoint.number);
    case BreakKind::LaunchRan:
        return fmt::format("launch{}{}{}", breakpoint.op.empty() ? "" : " ", breakpoint.op, at);
    case BreakKind::BufferReached:
        return valueSource(run, breakpoint);
    }
    return {};
}

} // namespace retro::trace
