// SPDX-License-Identifier: Apache-2.0
#include "views/graph/graphcanvas.h"

#include <QApplication>
#include <QContextMenuEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

namespace retro::views
{

using layout::Index;
using layout::kNone;

namespace
{

constexpr double kWheelBase = 1.0015; // zoom per unit of wheel movement (120 a notch)
constexpr double kKeyZoom = 1.25;
constexpr double kKeyPan = 80;   // pixels
constexpr double kTolerance = 5; // pixels from a line that still hit it

QString textOf(const GraphBook& book, const LikeGroup& group)
{
    const std::string& path = book.drawn.groupPaths[static_cast<std::size_t>(group.group)];
    return QString::fromStdString(path + '\n' + countOfNodes(static_cast<Index>(group.nodes.size())));
}

} // namespace

Hit GraphCanvas::hitAt(QPointF pixel) const
{
    if (m_scene == nullptr || overlays().covers(pixel)) {
        return {};
    }
    return hitTest(*m_scene, m_camera.toScene(pixel), kTolerance / m_camera.zoom());
}

QString GraphCanvas::tipAt(const QPointF& at) const
{
    Hit hit = hitAt(at);
    if (m_scene != nullptr && hasStripe() && overlays().map.contains(at)) {
        hit.index = boxUnderStripe(at);
        hit.kind = hit.index != kNone ? HitKind::Box : HitKind::Nothing;
    }
    const LikeGroup* group = m_scene != nullptr ? groupUnderStripe(at) : nullptr;
    return group != nullptr                         ? textOf(*m_scene->book, *group)
           : m_tips && hit.kind != HitKind::Nothing ? m_tips(hit)
                                                    : QString();
}

void GraphCanvas::mousePressEvent(QMouseEvent* event)
{
    if (m_scene == nullptr || event->button() == Qt::RightButton) {
        return;
    }
    const GraphOverlays panels = overlays();
    m_hasToggled = false;
    m_dragFrom = event->position();
    if (panels.map.contains(event->position())) {
        m_drag = Drag::Map;
        if (const LikeGroup* group = groupUnderStripe(event->position())) {
            goToGroup(*group);
        } else {
            moveByMap(event->position());
        }
    } else if (!panels.covers(event->position())) {
        m_drag = Drag::Armed;
    }
}

void GraphCanvas::mouseMoveEvent(QMouseEvent* event)
{
    const QPointF moved = event->position() - m_dragFrom;
    if (m_drag == Drag::Armed && moved.manhattanLength() >= QApplication::startDragDistance()) {
        m_drag = Drag::Pan;
        setCursor(Qt::ClosedHandCursor);
    }
    if (m_drag == Drag::Pan) {
        letGo();
        m_camera.pan(moved);
        m_dragFrom = event->position();
        m_fit = Fit::None;
        cameraChanged();
    } else if (m_drag == Drag::Map) {
        moveByMap(event->position());
    } else if (m_drag == Drag::None) {
        const Hit hit = hitAt(event->position());
        setHovered(hit.kind == HitKind::Box ? hit.index : kNone);
    }
}

void GraphCanvas::mouseReleaseEvent(QMouseEvent* event)
{
    const Drag drag = m_drag;
    m_drag = Drag::None;
    unsetCursor();
    if (drag == Drag::Armed && event->button() == Qt::LeftButton) {
        click(event->position(), event->modifiers());
    }
}

void GraphCanvas::click(QPointF pixel, Qt::KeyboardModifiers keys)
{
    const Hit hit = hitAt(pixel);
    if (hit.isOnSign) {
        toggle(hit, pixel);
    } else if (hit.kind == HitKind::Box && keys.testFlag(Qt::ControlModifier)) {
        emit boxAdded(hit.index);
    } else if (hit.kind == HitKind::Box && keys.testFlag(Qt::AltModifier)) {
        emit targetPicked(hit.index);
    } else if (hit.kind == HitKind::Box) {
        emit boxClicked(hit.index);
    } else if (hit.kind == HitKind::Edge) {
        emit edgeClicked(hit.index);
    } else if (hit.kind == HitKind::Nothing) {
        emit groundClicked();
    }
}

void GraphCanvas::mouseDoubleClickEvent(QMouseEvent* event)
{
    const Hit hit = hitAt(event->position());
    if (event->button() != Qt::LeftButton || m_hasToggled) {
        return; // the first click was on a sign
    }
    const bool isGroup =
        hit.kind == HitKind::Box && m_scene->visible.nodes[static_cast<std::size_t>(hit.index)].isGroup();
    if (isGroup || hit.kind == HitKind::Frame) {
        toggle(hit, event->position());
    } else if (hit.kind == HitKind::Box) {
        emit boxActivated(hit.index);
    }
}

/// Opens the group of a box, closes that of a frame.
void GraphCanvas::toggle(const Hit& hit, QPointF pixel)
{
    const Index group = hit.kind == HitKind::Frame ? m_scene->visible.frames[static_cast<std::size_t>(hit.index)]
                                                   : m_scene->visible.nodes[static_cast<std::size_t>(hit.index)].group;
    if (group != kNone) {
        m_hasToggled = true;
        toggleGroup(group, pixel, hit.isOnSign);
    }
}

void GraphCanvas::moveByMap(QPointF pixel)
{
    if (hasStripe()) {
        return moveByStripe(pixel);
    }
    const layout::Point scene = minimapOf(*m_scene, overlays()).toScene({pixel.x(), pixel.y()});
    letGo();
    m_camera.place(scene, overlays().free.center());
    m_fit = Fit::None;
    cameraChanged();
}

void GraphCanvas::setHovered(Index box)
{
    if (m_hovered != box) {
        m_hovered = box;
        update();
    }
}

void GraphCanvas::leaveEvent(QEvent*) { setHovered(kNone); }

void GraphCanvas::wheelEvent(QWheelEvent* event)
{
    const QPoint delta = event->angleDelta();
    letGo();
    if (event->modifiers() & Qt::ShiftModifier) {
        m_camera.pan(QPointF(delta.x() + delta.y(), 0));
    } else if (delta.y() == 0) {
        m_camera.pan(QPointF(delta.x(), 0));
    } else {
        m_camera.zoomAt(event->position(), std::pow(kWheelBase, delta.y()));
    }
    m_fit = Fit::None;
    event->accept();
    cameraChanged();
}

void GraphCanvas::keyPressEvent(QKeyEvent* event)
{
    const Qt::KeyboardModifiers others = event->modifiers() & ~(Qt::ShiftModifier | Qt::KeypadModifier);
    const bool isOurs = m_scene != nullptr && others == Qt::NoModifier &&
                        (walkByKey(event->key()) || moveByKey(event->key()) ||
                         changeGroupsByKey(event->key(), event->modifiers() & Qt::ShiftModifier));
    if (!isOurs) {
        QWidget::keyPressEvent(event);
    }
}

bool GraphCanvas::walkByKey(int key)
{
    const Index from = m_selected;
    if (from == kNone) {
        const bool isArrow = key == Qt::Key_Up || key == Qt::Key_Down || key == Qt::Key_Left || key == Qt::Key_Right;
        walkTo(isArrow ? std::max(0, m_status.now) : kNone);
        return isArrow;
    }
    switch (key) {
    case Qt::Key_Up:
        walkTo(neighbour(*m_scene, from, Direction::Up));
        return true;
    case Qt::Key_Down:
        walkTo(neighbour(*m_scene, from, Direction::Down));
        return true;
    case Qt::Key_Left:
        walkTo(neighbour(*m_scene, from, Direction::Left));
        return true;
    case Qt::Key_Right:
        walkTo(neighbour(*m_scene, from, Direction::Right));
        return true;
    case Qt::Key_U:
        walkTo(firstProducer(*m_scene, from));
        return true;
    case Qt::Key_N:
        walkTo(firstConsumer(*m_scene, from));
        return true;
    case Qt::Key_Return:
    case Qt::Key_Enter:
        emit boxActivated(from);
        return true;
    default:
        return false;
    }
}

void GraphCanvas::walkTo(Index box)
{
    if (box != kNone && box < m_scene->boxCount()) {
        emit boxClicked(box);
        reveal(box);
    }
}

bool GraphCanvas::moveByKey(int key)
{
    QPointF pan;
    switch (key) {
    case Qt::Key_F:
        fitSelection();
        return true;
    case Qt::Key_0:
        fitAll();
        return true;
    case Qt::Key_Plus:
    case Qt::Key_Equal:
        zoomBy(kKeyZoom);
        return true;
    case Qt::Key_Minus:
        zoomBy(1 / kKeyZoom);
        return true;
    case Qt::Key_W:
        pan = {0, kKeyPan};
        break;
    case Qt::Key_S:
        pan = {0, -kKeyPan};
        break;
    case Qt::Key_A:
        pan = {kKeyPan, 0};
        break;
    case Qt::Key_D:
        pan = {-kKeyPan, 0};
        break;
    default:
        return false;
    }
    letGo();
    m_camera.pan(pan);
    m_fit = Fit::None;
    cameraChanged();
    return true;
}

bool GraphCanvas::changeGroupsByKey(int key, bool isShifted)
{
    switch (key) {
    case Qt::Key_E:
    case Qt::Key_C:
        changeGroups(key == Qt::Key_C, isShifted);
        return true;
    case Qt::Key_M:
        setMapShown(!m_wantsMap);
        return true;
    case Qt::Key_L:
        setLegendShown(!m_wantsLegend);
        return true;
    default:
        return false;
    }
}

void GraphCanvas::changeGroups(bool isClosing, bool isByDepth)
{
    if (isByDepth) {
        emit depthToggled(isClosing);
    } else if (isClosing) {
        closeAroundSelected();
    } else {
        openSelected();
    }
}

/// By mouse at the pointer, which selects what is there; by key at the selected box.
void GraphCanvas::contextMenuEvent(QContextMenuEvent* event)
{
    if (m_scene == nullptr) {
        return;
    }
    if (event->reason() == QContextMenuEvent::Mouse) {
        const Hit hit = hitAt(QPointF(event->pos()));
        const bool isOneOfSeveral =
            std::find(m_alsoSelected.begin(), m_alsoSelected.end(), hit.index) != m_alsoSelected.end() ||
            (hit.index == m_selected && !m_alsoSelected.empty());
        if (hit.kind == HitKind::Box && !isOneOfSeveral) {
            emit boxClicked(hit.index);
        }
        emit menuWanted(hit, event->globalPos());
        return;
    }
    const bool hasBox = m_selected != kNone;
    const QPointF place = hasBox
                              ? m_camera.toScreen(m_scene->layout.nodes[static_cast<std::size_t>(m_selected)].center())
                              : QRectF(rect()).center();
    emit menuWanted(hasBox ? Hit{HitKind::Box, m_selected, false} : Hit{}, mapToGlobal(place.toPoint()));
}

void GraphCanvas::openSelected()
{
    if (m_selected != kNone) {
        toggleByKey(m_scene->visible.nodes[static_cast<std::size_t>(m_selected)].group);
    }
}

void GraphCanvas::closeAroundSelected()
{
    const Index frame = m_selected == kNone ? kNone : frameAround(*m_scene, m_selected);
    if (frame != kNone) {
        toggleByKey(m_scene->visible.frames[static_cast<std::size_t>(frame)]);
    }
}

void GraphCanvas::toggleByKey(Index group)
{
    const auto place = group == kNone ? std::nullopt : placeOf(group, false);
    if (place) {
        toggleGroup(group, m_camera.toScreen(*place), false);
    }
}

} // namespace retro::views
