// SPDX-License-Identifier: Apache-2.0
#include "core/trace/describe.h"

#include "core/event/launchevent.h"
#include "core/event/partevent.h"
#include "core/event/planevent.h"
#include "core/trace/lutlaunch.h"

#include "kernels/lut/schedule.h"

#include <fmt/format.h>

#include <array>

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
    /// "relevance" or "search P0.1".
    [[nodiscard]] std::string part() const { return isBranch() ? "search " + branch() : std::string("relevance"); }
    [[nodiscard]] std::string stack() const { return event.extra == 0 ? "the normal stack" : "the search stack"; }
    /// " of 2 × 3, Σ 0.5" when the tensor is known.
    [[nodiscard]] std::string tensor() const
    {
        if (event.handle >= run.handles.size()) {
            return {};
        }
        const HandleInfo& info = run.handles[event.handle];
        return fmt::format(" ({}, Σ {:.6g})", tensor::toText(info.shape), info.sum);
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

std::string pushText(const Words& w) { return fmt::format("{} goes on {}", w.node(), w.stack()); }

std::string popText(const Words& w)
{
    return fmt::format("{} leaves {}{}", w.node(), w.stack(), w.event.flag == 1 ? ": nobody needs it any more" : "");
}

std::string enqueueText(const Words& w) { return w.node() + " goes into the promise queue"; }

std::string dequeueText(const Words& w) { return w.node() + " leaves the promise queue"; }

std::string landText(const Words& w)
{
    const std::string from = w.event.other == NodeId::kInvalid ? "" : " from " + nodeText(w.run, NodeId(w.event.other));
    return fmt::format("{}{} lands at {}, in-edge {} of {}{}{}", w.part(), from, w.node(), w.event.slot + 1,
                       w.event.extra, event::isJoined(w.event) ? ", first added to the use before it" : "",
                       w.isBranch() ? std::string() : w.tensor());
}

std::string takeText(const Words& w)
{
    return fmt::format("{} takes {} from in-edge {} of {}", w.node(), w.part(), w.event.slot + 1, w.event.extra);
}

std::string newPromiseText(const Words& w)
{
    const bool isKind = w.event.extra >= 0 && w.event.extra <= static_cast<std::int64_t>(event::PromiseKind::Operator);
    const std::string_view kind = isKind ? nameOf(static_cast<event::PromiseKind>(w.event.extra)) : "?";
    return fmt::format("{} raises {} ({}{}): asks for {}", w.node(), w.promise(), kind,
                       w.event.flag == 1 ? "" : ", not open yet", plural(w.event.slot, "operand"));
}

std::string addParentText(const Words& w) { return fmt::format("{} gets {} as parent", w.promise(), w.otherBranch()); }

std::string recordText(const Words& w) { return fmt::format("search {} passes through {}", w.branch(), w.node()); }

std::string addChildText(const Words& w) { return fmt::format("{} gets {} as child", w.branch(), w.otherPromise()); }

std::string argNodeText(const Words& w) { return fmt::format("search {} ends at {}", w.branch(), w.node()); }

std::string argText(const Words& w)
{
    const std::string from = w.event.node == NodeId::kInvalid ? "" : " at " + w.node();
    return fmt::format("{} finds its argument{}{}", w.branch(), from, w.tensor());
}

std::string readyText(const Words& w) { return w.promise() + " is ready: all its arguments are there"; }

std::string joinText(const Words& w)
{
    return fmt::format("search {} joins {}: {} is being searched already", w.otherBranch(), w.promise(), w.node());
}

std::string openText(const Words& w) { return w.promise() + " opens: all inputs of its node have landed"; }

std::string completeText(const Words& w) { return w.promise() + " is complete"; }

std::string promiseRelevanceText(const Words& w)
{
    return fmt::format("{} has its relevance{}", w.promise(), w.tensor());
}

std::string branchRelevanceText(const Words& w)
{
    return fmt::format("{} receives relevance{}", w.branch(), w.tensor());
}

std::string waitText(const Words& w) { return fmt::format("{} waits for {}", w.node(), w.branch()); }

std::string resumeText(const Words& w) { return fmt::format("{} no longer waits for {}", w.node(), w.branch()); }

std::string relevanceText(const Words& w)
{
    return fmt::format("relevance of {}{} is known{}", w.node(), w.output(), w.tensor());
}

std::string ruleText(const Words& w)
{
    const bool isKnown = w.event.node < w.run.rules.size() && !w.run.rules[w.event.node].rule.empty();
    const std::string rule = isKnown ? "rule " + w.run.rules[w.event.node].rule : std::string("the rule");
    return fmt::format("{} of {} is applied{}", rule, w.node(), w.isBranch() ? " by " + w.promise() : std::string());
}

std::string snapshotText(const Words& w)
{
    return fmt::format("checkpoint {}{} is taken{}", w.node(), w.output(), w.tensor());
}

std::string finishedText(const Words& w)
{
    return w.event.flag == 1 ? "the run ends: all checkpoints have been taken" : "the run is finished";
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

std::string splitText(const Words& w)
{
    return fmt::format("{} ends a block behind {}, forward operator {}", tryText(w), w.node(), w.event.extra + 1);
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

std::string computeText(const Words& w) { return fmt::format("{} is computed{}", valueText(w), w.tensor()); }

std::string recomputeText(const Words& w)
{
    return fmt::format("{} is computed again{}{}", valueText(w), w.event.extra == 1 ? ", to be freed after use" : "",
                       w.tensor());
}

std::string freeText(const Words& w)
{
    return fmt::format("{} leaves memory{}", valueText(w), event::isMovedOut(w.event) ? " for its tier" : "");
}

std::string moveText(const Words& w) { return fmt::format("{} is copied to {}", valueText(w), tierText(w)); }

std::string fetchText(const Words& w)
{
    return fmt::format("{} is fetched {}", valueText(w), w.isBranch() ? "by " + w.promise() : "from " + tierText(w));
}

using Describer = std::string (*)(const Words&);
constexpr std::array<Describer, event::kEventKindCount> kDescribers{visitText,
                                                                    pushText,
                                                                    popText,
                                                                    enqueueText,
                                                                    dequeueText,
                                                                    landText,
                                                                    takeText,
                                                                    newPromiseText,
                                                                    addParentText,
                                                                    recordText,
                                                                    addChildText,
                                                                    argNodeText,
                                                                    argText,
                                                                    readyText,
                                                                    joinText,
                                                                    openText,
                                                                    completeText,
                                                                    promiseRelevanceText,
                                                                    branchRelevanceText,
                                                                    waitText,
                                                                    resumeText,
                                                                    relevanceText,
                                                                    ruleText,
                                                                    snapshotText,
                                                                    finishedText,
                                                                    launchText,
                                                                    candidateText,
                                                                    splitText,
                                                                    dropText,
                                                                    rebuildText,
                                                                    computeText,
                                                                    recomputeText,
                                                                    freeText,
                                                                    moveText,
                                                                    fetchText,
                                                                    bufferText};

} // namespace

std::string describe(const Run& run, std::uint64_t step)
{
    if (step >= run.events.size()) {
        return {};
    }
    const Event& event = run.events[step];
    const auto kind = static_cast<std::size_t>(event.kind);
    return kind < kDescribers.size() ? kDescribers[kind]({run, event, step}) : std::string();
}

} // namespace retro::trace
