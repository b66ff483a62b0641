// SPDX-License-Identifier: Apache-2.0
#include "app/gui/window/tourhost.h"

#include "app/gui/controllers/wherecontroller.h"
#include "app/gui/window/callout.h"
#include "app/gui/window/mainwindow.h"
#include "app/gui/window/tour.h"
#include "app/gui/window/workspaces.h"
#include "views/classes/classesview.h"
#include "views/classes/classscores.h"
#include "views/common/paint/plane.h"
#include "views/compare/compareview.h"
#include "views/compare/evidenceshare.h"
#include "views/graph/graphview.h"
#include "views/heatmap/heatmapview.h"
#include "views/input/inputview.h"
#include "views/layers/layersview.h"
#include "views/ledger/ledgerview.h"

#include <QAction>
#include <QDockWidget>
#include <QSettings>

#include <algorithm>

namespace retro::app
{

namespace
{

const QString kFilmPlayed = QStringLiteral("tour/played");

QSettings filmSettings()
{
    return {QSettings::IniFormat, QSettings::UserScope, QStringLiteral("retrograde"), QStringLiteral("retrograde")};
}

TourStops stopsOf(const QWidget& explain, const QWidget& engine)
{
    return {explain.findChild<views::InputView*>(),   explain.findChild<views::ClassesView*>(),
            explain.findChild<views::HeatmapView*>(), engine.findChild<views::GraphView*>(),
            explain.findChild<views::LayersView*>(),  explain.findChild<views::LedgerView*>()};
}

/// The relevance of the input as a picture, channels added up; empty when it is none.
views::Plane inputPlane(const views::RunModel& model)
{
    const auto& inputs = model.graph().inputs();
    if (inputs.empty() || !model.input().isPicture) {
        return {};
    }
    const tensor::Tensor* relevance = model.relevance(inputs.front());
    if (relevance == nullptr) {
        return {};
    }
    auto plane = views::channelSum(*relevance, 0, model.input().layout == QLatin1String("NHWC"));
    return plane ? *std::move(plane) : views::Plane();
}

} // namespace

bool wasFilmPlayed() { return filmSettings().value(kFilmPlayed, false).toBool(); }

void rememberFilmPlayed() { filmSettings().setValue(kFilmPlayed, true); }

void addTourAction(views::ActionRegistry& actions)
{
    actions.add({"help.tour", RETRO_ACTION("&Tour, 60 s"),
                 RETRO_ACTION("Six stops on the sample: from the picture to covering the tag"), "play", "Shift+F1"});
}

TourHost::TourHost(MainWindow& window) : QObject(&window), m_window(window)
{
    window.showWorkspace(QStringLiteral("explain"));
    m_tour = new Tour(stopsOf(window.workspace(), *window.findChild<EngineWorkspace*>()), window.model(),
                      window.actions(), window);
    m_play = new SelfPlay(window.model(), window.cursor(), this);
    m_words = new CallOut(window);
    m_words->setKept([this] { return heatmapOfEngine(); });
    m_tour->setKept([this] { return heatmapOfEngine(); });
    connectTour();
    connectFilm();
}

void TourHost::connectTour()
{
    connect(m_tour, &Tour::workspaceWanted, this, [this](const QString& id) { m_window.showWorkspace(id); });
    connect(m_tour, &Tour::stopShown, m_play, [this](int stop) {
        if (stop != Tour::kMotion) {
            m_play->end();
            m_window.cursor().moveTo(m_window.cursor().end()); // the other stops speak of what arrived
        } else if (!m_hasPlayed) {                             // it never starts again by itself
            m_hasPlayed = true;
            m_play->begin();
        }
    });
    connect(m_play, &SelfPlay::captionChanged, m_tour, &Tour::setCaption);
    connect(&m_window.actions().at(QStringLiteral("help.tour")), &QAction::triggered, this, &TourHost::begin);
    connect(m_tour, &Tour::wanted, this, &TourHost::begin);
    connect(m_tour, &Tour::ended, this, [this] {
        m_play->end();
        rememberTourOffered();
        rememberFilmPlayed();
    });
    connect(&m_window, &MainWindow::workspaceShown, m_tour, &Tour::takeWorkspace, Qt::QueuedConnection);
}

void TourHost::connectFilm()
{
    connect(&m_window.actions().at(QStringLiteral("file.sample")), &QAction::triggered, this, [this] {
        m_isFilmDue = views::isMotionSeen() && !wasFilmPlayed() && !m_tour->isRunning();
        if (m_isFilmDue) {
            whenSettled([this] {
                if (m_isFilmDue) {
                    playFilm();
                }
            });
        }
    });
    connect(m_play, &SelfPlay::captionChanged, this, &TourHost::showCaption);
    connect(m_play, &SelfPlay::ended, this, &TourHost::endFilm);
    connect(m_words, &CallOut::skipped, m_words, &QWidget::hide);
    connect(m_words, &CallOut::backRequested, this, &TourHost::askFrom);
    connect(m_words, &CallOut::nextRequested, this, [this] {
        m_words->hide();
        m_window.actions().at(QStringLiteral("cover.tag")).trigger();
    });
    connect(&m_window.model(), &views::RunModel::runChanged, m_words, &QWidget::hide);
    connect(
        &m_window, &MainWindow::workspaceShown, m_words,
        [this](const QString& id) {
            if (m_isFilm && m_words->isVisible()) {
                pointAtGraph(); // its pane has its place now
            } else if (id != QLatin1String("explain") && !m_isFilm) {
                m_words->hide();
            }
        },
        Qt::QueuedConnection);
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
    m_words->hide();
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
            if (m_window.workspace().id() == QLatin1String("explain") && !m_isFilmDue && !m_isFilm) {
                m_tour->offer();
            }
        });
    }
}

