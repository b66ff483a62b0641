// SPDX-License-Identifier: Apache-2.0
#include "views/log/eventwords.h"

#include "views/common/numbertext.h"
#include "views/common/viewcontext.h"

#include "core/event/launchevent.h"
#include "core/event/partevent.h"
#include "core/event/planevent.h"
#include "core/trace/gradientrun.h"
#include "core/trace/lutlaunch.h"
#include "core/trace/meantrelevance.h"

#include "kernels/lut/schedule.h"

#include <QCoreApplication>

#include <algorithm>
#include <array>
#include <utility>

namespace retro::views
{

namespace
{

using event::EventKind;

QString logText(const char* text) { return QCoreApplication::translate("retro::views::LogView", text); }

/// An event with words for what it names.
struct Words
{
    const trace::Run& run;
    const trace::Event& e;
    std::uint64_t step; ///< its place in the run

    [[nodiscard]] QString node(std::uint32_t id) const
    {
        return id < run.graph->runNodeCount() ? RunModel::placeLabel(*run.graph, base::NodeId(id))
                                              : QStringLiteral("?");
    }
    [[nodiscard]] QString promise() const { return QStringLiteral("P%1").arg(e.promise); }
    [[nodiscard]] QString branch() const { return QStringLiteral("P%1.%2").arg(e.promise).arg(e.branch); }
    [[nodiscard]] QString otherBranch() const { return QStringLiteral("P%1.%2").arg(e.other).arg(e.branch2); }
    [[nodiscard]] bool isBranch() const { return e.promise != base::PromiseId::kInvalid; }
    [[nodiscard]] QString stack() const
    {
        return e.extra == 0 ? logText("the normal stack") : logText("the search stack");
    }
    [[nodiscard]] QString part() const
    {
        const QString which = logText("part %1 of %2").arg(e.slot + 1).arg(e.extra);
        return isBranch() ? logText("%1: search %2").arg(which, branch()) : which;
    }
    /// ", Σ 0.39" when the tensor is known.
    [[nodiscard]] QString sum() const
    {
        return e.handle < run.handles.size() ? QStringLiteral(", Σ ") + valueText(trace::sumIn(run, e)) : QString();
    }
};

/// In place of what files call a kind.
constexpr std::array kKindWords{
    std::pair{EventKind::NewPromise, QT_TRANSLATE_NOOP("retro::views::LogView", "opens")},
    std::pair{EventKind::AddParent, QT_TRANSLATE_NOOP("retro::views::LogView", "answers")},
    std::pair{EventKind::AddChild, QT_TRANSLATE_NOOP("retro::views::LogView", "answered by")},
    std::pair{EventKind::Record, QT_TRANSLATE_NOOP("retro::views::LogView", "crosses")},
    std::pair{EventKind::ArgNode, QT_TRANSLATE_NOOP("retro::views::LogView", "search end")},
    std::pair{EventKind::Arg, QT_TRANSLATE_NOOP("retro::views::LogView", "operand")},
    std::pair{EventKind::PromiseRelevance, QT_TRANSLATE_NOOP("retro::views::LogView", "holds")},
    std::pair{EventKind::BranchRelevance, QT_TRANSLATE_NOOP("retro::views::LogView", "receives")},
};

QString visitWords(const Words& w)
{
    switch (w.e.mode) {
    case event::Mode::Search:
        return logText("the search comes by");
    case event::Mode::Fulfilment:
        return logText("goes on: what it waited for is there");
    default:
        return logText("is visited");
    }
}
QString landWords(const Words& w)
{
    const QString from = w.e.other == base::NodeId::kInvalid ? QString() : logText(" from %1").arg(w.node(w.e.other));
    const QString joined = event::isJoined(w.e) ? logText(", first added to the use before it") : QString();
    return w.part() + from + joined + (w.isBranch() ? QString() : w.sum());
}
QString newPromiseWords(const Words& w)
{
    const bool isKind = w.e.extra >= 0 && w.e.extra <= static_cast<std::int64_t>(event::PromiseKind::Operator);
    const QString kind =
        isKind ? QString::fromUtf8(event::nameOf(static_cast<event::PromiseKind>(w.e.extra)).data()) : QString();
    return w.e.slot == 1 ? logText("opens %1 (%2): asks for 1 operand").arg(w.promise(), kind)
                         : logText("opens %1 (%2): asks for %3 operands").arg(w.promise(), kind).arg(w.e.slot);
}
QString ruleWords(const Words& w)
{
    const bool isKnown = w.e.node < w.run.rules.size() && !w.run.rules[w.e.node].rule.empty();
    const QString rule = isKnown ? QString::fromStdString(w.run.rules[w.e.node].rule) : logText("rule");
    const auto row = static_cast<std::uint64_t>(w.e.extra);
    if (row >= w.run.ledger.size()) {
        return logText("%1 is applied").arg(rule);
    }
    const event::LedgerEntry& entry = w.run.ledger[row];
    return logText("%1: %2 in, %3 out").arg(rule, valueText(entry.arrived), valueText(entry.handedOn));
}
QString launchWords(const Words& w)
{
    const QString where = logText("kernel %1 on stream %2%3")
                              .arg(QString::fromStdString(trace::kernelName(w.e)), QString::number(w.e.branch2),
                                   QString::fromStdString(trace::launchTime(w.e)));
    const trace::LaunchBuffers buffers = trace::launchBuffers(w.run, w.step);
    return buffers.writes.empty()
               ? where
               : logText("%1: reads %2; writes %3")
                     .arg(where, QString::fromStdString(buffers.reads), QString::fromStdString(buffers.writes));
}

QString bufferWords(const Words& w)
{
    const bool isRead = (w.e.flag & event::kBufferRead) != 0;
    const bool isWritten = (w.e.flag & event::kBufferWritten) != 0;
    const QString verb = isRead && isWritten ? logText("adds to") : isWritten ? logText("writes") : logText("reads");
    return logText("the kernel %1 %2%3").arg(verb, QString::fromStdString(trace::bufferName(w.e)), w.sum());
}

/// "try 3 (shave)".
QString tryWords(const Words& w)
{
    const std::vector<std::string>& names = w.run.facts.planTries;
    const QString number = QString::number(std::uint64_t{w.e.slot} + 1);
    return w.e.slot < names.size() ? logText("try %1 (%2)").arg(number, QString::fromStdString(names[w.e.slot]))
                                   : logText("try %1").arg(number);
}

QString plannedWords(const Words& w)
{
    const bool isKnown = w.e.other < w.run.graph->valueCount();
    const QString name =
        isKnown ? QString::fromStdString(w.run.graph->value(base::ValueId(w.e.other)).name) : QStringLiteral("?");
    return event::isOfGradient(w.e) ? logText("the gradient of %1").arg(name) : name;
}

QString tierWords(const Words& w)
{
    const std::vector<std::string>& names = w.run.facts.planTiers;
    return w.e.slot < names.size() ? QString::fromStdString(names[w.e.slot]) : QString::number(w.e.slot);
}

QString candidateWords(const Words& w)
{
    if ((w.e.flag & event::kTryRefused) != 0) {
        return logText("%1 makes no plan").arg(tryWords(w));
    }
    const QString verdict = (w.e.flag & event::kTryIsBest) != 0 ? logText("the best so far")
                            : (w.e.flag & event::kTryFits) != 0 ? logText("fits")
                                                                : logText("does not fit");
    return logText("%1: peak %2 here, cost %3; %4")
        .arg(tryWords(w), bytesText(static_cast<std::int64_t>(event::wideIn(w.e))), valueText(event::numberIn(w.e)),
             verdict);
}

QString dropWords(const Words& w)
{
    const std::string_view reason = event::nameOf(event::reasonOf(w.e));
    return logText("%1 lets %2 go: %3; gain %4 for a cost of %5")
        .arg(tryWords(w), plannedWords(w), QString::fromUtf8(reason.data(), static_cast<qsizetype>(reason.size())),
             valueText(event::numberIn(w.e)), valueText(event::dropCost(w.e)));
}

QString rebuildWords(const Words& w)
{
    const QString cost = valueText(event::numberIn(w.e));
    return w.e.branch == base::NodeId::kInvalid
               ? logText("%1 has %2 made again: cost %3").arg(tryWords(w), plannedWords(w), cost)
               : logText("%1 has %2 made again for %3: cost %4")
                     .arg(tryWords(w), plannedWords(w), w.node(w.e.branch), cost);
}

QString wordsOf(const Words& w)
{
    switch (w.e.kind) {
    case EventKind::Visit:
        return visitWords(w);
    case EventKind::Push:
        return logText("onto %1").arg(w.stack());
    case EventKind::Pop:
        return w.e.flag == 1 ? logText("off %1: nobody needs it any more").arg(w.stack())
                             : logText("from %1").arg(w.stack());
    case EventKind::Enqueue:
        return logText("into the promise queue");
    case EventKind::Dequeue:
        return logText("from the promise queue");
    case EventKind::Land:
        return landWords(w);
    case EventKind::Take:
        return logText("takes %1").arg(w.part());
    case EventKind::NewPromise:
        return newPromiseWords(w);
    case EventKind::AddParent:
        return logText("%1 will answer %2").arg(w.promise(), w.otherBranch());
    case EventKind::Record:
        return logText("search %1 passes through").arg(w.branch());
    case EventKind::AddChild:
        return logText("%1 is answered by P%2").arg(w.branch()).arg(w.e.other);
    case EventKind::ArgNode:
        return logText("search %1 ends here").arg(w.branch());
    case EventKind::Arg:
        // The operand is a value of the forward pass: its sum is no relevance.
        return logText("%1 has its operand").arg(w.branch());
    case EventKind::Ready:
        return logText("%1 has all its operands").arg(w.promise());
    case EventKind::Join:
        return logText("search %1 joins %2").arg(w.otherBranch(), w.promise());
    case EventKind::Open:
        return logText("all parts for %1 have landed").arg(w.promise());
    case EventKind::Complete:
        return logText("%1 is fulfilled").arg(w.promise());
    case EventKind::PromiseRelevance:
        return (trace::carriesGradient(w.run) ? logText("%1 holds its gradient%2")
                                              : logText("%1 holds its relevance%2"))
            .arg(w.promise(), w.sum());
    case EventKind::BranchRelevance:
        return logText("%1 receives%2").arg(w.branch(), w.sum().mid(1));
    case EventKind::Wait:
        return logText("waits for %1").arg(w.branch());
    case EventKind::Resume:
        return logText("no longer waits for %1").arg(w.branch());
    case EventKind::Relevance:
        return logText("is known in full%1").arg(w.sum());
    case EventKind::Rule:
        return ruleWords(w);
    case EventKind::Snapshot:
        return logText("takes its checkpoint%1").arg(w.sum());
    case EventKind::Finished:
        return w.e.flag == 1 ? logText("the run ends: all checkpoints have been taken")
                             : logText("the run is finished");
    case EventKind::Launch:
        return launchWords(w);
    case EventKind::Candidate:
        return candidateWords(w);
    case EventKind::Split:
        return logText("%1 ends a block here, behind forward operator %2").arg(tryWords(w)).arg(w.e.extra + 1);
    case EventKind::Drop:
        return dropWords(w);
    case EventKind::Rebuild:
        return rebuildWords(w);
    case EventKind::Compute:
        return logText("%1 is computed%2").arg(plannedWords(w), w.sum());
    case EventKind::Recompute:
        return (w.e.extra == 1 ? logText("%1 is computed again, to be freed after use%2")
                               : logText("%1 is computed again%2"))
            .arg(plannedWords(w), w.sum());
    case EventKind::Free:
        return (event::isMovedOut(w.e) ? logText("%1 leaves memory for its tier") : logText("%1 leaves memory"))
            .arg(plannedWords(w));
    case EventKind::Move:
        return logText("%1 is copied to tier %2").arg(plannedWords(w), tierWords(w));
    case EventKind::Fetch:
        return w.isBranch() ? logText("%1 is brought by %2").arg(plannedWords(w), w.promise())
                            : logText("%1 comes back from tier %2").arg(plannedWords(w), tierWords(w));
    case EventKind::Buffer:
        return bufferWords(w);
    }
    return {};
}

} // namespace

QString eventWords(const trace::Run& run, std::uint64_t step)
{
    if (step >= run.events.size()) {
        return {};
    }
    return wordsOf({run, run.events[step], step});
}

QString eventSentence(const trace::Run& run, std::uint64_t step)
{
    const QString words = eventWords(run, step);
    if (step >= run.events.size() || run.events[step].node >= run.graph->runNodeCount()) {
        return words;
    }
    return RunModel::placeLabel(*run.graph, base::NodeId(run.events[step].node)) + QLatin1Char(' ') + words;
}

QString eventKindWord(event::EventKind kind)
{
    const auto* word = std::ranges::find(kKindWords, kind, [](const auto& each) { return each.first; });
    return word != kKindWords.end() ? logText(word->second) : QString::fromUtf8(event::nameOf(kind).data());
}

} // namespace retro::views
