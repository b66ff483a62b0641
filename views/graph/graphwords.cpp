// SPDX-License-Identifier: Apache-2.0
#include "views/graph/graphwords.h"

#include "core/trace/meantrelevance.h"
#include "views/common/numbertext.h"
#include "views/common/paint/marks.h"
#include "views/graph/graphtranslation.h"

#include <QStringList>

#include <algorithm>
#include <cmath>

namespace retro::views
{

using layout::Index;

namespace
{

constexpr std::size_t kMostValues = 3; // named at a merged edge

QString modeLine(const trace::NodeState& state)
{
    if (state.visits == 0) {
        return graphText("not visited");
    }
    const QString count =
        state.visits == 1 ? graphText("visited once") : graphText("visited %1 times").arg(state.visits);
    return state.lastMode == event::Mode::None ? count // by a plan
                                               : graphText("%1, last mode %2").arg(count, wordOf(state.lastMode));
}

/// How the promises that start at a node stand.
QString promiseLine(const trace::RunState& state, base::NodeId node)
{
    const auto count = [&](bool isComplete) {
        return std::count_if(state.promises.begin(), state.promises.end(), [&](const trace::PromiseState& promise) {
            return promise.start == node && promise.isComplete == isComplete;
        });
    };
    const auto waiting = count(false);
    const auto fulfilled = count(true);
    QStringList parts;
    if (waiting > 0) {
        parts.append(waiting == 1 ? graphText("a promise from here waits")
                                  : graphText("%1 promises from here wait").arg(waiting));
    }
    if (fulfilled > 0) {
        parts.append(fulfilled == 1 ? graphText("a promise from here is fulfilled")
                                    : graphText("%1 promises from here are fulfilled").arg(fulfilled));
    }
    return parts.join(QStringLiteral(", "));
}

QString relevanceLine(const RunModel& model, base::ValueId value)
{
    const base::HandleId handle = model.relevanceHandle(value);
    if (!handle.isValid() || handle.index() >= model.run().handles.size()) {
        return {};
    }
    return graphText("relevance %1").arg(valueText(trace::meantSum(model.run(), value, handle)));
}

QString partsLine(const trace::NodeState& state)
{
    const bool isPartial = state.landed > 0 && state.missing > 0;
    return isPartial ? graphText("%1 of %2 parts have landed").arg(state.landed).arg(state.landed + state.missing)
                     : QString();
}

QString headLine(const RunModel& model, base::NodeId node, base::ValueId value)
{
    const QString shape = model.shapeText(value);
    return shape.isEmpty() ? model.op(node) : graphText("%1, %2").arg(model.op(node), shape);
}

} // namespace

QString describeNode(const RunModel& model, base::NodeId node)
{
    const base::ValueId value = model.graph().firstOutput(node);
    QStringList lines{model.label(node), headLine(model, node, value)};
    if (node.index() < model.run().rules.size()) {
        const trace::NodeRule& rule = model.run().rules[node.index()];
        lines.append(rule.rule.empty() ? QString() : graphText("rule %1").arg(QString::fromUtf8(rule.rule)));
    }
    if (node.index() < model.state().nodes.size()) {
        const trace::NodeState& state = model.state().nodes[node.index()];
        lines << modeLine(state) << partsLine(state) << promiseLine(model.state(), node);
    }
    lines.append(relevanceLine(model, value));
    lines.removeAll(QString());
    return lines.join(QLatin1Char('\n'));
}

QString describeBox(const RunModel& model, const GraphScene& scene, const GraphStatus& status, Index box)
{
    const layout::VisibleNode& node = scene.visible.nodes[static_cast<std::size_t>(box)];
    const BoxStatus& state = status.boxes[static_cast<std::size_t>(box)];
    const QString leak =
        state.isLeaking ? QLatin1Char('\n') + graphText("relevance is lost here without a known cause") : QString();
    if (!node.isGroup()) {
        return describeNode(model, base::NodeId(static_cast<std::uint32_t>(node.node))) + leak;
    }
    QStringList lines{QString::fromStdString(scene.book->drawn.groupPaths[static_cast<std::size_t>(node.group)]),
                      graphText("closed group, %1").arg(QString::fromStdString(countOfNodes(node.memberCount)))};
    if (node.partCount > 1) {
        lines.append(graphText("part %1 of %2: it is used more than once").arg(node.part + 1).arg(node.partCount));
    }
    if (state.lastVisited.isValid()) {
        const QString at = graphText("last visit at %1").arg(model.placeLabel(state.lastVisited));
        lines.append(state.mode == event::Mode::None ? at : graphText("%1, mode %2").arg(at, wordOf(state.mode)));
    }
    if (state.waiting > 0) {
        lines.append(state.waiting == 1 ? graphText("a promise from inside waits")
                                        : graphText("%1 promises from inside wait").arg(state.waiting));
    }
    return lines.join(QLatin1Char('\n')) + leak;
}

QString describeEdge(const RunModel& model, const GraphScene& scene, const GraphStatus& status, Index edge)
{
    QStringList names;
    const auto members = scene.visible.edgeMembers[edge];
    for (std::size_t i = 0; i < std::min(members.size(), kMostValues); ++i) {
        const base::ValueId value = scene.book->drawn.edgeTensors[static_cast<std::size_t>(members[i])].value;
        const QString shape = model.shapeText(value);
        names.append(shape.isEmpty() ? model.label(value) : graphText("%1, %2").arg(model.label(value), shape));
    }
    if (members.size() > kMostValues) {
        names.append(graphText("and %1 more").arg(members.size() - kMostValues));
    }
    const float sum = status.edges[static_cast<std::size_t>(edge)];
    const bool isOver = model.position() >= model.run().eventCount();
    names.append(!std::isnan(sum) ? graphText("relevance %1").arg(valueText(sum))
                 : isOver         ? graphText("no relevance passes in this run")
                                  : graphText("no relevance has passed yet"));
    return names.join(QLatin1Char('\n'));
}

QString scopePath(const graph::Graph& graph, base::NodeId node)
{
    return QString::fromUtf8(graph.scopeOf(node))
        .split(QLatin1Char('/'), Qt::SkipEmptyParts)
        .join(QStringLiteral(" › "));
}

} // namespace retro::views
