// SPDX-License-Identifier: Apache-2.0
#include "views/graph/graphcanvas.h"

#include "views/common/paint/fonts.h"

#include <QPaintEvent>
#include <QPainter>
#include <QResizeEvent>

#include <algorithm>
#include <utility>

namespace retro::views
{

using layout::Index;
using layout::kNone;

namespace
{

constexpr double kLeastOpenZoom = 0.55; // a graph that fits only at a smaller scale …
constexpr double kReadableZoom = 0.8;   // … opens at this one, or less when that shows its whole width
constexpr double kRevealMargin = 28;    // pixels between a revealed box and the border
constexpr double kInSight = 40;         // pixels of the picture that cannot be pushed out
constexpr double kSharesHeight = 84;    // design pixels below a drawing that runs sideways: shares and frontier …
constexpr double kLowShares = 70;       // … which are lower in a low pane
constexpr double kLowPane = 380;
constexpr double kFrontierHeight = 30;  // the frontier alone: a low pane has no room for the shares
constexpr double kLeastForShares = 270; // of the pane
constexpr double kCrossMargin = 4;      // pixels above and below it
constexpr double kLeastSideways = 0.6;  // scale of a drawing that runs sideways
constexpr double kTitleSign = 13;       // design pixels from the left end of a title to the middle of its ▾

} // namespace

GraphCanvas::GraphCanvas(QWidget* parent) : DrawnPane(parent, {760, 540}, {240, 132})
{
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setAccessibleName(tr("Graph"));
    connect(&m_pictures, &SmallPictures::arrived, this, &GraphCanvas::renewStill);
}

void GraphCanvas::setScene(std::shared_ptr<const GraphScene> scene, GraphStatus status)
{
    m_scene = std::move(scene);
    m_status = std::move(status);
    m_camera.setTransposed(m_scene->style.isSideways);
    m_pictures.setRun(m_scene->style.hasCards ? m_scene->book->run : nullptr);
    m_groupVisits = m_scene->style.hasCards ? groupVisitsOf(*m_scene) : GroupVisits();
    m_cards.clear();
    m_heat = {};
    ++m_serial;
    m_texts.assign(m_scene->visible.nodes.size(), {});
    m_path = {};
    m_colouring = nullptr;
    m_emphasis = {};
    m_breaks.clear();
    m_fused.clear();
    m_checkpoints.clear();
    m_live.clear();
    m_alsoSelected.clear();
    m_selected = kNone;
    m_hovered = kNone;
    m_value = {};
    applyHold();
    cameraChanged();
}

void GraphCanvas::setStatus(GraphStatus status)
{
    m_status = std::move(status);
    renewStill();
}

void GraphCanvas::setMarks(Index selected, base::NodeId node, base::ValueId value, PromisePath path)
{
    m_selected = selected;
    m_node = node;
    m_value = value;
    m_path = std::move(path);
    renewStill();
}

void GraphCanvas::setAlsoSelected(std::vector<Index> boxes)
{
    m_alsoSelected = std::move(boxes);
    renewStill();
}

void GraphCanvas::setColouring(std::shared_ptr<const Colouring> colouring)
{
    m_colouring = std::move(colouring);
    m_texts.assign(m_texts.size(), {}); // what stands at the right end of a box depends on it
    renewStill();
}

void GraphCanvas::setEmphasis(Emphasis emphasis)
{
    m_emphasis = std::move(emphasis);
    renewStill();
}

GraphOverlays GraphCanvas::overlays() const
{
    if (hasCards() && m_scene->style.isSideways) { // a wide, low pane needs all its room
        const double top = endsHeight();
        GraphOverlays all;
        const double stripe = hasStripe() ? stripesBottom() - top : 0;
        const double shares = height() < fonts::px(kLowPane) ? kLowShares : kSharesHeight;
        const double below = fonts::px(hasRoomForShares() ? shares : kFrontierHeight);
        all.free = QRectF(rect()).adjusted(fonts::px(8), top + stripe, -fonts::px(8), -below);
        if (stripe > 0) {
            all.map = stripePlace().panel;
            all.map.setBottom(stripesBottom());
        }
        return all;
    }
    return GraphOverlays::place(QSizeF(size()), fonts::scale(), m_wantsMap, m_wantsLegend,
                                legendRowsOf(m_colouring.get()));
}

bool GraphCanvas::hasRoomForShares() const { return height() >= fonts::px(kLeastForShares) && !hasGroupStripe(); }

void GraphCanvas::holdSelected()
{
    const Index box = m_selected != kNone ? m_selected : m_status.now;
    m_wantsFit = box == kNone;
    if (box != kNone) {
        const layout::Rect& place = m_scene->layout.nodes[static_cast<std::size_t>(box)];
        const auto member = static_cast<std::uint32_t>(m_scene->visible.members[box].front());
        const base::NodeId current = m_selected != kNone ? m_node : base::NodeId(member);
        m_held =
            Held{kNone, current.isValid() ? current : base::NodeId(member), m_camera.toScreen(place.center()), false};
    }
}

void GraphCanvas::setBreaks(std::vector<bool> breaks)
{
    m_breaks = std::move(breaks);
    renewStill();
}

void GraphCanvas::setCheckpoints(std::vector<bool> checkpoints)
{
    m_checkpoints = std::move(checkpoints);
    renewStill();
}

void GraphCanvas::setLive(std::vector<bool> live)
{
    m_live = std::move(live);
    renewStill();
}

void GraphCanvas::setFused(std::vector<bool> fused)
{
    m_fused = std::move(fused);
    renewStill();
}

/// The next scene keeps a group under a pixel: its ▸ or ▾ when that was clicked, else the middle of its box or title.
void GraphCanvas::toggleGroup(Index group, QPointF pixel, bool isBySign)
{
    m_held = Held{group, {}, pixel, isBySign};
    emit groupToggled(group);
}

/// Where a group is in the scene: the box of a closed one (its first part), or the title of an open one.
std::optional<layout::Point> GraphCanvas::placeOf(Index group, bool isSign) const
{
    const auto& nodes = m_scene->visible.nodes;
    const auto node = std::find_if(nodes.begin(), nodes.end(),
                                   [group](const layout::VisibleNode& each) { return each.group == group; });
    if (node != nodes.end()) {
        const auto box = static_cast<Index>(node - nodes.begin());
        return isSign ? signOf(*m_scene, box).center() : m_scene->layout.nodes[static_cast<std::size_t>(box)].center();
    }
    const auto& frames = m_scene->visible.frames;
    const auto frame = std::find(frames.begin(), frames.end(), group);
    if (frame == frames.end()) {
        return std::nullopt;
    }
    const layout::Rect title = titleOf(*m_scene, static_cast<Index>(frame - frames.begin()));
    const double inside = isSign ? kTitleSign * m_scene->book->metrics.scale : title.width / 2;
    return layout::Point{title.x + std::min(inside, m_scene->book->metrics.leastNode / 2), title.center().y};
}

/// The middle of the box that shows a node.
std::optional<layout::Point> GraphCanvas::placeOf(base::NodeId node) const
{
    const Index box = m_scene->boxOf(node);
    return box != kNone ? std::optional(m_scene->layout.nodes[static_cast<std::size_t>(box)].center()) : std::nullopt;
}

void GraphCanvas::applyHold()
{
    const std::optional<Held> held = std::exchange(m_held, std::nullopt);
    if (std::exchange(m_wantsFit, false)) {
        fitAll();
    }
    if (!held) {
        return;
    }
    if (const auto place = held->group != kNone ? placeOf(held->group, held->isSign) : placeOf(held->node)) {
        m_camera.place(*place, held->pixel);
        m_fit = Fit::None;
    }
}

void GraphCanvas::showFirst()
{
    if (m_scene == nullptr) {
        return;
    }
    fitAll();
    m_fit = Fit::First;
    if (hasCards() && m_scene->style.isSideways) {
        const QRectF view = overlays().free;
        const double height = m_scene->layout.bounds.width; // of the screen
        const double room = view.height() - 2 * kCrossMargin;
        const double zoom = std::clamp(room / std::max(1.0, height), kLeastSideways, 1.0);
        m_camera.zoomAt(view.center(), std::max(zoom, m_camera.zoom()) / m_camera.zoom());
        applyFollow();
        cameraChanged();
        return;
    }
    if (m_camera.zoom() >= kLeastOpenZoom) {
        return;
    }
    const layout::LayeredLayout& layout = m_scene->layout;
    const QRectF view = overlays().free;
    const Index start = m_status.now != kNone ? m_status.now : 0;
    const double fullWidth = view.width() / std::max(1.0, layout.bounds.width);
    const double zoom = std::clamp(fullWidth, kLeastOpenZoom, kReadableZoom);
    m_camera.zoomAt(view.center(), zoom / m_camera.zoom());
    m_camera.place(layout.nodes[static_cast<std::size_t>(start)].center(), view.center());
    m_camera.fillHeight(layout.bounds, view);
    cameraChanged();
}

void GraphCanvas::fitAll()
{
    if (m_scene == nullptr) {
        return;
    }
    m_camera.fit(m_scene->layout.bounds, overlays().free);
    m_fit = Fit::All;
    cameraChanged();
}

void GraphCanvas::fitSelection()
{
    if (m_scene == nullptr || m_selected == kNone) {
        fitAll();
        return;
    }
    const QRectF view = overlays().free;
    layout::Rect area = m_scene->layout.nodes[static_cast<std::size_t>(m_selected)];
    for (const Index box : m_alsoSelected) {
        area = area.united(m_scene->layout.nodes[static_cast<std::size_t>(box)]);
    }
    if (m_alsoSelected.empty()) {
        m_camera.zoomAt(view.center(), std::max(1.0, m_camera.zoom()) / m_camera.zoom());
        m_camera.place(area.center(), view.center());
    } else {
        m_camera.fit(area, view);
    }
    m_fit = Fit::None;
    cameraChanged();
}

void GraphCanvas::zoomBy(double factor)
{
    m_camera.zoomAt(overlays().free.center(), factor);
    m_fit = Fit::None;
    applyFollow();
    cameraChanged();
}

void GraphCanvas::reveal(Index box)
{
    if (m_scene == nullptr || box == kNone ||
        (hasCards() && m_motion != nullptr && m_isFollowing && box == m_status.now)) {
        return; // the camera follows the moment
    }
    if (m_camera.reveal(m_scene->layout.nodes[static_cast<std::size_t>(box)], overlays().free, kRevealMargin)) {
        letGo(); // somebody looks elsewhere
        m_fit = Fit::None;
        cameraChanged();
    }
}

void GraphCanvas::setMapShown(bool isShown)
{
    m_wantsMap = isShown;
    update();
}

void GraphCanvas::setLegendShown(bool isShown)
{
    m_wantsLegend = isShown;
    update();
}

GraphPicture GraphCanvas::picture()
{
    GraphPicture shown{m_scene.get(),
                       &m_status,
                       &m_texts,
                       &m_path,
                       m_selected,
                       m_hovered,
                       m_value,
                       m_colouring.get(),
                       &m_emphasis,
                       m_breaks.empty() ? nullptr : &m_breaks,
                       m_fused.empty() ? nullptr : &m_fused,
                       &m_alsoSelected,
                       false,
                       m_checkpoints.empty() ? nullptr : &m_checkpoints,
                       m_live.empty() ? nullptr : &m_live};
    if (hasCards()) {
        shown.cards = m_cards.empty() ? nullptr : &m_cards;
        shown.groupVisits = &m_groupVisits;
        shown.pictures = &m_pictures;
        shown.motion = m_motion != nullptr ? &m_frame : nullptr;
    }
    return shown;
}

void GraphCanvas::cameraChanged()
{
    if (m_scene != nullptr) {
        m_camera.keepInSight(m_scene->layout.bounds, QRectF(rect()), kInSight);
    }
    emit zoomChanged(m_camera.zoom());
    update();
}

void GraphCanvas::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    if (m_fit == Fit::First) {
        showFirst();
    } else if (m_fit == Fit::All) {
        fitAll();
    } else {
        applyFollow();
    }
    emit resized();
}

void GraphCanvas::paintEvent(QPaintEvent* event)
{
    QPainter painter(this);
    const Theme& colors = theme(this);
    if (m_scene == nullptr || !hasCards()) { // else the ground has the colour
        painter.fillRect(event->rect(), colors[Role::Base]);
    }
    if (m_scene == nullptr) {
        return;
    }
    if (hasCards()) {
        makeFrame();
    }
    const GraphPicture shown = picture();
    if (hasCards()) {
        paintInMotion(painter, colors);
    } else {
        GraphPainter(painter, shown, m_camera, colors).paint(QRectF(event->rect()));
    }
    const GraphOverlays panels = overlays();
    if (!panels.map.isNull() && !hasStripe()) {
        paintMap(painter, shown, panels, m_camera.toScene(QRectF(rect())), colors);
    }
    if (!panels.legend.isNull()) {
        paintLegend(painter, panels.legend, m_colouring.get(), colors);
    }
}

} // namespace retro::views

#include "moc_graphcanvas.cpp"
