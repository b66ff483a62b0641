// SPDX-License-Identifier: Apache-2.0
#include "views/lut/lutrun.h"

#include "core/event/launchevent.h"
#include "core/graph/attributes.h"
#include "core/ops/tablelookup.h"

#include <algorithm>

namespace retro::views
{

namespace
{

using ops::TableLookup;

bool isWholeLut(const graph::Node& node) { return ops::isLut(node) && node.inputs.size() > TableLookup::kWeights; }

std::uint32_t small(std::int64_t extent)
{
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(extent, 0, 1 << 30));
}

/// Reads shapes and attributes of a LUT node. What it finds was bound once; a file that was tampered with gives sizes
/// that makeSchedule() refuses, or none.
class RequestReader
{
public:
    RequestReader(const trace::Run& run, const graph::Node& node) : m_run(run), m_node(node) {}

    bool read(LutLayer& layer)
    {
        const tensor::Shape x = shapeOf(TableLookup::kInput);
        const tensor::Shape anchors = shapeOf(TableLookup::kAnchors);
        const tensor::Shape weights = shapeOf(TableLookup::kWeights);
        const tensor::Shape y = outputShape();
        lut::ScheduleRequest& r = layer.request;
        r.shape.isSequence = graph::intAttribute(m_node, "sequence", 0) != 0;
        const std::size_t own = r.shape.isSequence ? 2 : 1;
        if (x.size() < own || anchors.size() != 3 || weights.empty() || y.empty()) {
            return false;
        }
        r.shape.inputs = small(x.back());
        r.shape.outputs = small(y.back());
        r.shape.tables = small(anchors[0]);
        r.shape.comparisons = small(anchors[1]);
        r.shape.length = r.shape.isSequence ? small(x[x.size() - 2]) : 1;
        const tensor::Shape codes = shapeOf(TableLookup::kCodes);
        r.shape.codeBits = codes.size() == 3 ? small(codes[2]) : 0;
        r.batch = 1;
        for (std::size_t i = 0; i + own < x.size(); ++i) {
            r.batch *= small(x[i]);
        }
        r.forwardGroup = std::max(small(graph::intAttribute(m_node, "forward_group", 32)), 1U);
        r.backwardGroup = std::max(small(graph::intAttribute(m_node, "backward_group", 32)), 1U);
        r.realBytes = m_run.facts.precision == "float64" ? 8 : 4;
        readConnections(layer);
        return r.shape.rowBits() <= lut::kMaxRowBits && r.shape.length > 0;
    }

private:
    [[nodiscard]] tensor::Shape shapeOf(std::size_t slot) const
    {
        const bool isThere = slot < m_node.inputs.size() && m_node.inputs[slot].isValid() &&
                             m_node.inputs[slot].index() < m_run.shapes.size();
        return isThere ? m_run.shapes[m_node.inputs[slot].index()] : tensor::Shape();
    }
    [[nodiscard]] tensor::Shape outputShape() const
    {
        const bool isThere = !m_node.outputs.empty() && m_node.outputs[0].index() < m_run.shapes.size();
        return isThere ? m_run.shapes[m_node.outputs[0].index()] : tensor::Shape();
    }

    void readConnections(LutLayer& layer) const
    {
        const tensor::Shape columns = shapeOf(TableLookup::kColumns);
        lut::ScheduleRequest& r = layer.request;
        r.isSparse = columns.size() == 1;
        if (!r.isSparse) {
            return;
        }
        r.synapses = small(columns[0]);
        const tensor::Tensor& starts = m_run.graph->value(m_node.inputs[TableLookup::kRowStarts]).constant;
        layer.knowsGroups = starts.isValid();
        for (std::int64_t i = 0; layer.knowsGroups && i + 1 < starts.size(); ++i) {
            const double synapses = std::max(starts.at(i + 1) - starts.at(i), 0.0);
            r.maxForwardGroups =
                std::max(r.maxForwardGroups, lut::ceilDivide(static_cast<std::uint64_t>(synapses), r.forwardGroup));
        }
    }

    const trace::Run& m_run;
    const graph::Node& m_node;
};

constexpr std::uint32_t kPasses = 3;

/// True for a launch of a kernel that only the documented path has.
bool isOfDocumentedPath(const event::Event& launch)
{
    const std::uint32_t kernel = event::kernelIn(launch);
    return kernel < lut::kKernelCount && lut::isDocumented(static_cast<lut::KernelId>(kernel));
}

} // namespace

std::optional<RunLaunch> latestLaunch(const std::vector<RunLaunch>& launches, std::uint64_t position)
{
    const auto after = std::ranges::upper_bound(launches, position, {}, &RunLaunch::position);
    return after == launches.begin() ? std::nullopt : std::optional(*(after - 1));
}

std::optional<RunLaunch> launchOfKernel(const std::vector<RunLaunch>& launches, lut::Pass pass, std::size_t place,
                                        std::uint64_t position)
{
    std::optional<RunLaunch> found;
    for (const RunLaunch& one : launches) {
        if (one.pass == pass && one.place == place && (!found || one.position <= position)) {
            found = one;
        }
    }
    return found;
}

std::vector<lut::Pass> LutLayer::passes() const
{
    std::vector<lut::Pass> result;
    for (const RunLaunch& launch : launches) {
        if (std::ranges::find(result, launch.pass) == result.end()) {
            result.push_back(launch.pass);
        }
    }
    return result.empty() ? std::vector{lut::Pass::Forward} : result;
}

std::optional<RunLaunch> LutLayer::launchAt(std::uint64_t position) const
{
    const auto at = std::ranges::find(launches, position, &RunLaunch::position);
    return at == launches.end() ? std::nullopt : std::optional(*at);
}

LutRun::LutRun(const trace::Run& run)
{
    for (std::size_t i = 0; i < run.graph->nodeCount(); ++i) {
        const graph::Node& node = run.graph->nodes()[i];
        LutLayer layer;
        layer.node = base::NodeId(i);
        if (isWholeLut(node) && RequestReader(run, node).read(layer)) {
            m_layers.push_back(std::move(layer));
        }
    }
    for (std::size_t step = 0; !m_layers.empty() && step < run.events.size(); ++step) {
        if (run.events[step].kind == event::EventKind::Launch) {
            takeLaunch(run.events[step], step + 1);
        }
    }
}

void LutRun::takeLaunch(const event::Event& event, std::uint64_t position)
{
    const auto at = std::ranges::find(m_layers, event.node, [](const LutLayer& one) { return one.node.value; });
    if (at == m_layers.end() || event.branch >= kPasses) {
        return;
    }
    at->path = isOfDocumentedPath(event) ? lut::Path::Documented : at->path;
    at->launches.push_back({position, static_cast<lut::Pass>(event.branch), event.slot, event::secondsIn(event)});
}

const LutLayer* LutRun::find(base::NodeId node) const
{
    const auto at = std::ranges::find(m_layers, node, &LutLayer::node);
    return at == m_layers.end() ? nullptr : &*at;
}

} // namespace retro::views
