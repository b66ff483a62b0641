// SPDX-License-Identifier: Apache-2.0
#include "app/bench/benchmarks.h"

#include "app/gui/controllers/wherecontroller.h"
#include "app/gui/window/mainwindow.h"
#include "app/gui/window/workspaces.h"
#include "views/heatmap/heatmapcanvas.h"
#include "views/heatmap/heatmapview.h"
#include "views/history/historyview.h"

#include <QAction>
#include <QCoreApplication>
#include <QElapsedTimer>
#include <QEventLoop>
#include <QMouseEvent>
#include <QTimer>

#include <functional>

namespace retro::app
{

namespace
{

using base::Result;

constexpr int kLongest = 300'000; // milliseconds until a job counts as hanging
constexpr int kStrokes = 24;
constexpr int kElements = 12;
constexpr double kStrokeGoal = 0.05;
constexpr double kHistoryGoal = 0.2;

bool comes(const std::function<bool()>& isDone)
{
    QTimer wake; // sleeps between events as the program does
    wake.setTimerType(Qt::PreciseTimer);
    wake.start(1);
    QElapsedTimer timer;
    timer.start();
    while (!isDone() && timer.elapsed() < kLongest) {
        QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
    }
    return isDone();
}

/// A window with the model, run, and the Explain workspace in front.
Result<views::HeatmapCanvas*> openIn(MainWindow& window)
{
    window.resize(1280, 800);
    window.show();
    const QString model = qEnvironmentVariable("RETRO_BENCH_MODEL");
    window.open(model, model.isEmpty() ? QStringList() : QStringList{QStringLiteral("random:1")});
    const bool hasRun = comes([&] { return !window.isBusy() && window.where().isIdle(); }) &&
                        window.lastError().isEmpty() && window.model().hasRun();
    if (!hasRun) {
        return base::inputError("the model was not run", window.lastError().toStdString());
    }
    window.showWorkspace(QStringLiteral("explain"));
    window.flush();
    QCoreApplication::processEvents();
    return window.workspace().findChild<views::HeatmapCanvas*>();
}

void send(QWidget& widget, QEvent::Type type, const QPointF& at, Qt::MouseButtons buttons)
{
    QMouseEvent event(type, at, widget.mapToGlobal(at), type == QEvent::MouseMove ? Qt::NoButton : Qt::LeftButton,
                      buttons, Qt::NoModifier);
    QCoreApplication::sendEvent(&widget, &event);
}

double secondsOf(const QElapsedTimer& timer) { return static_cast<double>(timer.nsecsElapsed()) * 1e-9; }

} // namespace

Result<void> benchStrokes(const QString& /*file*/, int /*runs*/, std::vector<BenchmarkFigure>& figures)
{
    MainWindow window;
    RETRO_TRY(views::HeatmapCanvas * canvas, openIn(window));
    window.actions().at(QStringLiteral("region.mark")).setChecked(true);
    window.flush();
    QCoreApplication::processEvents();
    const QRectF picture = canvas->placement().picture;
    const auto at = [&](double x, double y) {
        return picture.topLeft() + QPointF(picture.width() * x, picture.height() * y);
    };
    send(*canvas, QEvent::MouseButtonPress, at(0.1, 0.1), Qt::LeftButton);
    std::vector<double> strokes;
    double first = 0;
    for (int i = 0; i <= kStrokes; ++i) {
        QElapsedTimer timer;
        timer.start();
        send(*canvas, QEvent::MouseMove, at(0.2 + 0.025 * i, 0.3 + 0.02 * i), Qt::LeftButton);
        if (!comes([&] { return window.where().isIdle() && window.region().region() != nullptr; })) {
            return base::inputError("the region was never answered");
        }
        window.flush();
        QCoreApplication::processEvents(); // what is to be painted
        (i == 0 ? first : strokes.emplace_back()) = secondsOf(timer);
    }
    send(*canvas, QEvent::MouseButtonRelease, at(0.9, 0.9), Qt::NoButton);
    figures.push_back(figureOf("window/region_first", {first}, 0));
    figures.push_back(figureOf("window/region_stroke", strokes, kStrokeGoal));
    const views::RegionPointer region = window.region().region();
    figures.push_back(figureOf("window/region_pass", {region->seconds}, kStrokeGoal));
    return {};
}

Result<void> benchHistories(const QString& /*file*/, int /*runs*/, std::vector<BenchmarkFigure>& figures)
{
    MainWindow window;
    RETRO_TRY(views::HeatmapCanvas * canvas, openIn(window));
    const QRectF picture = canvas->placement().picture;
    auto* view = window.workspace().findChild<views::HistoryView*>();
    std::vector<double> clicks;
    double first = 0;
    for (int i = 0; i <= kElements; ++i) {
        const QPointF at = picture.topLeft() + QPointF(picture.width() * (0.15 + 0.05 * i), picture.height() * 0.4);
        QElapsedTimer timer;
        timer.start();
        send(*canvas, QEvent::MouseButtonPress, at, Qt::LeftButton);
        send(*canvas, QEvent::MouseButtonRelease, at, Qt::NoButton);
        if (!comes([&] { return window.where().isIdle(); }) || !view->history()) {
            return base::inputError("the history was never answered", view->detailText().toStdString());
        }
        window.flush();
        QCoreApplication::processEvents();
        (i == 0 ? first : clicks.emplace_back()) = secondsOf(timer);
    }
    figures.push_back(figureOf("window/history_first", {first}, kHistoryGoal));
    figures.push_back(figureOf("window/history", clicks, kHistoryGoal));
    return {};
}

} // namespace retro::app
