// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/windows.h"
#include "core/ops/elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace retro::diagnosis
{

namespace
{

/// Share of a value that no reader reads (section 4.1, model.stride: > 0.3).
constexpr double kMostNeverRead = 0.3;

/// The reader that leaves the least of a value out.
struct LeastUnread
{
    const graph::Node* node = nullptr;
    Windows windows;
    double unread = 0;
};

/// Nothing where a reader has no windows: it reads everything.
std::optional<LeastUnread> leastUnread(const ModelFacts& model, ValueId value)
{
    const graph::Graph& graph = model.graph();
    std::optional<LeastUnread> least;
    for (const graph::Use& use : graph.uses(value)) {
        const graph::Node& node = graph.node(use.node);
        if (ops::readsShapeAlone(node)) {
            continue;
        }
        const auto windows = use.slot == 0 ? windowsOf(model, node) : std::nullopt;
        if (!windows) {
            return std::nullopt;
        }
        if (const double unread = windows->unread(); !least || unread < least->unread) {
            least = LeastUnread{&node, *windows, unread};
        }
    }
    return least;
}

bool isOutputOf(const graph::Graph& graph, ValueId value)
{
    return std::ranges::find(graph.outputs(), value) != graph.outputs().end();
}

/// Which elements of two strides along each axis a kernel reads; no chart of other than two axes, and of wide strides.
Chart strideChart(const Windows& windows)
{
    constexpr std::int64_t kWidestStride = 16;
    constexpr double kRead = 0.3; // shade of what is read
    if (windows.stride.size() != 2 || windows.kernel.size() != 2 ||
        std::ranges::any_of(windows.stride, [](std::int64_t stride) { return stride < 1 || stride > kWidestStride; })) {
        return {};
    }
    std::vector<double> shades;
    std::vector<std::size_t> unread;
    for (std::int64_t row = 0; row < 2 * windows.stride[0]; ++row) {
        for (std::int64_t column = 0; column < 2 * windows.stride[1]; ++column) {
            const bool isRead =
                row % windows.stride[0] < windows.kernel[0] && column % windows.stride[1] < windows.kernel[1];
            if (!isRead) {
                unread.push_back(shades.size());
            }
            shades.push_back(isRead ? kRead : 1);
        }
    }
    Chart chart = mapOf("Two strides along each axis; marked: never read", shades,
                        static_cast<std::size_t>(2 * windows.stride[1]), false);
    chart.marked = std::move(unread);
    return chart;
}

void findUnreadByStride(const Facts& facts, Probe& probe)
{
    const ModelFacts& model = *facts.model();
    const graph::Graph& graph = model.graph();
    for (std::size_t i = 0; i < graph.valueCount(); ++i) {
        const graph::Value& value = graph.value(ValueId(i));
        const bool isRead = value.kind != graph::ValueKind::Constant && !isOutputOf(graph, ValueId(i));
        const auto least = isRead ? leastUnread(model, ValueId(i)) : std::nullopt;
        if (!least) {
            continue;
        }
        probe.measured(least->node->name, least->unread);
        if (!(least->unread > kMostNeverRead)) {
            continue;
        }
        const bool isConsequential = !least->windows.isPoint() || value.kind == graph::ValueKind::Input;
        const Place place{PlaceKind::Node, least->node->name, facts.nodeOfPass(least->node->name)};
        Finding& finding = isConsequential ? probe.warning(2, least->unread, place) : probe.note(least->unread, place);
        finding.what = fmt::format("kernel {}, stride {}: {} of {} is never read", extentsText(least->windows.kernel),
                                   extentsText(least->windows.stride), percentText(least->unread), value.name);
        finding.means = value.kind == graph::ValueKind::Input
                            ? "These elements get exactly 0, whatever is in them."
                            : "These elements of it get exactly 0, which shows as a grid in the heatmap.";
        finding.remedy = "A kernel at least as large as the stride reads all of it";
        finding.numbers = {{"share_never_read", least->unread}};
        finding.threshold = kMostNeverRead;
        finding.chart = strideChart(least->windows);
        finding.action = {"go to node", {{"node", least->node->name}}, {}};
    }
}

} // namespace

const Check modelStride{
    "model.stride",    "share of a value that none of its readers reads, since their strides exceed their kernels",
    kMostNeverRead,    "0",
    Need::Model,       true,
    findUnreadByStride};

} // namespace retro::diagnosis
