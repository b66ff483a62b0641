// SPDX-License-Identifier: Apache-2.0
#include "app/bench/benchmarks.h"

#include "app/common/guiapplication.h"
#include "app/common/syntheticgraph.h"
#include "app/gui/window/mainwindow.h"
#include "core/base/file.h"
#include "core/formats/onnx.h"
#include "views/common/paint/style.h"
#include "views/common/run/turns.h"
#include "views/graph/graphcanvas.h"
#include "views/graph/graphmotion.h"
#include "views/graph/graphview.h"
#include "views/log/logfilter.h"

#include <QApplication>
#include <QElapsedTimer>
#include <QFile>
#include <QKeyEvent>
#include <QPainter>
#include <QProcess>
#include <QTemporaryDir>
#include <QTimer>

#include <algorithm>
#include <ctime>
#include <functional>
#include <random>
#include <span>
#include <utility>

namespace retro::app
{

namespace
{

using base::Result;

constexpr std::size_t kFewNodes = 300; // all of them in sight
constexpr std::size_t kWindowNodes = 20'000;
constexpr std::uint64_t kManyEvents = 100'000; // of a run of that many nodes
constexpr std::size_t kMostNodes = 100'000;
constexpr std::size_t kLogEvents = 1'000'000;
constexpr int kSteps = 100;
constexpr int kSeeks = 60;
constexpr int kFrames = 120;
constexpr int kPatience = 120'000;    // milliseconds until a job counts as hanging
constexpr int kWake = 5;              // milliseconds between two looks at what is waited for
constexpr int kBeat = 1;              // milliseconds between two beats of a GUI thread with nothing to do
constexpr int kBeforeStop = 30;       // milliseconds that a job has run when it is stopped first
constexpr int kStopMoments = 4;       // of a job in which it is stopped, per run
constexpr int kSettle = 500;          // milliseconds in which the engine clears up after a stop
constexpr double kNanoseconds = 1e-9; // in seconds
constexpr double kBlocked = 0.05;     // seconds that the GUI thread may answer nothing
constexpr double kStop = 0.25;        // seconds from Escape to a job's end
constexpr double kBetweenSeeks = 0.1; // seconds; views refresh within a frame
constexpr double kNinetyNinth = 0.99;

/// Seconds since it was made.
class Watch
{
public:
    Watch() { m_timer.start(); }
    [[nodiscard]] double seconds() const { return static_cast<double>(m_timer.nsecsElapsed()) * kNanoseconds; }

private:
    QElapsedTimer m_timer;
};

/// The slowest of the times.
BenchmarkFigure worstOf(const std::string& name, const std::vector<double>& seconds, double goal)
{
    const auto [least, most] = std::minmax_element(seconds.begin(), seconds.end());
    return {name, *least, *most, *most, static_cast<int>(seconds.size()), goal};
}

/// The value below which 99 % of the times lie.
BenchmarkFigure slowestOf(const std::string& name, std::vector<double> seconds, double goal)
{
    std::sort(seconds.begin(), seconds.end());
    const auto at = static_cast<std::size_t>(kNinetyNinth * static_cast<double>(seconds.size() - 1));
    return {name, seconds.front(), seconds[at], seconds.back(), static_cast<int>(seconds.size()), goal};
}

/// Processor time that this thread has used, in seconds: what other programs take from it does not count.
double threadSeconds()
{
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * kNanoseconds;
}

/// Longest time in which the GUI thread answered nothing.
class Heartbeat final : public QObject
{
public:
    Heartbeat()
    {
        m_timer.setTimerType(Qt::PreciseTimer);
        QObject::connect(&m_timer, &QTimer::timeout, this, [this] { beat(); });
        m_timer.start(kBeat);
    }
    /// By the clock on the wall, and as processor time of the thread.
    [[nodiscard]] double longest()
    {
        beat();
        return m_longest;
    }
    [[nodiscard]] double longestWork() const { return m_longestWork; }

private:
    void beat()
    {
        const double work = threadSeconds();
        m_longest = std::max(m_longest, m_last.seconds());
        m_longestWork = std::max(m_longestWork, work - m_lastWork);
        m_last = Watch();
        m_lastWork = work;
    }
    QTimer m_timer;
    Watch m_last;
    double m_lastWork = threadSeconds();
    double m_longest = 0;
    double m_longestWork = 0;
};

/// Notes when the graph canvas was painted for the first time with a graph.
class FirstPaint final : public QObject
{
public:
    explicit FirstPaint(views::GraphCanvas& canvas) : m_canvas(canvas) { canvas.installEventFilter(this); }
    [[nodiscard]] double seconds() const { return m_seconds; }

protected:
    bool eventFilter(QObject* object, QEvent* event) override
    {
        if (m_seconds == 0 && event->type() == QEvent::Paint && m_canvas.scene() != nullptr) {
            QTimer::singleShot(0, this, [this] { m_seconds = m_watch.seconds(); }); // after the paint
        }
        return QObject::eventFilter(object, event);
    }

private:
    views::GraphCanvas& m_canvas;
    Watch m_watch;
    double m_seconds = 0;
};

/// Sleeps between events as the program does: with a time limit, Qt would spin and take a core from the engine.
bool waitUntil(const std::function<bool()>& isDone)
{
    QTimer wake;
    wake.start(kWake);
    const Watch watch;
    while (!isDone()) {
        if (watch.seconds() * 1e3 > kPatience) {
            return false;
        }
        QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
    }
    QCoreApplication::processEvents();
    return true;
}

Result<QString> writeModel(const QTemporaryDir& folder, std::size_t nodes)
{
    const QString file = folder.filePath(QStringLiteral("%1.onnx").arg(nodes));
    if (QFile::exists(file)) {
        return file; // of another benchmark, which read it
    }
    RETRO_TRY(const graph::Graph graph, chainAndResidualGraph(nodes));
    RETRO_TRY(const std::vector<std::byte> bytes, formats::toOnnx(graph));
    RETRO_CHECK(base::writeFile(file.toStdString(), bytes));
    return file;
}

/// A window with the engine workspace on a made-up model.
class Bench
{
public:
    explicit Bench(const QString& workspace = QStringLiteral("engine"))
    {
        m_window.resize(1600, 1000);
        m_window.showWorkspace(workspace);
        m_window.show();
        QCoreApplication::processEvents();
    }
    [[nodiscard]] MainWindow& window() { return m_window; }
    [[nodiscard]] views::GraphCanvas& canvas() { return *m_window.findChild<views::GraphCanvas*>(); }
    /// Opens a model and explains a random input, so that there is a run to move in.
    [[nodiscard]] Result<void> open(const QString& file)
    {
        m_window.open(file, {QStringLiteral("random:1")});
        if (!waitUntil([this] { return !m_window.isBusy(); }) || !m_window.lastError().isEmpty()) {
            return base::inputError("the window did not open it: " + m_window.lastError().toStdString(),
                                    file.toStdString());
        }
        return {};
    }
    /// Does something and waits until every visible view shows it.
    [[nodiscard]] double timed(const std::function<void()>& act)
    {
        const Watch watch;
        act();
        m_window.flush();
        QCoreApplication::processEvents();
        return watch.seconds();
    }

private:
    MainWindow m_window;
};

using Figures = std::vector<BenchmarkFigure>;

Result<void> benchOpening(const QString& file, int runs, Figures& figures)
{
    std::vector<double> paints;
    std::vector<double> blocked;
    std::vector<double> work;
    for (int i = 0; i < runs; ++i) {
        Bench bench;
        FirstPaint paint(bench.canvas());
        Heartbeat heart;
        RETRO_CHECK(bench.open(file));
        if (!waitUntil([&] { return paint.seconds() > 0; })) {
            return base::inputError("the graph was never painted", file.toStdString());
        }
        paints.push_back(paint.seconds());
        blocked.push_back(heart.longest());
        work.push_back(heart.longestWork());
    }
    figures.push_back(figureOf("window/open_20k_first_paint", paints, 2));
    figures.push_back(figureOf("window/open_20k_blocked", blocked, kBlocked));
    figures.push_back(figureOf("window/open_20k_blocked_cpu", work, kBlocked));
    return {};
}

/// The same for the first screen.
Result<void> benchExplaining(const QString& file, int runs, Figures& figures)
{
    std::vector<double> blocked;
    std::vector<double> work;
    for (int i = 0; i < runs; ++i) {
        Bench bench(QStringLiteral("explain"));
        Heartbeat heart;
        RETRO_CHECK(bench.open(file));
        blocked.push_back(heart.longest());
        work.push_back(heart.longestWork());
    }
    figures.push_back(figureOf("window/explain_20k_blocked", blocked, kBlocked));
    figures.push_back(figureOf("window/explain_20k_blocked_cpu", work, kBlocked));
    return {};
}

/// How long seeks anywhere in a run keep the GUI thread, while the event loop brings the views up to date.
void benchBlocking(Bench& bench, const std::string& name, double goal, Figures& figures)
{
    MainWindow& window = bench.window();
    const std::uint64_t end = window.model().run().eventCount();
    std::mt19937_64 random(2);
    Heartbeat heart;
    for (int i = 0; i < kSeeks; ++i) {
        window.cursor().moveTo(random() % (end + 1));
        const Watch sought;
        waitUntil([&] { return sought.seconds() > kBetweenSeeks && !window.model().turns().isWaiting(); });
    }
    figures.push_back(figureOf(name, {heart.longest()}, goal));
    figures.push_back(figureOf(name + "_cpu", {heart.longestWork()}, goal));
}

Result<void> benchMoving(const QString& file, int /*runs*/, Figures& figures)
{
    Bench bench;
    RETRO_CHECK(bench.open(file));
    MainWindow& window = bench.window();
    const std::uint64_t end = window.model().run().eventCount();
    if (end < kManyEvents) {
        return base::inputError("the run has too few events to measure seeks in", file.toStdString());
    }
    window.cursor().moveTo(end / 2);
    window.flush();
    QCoreApplication::processEvents();
    std::vector<double> steps;
    for (int i = 0; i < kSteps; ++i) {
        const char* action = i % 4 == 3 ? "go.back" : "go.forward";
        steps.push_back(bench.timed([&] { window.actions().at(QLatin1String(action)).trigger(); }));
    }
    figures.push_back(figureOf("window/step", steps, 0.03));
    std::mt19937_64 random(1);
    std::vector<double> seeks;
    for (int i = 0; i < kSeeks; ++i) {
        const std::uint64_t to = random() % (end + 1);
        seeks.push_back(bench.timed([&] { window.cursor().moveTo(to); }));
    }
    figures.push_back(figureOf("window/seek_100k_events", seeks, 0.1));
    benchBlocking(bench, "window/seek_100k_blocked", kBlocked, figures);
    return {};
}

/// Half a million events, for comparison: the goals are those of a fifth of that.
Result<void> benchSeeking(const QString& file, int /*runs*/, Figures& figures)
{
    Bench bench;
    RETRO_CHECK(bench.open(file));
    benchBlocking(bench, "window/seek_500k_blocked", 0, figures);
    return {};
}

/// Zoom levels from the whole graph to readable boxes, panned by keys, one repaint each.
Result<void> benchFrames(const QString& file, int /*runs*/, Figures& figures)
{
    Bench bench;
    RETRO_CHECK(bench.open(file));
    views::GraphCanvas& canvas = bench.canvas();
    bench.window().findChild<views::GraphView*>()->expandAll();
    if (!waitUntil([&] { return !bench.window().findChild<views::GraphView*>()->isLayoutRunning(); })) {
        return base::inputError("the layout did not end", file.toStdString());
    }
    canvas.fitAll();
    std::vector<double> frames;
    for (int i = 0; i < kFrames; ++i) {
        canvas.zoomBy(i % 12 == 11 ? 1.9 : 1.0);
        QKeyEvent pan(QEvent::KeyPress, i % 2 == 0 ? Qt::Key_S : Qt::Key_D, Qt::NoModifier);
        QCoreApplication::sendEvent(&canvas, &pan);
        const Watch watch;
        canvas.repaint();
        frames.push_back(watch.seconds());
    }
    figures.push_back(figureOf("window/frame_100k_median", frames, 0.008));
    figures.push_back(slowestOf("window/frame_100k_p99", frames, 0.016));
    return {};
}

void waitMilliseconds(double milliseconds)
{
    const Watch watch;
    waitUntil([&] { return watch.seconds() * 1e3 > milliseconds; });
}

/// Stops a job soon after its start and all through it, in every run at other moments.
Result<void> benchStopping(const QString& file, int runs, Figures& figures)
{
    Bench bench;
    const Watch whole;
    RETRO_CHECK(bench.open(file));
    const double milliseconds = whole.seconds() * 1e3;
    MainWindow& window = bench.window();
    std::vector<double> stops;
    for (int i = 0; i < runs * kStopMoments; ++i) {
        window.open(file, {QStringLiteral("random:1")});
        waitMilliseconds(std::max<double>(kBeforeStop, milliseconds * i / (runs * kStopMoments)));
        if (!window.isBusy()) {
            continue; // the job was faster than the person
        }
        const Watch watch;
        window.actions().at(QStringLiteral("run.stop")).trigger();
        waitUntil([&] { return !window.isBusy(); });
        stops.push_back(watch.seconds());
        waitMilliseconds(kSettle);
    }
    if (!stops.empty()) {
        figures.push_back(figureOf("window/stop_job", stops, kStop));
        figures.push_back(worstOf("window/stop_job_slowest", stops, kStop));
    }
    return {};
}

/// The events of a run, again and again until there are a million, through a filter with a regular expression.
Result<void> benchLog(const QString& file, int runs, Figures& figures)
{
    Bench bench;
    RETRO_CHECK(bench.open(file));
    trace::Run many = bench.window().model().run();
    const std::vector<event::Event> once = many.events;
    if (once.empty()) {
        return base::inputError("the run has no events to filter", file.toStdString());
    }
    while (many.events.size() < kLogEvents) {
        many.events.insert(many.events.end(), once.begin(), once.end());
    }
    RETRO_TRY(const views::LogFilter filter, views::LogFilter::parse(QStringLiteral("node:/fc[12]/ kind:land")));
    std::vector<double> times;
    for (int i = 0; i < runs; ++i) {
        const Watch watch;
        const std::vector<std::uint32_t> rows = filter.rows(many);
        times.push_back(watch.seconds());
        if (rows.empty()) {
            return base::inputError("the filter found nothing", file.toStdString());
        }
    }
    figures.push_back(figureOf("window/log_filter_1m", times, 0.3));
    return {};
}

/// From the start of a process to its window on screen; the process ends itself then, which is part of the time.
Result<void> benchStarting(const QString& /*file*/, int runs, Figures& figures)
{
    const QString program = QCoreApplication::applicationDirPath() + QStringLiteral("/retrograde");
    std::vector<double> starts;
    for (int i = 0; i < runs; ++i) {
        const Watch watch;
        QProcess process;
        process.start(program, {QStringLiteral("--quit-when-shown")});
        if (!process.waitForFinished(kPatience) || process.exitCode() != 0) {
            return base::inputError("the window does not start", program.toStdString());
        }
        starts.push_back(watch.seconds());
    }
    figures.push_back(figureOf("window/cold_start", starts, 0.7));
    return {};
}

/// As many pulses at rest or on their way along the edges of a drawing as are asked for.
trace::MotionFrame crowded(const views::GraphScene& scene, std::vector<base::NodeId>& ways, std::size_t pulses)
{
    trace::MotionFrame frame;
    for (const layout::LayoutEdge& edge : scene.visible.edges) {
        if (ways.size() >= 2 * pulses) {
            break;
        }
        for (const layout::Index box : {edge.to, edge.from}) {
            ways.emplace_back(static_cast<std::uint32_t>(scene.visible.members[box].front()));
        }
    }
    for (std::size_t i = 0; 2 * i < ways.size(); ++i) {
        trace::Pulse pulse;
        pulse.way = std::span(std::as_const(ways)).subspan(2 * i, 2);
        pulse.sum = 2.5;
        pulse.positive = 3;
        pulse.travelled = static_cast<double>(i % 10) / 10;
        frame.pulses.push_back(pulse);
    }
    return frame;
}

/// Frames between two events with all cards of a graph in sight and their pictures made, and on top a hundred pulses.
Result<void> benchLiving(const QString& file, int /*runs*/, Figures& figures)
{
    constexpr std::size_t kPulses = 100;
    Bench bench;
    RETRO_CHECK(bench.open(file));
    auto* view = bench.window().findChild<views::GraphView*>();
    views::GraphCanvas& canvas = bench.canvas();
    view->expandAll();
    canvas.resize(1224, 418);
    canvas.fitAll();
    views::Cursor& cursor = bench.window().cursor();
    const std::uint64_t end = bench.window().model().run().eventCount();
    cursor.moveTo(end / 2);
    bench.window().flush();
    canvas.repaint();
    if (!waitUntil([&] { return !canvas.pictures().isBusy(); })) {
        return base::inputError("the pictures were never made", file.toStdString());
    }
    std::vector<base::NodeId> ways;
    const trace::MotionFrame crowd = crowded(*canvas.scene(), ways, kPulses);
    QImage ground(canvas.size(), QImage::Format_RGB32);
    std::vector<double> frames;
    std::vector<double> moving;
    for (int i = 0; i < kFrames; ++i) {
        cursor.glideTo(static_cast<double>(end / 2) + (i % 50 + 1) / 52.0);
        const Watch watch;
        canvas.repaint();
        const double still = watch.seconds();
        QPainter painter(&ground);
        views::GraphPicture picture = canvas.picture();
        picture.motion = &crowd;
        const views::MotionLook look;
        const Watch layer;
        views::MotionPainter(painter, picture, canvas.camera(), views::theme(&canvas), look)
            .paintAbove(QRectF(ground.rect()));
        moving.push_back(layer.seconds());
        frames.push_back(still + moving.back());
    }
    figures.push_back(figureOf("window/living_frame_median", frames, 0.008));
    figures.push_back(slowestOf("window/living_frame_p99", frames, 0.012));
    figures.push_back(figureOf("window/living_pulses", moving, 0.003));
    // A whole event on: the still picture is painted anew.
    std::vector<double> events;
    for (int i = 0; i < kFrames; ++i) {
        cursor.moveTo(end / 2 + static_cast<std::uint64_t>(i) % (end / 2));
        const Watch watch;
        bench.window().findChild<views::GraphView*>()->flush();
        canvas.repaint();
        events.push_back(watch.seconds());
    }
    figures.push_back(figureOf("window/living_event", events, 0.016));
    return {};
}

/// From the end of a run until every card in sight has its picture, and how long the window answers nothing meanwhile.
/// Of a model whose path RETRO_BENCH_MODEL says, else of the made-up one.
Result<void> benchPictures(const QString& file, int /*runs*/, Figures& figures)
{
    const QString model = qEnvironmentVariable("RETRO_BENCH_MODEL", file);
    Bench bench;
    RETRO_CHECK(bench.open(model));
    bench.window().findChild<views::GraphView*>()->expandAll();
    views::GraphCanvas& canvas = bench.canvas();
    bench.window().flush();
    canvas.fitAll();
    canvas.zoomBy(0.55 / canvas.camera().zoom());
    bench.window().cursor().moveTo(bench.window().cursor().end());
    bench.window().flush();
    Heartbeat heart;
    const Watch watch;
    canvas.repaint();
    if (!waitUntil([&] { return !canvas.pictures().isBusy(); })) {
        return base::inputError("the pictures were never made", model.toStdString());
    }
    figures.push_back(figureOf("window/pictures", {watch.seconds()}, 2));
    figures.push_back(figureOf("window/pictures_blocked", {heart.longest()}, kBlocked));
    return {};
}

Result<void> benchText(const QString& /*file*/, int /*runs*/, Figures& figures)
{
    benchTexts(figures);
    return {};
}

struct Part
{
    const char* name;
    std::size_t nodes; ///< of the model that it opens; 0 = none
    Result<void> (*run)(const QString& file, int runs, Figures& figures);
};

constexpr Part kParts[] = {{"window/cold_start", 0, benchStarting},
                           {"window/open", kWindowNodes, benchOpening},
                           {"window/explain", kWindowNodes, benchExplaining},
                           {"window/move", kWindowNodes, benchMoving},
                           {"window/seek", kMostNodes, benchSeeking},
                           {"window/frame", kMostNodes, benchFrames},
                           {"window/stop", kMostNodes, benchStopping},
                           {"window/log", kWindowNodes, benchLog},
                           {"window/living", kFewNodes, benchLiving},
                           {"window/pictures", kFewNodes, benchPictures},
                           {"window/region", 0, benchStrokes},
                           {"window/history", 0, benchHistories},
                           {"window/text", 0, benchText}};

bool isWanted(const Part& part, const std::vector<std::string>& names)
{
    return names.empty() || std::any_of(names.begin(), names.end(), [&](const std::string& start) {
               return std::string_view(part.name).starts_with(start);
           });
}

} // namespace

const std::vector<std::string>& windowBenchmarks()
{
    static const std::vector<std::string> names = [] {
        std::vector<std::string> all;
        for (const Part& part : kParts) {
            all.emplace_back(part.name);
        }
        return all;
    }();
    return names;
}

Result<std::vector<BenchmarkFigure>> runWindowBenchmarks(const BenchmarkRequest& request)
{
    ensureGuiApplication();
    views::Style::install(*qApp);
    const QTemporaryDir folder;
    if (!folder.isValid()) {
        return base::outputError("cannot make a temporary folder", folder.errorString().toStdString());
    }
    Figures figures;
    for (const Part& part : kParts) {
        if (!isWanted(part, request.names)) {
            continue;
        }
        QString file;
        if (part.nodes > 0) {
            RETRO_TRY(file, writeModel(folder, part.nodes));
        }
        RETRO_CHECK(part.run(file, request.runs, figures));
    }
    return figures;
}

} // namespace retro::app
