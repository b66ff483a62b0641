// SPDX-License-Identifier: Apache-2.0
#include "views/lut/flowpicture.h"

#include "core/layout/layout.h"

#include <algorithm>
#include <map>
#include <utility>

namespace retro::views
{

namespace
{

constexpr double kPassGap = 36;
constexpr double kFlowMargin = 14;
constexpr double kCaption = 24; ///< above each pass

using Ids = std::vector<lut::BufferId>;

/// Buffers that are written together, or read together.
const std::vector<Ids>& stacks()
{
    using enum lut::BufferId;
    static const std::vector<Ids> kStacks{{LookupIndices, MinAnchorDeltas, MinAnchorDeltaIndices},
                                          {PeLookupIndices, PeMinDeltas, PeMinDeltaIndices},
                                          {Weights, RowStarts, Columns}};
    return kStacks;
}

bool names(const Ids& ids, lut::BufferId id) { return std::ranges::find(ids, id) != ids.end(); }

/// Boxes and edges of one pass, by numbers from 0. What is laid out are stacks: of one box, or of several.
class PassDrawing
{
public:
    PassDrawing(const lut::Schedule& schedule, std::size_t pass, std::size_t firstStack, const FlowSizes& sizes)
        : m_schedule(schedule), m_pass(pass), m_firstStack(firstStack)
    {
        addKernels(sizes);
        addBuffers(sizes);
        for (std::size_t i = 0; i < schedule.launches.size(); ++i) {
            for (const lut::BufferId id : schedule.launches[i].reads) {
                addEdge(bufferOf(id), i, false);
            }
            for (const lut::BufferId id : schedule.launches[i].writes) {
                addEdge(i, bufferOf(id), true);
            }
        }
        for (std::size_t i = 0; sizes.width > 0 && i < schedule.launches.size(); ++i) {
            breakRow({}, sourcesOf(i), sizes.width);
            // The kernel stands in the middle of its sources, its results may stand to one side of it.
            breakRow(passedOn(i), resultsOf(i), sizes.width / 2);
        }
    }

    /// Adds the pass to a picture, its upper edge at `top`; returns its height.
    double placeInto(FlowPicture& picture, double top)
    {
        layout::LayoutOptions options;
        options.nodeGap = kGap;
        options.layerGap = 20;
        options.laneGap = 12;
        const auto drawn = layout::computeLayout(m_input, options);
        if (!drawn.ok()) {
            return 0; // never: edges that would run in a circle were left out
        }
        const std::size_t first = picture.boxes.size();
        const QPointF shift(kFlowMargin, top + kCaption);
        for (FlowBox box : m_boxes) {
            const layout::Rect& at = drawn->nodes[box.stack];
            box.rect.moveLeft(at.x + (at.width - box.rect.width()) / 2);
            box.rect.translate(shift + QPointF(0, at.y));
            box.stack += m_firstStack;
            picture.boxes.push_back(box);
        }
        for (std::size_t e = 0; e < m_edges.size(); ++e) {
            FlowEdge edge{m_edges[e].from + first, m_edges[e].to + first, m_edges[e].isWrite, {}};
            for (const layout::Point& point : drawn->edge(static_cast<layout::Index>(e))) {
                edge.points.push_back(QPointF(point.x, point.y) + shift);
            }
            picture.edges.push_back(std::move(edge));
        }
        picture.passes.emplace_back(kFlowMargin, top, drawn->bounds.width, kCaption + drawn->bounds.height);
        return picture.passes.back().height();
    }

    /// How many stacks there are.
    [[nodiscard]] std::size_t stackCount() const { return m_input.nodeSizes.size(); }

private:
    static constexpr double kGap = 14;

    /// A box at the lower end of a stack.
    void addBox(bool isKernel, std::size_t index, const QSizeF& size, std::size_t stack)
    {
        if (stack == m_input.nodeSizes.size()) {
            m_input.nodeSizes.push_back({0, 0});
        }
        auto& room = m_input.nodeSizes[stack];
        m_boxes.push_back({isKernel, m_pass, index, QRectF(QPointF(0, room.height), size), stack});
        room.width = std::max(room.width, size.width());
        room.height += size.height();
    }

