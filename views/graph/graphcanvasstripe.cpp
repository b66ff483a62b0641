// SPDX-License-Identifier: Apache-2.0
// The stripes above a drawing that runs sideways and is longer than its pane: all nodes, and the groups that are built
// alike. Lenses lead from each to what is below it.
#include "views/common/paint/fonts.h"
#include "views/graph/graphcanvas.h"

#include <algorithm>

namespace retro::views
{

using layout::Index;
using layout::kNone;

namespace
{

// Design pixels.
constexpr double kEndsHeight = 24;
constexpr double kLeastForStripe = 320; ///< height of a pane that has room for the stripe of all nodes …
constexpr double kLeastForGroups = 372; ///< … and for that of the groups

base::NodeId middleOf(const LikeGroup& group) { return base::NodeId(group.nodes[group.nodes.size() / 2]); }

} // namespace

double GraphCanvas::endsHeight() { return fonts::px(kEndsHeight); }

bool GraphCanvas::hasStripe() const
{
    return hasCards() && m_scene->style.isSideways && m_scene->book->graph->nodeCount() >= kFewestForStripe &&
           height() >= fonts::px(kLeastForStripe);
}

bool GraphCanvas::hasGroupStripe() const
{
    return hasStripe() && !m_scene->book->likeGroups.empty() && height() >= fonts::px(kLeastForGroups);
}

StripePlace GraphCanvas::stripePlace() const { return placeStripe(width(), endsHeight()); }

double GraphCanvas::stripesBottom() const
{
    const double nodes = stripePlace().panel.bottom();
    return hasGroupStripe() ? nodes + placeGroups(width(), nodes, 1, 0).panel.height() : nodes;
}

std::pair<Index, Index> GraphCanvas::shownNodes() const
{
    std::vector<Index> boxes;
    m_scene->layout.nodesIn(m_camera.toScene(overlays().free), boxes);
    const auto count = static_cast<Index>(m_scene->book->graph->nodeCount());
    Index first = count;
    Index last = 0;
    for (const Index box : boxes) {
        for (const Index member : {m_scene->visible.members[box].front(), m_scene->visible.members[box].back()}) {
            if (member < count) { // else an input
                first = std::min(first, member);
                last = std::max(last, member + 1);
            }
        }
    }
    return last > first ? std::pair(first, last) : std::pair(Index{0}, Index{0});
}

GroupTiles GraphCanvas::groupTiles() const
{
    const std::vector<LikeGroup>& groups = m_scene->book->likeGroups;
    const auto [first, last] = shownNodes();
    const std::size_t middle = groupAround(groups, static_cast<std::uint32_t>((first + last) / 2));
    return placeGroups(width(), stripePlace().panel.bottom(), groups.size(), middle);
}

/// All nodes, which of them the pane shows, and the groups around those.
void GraphCanvas::paintNodes(QPainter& painter, const Theme& colors) const
{
    const auto [first, last] = shownNodes();
    const double count = static_cast<double>(m_scene->book->graph->nodeCount());
    if (!hasGroupStripe()) {
        paintStripe(painter, m_stripe, stripePlace(), first / count, last / count, colors);
        return;
    }
    const std::vector<LikeGroup>& groups = m_scene->book->likeGroups;
    const GroupTiles tiles = groupTiles();
    const double from = groups[tiles.first].nodes.front();
    const double to = groups[tiles.first + tiles.count - 1].nodes.back() + 1;
    paintStripe(painter, m_stripe, stripePlace(), from / count, to / count, colors);
    GroupStripe stripe{*m_scene->book, m_stripe, std::nullopt, 0, 0};
    stripe.firstShown = groupAround(groups, static_cast<std::uint32_t>(first));
    stripe.lastShown = groupAround(groups, static_cast<std::uint32_t>(std::max(first, last - 1)));
    if (m_stripe.now.isValid()) {
        const std::size_t at = groupAround(groups, m_stripe.now.value);
        const bool isIn = std::ranges::binary_search(groups[at].nodes, m_stripe.now.value);
        stripe.now = isIn ? std::optional(at) : std::nullopt;
    }
    paintGroupStripe(painter, stripe, tiles, colors);
}

const LikeGroup* GraphCanvas::groupUnderStripe(QPointF pixel) const
{
    const bool isOnTiles =
        hasGroupStripe() && overlays().map.contains(pixel) && pixel.y() > stripePlace().panel.bottom();
    const auto group = isOnTiles ? groupTiles().groupAt(pixel.x()) : std::nullopt;
    return group ? &m_scene->book->likeGroups[*group] : nullptr;
}

/// The box of the node whose column is there, or of the group whose tile is.
Index GraphCanvas::boxUnderStripe(QPointF pixel) const
{
    const StripePlace place = stripePlace();
    if (hasGroupStripe() && pixel.y() > place.panel.bottom()) {
        const LikeGroup* group = groupUnderStripe(pixel);
        return group != nullptr ? m_scene->boxOf(middleOf(*group)) : kNone;
    }
    const QRectF track = place.track();
    const auto count = static_cast<std::int64_t>(m_scene->book->graph->nodeCount());
    const auto at = static_cast<std::int64_t>((pixel.x() - track.left()) / track.width() * static_cast<double>(count));
    const auto node = static_cast<std::uint32_t>(std::clamp<std::int64_t>(at, 0, count - 1));
    return m_scene->boxOf(base::NodeId(node));
}

void GraphCanvas::moveByStripe(QPointF pixel)
{
    const Index box = boxUnderStripe(pixel);
    if (box == kNone) {
        return;
    }
    letGo();
    m_camera.place(m_scene->layout.nodes[static_cast<std::size_t>(box)].center(), overlays().free.center());
    m_fit = Fit::None;
    cameraChanged();
}

/// Into the middle of the pane; what it is closed in is opened first.
void GraphCanvas::goToGroup(const LikeGroup& group)
{
    letGo();
    m_fit = Fit::None;
    const base::NodeId node = middleOf(group);
    if (!placeOf(group.group, false)) {
        m_held = Held{kNone, node, overlays().free.center(), false};
        emit groupWanted(group.group);
    } else if (const auto place = placeOf(node)) {
        m_camera.place(*place, overlays().free.center());
        cameraChanged();
    }
}

} // namespace retro::views