void TourHost::playFilm(bool isSeen)
{
    m_isFilmDue = false;
    m_tour->stop();
    m_isFilm = true;
    m_window.showWorkspace(QStringLiteral("engine"));
    m_play->begin(isSeen);
    if (!m_play->isRunning()) {
        m_isFilm = false;
        m_window.showWorkspace(QStringLiteral("explain"));
        return;
    }
    rememberFilmPlayed();
}

void TourHost::showCaption(const QString& caption)
{
    if (!m_isFilm || !m_play->isRunning()) {
        return;
    }
    if (caption.isEmpty()) {
        m_words->hide();
        return;
    }
    m_words->setWords(tr("How the answer comes about"), caption);
    m_words->setButtons(tr("Stop"), {}, {});
    pointAtGraph();
}

void TourHost::pointAtGraph()
{
    if (const auto* graph = m_window.workspace().findChild<views::GraphView*>()) {
        pointWordsAt(*graph);
    }
}

void TourHost::endFilm(bool isDone)
{
    if (!m_isFilm) {
        return;
    }
    m_words->hide();
    if (isDone) {
        m_window.showWorkspace(QStringLiteral("explain"));
    }
    m_isFilm = false;
    if (isDone) {
        rememberTourOffered(); // its last words name it
        // The panes of Explain have their places when the event loop comes round.
        QMetaObject::invokeMethod(this, &TourHost::showConclusion, Qt::QueuedConnection);
    }
}

void TourHost::showConclusion()
{
    const views::RunModel& model = m_window.model();
    const auto* heatmap = m_window.workspace().findChild<views::HeatmapView*>();
    if (!model.hasRun() || heatmap == nullptr) {
        return;
    }
    QString found;
    if (const views::Plane plane = inputPlane(model); !plane.isEmpty() && model.input().tagBox) {
        found = views::compareMeaning(views::evidenceShare(plane, *model.input().tagBox), model.input().tagName) +
                QLatin1Char(' ');
    }
    m_words->setWords(views::answerSentence(views::classAnswer(model)),
                      found + tr("Cover it, and see class and heatmap change. The tour in the menu Help goes through "
                                 "it step by step."));
    m_words->setButtons(tr("Close"), tr("Where from?"), tr("Cover the tag"));
    pointWordsAt(*heatmap);
    m_words->focusNext();
}

/// The history of the pixel with most relevance.
void TourHost::askFrom()
{
    m_words->hide();
    const views::RunModel& model = m_window.model();
    const views::Plane plane = model.hasRun() ? inputPlane(model) : views::Plane();
    if (plane.isEmpty()) {
        return;
    }
    const auto largest = std::ranges::max_element(plane.values) - plane.values.begin();
    const auto x = largest % plane.width;
    const auto y = largest / plane.width;
    const bool isChannelsLast = model.input().layout == QLatin1String("NHWC");
    const QString index = isChannelsLast ? QStringLiteral("0,%1,%2,*") : QStringLiteral("0,*,%1,%2");
    m_window.where().showHistory(model.label(model.graph().inputs().front()) + QLatin1Char(':') + index.arg(y).arg(x));
}

/// Of the whole dock around a view, in pixels of the window.
QRect TourHost::paneOf(const QWidget& view) const
{
    const QWidget* shown = &view;
    for (const QWidget* up = &view; up != nullptr; up = up->parentWidget()) {
        shown = qobject_cast<const QDockWidget*>(up) != nullptr ? up : shown;
    }
    return {shown->mapTo(&m_window, QPoint(0, 0)), shown->size()};
}

/// It grows while words speak of the graph.
QRect TourHost::heatmapOfEngine() const
{
    const Workspace& space = m_window.workspace();
    const auto* heatmap = space.findChild<views::HeatmapView*>();
    const bool isSeen = space.id() == QLatin1String("engine") && heatmap != nullptr && heatmap->isVisible();
    return isSeen ? paneOf(*heatmap) : QRect();
}

void TourHost::pointWordsAt(const QWidget& view) { m_words->pointAt(paneOf(view)); }

} // namespace retro::app

#include "moc_tourhost.cpp"
