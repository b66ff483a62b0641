// SPDX-License-Identifier: Apache-2.0
#include "app/common/exportfilm.h"

#include "app/common/animationfile.h"
#include "app/common/guiapplication.h"
#include "core/trace/motion.h"
#include "core/trace/timeline.h"
#include "views/common/paint/theme.h"
#include "views/graph/graphcanvas.h"
#include "views/graph/graphview.h"

#include <QCoreApplication>
#include <QImage>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace retro::app
{

namespace
{

using base::Result;

constexpr double kLeastSpeed = 0.1;
constexpr double kMostSpeed = 10'000;
constexpr int kMostRate = 60;

/// The theme of the window stays as it was.
class FilmTheme
{
public:
    explicit FilmTheme(bool isDark) : m_before(views::ThemeHub::instance().choice())
    {
        views::ThemeHub::instance().setChoice(isDark ? views::ThemeChoice::Dark : views::ThemeChoice::Light);
    }
    ~FilmTheme() { views::ThemeHub::instance().setChoice(m_before); }
    FilmTheme(const FilmTheme&) = delete;
    FilmTheme& operator=(const FilmTheme&) = delete;

private:
    views::ThemeChoice m_before;
};

} // namespace

Result<std::vector<double>> filmMoments(const trace::Run& run, const FilmRequest& request)
{
    if (!(request.speed >= kLeastSpeed && request.speed <= kMostSpeed)) {
        return base::usageError(fmt::format("a speed is from {} to {} visits per second", kLeastSpeed, kMostSpeed),
                                fmt::format("--speed {}", request.speed));
    }
    if (request.framesPerSecond < 1 || request.framesPerSecond > kMostRate) {
        return base::usageError(fmt::format("frames per second are from 1 to {}", kMostRate),
                                fmt::format("--fps {}", request.framesPerSecond));
    }
    if (run.visitCount() == 0) {
        return base::usageError("this run has no visits to show; explain something first", "animation");
    }
    const auto [first, last] = request.visits.value_or(std::pair(0U, run.visitCount() - 1));
    if (first > last || last >= run.visitCount()) {
        return base::usageError(fmt::format("this run has visits 1 to {}", run.visitCount()), "--steps");
    }
    const trace::Pace pace(run);
    const double begin = pace.visitsAt(static_cast<double>(first == 0 ? 0 : run.visitStart[first]));
    const double end = pace.visitsAt(static_cast<double>(run.endOfVisit(last)));
    const double perFrame = request.speed / request.framesPerSecond;
    const double count = std::ceil((end - begin) / perFrame) + 1;
    if (count > static_cast<double>(kMostFilmFrames)) {
        return base::usageError(fmt::format("that would be {:.0f} frames, and at most {} are made; choose a higher "
                                            "--speed, a lower --fps or fewer --steps",
                                            count, kMostFilmFrames),
                                "animation");
    }
    std::vector<double> moments;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        moments.push_back(pace.momentAt(std::min(end, begin + static_cast<double>(i) * perFrame)));
    }
    moments.back() = static_cast<double>(run.endOfVisit(last));
    return moments;
}

Result<void> exportFilm(const std::shared_ptr<const trace::Run>& run, const std::filesystem::path& path,
                        const FilmRequest& request, const std::function<bool(double)>& goesOn)
{
    RETRO_TRY(const std::vector<double> moments, filmMoments(*run, request));
    ensureGuiApplication();
    RETRO_TRY(trace::Timeline timeline, trace::Timeline::open(run));
    RETRO_TRY(const auto file, AnimationFile::open(path, request.framesPerSecond, "graph"));
    const FilmTheme theme(request.isDark);
    views::Cursor cursor;
    views::Selection selection;
    views::RunModel model(cursor);
    model.setRun({run, std::make_shared<trace::Timeline>(std::move(timeline))}, {}, false);
    views::GraphView view(model, cursor, selection);
    view.setInMotion(true);
    view.canvas().pictures().setImmediate(true);
    view.resize(request.width, request.height);
    view.setAttribute(Qt::WA_DontShowOnScreen);
    cursor.setSpeed(request.speed);
    view.show();
    view.flush();
    for (QWidget* child : view.findChildren<QWidget*>()) {
        QCoreApplication::sendPostedEvents(child); // the layout of the body, and nothing of a window that may be open
    }
    QCoreApplication::sendPostedEvents(&view);
    view.canvas().resize(view.size());
    view.flush();
    while (view.isLayoutRunning()) {
        QCoreApplication::processEvents(QEventLoop::ExcludeUserInputEvents | QEventLoop::WaitForMoreEvents);
    }
    for (std::size_t i = 0; i < moments.size(); ++i) {
        cursor.glideTo(moments[i]);
        view.flush();
        QImage picture(view.canvas().size(), QImage::Format_RGB32);
        view.canvas().render(&picture);
        RETRO_CHECK(file->add(picture));
        if (goesOn && !goesOn(static_cast<double>(i + 1) / static_cast<double>(moments.size()))) {
            return base::Error{base::ErrorCode::Cancelled, "the animation was stopped", path.string()};
        }
    }
    return file->finish();
}

} // namespace retro::app
