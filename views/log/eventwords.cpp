// SPDX-License-Identifier: Apache-2.0
#include "views/log/eventwords.h"

#include "core/trace/describe.h"
#include "views/common/numbertext.h"
#include "views/common/viewcontext.h"

namespace retro::views
{

QString eventWords(const trace::Run& run, std::uint64_t step)
{
    static const trace::EventStyle style{[](double number) { return valueText(number).toStdString(); },
                                         [](const trace::Run& of, base::NodeId node) {
                                             return node.index() < of.graph->runNodeCount()
                                                        ? RunModel::placeLabel(*of.graph, node).toStdString()
                                                        : "?";
                                         }};
    return QString::fromStdString(trace::eventWords(run, step, style));
}

QString eventSentence(const trace::Run& run, std::uint64_t step)
{
    const QString words = eventWords(run, step);
    if (step >= run.events.size() || run.events[step].node >= run.graph->runNodeCount()) {
        return words;
    }
    return RunModel::placeLabel(*run.graph, base::NodeId(run.events[step].node)) + QLatin1Char(' ') + words;
}

QString eventKindWord(event::EventKind kind) { return QString::fromUtf8(trace::eventKindWord(kind).data()); }

} // namespace retro::views
