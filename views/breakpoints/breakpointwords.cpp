// SPDX-License-Identifier: Apache-2.0
#include "views/breakpoints/breakpointwords.h"

#include <set>
#include <string_view>

namespace retro::views
{

namespace
{

/// Larger graphs offer no names of nodes: the list would be searched at every key.
constexpr std::size_t kMostNames = 20'000;

QString textOf(std::string_view s) { return QString::fromUtf8(s.data(), static_cast<qsizetype>(s.size())); }

} // namespace

BreakpointWords::BreakpointWords(const trace::Run& run)
{
    const graph::Graph& graph = *run.graph;
    for (const ReadyCondition& ready : kReadyConditions) {
        words.append(QLatin1String(ready.condition));
    }
    std::set<std::string_view> operators;
    const std::size_t count = graph.runNodeCount();
    for (std::size_t i = 0; i < count; ++i) {
        const base::NodeId node(i);
        operators.insert(graph.opOf(node));
        if (count <= kMostNames) {
            words.append(QStringLiteral("node ") + textOf(graph.labelOf(node)));
        }
    }
    for (const std::string_view op : operators) {
        words.append(QStringLiteral("op ") + textOf(op));
    }
    for (std::size_t i = 0; i < run.shapes.size() && graph.valueCount() <= kMostNames; ++i) {
        const base::ValueId value(i);
        if (graph.value(value).kind != graph::ValueKind::Constant) {
            words.append(QStringLiteral("value %1 sum changes").arg(textOf(graph.value(value).name)));
            words.append(QStringLiteral("value %1 max crosses 1").arg(textOf(graph.value(value).name)));
        }
    }
    words.sort();
}

} // namespace retro::views
