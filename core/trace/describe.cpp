// SPDX-License-Identifier: Apache-2.0
#include "core/trace/describe.h"

#include "core/event/launchevent.h"
#include "core/event/partevent.h"
#include "core/event/planevent.h"
#include "core/trace/lutlaunch.h"
#include "core/trace/meantrelevance.h"

#include "kernels/lut/schedule.h"

#include <fmt/format.h>

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

    [[nodiscard]] std::string node() const { return nodeText(run, NodeId(event.node)); }
    [[nodiscard]] std::string promise() const { return promiseText(PromiseId(event.promise)); }
    [[nodiscard]] std::string branch() const { return branchText(PromiseId(event.promise), event.branch); }
    [[nodiscard]] std::string otherPromise() const { return promiseText(PromiseId(event.other)); }
    [[nodiscard]] std::string otherBranch() const { return branchText(PromiseId(event.other), event.branch2); }
    [[nodiscard]] bool isBranch() const { return event.promise != PromiseId::kInvalid; }
    /// "relevance", "gradient" or "search P0.1".
    [[nodiscard]] std::string part() const { return isBranch() ? "search " + branch() : std::string(flowWord(run)); }
    /// What is known of a value at last: "relevance", "gradient" or "gradient × input".
    [[nodiscard]] std::string_view last() const
    {
        const bool isKnown = event.node < run.graph->runNodeCount() && run.graph->isInput(NodeId(event.node));
        const bool isTimesInput = isKnown && isProduct(run, run.graph->outputsOf(NodeId(event.node)).front());
        return isTimesInput ? std::string_view("gradient × input") : flowWord(run);
    }
    [[nodiscard]] std::string stack() const { return event.extra == 0 ? "the normal stack" : "the search stack"; }
    /// " of 2 × 3, Σ 0.5" when the tensor is known.
    [[nodiscard]] std::string tensor() const
    {
        if (event.handle >= run.handles.size()) {
            return {};
        }
        const HandleInfo& info = run.handles[event.handle];
        return fmt::format(" ({}, Σ {:.6g})", tensor::toText(info.shape), sumIn(run, event));
    }
    /// " at output 1" when the node has more than one.
    [[nodiscard]] std::string output() const
    {
        const bool isKnown = run.graph && event.node < run.graph->runNodeCount();
        const bool hasMore = isKnown && run.graph->outputsOf(NodeId(event.node)).size() > 1;
        return hasMore ? fmt::format(" at output {}", event.slot) : std::string();
    }
};

