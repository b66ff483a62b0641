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

/// From when a run is on screen until its questions are prepared; the strokes and clicks that follow are those of a
/// person who took that long.
Result<void> waitUntilPrepared(MainWindow& window, const char* name, std::vector<BenchmarkFigure>& figures)
{
    QElapsedTimer timer;
    timer.start();
    if (!comes([&] { return window.where().isPrepared(); })) {
        return base::inputError("the run was never made ready for questions");
    }
    figures.push_back(figureOf(name, {secondsOf(timer)}, 0));
    return {};
}

/// A click beside the middle of the heatmap, until its history is on screen.
Result<double> clickAt(MainWindow& window, views::HeatmapCanvas& canvas, double x)
{
    const QRectF picture = canvas.placement().picture;
    const auto* view = window.workspace().findChild<views::HistoryView*>();
    const QPointF at = picture.topLeft() + QPointF(picture.width() * x, picture.height() * 0.4);
    QElapsedTimer timer;
    timer.start();
    send(canvas, QEvent::MouseButtonPress, at, Qt::LeftButton);
    send(canvas, QEvent::MouseButtonRelease, at, Qt::NoButton);
    if (!comes([&] { return window.where().isIdle(); }) || !view->history()) {
        return base::inputError("the history was never answered", view->detailText().toStdString());
    }
    window.flush();
    QCoreApplication::processEvents();
    return secondsOf(timer);
}

} // namespace

Result<void> benchStrokes(const QString& /*file*/, int /*runs*/, std::vector<BenchmarkFigure>& figures)
{
    MainWindow window;
    RETRO_TRY(views::HeatmapCanvas * canvas, openIn(window));
    window.actions().at(QStringLiteral("region.mark")).setChecked(true);
    RETRO_CHECK(waitUntilPrepared(window, "window/region_prepared", figures));
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
    RETRO_CHECK(waitUntilPrepared(window, "window/history_prepared", figures));
    RETRO_TRY(const double first, clickAt(window, *canvas, 0.15));
    std::vector<double> clicks;
    for (int i = 1; i <= kElements; ++i) {
        RETRO_TRY(clicks.emplace_back(), clickAt(window, *canvas, 0.15 + 0.05 * i));
    }
    figures.push_back(figureOf("window/history_first", {first}, kHistoryGoal));
    figures.push_back(figureOf("window/history", clicks, kHistoryGoal));
    MainWindow other;
    RETRO_TRY(canvas, openIn(other));
    RETRO_TRY(const double atOnce, clickAt(other, *canvas, 0.15));
    figures.push_back(figureOf("window/history_at_once", {atOnce}, 0));
    return {};
}

} // namespace retro::app