    void addKernels(const FlowSizes& sizes)
    {
        for (std::size_t i = 0; i < m_schedule.launches.size(); ++i) {
            addBox(true, i, sizes.kernel(m_schedule.launches[i]), m_input.nodeSizes.size());
        }
    }

    void addBuffers(const FlowSizes& sizes)
    {
        std::map<const Ids*, std::size_t> begun;
        for (std::size_t i = 0; i < m_schedule.buffers.size(); ++i) {
            const lut::Buffer& buffer = m_schedule.buffers[i];
            if (!isUsed(buffer.id)) {
                continue;
            }
            const auto together = std::ranges::find_if(stacks(), [&](const Ids& ids) { return names(ids, buffer.id); });
            const std::size_t next = m_input.nodeSizes.size();
            const std::size_t stack =
                together == stacks().end() ? next : begun.try_emplace(&*together, next).first->second;
            m_bufferBox[buffer.id] = m_boxes.size();
            addBox(false, i, sizes.buffer(buffer), stack);
        }
        widen();
    }

    /// Boxes of a stack have one width.
    void widen()
    {
        for (FlowBox& box : m_boxes) {
            box.rect.setWidth(m_input.nodeSizes[box.stack].width);
        }
    }

    [[nodiscard]] bool isUsed(lut::BufferId id) const
    {
        return std::ranges::any_of(m_schedule.launches, [id](const lut::Launch& launch) {
            return names(launch.reads, id) || names(launch.writes, id);
        });
    }
    [[nodiscard]] std::size_t bufferOf(lut::BufferId id) const
    {
        const auto at = m_bufferBox.find(id);
        return at == m_bufferBox.end() ? m_boxes.size() : at->second;
    }
    [[nodiscard]] std::size_t stackOf(std::size_t box) const { return m_boxes[box].stack; }

    void addEdge(std::size_t from, std::size_t to, bool isWrite)
    {
        if (from >= m_boxes.size() || to >= m_boxes.size() || reaches(stackOf(to), stackOf(from)) ||
            hasEdge(stackOf(from), stackOf(to))) {
            return;
        }
        m_edges.push_back({from, to, isWrite, {}});
        m_input.edges.push_back({static_cast<layout::Index>(stackOf(from)), static_cast<layout::Index>(stackOf(to))});
    }

    [[nodiscard]] bool hasEdge(std::size_t from, std::size_t to) const
    {
        return std::ranges::any_of(
            m_edges, [&](const FlowEdge& edge) { return stackOf(edge.from) == from && stackOf(edge.to) == to; });
    }

    /// True when the edges so far lead from one stack to another.
    [[nodiscard]] bool reaches(std::size_t from, std::size_t to) const
    {
        std::vector<std::size_t> open{from};
        std::vector<bool> seen(m_input.nodeSizes.size());
        while (!open.empty()) {
            const std::size_t at = open.back();
            open.pop_back();
            if (at == to) {
                return true;
            }
            for (const FlowEdge& edge : m_edges) {
                if (stackOf(edge.from) == at && !seen[stackOf(edge.to)]) {
                    seen[stackOf(edge.to)] = true;
                    open.push_back(stackOf(edge.to));
                }
            }
        }
        return false;
    }

    /// Stacks that only this kernel reads and none writes.
    [[nodiscard]] std::vector<std::size_t> sourcesOf(std::size_t kernel) const
    {
        std::vector<std::size_t> sources;
        for (const FlowEdge& edge : m_edges) {
            const std::size_t stack = stackOf(edge.from);
            const bool isOther = std::ranges::any_of(m_edges, [&](const FlowEdge& other) {
                return stackOf(other.to) == stack || (stackOf(other.from) == stack && other.to != kernel);
            });
            if (edge.to == kernel && !isOther) {
                sources.push_back(stack);
            }
        }
        return sources;
    }

    /// Stacks that only this kernel writes and none reads.
    [[nodiscard]] std::vector<std::size_t> resultsOf(std::size_t kernel) const
    {
        std::vector<std::size_t> results;
        for (const FlowEdge& edge : m_edges) {
            if (edge.from == kernel && isResult(kernel, stackOf(edge.to))) {
                results.push_back(stackOf(edge.to));
            }
        }
        return results;
    }