std::string plural(std::int64_t count, std::string_view one)
{
    return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

std::string visitText(const Words& w)
{
    switch (w.event.mode) {
    case Mode::Search:
        return "search reaches " + w.node();
    case Mode::Fulfilment:
        return w.node() + " goes on: the promise that it waited for is complete";
    case Mode::Normal:
        return w.node() + " is visited";
    case Mode::None:
        break;
    }
    return w.node();
}

std::string landText(const Words& w)
{
    const std::string from = w.event.other == NodeId::kInvalid ? "" : " from " + nodeText(w.run, NodeId(w.event.other));
    return fmt::format("{}{} lands at {}, in-edge {} of {}{}{}", w.part(), from, w.node(), w.event.slot + 1,
                       w.event.extra, event::isJoined(w.event) ? ", first added to the use before it" : "",
                       w.isBranch() ? std::string() : w.tensor());
}

std::string newPromiseText(const Words& w)
{
    const bool isKind = w.event.extra >= 0 && w.event.extra <= static_cast<std::int64_t>(event::PromiseKind::Operator);
    const std::string_view kind = isKind ? nameOf(static_cast<event::PromiseKind>(w.event.extra)) : "?";
    return fmt::format("{} raises {} ({}{}): asks for {}", w.node(), w.promise(), kind,
                       w.event.flag == 1 ? "" : ", not open yet", plural(w.event.slot, "operand"));
}

std::string argText(const Words& w)
{
    const std::string from = w.event.node == NodeId::kInvalid ? "" : " at " + w.node();
    return fmt::format("{} finds its argument{}{}", w.branch(), from, w.tensor());
}

std::string ruleText(const Words& w)
{
    const bool isKnown = w.event.node < w.run.rules.size() && !w.run.rules[w.event.node].rule.empty();
    const std::string rule = isKnown ? "rule " + w.run.rules[w.event.node].rule : std::string("the rule");
    return fmt::format("{} of {} is applied{}", rule, w.node(), w.isBranch() ? " by " + w.promise() : std::string());
}

std::string launchText(const Words& w)
{
    const std::string name = kernelName(w.event);
    const LaunchBuffers buffers = launchBuffers(w.run, w.step);
    const std::string touched =
        buffers.writes.empty() ? std::string() : fmt::format(": reads {}; writes {}", buffers.reads, buffers.writes);
    return fmt::format("{} runs {} on stream {}{}{}", w.node(), name, w.event.branch2, launchTime(w.event), touched);
}

std::string bufferText(const Words& w)
{
    const bool isRead = (w.event.flag & event::kBufferRead) != 0;
    const bool isWritten = (w.event.flag & event::kBufferWritten) != 0;
    return fmt::format("{} {} its buffer {}{}", w.node(),
                       isRead && isWritten ? "adds to"
                       : isWritten         ? "writes"
                                           : "reads",
                       bufferName(w.event), w.tensor());
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
    return fmt::format("{}: peak {} bytes at {}, cost {:g}; {}", tryText(w), event::wideIn(w.event), w.node(),
                       event::numberIn(w.event),
                       (w.event.flag & event::kTryIsBest) != 0 ? "the best so far"
                       : (w.event.flag & event::kTryFits) != 0 ? "fits"
                                                               : "does not fit");
}

std::string dropText(const Words& w)
{
    return fmt::format("{} lets {} go: {}; gain {:g} for a cost of {:g}", tryText(w), valueText(w),
                       nameOf(event::reasonOf(w.event)), event::numberIn(w.event), event::dropCost(w.event));
}

std::string rebuildText(const Words& w)
{
    const std::string reader =
        w.event.branch == NodeId::kInvalid ? "" : " for " + nodeText(w.run, NodeId(w.event.branch));
    return fmt::format("{} has {} made again{}: cost {:g}", tryText(w), valueText(w), reader, event::numberIn(w.event));
}

std::string textOf(const Words& w)
{
    switch (w.event.kind) {
    case EventKind::Visit:
        return visitText(w);
    case EventKind::Push:
        return fmt::format("{} goes on {}", w.node(), w.stack());
    case EventKind::Pop:
        return fmt::format("{} leaves {}{}", w.node(), w.stack(),
                           w.event.flag == 1 ? ": nobody needs it any more" : "");
    case EventKind::Enqueue:
        return w.node() + " goes into the promise queue";
    case EventKind::Dequeue:
        return w.node() + " leaves the promise queue";
    case EventKind::Land:
        return landText(w);
    case EventKind::Take:
        return fmt::format("{} takes {} from in-edge {} of {}", w.node(), w.part(), w.event.slot + 1, w.event.extra);
    case EventKind::NewPromise:
        return newPromiseText(w);
    case EventKind::AddParent:
        return fmt::format("{} gets {} as parent", w.promise(), w.otherBranch());
    case EventKind::Record:
        return fmt::format("search {} passes through {}", w.branch(), w.node());
    case EventKind::AddChild:
        return fmt::format("{} gets {} as child", w.branch(), w.otherPromise());
    case EventKind::ArgNode:
        return fmt::format("search {} ends at {}", w.branch(), w.node());
    case EventKind::Arg:
        return argText(w);
    case EventKind::Ready:
        return w.promise() + " is ready: all its arguments are there";
    case EventKind::Join:
        return fmt::format("search {} joins {}: {} is being searched already", w.otherBranch(), w.promise(), w.node());
    case EventKind::Open:
        return w.promise() + " opens: all inputs of its node have landed";
    case EventKind::Complete:
        return w.promise() + " is complete";
    case EventKind::PromiseRelevance:
        return fmt::format("{} has its {}{}", w.promise(), flowWord(w.run), w.tensor());
    case EventKind::BranchRelevance:
        return fmt::format("{} receives {}{}", w.branch(), flowWord(w.run), w.tensor());
    case EventKind::Wait:
        return fmt::format("{} waits for {}", w.node(), w.branch());
    case EventKind::Resume:
        return fmt::format("{} no longer waits for {}", w.node(), w.branch());
    case EventKind::Relevance:
        return fmt::format("{} of {}{} is known{}", w.last(), w.node(), w.output(), w.tensor());
    case EventKind::Rule:
        return ruleText(w);
    case EventKind::Snapshot:
        return fmt::format("checkpoint {}{} is taken{}", w.node(), w.output(), w.tensor());
    case EventKind::Finished:
        return w.event.flag == 1 ? "the run ends: all checkpoints have been taken" : "the run is finished";
    case EventKind::Launch:
        return launchText(w);
    case EventKind::Candidate:
        return candidateText(w);
    case EventKind::Split:
        return fmt::format("{} ends a block behind {}, forward operator {}", tryText(w), w.node(), w.event.extra + 1);
    case EventKind::Drop:
        return dropText(w);
    case EventKind::Rebuild:
        return rebuildText(w);
    case EventKind::Compute:
        return fmt::format("{} is computed{}", valueText(w), w.tensor());
    case EventKind::Recompute:
        return fmt::format("{} is computed again{}{}", valueText(w),
                           w.event.extra == 1 ? ", to be freed after use" : "", w.tensor());
    case EventKind::Free:
        return fmt::format("{} leaves memory{}", valueText(w), event::isMovedOut(w.event) ? " for its tier" : "");
    case EventKind::Move:
        return fmt::format("{} is copied to {}", valueText(w), tierText(w));
    case EventKind::Fetch:
        return fmt::format("{} is fetched {}", valueText(w),
                           w.isBranch() ? "by " + w.promise() : "from " + tierText(w));
    case EventKind::Buffer:
        return bufferText(w);
    }
    return {};
}

} // namespace

std::string describe(const Run& run, std::uint64_t step)
{
    if (step >= run.events.size()) {
        return {};
    }
    return textOf({run, run.events[step], step});
}

} // namespace retro::trace
