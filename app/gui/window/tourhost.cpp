// SPDX-License-Identifier: Apache-2.0
#include "app/gui/window/tourhost.h"

#include "app/gui/window/mainwindow.h"
#include "app/gui/window/tour.h"
#include "app/gui/window/workspaces.h"
#include "core/trace/motion.h"
#include "views/classes/classesview.h"
#include "views/common/paint/motion.h"
#include "views/heatmap/heatmapview.h"
#include "views/input/inputview.h"
#include "views/layers/layersview.h"
#include "views/ledger/ledgerview.h"

#include <QApplication>
#include <QEvent>
#include <QTimer>

#include <algorithm>

namespace retro::app
{

namespace
{

TourStops stopsOf(const QWidget& explain)
{
    return {explain.findChild<views::InputView*>(), explain.findChild<views::ClassesView*>(),
            explain.findChild<views::HeatmapView*>(), explain.findChild<views::LayersView*>(),
            explain.findChild<views::LedgerView*>()};
}

constexpr double kPlayTime = 12'000; // milliseconds
constexpr int kPlayFrame = 16;

} // namespace

SelfPlay::SelfPlay(views::RunModel& model, views::Cursor& cursor, QObject* parent)
    : QObject(parent), m_model(model), m_cursor(cursor), m_timer(new QTimer(this))
{
    m_timer->setInterval(kPlayFrame);
    connect(m_timer, &QTimer::timeout, this, &SelfPlay::tick);
    connect(&cursor, &views::Cursor::glided, this, [this](double moment) {
        if (m_isRunning && moment != m_set) {
            end();
        }
    });
    connect(&model, &views::RunModel::runChanged, this, &SelfPlay::end);
}

void SelfPlay::begin()
{
    end();
    if (!views::isMotionSeen() || !m_model.hasRun() || m_model.run().visitCount() == 0) {
        return;
    }
    m_isRunning = true;
    qApp->installEventFilter(this);
    m_cursor.setSpeed(static_cast<double>(m_model.run().visitCount()) * 1000 / kPlayTime);
    m_clock.start();
    showShare(0);
    m_timer->start();
}

void SelfPlay::end()
{
    if (m_isRunning) {
        m_isRunning = false;
        m_timer->stop();
        qApp->removeEventFilter(this);
        m_cursor.setSpeed(0);
    }
}

void SelfPlay::showShare(double share)
{
    const trace::Pace& pace = m_model.derived<trace::Motion>()->pace();
    const double moment = share >= 1 ? pace.end() : pace.momentAt(std::max(0.0, share) * pace.length());
    m_set = moment;
    m_cursor.glideTo(moment);
}

void SelfPlay::tick()
{
    const double share = static_cast<double>(m_clock.elapsed()) / kPlayTime;
    if (!m_model.hasRun()) {
        end();
        return;
    }
    showShare(share);
    if (share >= 1) {
        end();
    }
}

bool SelfPlay::eventFilter(QObject* watched, QEvent* event)
{
    const QEvent::Type type = event->type();
    if (type == QEvent::KeyPress || type == QEvent::MouseButtonPress || type == QEvent::Wheel) {
        end();
    }
    return QObject::eventFilter(watched, event);
}

void addTourAction(views::ActionRegistry& actions)
{
    actions.add(
        {"help.tour", QT_TRANSLATE_NOOP("retro::views::actions", "&Tour, 60 s"),
         QT_TRANSLATE_NOOP("retro::views::actions", "Five stops on the sample: from the picture to covering the tag"),
         "play", "Shift+F1"});
}

TourHost::TourHost(MainWindow& window) : QObject(&window), m_window(window)
{
    window.showWorkspace(QStringLiteral("explain"));
    m_tour = new Tour(stopsOf(window.workspace()), window.model(), window.actions(), window);
    m_play = new SelfPlay(window.model(), window.cursor(), this);
    connect(m_tour, &Tour::stopShown, m_play, [this](int stop) {
        if (stop == Tour::kLayers && m_hasPlayed) {
            return; // it never starts again by itself
        }
        stop == Tour::kLayers ? m_play->begin() : m_play->end();
        m_hasPlayed = m_hasPlayed || stop == Tour::kLayers;
    });
    connect(&window.actions().at(QStringLiteral("help.tour")), &QAction::triggered, this, &TourHost::begin);
    connect(m_tour, &Tour::wanted, this, &TourHost::begin);
    connect(m_tour, &Tour::ended, this, [this] {
        m_play->end();
        rememberTourOffered();
    });
    connect(
        &window, &MainWindow::workspaceShown, m_tour,
        [this](const QString& id) { m_tour->takeWorkspace(id == QLatin1String("explain")); }, Qt::QueuedConnection);
}

template <class Step>
void TourHost::whenSettled(Step step)
{
    connect(
        &m_window, &MainWindow::settled, this,
        [this, step] {
            if (m_window.lastError().isEmpty() && m_window.model().hasRun()) {
                step();
            }
        },
        Qt::ConnectionType(Qt::QueuedConnection | Qt::SingleShotConnection));
}

void TourHost::begin()
{
    m_tour->stop();
    m_hasPlayed = false;
    m_window.showWorkspace(QStringLiteral("explain"));
    m_window.open({}); // always from the same picture, with nothing covered
    whenSettled([this] { m_tour->start(); });
}

void TourHost::offerOnce()
{
    if (!wasTourOffered()) {
        whenSettled([this] {
            // Only where it points; elsewhere another bubble may be open, and there will be another start.
            if (m_window.workspace().id() == QLatin1String("explain")) {
                m_tour->offer();
            }
        });
    }
}

} // namespace retro::app
