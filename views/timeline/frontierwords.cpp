// SPDX-License-Identifier: Apache-2.0
#include "views/timeline/frontierwords.h"

#include "views/common/numbertext.h"
#include "views/common/viewcontext.h"

#include <QCoreApplication>

#include <algorithm>

namespace retro::views
{

namespace
{

QString translated(const char* text) { return QCoreApplication::translate("retro::views::TimelinePane", text); }

std::int64_t bytesOf(const trace::Run& run, const trace::FrontierMember& member)
{
    return member.handle.index() < run.handles.size() ? run.handles[member.handle.index()].bytes : 0;
}

QString lineOf(const trace::Run& run, const trace::FrontierMember& member)
{
    const bool isNode = member.node.isValid() && member.node.index() < run.graph->runNodeCount();
    QString line = isNode ? RunModel::placeLabel(*run.graph, member.node) : QStringLiteral("?");
    if (member.handle.index() < run.handles.size()) {
        const trace::HandleInfo& info = run.handles[member.handle.index()];
        line += QStringLiteral(", %1, Σ %2").arg(bytesText(info.bytes), valueText(info.sum));
    }
    return member.heldByPromise ? translated("%1, held by a promise").arg(line) : line;
}

} // namespace

QStringList frontierWords(const trace::Run& run, const trace::RunState& state, std::size_t most)
{
    std::vector<trace::FrontierMember> members = state.frontier();
    std::stable_sort(members.begin(), members.end(),
                     [&](const auto& a, const auto& b) { return bytesOf(run, a) > bytesOf(run, b); });
    QStringList lines;
    for (std::size_t i = 0; i < std::min(most, members.size()); ++i) {
        lines.append(lineOf(run, members[i]));
    }
    if (members.size() > most) {
        lines.append(translated("and %1 more").arg(countText(static_cast<std::int64_t>(members.size() - most))));
    }
    return lines;
}

} // namespace retro::views
