// SPDX-License-Identifier: Apache-2.0
#include "app/gui/window/workspace.h"

#include "app/gui/window/docktitles.h"
#include "views/common/paint/fonts.h"

#include <QDockWidget>
#include <QMouseEvent>
#include <QTimer>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

namespace retro::app
{

namespace
{

/// Whether Tab comes to a widget of a pane: not to parts of a field, nor to menus and lists that pop up.
bool isTabStop(const QWidget& widget, const QDockWidget& dock)
{
    const bool isPart =
        widget.parentWidget()->inherits("QAbstractSpinBox") || widget.parentWidget()->inherits("QComboBox");
    const bool takesTab = (widget.focusPolicy() & Qt::TabFocus) != 0 && widget.focusProxy() == nullptr;
    return takesTab && !isPart && widget.window() == dock.window();
}

} // namespace

Workspace::Workspace(QString id, QWidget* parent) : QMainWindow(parent), m_id(std::move(id))
{
    setWindowFlags(Qt::Widget);
    setObjectName(m_id);
    setDockNestingEnabled(true);
    // Without GroupedDragging: with it, random input once ended in the dock layout of Qt 6.4; without it, never so far.
    setDockOptions(AllowTabbedDocks | AllowNestedDocks);
    setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
    setContextMenuPolicy(Qt::NoContextMenu);
    const int gap = views::fonts::px(4);
    setContentsMargins(gap, 0, gap, gap);
    m_titles = new DockTitles(*this);
}

Workspace::~Workspace()
{
    // Docks move, hide and are asked for while QWidget takes them down one by one; whoever follows them ends first, and
    // they end while there is still a whole workspace around them.
    delete m_titles;
    m_apart.clear();
    while (!m_docks.empty()) {
        const QDockWidget* last = m_docks.back();
        m_docks.pop_back(); // the focus that it gives up goes through those that are still listed
        delete last;
    }
}

QDockWidget* Workspace::makeDock(QWidget* content, const QString& title, const QString& tabName)
{
    auto* dock = new QDockWidget(title, this);
    dock->setObjectName(m_id + QLatin1Char('.') + title);
    dock->setWidget(content);
    m_titles->add(*dock, tabName);
    addDockWidget(Qt::TopDockWidgetArea, dock, Qt::Horizontal);
    m_docks.push_back(dock);
    connect(dock, &QDockWidget::dockLocationChanged, this, [this] { m_isArranged = true; });
    dock->installEventFilter(this);
    return dock;
}

QDockWidget* Workspace::addView(views::View* view, const QString& tabName)
{
    QDockWidget* dock = makeDock(view, view->title(), tabName);
    const auto follow = [this, view, dock] {
        m_titles->setCaption(*dock, {view->title(), view->subject(), view->hint()});
    };
    follow();
    connect(view, &views::View::captionChanged, dock, follow);
    connect(view, &views::View::openRequested, this, &Workspace::openRequested);
    connect(view, &views::View::cancelRequested, this, &Workspace::cancelRequested);
    m_views.push_back(view);
    return dock;
}

QDockWidget* Workspace::addPanel(QWidget* widget, const QString& title, const QString& hint)
{
    QDockWidget* dock = makeDock(widget, title, {});
    m_titles->setCaption(*dock, {title, {}, hint});
    return dock;
}

/// Tab goes through one pane after the other. Without this it would follow the order in which things were made, which
/// has all titles behind all contents.
void Workspace::chainFocus()
{
    QWidget* last = nullptr;
    for (QDockWidget* dock : m_docks) {
        for (QWidget* widget : dock->findChildren<QWidget*>()) {
            if (!isTabStop(*widget, *dock)) {
                continue;
            }
            if (last != nullptr && last->window() == widget->window()) { // a dock that floats is a window of its own
                setTabOrder(last, widget);
            }
            last = widget;
        }
    }
}

bool Workspace::focusNextPrevChild(bool isNext)
{
    chainFocus(); // views make some of their fields when they first need them
    return QMainWindow::focusNextPrevChild(isNext);
}

void Workspace::rememberLayout()
{
    m_initial = saveState();
    m_hiddenAtFirst.clear();
    std::ranges::copy_if(m_docks, std::back_inserter(m_hiddenAtFirst), &QDockWidget::isHidden);
    m_isArranged = false;
    m_titles->flush(); // title bars above tabs would make the window higher than it must be
}

void Workspace::resetLayout()
{
    m_kept.clear();
    for (QDockWidget* dock : m_docks) {
        dock->setFloating(false);
        // A dock that hides at once would still take its least size below.
        dock->setVisible(std::ranges::find(m_hiddenAtFirst, dock) == m_hiddenAtFirst.end());
    }
    restoreState(m_initial);
    rearrange();
    m_apart.clear();
    m_isArranged = false;
    m_isPacked = false;
    m_hasClosed = false;
    m_titles->flush(); // what lies above the contents takes room too
    fitRoom();
    applySizes();
}

void Workspace::takeSizes()
{
    if (m_isPacked && !isChosen()) {
        resetLayout(); // perhaps there is more room now
    } else {
        fitRoom();
        keepShares();
    }
}

void Workspace::setRoom(std::function<QSize()> room)
{
    m_room = std::move(room);
    fitRoom();
}

/// Smaller text fits a screen of 1280 × 800 without it.
bool Workspace::mayPack() const { return m_room && views::fonts::scale() > 1.2; }

QSize Workspace::minimumSizeHint() const
{
    const QSize least = QMainWindow::minimumSizeHint();
    return mayPack() ? least.boundedTo(m_room()) : least;
}

/// What the docks need in one direction.
static int leastOf(const QMainWindow& space, Qt::Orientation direction)
{
    const QSize least = space.QMainWindow::minimumSizeHint();
    return direction == Qt::Horizontal ? least.width() : least.height();
}

bool Workspace::isNeeded(const Pack& pack) const
{
    const auto isPlaced = [](const QDockWidget* dock) { return !dock->isFloating() && !dock->isHidden(); };
    const int room = pack.spares == Qt::Horizontal ? m_room().width() : m_room().height();
    return isPlaced(pack.what) && isPlaced(pack.behind) && !tabifiedDockWidgets(pack.behind).contains(pack.what) &&
           leastOf(*this, pack.spares) > room * (1 + pack.mayLack);
}

/// False when that would not help and was not done.
bool Workspace::putBehind(const Pack& pack, bool isInAnyCase)
{
    const QByteArray before = saveState();
    const int least = leastOf(*this, pack.spares);
    QList<QDockWidget*> moved = tabifiedDockWidgets(pack.what);
    moved.prepend(pack.what);
    for (QDockWidget* dock : moved) {
        if (!dock->isFloating()) {
            tabifyDockWidget(pack.behind, dock);
        }
    }
    pack.behind->raise();
    m_titles->flush();
    const bool helps = leastOf(*this, pack.spares) < least;
    if (!helps && !isInAnyCase) {
        restoreState(before);
        m_titles->flush();
    }
    return helps || isInAnyCase;
}

/// An arrangement of a person, too: a window that is larger than its screen cannot be used.
void Workspace::fitRoom()
{
    if (!mayPack()) {
        return;
    }
    const bool isArranged = m_isArranged;
    bool hasPacked = false;
    // First what helps by itself; where two columns need the same, none does, and then both are done.
    for (const bool isInAnyCase : {false, true}) {
        for (const Pack& pack : packs()) {
            hasPacked = (isNeeded(pack) && putBehind(pack, isInAnyCase)) || hasPacked;
        }
    }
    m_isArranged = isArranged; // nobody did
    if (hasPacked) {
        m_isPacked = true;
        keepShares();
        emit packed();
    }
}

void Workspace::setHintsShown(bool isShown) { m_titles->setHintsShown(isShown); }

bool Workspace::takeLayout(const QByteArray& layout, int version, bool isArranged)
{
    if (!restoreState(layout, version)) {
        m_isArranged = false;
        return false;
    }
    m_isArranged = isArranged;
    m_hasClosed = true; // as far as anybody knows
    if (!isVisible()) {
        m_apart.clear();
        hideApart();
    }
    // Before it is shown the workspace has a size of no meaning, into which Qt has pressed the sizes of the docks.
    m_kept = m_wasShown ? QByteArray() : layout;
    m_keptVersion = version;
    return true;
}

bool Workspace::eventFilter(QObject* watched, QEvent* event)
{
    m_hasClosed = m_hasClosed || event->type() == QEvent::Close;
    return QMainWindow::eventFilter(watched, event);
}

void Workspace::flush()
{
    for (views::View* view : m_views) {
        view->flush();
    }
    m_titles->flush();
}

QList<int> Workspace::shared(int room, std::initializer_list<double> parts)
{
    const double all = std::accumulate(parts.begin(), parts.end(), 0.0);
    QList<int> sizes;
    for (const double part : parts) {
        sizes.append(std::max(1, static_cast<int>(std::lround(room * part / all)))); // Qt takes no other
    }
    return sizes;
}

/// Windows of their own would stay over other workspaces: they go with theirs.
void Workspace::hideApart()
{
    for (QDockWidget* dock : m_docks) {
        if (dock->isFloating() && !dock->isHidden()) {
            m_apart.push_back(dock);
            dock->hide();
        }
    }
}

QByteArray Workspace::layout(int version) const
{
    if (m_isPacked && !isChosen()) {
        return {}; // the next screen may have room for the usual one
    }
    // Qt writes down whether each dock is hidden, and asks this very mark.
    for (QDockWidget* dock : m_apart) {
        dock->setAttribute(Qt::WA_WState_Hidden, false);
    }
    const QByteArray layout = saveState(version);
    for (QDockWidget* dock : m_apart) {
        dock->setAttribute(Qt::WA_WState_Hidden, true);
    }
    return layout;
}

void Workspace::hideEvent(QHideEvent* event)
{
    QMainWindow::hideEvent(event);
    if (!event->spontaneous()) {
        hideApart();
    }
}

void Workspace::showEvent(QShowEvent* event)
{
    QMainWindow::showEvent(event);
    if (!event->spontaneous()) {
        for (QDockWidget* dock : std::exchange(m_apart, {})) {
            dock->show();
        }
    }
    if (!m_wasShown) {
        m_wasShown = true;
        takeKept();
        keepShares();
    }
}

/// Again with every size of the window until it stands: at a start the bars around the docks come and go.
void Workspace::takeKept()
{
    if (!m_kept.isEmpty() && m_wasShown) {
        const bool isArranged = m_isArranged;
        restoreState(m_kept, m_keptVersion);
        m_isArranged = isArranged;
        QTimer::singleShot(0, this, [this] { QTimer::singleShot(0, this, [this] { m_kept.clear(); }); });
    }
}

void Workspace::resizeEvent(QResizeEvent* event)
{
    QMainWindow::resizeEvent(event);
    if (!m_kept.isEmpty()) {
        // Not at once: the size may come out of the midst of a layout, which goes on with what restoring takes away.
        QTimer::singleShot(0, this, [this] {
            takeKept();
            keepShares();
        });
        return;
    }
    keepShares();
}

bool Workspace::event(QEvent* event)
{
    if (event->type() == QEvent::MouseButtonPress) {
        const bool isLine = childAt(static_cast<QMouseEvent*>(event)->position().toPoint()) == nullptr;
        m_isArranged = m_isArranged || isLine;
    }
    if (event->type() == QEvent::LayoutRequest && m_room && !std::exchange(m_willFit, true)) {
        // Not at once: this comes out of the midst of a layout.
        QTimer::singleShot(0, this, [this] {
            m_willFit = false;
            fitRoom();
        });
    }
    return QMainWindow::event(event);
}

void Workspace::keepShares()
{
    // Qt would give each dock its share of the room that is new; what was once pressed to its least size would grow
    // out of proportion.
    if (m_wasShown && !m_isArranged) {
        applySizes();
    }
}

} // namespace retro::app

#include "moc_workspace.cpp"
