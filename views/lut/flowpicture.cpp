// SPDX-License-Identifier: Apache-2.0
#include "views/lut/flowpicture.h"

#include "core/layout/layout.h"

#include <algorithm>
#include <map>

namespace retro::views
{

namespace
{

constexpr double kPassGap = 36;
constexpr double kMargin = 14;
constexpr double kCaption = 24; ///< above each pass

/// Boxes and edges of one pass, by numbers from 0.
class PassDrawing
{
public:
    PassDrawing(const lut::Schedule& schedule, std::size_t pass, const FlowSizes& sizes)
        : m_schedule(schedule), m_pass(pass)
    {
        addBoxes(sizes);
        for (std::size_t i = 0; i < schedule.launches.size(); ++i) {
            for (const lut::BufferId id : schedule.launches[i].reads) {
                addEdge(bufferOf(id), kernelOf(i), false);
            }
            for (const lut::BufferId id : schedule.launches[i].writes) {
                addEdge(kernelOf(i), bufferOf(id), true);
            }
        }
    }

    /// Adds the pass to a picture, its upper edge at `top`; returns its height.
    double placeInto(FlowPicture& picture, double top)
    {
        layout::LayoutOptions options;
        options.nodeGap = 14;
        options.layerGap = 20;
        options.laneGap = 12;
        const auto drawn = layout::computeLayout(m_input, options);
        if (!drawn.ok()) {
            return 0; // never: edges that would run in a circle were left out
        }
        const std::size_t first = picture.boxes.size();
        const QPointF shift(kMargin, top + kCaption);
        for (std::size_t i = 0; i < m_boxes.size(); ++i) {
            const layout::Rect& at = drawn->nodes[i];
            m_boxes[i].rect = QRectF(at.x, at.y, at.width, at.height).translated(shift);
            picture.boxes.push_back(m_boxes[i]);
        }
        for (std::size_t e = 0; e < m_edges.size(); ++e) {
            FlowEdge edge{m_edges[e].from + first, m_edges[e].to + first, m_edges[e].isWrite, {}};
            for (const layout::Point& point : drawn->edge(static_cast<layout::Index>(e))) {
                edge.points.push_back(QPointF(point.x, point.y) + shift);
            }
            picture.edges.push_back(std::move(edge));
        }
        picture.passes.emplace_back(kMargin, top, drawn->bounds.width, kCaption + drawn->bounds.height);
        return picture.passes.back().height();
    }

private:
    void addBoxes(const FlowSizes& sizes)
    {
        const auto add = [this](bool isKernel, std::size_t index, const QSizeF& size) {
            m_boxes.push_back({isKernel, m_pass, index, {}});
            m_input.nodeSizes.push_back({size.width(), size.height()});
        };
        for (std::size_t i = 0; i < m_schedule.launches.size(); ++i) {
            add(true, i, sizes.kernel(m_schedule.launches[i]));
        }
        for (std::size_t i = 0; i < m_schedule.buffers.size(); ++i) {
            if (isUsed(m_schedule.buffers[i].id)) {
                m_bufferBox[m_schedule.buffers[i].id] = m_boxes.size();
                add(false, i, sizes.buffer(m_schedule.buffers[i]));
            }
        }
    }

    [[nodiscard]] bool isUsed(lut::BufferId id) const
    {
        return std::ranges::any_of(m_schedule.launches, [id](const lut::Launch& launch) {
            return std::ranges::find(launch.reads, id) != launch.reads.end() ||
                   std::ranges::find(launch.writes, id) != launch.writes.end();
        });
    }
    static std::size_t kernelOf(std::size_t launch) { return launch; }
    [[nodiscard]] std::size_t bufferOf(lut::BufferId id) const
    {
        const auto at = m_bufferBox.find(id);
        return at == m_bufferBox.end() ? m_boxes.size() : at->second;
    }

    void addEdge(std::size_t from, std::size_t to, bool isWrite)
    {
        if (from < m_boxes.size() && to < m_boxes.size() && !reaches(to, from)) {
            m_edges.push_back({from, to, isWrite, {}});
            m_input.edges.push_back({static_cast<layout::Index>(from), static_cast<layout::Index>(to)});
        }
    }

    /// True when the edges so far lead from one box to another.
    [[nodiscard]] bool reaches(std::size_t from, std::size_t to) const
    {
        std::vector<std::size_t> open{from};
        std::vector<bool> seen(m_boxes.size());
        while (!open.empty()) {
            const std::size_t at = open.back();
            open.pop_back();
            if (at == to) {
                return true;
            }
            for (const FlowEdge& edge : m_edges) {
                if (edge.from == at && !seen[edge.to]) {
                    seen[edge.to] = true;
                    open.push_back(edge.to);
                }
            }
        }
        return false;
    }

    const lut::Schedule& m_schedule;
    std::size_t m_pass;
    layout::LayoutInput m_input;
    std::vector<FlowBox> m_boxes;
    std::vector<FlowEdge> m_edges;
    std::map<lut::BufferId, std::size_t> m_bufferBox;
};

} // namespace

std::size_t FlowPicture::boxAt(const QPointF& point) const
{
    const auto at = std::ranges::find_if(boxes, [&](const FlowBox& box) { return box.rect.contains(point); });
    return static_cast<std::size_t>(at - boxes.begin());
}

std::size_t FlowPicture::kernelBox(std::size_t pass, std::size_t launch) const
{
    const auto at = std::ranges::find_if(
        boxes, [&](const FlowBox& box) { return box.isKernel && box.pass == pass && box.index == launch; });
    return static_cast<std::size_t>(at - boxes.begin());
}

FlowPicture flowPicture(std::vector<lut::Schedule> schedules, const FlowSizes& sizes)
{
    FlowPicture picture;
    picture.schedules = std::move(schedules);
    double top = kMargin;
    for (std::size_t pass = 0; pass < picture.schedules.size(); ++pass) {
        top += PassDrawing(picture.schedules[pass], pass, sizes).placeInto(picture, top) + kPassGap;
    }
    double right = 0;
    for (const QRectF& pass : picture.passes) {
        right = std::max(right, pass.right());
    }
    picture.size = picture.passes.empty() ? QSizeF() : QSizeF(right + kMargin, top - kPassGap + kMargin);
    return picture;
}

} // namespace retro::views