    [[nodiscard]] bool isResult(std::size_t kernel, std::size_t stack) const
    {
        return std::ranges::none_of(m_edges, [&](const FlowEdge& other) {
            return stackOf(other.from) == stack || (stackOf(other.to) == stack && other.from != kernel);
        });
    }

    /// What else a kernel writes.
    [[nodiscard]] std::vector<std::size_t> passedOn(std::size_t kernel) const
    {
        std::vector<std::size_t> stacks;
        for (const FlowEdge& edge : m_edges) {
            if (edge.from == kernel && !isResult(kernel, stackOf(edge.to))) {
                stacks.push_back(stackOf(edge.to));
            }
        }
        return stacks;
    }

    /// Puts stacks of one kernel into rows: one of a row stands below one of the row before. Such edges are not drawn;
    /// they come behind those that are. `row`: what stands in the first row anyway.
    void breakRow(std::vector<std::size_t> row, const std::vector<std::size_t>& stacks, double width)
    {
        std::vector<std::size_t> above;
        double used = 0;
        for (const std::size_t stack : row) {
            used += m_input.nodeSizes[stack].width + kGap;
        }
        for (const std::size_t stack : stacks) {
            const double needed = m_input.nodeSizes[stack].width + kGap;
            if (!row.empty() && used + needed > width) {
                above = std::exchange(row, {});
                used = 0;
            }
            if (!above.empty()) {
                const std::size_t over = above[std::min(row.size(), above.size() - 1)];
                m_input.edges.push_back({static_cast<layout::Index>(over), static_cast<layout::Index>(stack)});
            }
            row.push_back(stack);
            used += needed;
        }
    }

    const lut::Schedule& m_schedule;
    std::size_t m_pass;
    std::size_t m_firstStack; ///< its number in the picture
    layout::LayoutInput m_input;
    std::vector<FlowBox> m_boxes;
    std::vector<FlowEdge> m_edges;
    std::map<lut::BufferId, std::size_t> m_bufferBox;
};

/// Moves all that belongs to a pass.
void movePass(FlowPicture& picture, std::size_t pass, const QPointF& by)
{
    picture.passes[pass].translate(by);
    for (FlowEdge& edge : picture.edges) {
        for (QPointF& point : edge.points) {
            point += picture.boxes[edge.from].pass == pass ? by : QPointF();
        }
    }
    for (FlowBox& box : picture.boxes) {
        box.rect.translate(box.pass == pass ? by : QPointF());
    }
}

/// Passes that stand below each other, put beside each other where a width holds them.
void putBeside(FlowPicture& picture, double room)
{
    double width = 2 * kFlowMargin - kPassGap;
    double height = 0;
    for (const QRectF& pass : picture.passes) {
        width += pass.width() + kPassGap;
        height = std::max(height, pass.height());
    }
    if (picture.passes.size() < 2 || width > room) {
        return;
    }
    double left = kFlowMargin;
    for (std::size_t pass = 0; pass < picture.passes.size(); ++pass) {
        movePass(picture, pass, QPointF(left, kFlowMargin) - picture.passes[pass].topLeft());
        left = picture.passes[pass].right() + kPassGap;
    }
    picture.size = QSizeF(width, height + 2 * kFlowMargin);
    picture.isBeside = true;
}

} // namespace

std::size_t launchNumber(const std::vector<lut::Schedule>& schedules, std::size_t pass, std::size_t launch)
{
    std::size_t before = 0;
    for (std::size_t i = 0; i < pass; ++i) {
        before += schedules[i].launches.size();
    }
    return before + launch + 1;
}

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
    double top = kFlowMargin;
    std::size_t drawnStacks = 0;
    for (std::size_t pass = 0; pass < picture.schedules.size(); ++pass) {
        PassDrawing drawing(picture.schedules[pass], pass, drawnStacks, sizes);
        top += drawing.placeInto(picture, top) + kPassGap;
        drawnStacks += drawing.stackCount();
    }
    double right = 0;
    for (const QRectF& pass : picture.passes) {
        right = std::max(right, pass.right());
    }
    picture.size = picture.passes.empty() ? QSizeF() : QSizeF(right + kFlowMargin, top - kPassGap + kFlowMargin);
    putBeside(picture, sizes.room);
    return picture;
}

} // namespace retro::views
