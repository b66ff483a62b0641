// SPDX-License-Identifier: Apache-2.0
// Conditions of breakpoints as text, both ways.
#include "core/trace/breakpoints.h"

#include <fmt/format.h>

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

base::Result<Breakpoint> parsePromise(const Run& run, std::string_view rest)
{
    const std::string_view word = takeWord(rest);
    Breakpoint breakpoint;
    breakpoint.kind = word == "opened" ? BreakKind::PromiseOpened : BreakKind::PromiseFulfilled;
    if (word != "opened" && word != "fulfilled") {
        return unclear("after 'promise' comes opened or fulfilled", word);
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
                            Form{"loss", parseBare<BreakKind::RelevanceLost>},
                            Form{"layer", parseBare<BreakKind::LayerReached>}};

std::string nameOf(const Run& run, NodeId node)
{
    const bool isKnown = node.isValid() && node.index() < run.graph->runNodeCount();
    return isKnown ? run.graph->labelOf(node) : std::string("?");
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
    return unclear("a condition begins with node, op, mode, promise, violation, loss, nan, recompute, drop, "
                   "free or layer",
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
    }
    return {};
}

} // namespace retro::trace
