// SPDX-License-Identifier: Apache-2.0
#include "core/trace/describe.h"

#include "core/base/bytesize.h"
#include "core/base/counted.h"
#include "core/event/launchevent.h"
#include "core/event/partevent.h"
#include "core/event/planevent.h"
#include "core/trace/lutlaunch.h"
#include "core/trace/meantrelevance.h"

#include "kernels/lut/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace retro::trace
{

using event::EventKind;
using event::Mode;

namespace
{

/// An event with words for what it names.
struct Words
{
    const Run& run;
    const Event& event;
    std::uint64_t step; ///< its place in the run
    const EventStyle& style;

    [[nodiscard]] std::string node(std::uint32_t id) const { return style.node(run, NodeId(id)); }
    [[nodiscard]] std::string promise() const { return promiseText(PromiseId(event.promise)); }
    [[nodiscard]] std::string branch() const { return branchText(PromiseId(event.promise), event.branch); }
    [[nodiscard]] std::string otherPromise() const { return promiseText(PromiseId(event.other)); }
    [[nodiscard]] std::string otherBranch() const { return branchText(PromiseId(event.other), event.branch2); }
    [[nodiscard]] bool isBranch() const { return event.promise != PromiseId::kInvalid; }
    [[nodiscard]] std::string stack() const { return event.extra == 0 ? "the normal stack" : "the search stack"; }
    /// "part 1 of 2", "part 1 of 2: search P0.1".
    [[nodiscard]] std::string part() const
    {
        return fmt::format("part {} of {}{}", std::uint64_t{event.slot} + 1, event.extra,
                           isBranch() ? ": search " + branch() : std::string());
    }
    /// ", Σ 0.39" when the tensor is known.
    [[nodiscard]] std::string sum() const
    {
        return event.handle < run.handles.size() ? ", Σ " + style.number(sumIn(run, event)) : std::string();
    }
    /// What is known of a value at last: "relevance", "gradient" or "gradient × input".
    [[nodiscard]] std::string_view last() const
    {
        const bool isKnown = event.node < run.graph->runNodeCount() && run.graph->isInput(NodeId(event.node));
        const bool isTimesInput = isKnown && isProduct(run, run.graph->outputsOf(NodeId(event.node)).front());
        return isTimesInput ? std::string_view("gradient × input") : flowWord(run);
    }
};

std::string visitText(const Words& w)
{
    switch (w.event.mode) {
    case Mode::Search:
        return "the search comes by";
    case Mode::Fulfilment:
        return "goes on: what it waited for is there";
    default:
        return "is visited";
    }
}

std::string landText(const Words& w)
{
    const std::string from = w.event.other == NodeId::kInvalid ? std::string() : " from " + w.node(w.event.other);
    return fmt::format("{}{}{}{}", w.part(), from, event::isJoined(w.event) ? ", first added to the use before it" : "",
                       w.isBranch() ? std::string() : w.sum());
}

std::string newPromiseText(const Words& w)
{
    const bool isKind = w.event.extra >= 0 && w.event.extra <= static_cast<std::int64_t>(event::PromiseKind::Operator);
    return fmt::format("raises {} ({}{}): asks for {}", w.promise(),
                       isKind ? nameOf(static_cast<event::PromiseKind>(w.event.extra)) : "?",
                       w.event.flag == 1 ? "" : ", not open yet", base::counted(w.event.slot, "operand"));
}

std::string ruleText(const Words& w)
{
    const bool isKnown = w.event.node < w.run.rules.size() && !w.run.rules[w.event.node].rule.empty();
    const std::string rule = isKnown ? w.run.rules[w.event.node].rule : std::string("rule");
    const std::string by = w.isBranch() ? " by " + w.promise() : std::string();
    const auto row = static_cast<std::uint64_t>(w.event.extra);
    if (row >= w.run.ledger.size()) {
        return fmt::format("{} is applied{}", rule, by);
    }
    const event::LedgerEntry& entry = w.run.ledger[row];
    return fmt::format("{}{}: {} in, {} out", rule, by, w.style.number(entry.arrived), w.style.number(entry.handedOn));
}

std::string launchText(const Words& w)
{
    const LaunchBuffers buffers = launchBuffers(w.run, w.step);
    const std::string touched =
        buffers.writes.empty() ? std::string() : fmt::format(": reads {}; writes {}", buffers.reads, buffers.writes);
    return fmt::format("kernel {} on stream {}{}{}", kernelName(w.event), w.event.branch2, launchTime(w.event),
                       touched);
}

std::string bufferText(const Words& w)
{
    const bool isRead = (w.event.flag & event::kBufferRead) != 0;
    const bool isWritten = (w.event.flag & event::kBufferWritten) != 0;
    const char* verb = isRead && isWritten ? "adds to" : isWritten ? "writes" : "reads";
    return fmt::format("the kernel {} {}{}", verb, bufferName(w.event), w.sum());
}

/// "try 3 (shave)".
std::string tryText(const Words& w)
{
    const std::vector<std::string>& names = w.run.facts.planTries;
    return fmt::format("try {}{}", std::uint64_t{w.event.slot} + 1,
                       w.event.slot < names.size() ? " (" + names[w.event.slot] + ")" : std::string());
}

std::string valueText(const Words& w)
{
    const bool isKnown = w.event.other < w.run.graph->valueCount();
    return (event::isOfGradient(w.event) ? "the gradient of " : "") +
           (isKnown ? w.run.graph->value(base::ValueId(w.event.other)).name : std::string("?"));
}

std::string tierText(const Words& w)
{
    const std::vector<std::string>& names = w.run.facts.planTiers;
    return w.event.slot < names.size() ? "tier " + names[w.event.slot] : fmt::format("tier {}", w.event.slot);
}

std::string candidateText(const Words& w)
{
    if ((w.event.flag & event::kTryRefused) != 0) {
        return tryText(w) + " makes no plan";
    }
    return fmt::format("{}: peak {} here, cost {}; {}", tryText(w), base::bytesText(event::wideIn(w.event)),
                       w.style.number(event::numberIn(w.event)),
                       (w.event.flag & event::kTryIsBest) != 0 ? "the best so far"
                       : (w.event.flag & event::kTryFits) != 0 ? "fits"
                                                               : "does not fit");
}

std::string dropText(const Words& w)
{
    return fmt::format("{} lets {} go: {}; gain {} for a cost of {}", tryText(w), valueText(w),
                       nameOf(event::reasonOf(w.event)), w.style.number(event::numberIn(w.event)),
                       w.style.number(event::dropCost(w.event)));
}

std::string rebuildText(const Words& w)
{
    const std::string reader = w.event.branch == NodeId::kInvalid ? std::string() : " for " + w.node(w.event.branch);
    return fmt::format("{} has {} made again{}: cost {}", tryText(w), valueText(w), reader,
                       w.style.number(event::numberIn(w.event)));
}

std::string textOf(const Words& w)
{
    switch (w.event.kind) {
    case EventKind::Visit:
        return visitText(w);
    case EventKind::Push:
        return "onto " + w.stack();
    case EventKind::Pop:
        return w.event.flag == 1 ? fmt::format("off {}: nobody needs it any more", w.stack()) : "from " + w.stack();
    case EventKind::Enqueue:
        return "into the promise queue";
    case EventKind::Dequeue:
        return "from the promise queue";
    case EventKind::Land:
        return landText(w);
    case EventKind::Take:
        return "takes " + w.part();
    case EventKind::NewPromise:
        return newPromiseText(w);
    case EventKind::AddParent:
        return fmt::format("{} will answer {}", w.promise(), w.otherBranch());
    case EventKind::Record:
        return fmt::format("search {} passes through", w.branch());
    case EventKind::AddChild:
        return fmt::format("{} is answered by {}", w.branch(), w.otherPromise());
    case EventKind::ArgNode:
        return fmt::format("search {} ends here", w.branch());
    case EventKind::Arg: // a value of the forward pass: its sum is no relevance
        return fmt::format("{} has its operand{}", w.branch(),
                           w.sum().empty() ? std::string() : ", a value of" + w.sum().substr(1));
    case EventKind::Ready:
        return fmt::format("{} has all its operands", w.promise());
    case EventKind::Join:
        return fmt::format("search {} joins {}", w.otherBranch(), w.promise());
    case EventKind::Open:
        return fmt::format("all parts for {} have landed", w.promise());
    case EventKind::Complete:
        return fmt::format("{} is fulfilled", w.promise());
    case EventKind::PromiseRelevance:
        return fmt::format("{} holds its {}{}", w.promise(), flowWord(w.run), w.sum());
    case EventKind::BranchRelevance:
        return fmt::format("{} receives{}", w.branch(), w.sum().empty() ? std::string() : w.sum().substr(1));
    case EventKind::Wait:
        return fmt::format("waits for {}", w.branch());
    case EventKind::Resume:
        return fmt::format("no longer waits for {}", w.branch());
    case EventKind::Relevance:
        return fmt::format("its {} is known in full{}", w.last(), w.sum());
    case EventKind::Rule:
        return ruleText(w);
    case EventKind::Snapshot:
        return "takes its checkpoint" + w.sum();
    case EventKind::Finished:
        return w.event.flag == 1 ? "the run ends: all checkpoints have been taken" : "the run is finished";
    case EventKind::Launch:
        return launchText(w);
    case EventKind::Candidate:
        return candidateText(w);
    case EventKind::Split:
        return fmt::format("{} ends a block here, behind forward operator {}", tryText(w), w.event.extra + 1);
    case EventKind::Drop:
        return dropText(w);
    case EventKind::Rebuild:
        return rebuildText(w);
    case EventKind::Compute:
        return fmt::format("{} is computed{}", valueText(w), w.sum());
    case EventKind::Recompute:
        return fmt::format("{} is computed again{}{}", valueText(w),
                           w.event.extra == 1 ? ", to be freed after use" : "", w.sum());
    case EventKind::Free:
        return fmt::format("{} leaves memory{}", valueText(w), event::isMovedOut(w.event) ? " for its tier" : "");
    case EventKind::Move:
        return fmt::format("{} is copied to {}", valueText(w), tierText(w));
    case EventKind::Fetch:
        return fmt::format("{} {}", valueText(w),
                           w.isBranch() ? "is brought by " + w.promise() : "comes back from " + tierText(w));
    case EventKind::Buffer:
        return bufferText(w);
    }
    return {};
}

/// In place of what files call a kind.
constexpr std::array kKindWords{
    std::pair<EventKind, std::string_view>{EventKind::NewPromise, "raises"},
    std::pair<EventKind, std::string_view>{EventKind::AddParent, "answers"},
    std::pair<EventKind, std::string_view>{EventKind::AddChild, "answered by"},
    std::pair<EventKind, std::string_view>{EventKind::Record, "crosses"},
    std::pair<EventKind, std::string_view>{EventKind::ArgNode, "search end"},
    std::pair<EventKind, std::string_view>{EventKind::Arg, "operand"},
    std::pair<EventKind, std::string_view>{EventKind::PromiseRelevance, "holds"},
    std::pair<EventKind, std::string_view>{EventKind::BranchRelevance, "receives"},
};

} // namespace

std::string eventWords(const Run& run, std::uint64_t step, const EventStyle& style)
{
    return step < run.events.size() ? textOf({run, run.events[step], step, style}) : std::string();
}

std::string describe(const Run& run, std::uint64_t step)
{
    static const EventStyle style{[](double number) { return fmt::format("{:.6g}", number); },
                                  [](const Run& of, NodeId node) { return nodeText(of, node); }};
    const std::string words = eventWords(run, step, style);
    const bool namesNode = step < run.events.size() && run.events[step].node < run.graph->runNodeCount();
    return namesNode ? fmt::format("{}: {}", nodeText(run, NodeId(run.events[step].node)), words) : words;
}

std::string_view eventKindWord(EventKind kind)
{
    const auto* word = std::ranges::find(kKindWords, kind, [](const auto& each) { return each.first; });
    return word != kKindWords.end() ? word->second : event::nameOf(kind);
}

} // namespace retro::trace
