// SPDX-License-Identifier: Apache-2.0
#include "app/gui/window/tour.h"

#include "app/gui/window/callout.h"
#include "views/classes/classscores.h"
#include "views/common/numbertext.h"
#include "views/input/inputview.h"

#include <QApplication>
#include <QDockWidget>
#include <QKeyEvent>
#include <QSettings>

#include <algorithm>

namespace retro::app
{

namespace
{

const QString kOffered = QStringLiteral("tour/offered");

QSettings settings()
{
    return {QSettings::IniFormat, QSettings::UserScope, QStringLiteral("retrograde"), QStringLiteral("retrograde")};
}

QDockWidget* dockOf(QWidget* view)
{
    for (QWidget* up = view; up != nullptr; up = up->parentWidget()) {
        if (auto* dock = qobject_cast<QDockWidget*>(up)) {
            return dock;
        }
    }
    return nullptr;
}

/// The share of the box that is covered.
double coveredShare(const views::CoverSheet& sheet, const QRect& box)
{
    int covered = 0;
    for (int y = box.top(); y <= box.bottom(); ++y) {
        for (int x = box.left(); x <= box.right(); ++x) {
            covered += sheet.covers(x, y) ? 1 : 0;
        }
    }
    return static_cast<double>(covered) / std::max(1, box.width() * box.height());
}

} // namespace

bool wasTourOffered() { return settings().value(kOffered, false).toBool(); }

void rememberTourOffered() { settings().setValue(kOffered, true); }

Tour::Tour(const TourStops& stops, views::RunModel& model, views::ActionRegistry& actions, QWidget& window)
    : QObject(&window), m_stops(stops), m_model(model), m_actions(actions), m_window(window)
{
    m_ring = new CallOutRing(window);
    m_callOut = new CallOut(window);
    connect(m_callOut, &CallOut::skipped, this, [this] { end(false); });
    connect(m_callOut, &CallOut::backRequested, this, [this] { show(m_stop - 1); });
    connect(m_callOut, &CallOut::nextRequested, this, &Tour::next);
    connect(&model, &views::RunModel::stateChanged, this, [this] {
        if (isRunning() && !m_model.hasRun()) {
            stop(); // the model was closed: there is nothing left to show
        } else if (isRunning()) {
            showWords();
            placeIfShown();
        }
    });
}

Tour::~Tour() { qApp->removeEventFilter(this); }

void Tour::start()
{
    const views::ClassAnswer answer = m_model.hasRun() ? views::classAnswer(m_model) : views::ClassAnswer();
    m_firstAnswer = answer.says;
    m_isOffer = false;
    qApp->installEventFilter(this);
    show(0);
}

void Tour::stop()
{
    if (isRunning() || m_isOffer) {
        end(false);
    }
}

void Tour::offer()
{
    m_isOffer = true;
    m_callOut->setWords(tr("New here?"),
                        tr("A tour of six stops shows in a minute how to ask a model why it says what it says. You "
                           "find it later in the Help menu."));
    m_callOut->setButtons(tr("Not now"), {}, tr("Show me"));
    qApp->installEventFilter(this);
    place();
    m_callOut->focusNext();
}

void Tour::next()
{
    if (m_isOffer) {
        m_isOffer = false;
        emit wanted();
        return;
    }
    if (m_stop + 1 == kStops) {
        end(true);
    } else {
        show(m_stop + 1);
    }
}

void Tour::end(bool isDone)
{
    m_stop = -1;
    m_isOffer = false;
    qApp->removeEventFilter(this);
    m_callOut->hide();
    m_ring->hide();
    m_actions.at(QStringLiteral("cover.brush")).setChecked(false);
    emit ended(isDone);
}

void Tour::show(int stop)
{
    m_stop = std::clamp(stop, 0, kStops - 1);
    m_caption.clear();
    const bool isLast = m_stop + 1 == kStops;
    emit workspaceWanted(workspace());
    for (QWidget* target : targets()) {
        if (QDockWidget* dock = dockOf(target)) {
            dock->show();
            dock->raise();
        }
    }
    m_callOut->setButtons(isLast ? QString() : tr("Skip"), m_stop > 0 ? tr("Back") : QString(),
                          isLast ? tr("Done") : tr("Next"));
    showWords();
    QAction& brush = m_actions.at(QStringLiteral("cover.brush"));
    if (brush.isEnabled()) {
        brush.setChecked(isLast); // the brush takes the focus: keys cover too
    }
    place();
    if (!m_stops.input->hasBrush()) {
        m_callOut->focusNext();
    }
    emit stopShown(m_stop);
}

void Tour::showWords() { m_callOut->setWords(title(), text(), tr("%1 of %2").arg(m_stop + 1).arg(kStops)); }

std::vector<QWidget*> Tour::targets() const
{
    switch (m_stop) {
    case 0:
    case kStops - 1:
        return {m_stops.input};
    case kMotion:
        return {m_stops.graph};
    case 1:
        return {m_stops.classes};
    case kLayers:
        return {m_stops.layers, m_stops.ledger};
    default:
        return {m_stops.heatmap};
    }
}

QString Tour::title() const
{
    switch (m_stop) {
    case 0:
        return tr("What the model sees");
    case 1:
        return tr("What the model says");
    case 2:
        return tr("Which pixels made it say so");
    case kMotion:
        return tr("How it got there");
    case kLayers:
        return tr("Layer by layer");
    default:
        return isTagCovered() ? tr("See what changed") : tr("Now cover the tag");
    }
}

QString Tour::text() const
{
    const views::ClassAnswer answer = views::classAnswer(m_model);
    const QString says = answer.says;
    switch (m_stop) {
    case 0:
        return tr("The picture, pixel by pixel, as the model gets it: a %1. Note the small tag in the corner.")
            .arg(answer.truth);
    case 1:
        return tr("The model is %1 sure that this is a %2. It is a %3. So what did it look at?")
            .arg(answer.best.empty() ? QString() : views::percentText(answer.best.front().bar), says, answer.truth);
    case 2:
        return tr("Red pixels speak for %1, blue ones against it. Most of the red lies in the frame: the model reads "
                  "the tag.")
            .arg(says);
    case kMotion:
        return m_caption.isEmpty()
                   ? tr("Relevance runs from the score of %1 back to the pixels. A pulse is as thick as what it "
                        "carries; a dashed line is a search for a value that nobody kept.")
                         .arg(says)
                   : m_caption;
    case kLayers:
        return tr("From the class score on the left back to the pixels. Click a layer to see its heatmap. The ledger "
                  "says how much arrived, and where the rest went.");
    default:
        return isTagCovered() ? closingText()
                              : tr("Drag the mouse over the tag until it is gone, and watch the class and the heatmap. "
                                   "Keys work too: arrows and Space.");
    }
}

QString Tour::closingText() const
{
    const views::ClassAnswer answer = views::classAnswer(m_model);
    const QString now = tr("The model now says %1.").arg(answer.says);
    return answer.says == m_firstAnswer
               ? now + QLatin1Char(' ') + tr("Cover the rest of the tag.")
               : now + QLatin1Char(' ') +
                     tr("Before it said %1. The red has left the tag. Cover anything you like, in any picture.")
                         .arg(m_firstAnswer);
}

bool Tour::isTagCovered() const
{
    constexpr double kMostly = 0.5;
    const auto& box = m_model.input().tagBox;
    return box && coveredShare(m_stops.input->cover(), *box) >= kMostly;
}

void Tour::place()
{
    QRect around;
    for (QWidget* target : targets()) {
        QWidget* shown = target;
        if (QDockWidget* dock = dockOf(target)) {
            shown = dock;
        }
        if (target->isVisible() && shown->window() == &m_window) {
            around = around.united(QRect(shown->mapTo(&m_window, QPoint(0, 0)), shown->size()));
        }
    }
    m_ring->setVisible(isRunning() && !around.isEmpty());
    if (m_ring->isVisible()) {
        m_ring->surround(around);
    }
    // What is not in sight is not pointed at: the words stand in the middle.
    m_callOut->pointAt(around.isEmpty() ? m_window.rect() : around);
}

void Tour::setKept(std::function<QRect()> kept) { m_callOut->setKept(std::move(kept)); }

QString Tour::workspace() const { return m_stop == kMotion ? QStringLiteral("engine") : QStringLiteral("explain"); }

void Tour::setCaption(const QString& caption)
{
    m_caption = caption;
    if (m_stop == kMotion) {
        showWords();
        placeIfShown();
    }
}

void Tour::takeWorkspace(const QString& id)
{
    if (!isRunning() && !m_isOffer) {
        return;
    }
    if (id == workspace()) {
        place();
    } else {
        m_callOut->hide(); // its panes are not on screen; it comes back with them
        m_ring->hide();
    }
}

void Tour::placeIfShown()
{
    if ((isRunning() || m_isOffer) && !m_callOut->isHidden()) {
        place();
    }
}

/// Keys turn its pages wherever the focus is, but for fields that are typed into, open menus and lists, and a button
/// that has it: there Enter is its own. With the brush on, arrows move the brush.
bool Tour::takesKey(const QKeyEvent& key) const
{
    const bool isPlain = (key.modifiers() & ~Qt::KeypadModifier) == Qt::NoModifier;
    const QWidget* focus = QApplication::focusWidget();
    const bool isTyped = focus != nullptr && (focus->inherits("QLineEdit") || focus->inherits("QComboBox") ||
                                              focus->inherits("QAbstractSpinBox") || focus->inherits("QSlider"));
    const bool isElsewhere = QApplication::activePopupWidget() != nullptr ||
                             QApplication::activeModalWidget() != nullptr ||
                             (focus != nullptr && focus->window() != &m_window);
    if (!isPlain || isTyped || isElsewhere || m_callOut->isHidden()) {
        return false;
    }
    const bool isEnter = key.key() == Qt::Key_Return || key.key() == Qt::Key_Enter;
    const bool isOnButton = focus != nullptr && focus->inherits("QAbstractButton");
    if (isEnter) {
        return !isOnButton;
    }
    const bool isPage = key.key() == Qt::Key_PageDown || key.key() == Qt::Key_PageUp;
    const bool isArrow = key.key() == Qt::Key_Right || key.key() == Qt::Key_Left;
    return isRunning() && (isPage || (isArrow && !m_stops.input->hasBrush()));
}

void Tour::turnPage(int key)
{
    if (key == Qt::Key_Left || key == Qt::Key_PageUp) {
        if (m_stop > 0) {
            show(m_stop - 1);
        }
    } else if (m_isOffer || key == Qt::Key_Return || key == Qt::Key_Enter || m_stop + 1 < kStops) {
        next(); // the last page ends with Enter, not with one more arrow
    }
}

bool Tour::eventFilter(QObject* watched, QEvent* event)
{
    const bool isKey = event->type() == QEvent::ShortcutOverride || event->type() == QEvent::KeyPress;
    if (isKey && takesKey(*static_cast<QKeyEvent*>(event))) {
        event->accept();
        if (event->type() == QEvent::KeyPress) {
            turnPage(static_cast<QKeyEvent*>(event)->key());
        }
        return true;
    }
    // A job under way is the first thing that Escape stops.
    if (isKey && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape &&
        m_model.loadState() != views::LoadState::Loading) {
        event->accept();
        if (event->type() == QEvent::KeyPress) {
            end(false);
        }
        return true;
    }
    if (watched == &m_window && event->type() == QEvent::Resize) {
        QMetaObject::invokeMethod(this, &Tour::placeIfShown, Qt::QueuedConnection);
    }
    return QObject::eventFilter(watched, event);
}

} // namespace retro::app

#include "moc_tour.cpp"
