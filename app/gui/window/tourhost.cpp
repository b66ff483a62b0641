// SPDX-License-Identifier: Apache-2.0
#include "app/gui/window/tourhost.h"

#include "app/gui/window/mainwindow.h"
#include "app/gui/window/tour.h"
#include "app/gui/window/workspaces.h"
#include "views/classes/classesview.h"
#include "views/heatmap/heatmapview.h"
#include "views/input/inputview.h"
#include "views/layers/layersview.h"
#include "views/ledger/ledgerview.h"

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

} // namespace

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
    connect(&window.actions().at(QStringLiteral("help.tour")), &QAction::triggered, this, &TourHost::begin);
    connect(m_tour, &Tour::wanted, this, &TourHost::begin);
    connect(m_tour, &Tour::ended, this, [] { rememberTourOffered(); });
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
