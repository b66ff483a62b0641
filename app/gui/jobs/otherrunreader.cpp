// SPDX-License-Identifier: Apache-2.0
#include "app/gui/jobs/otherrunreader.h"

#include "app/gui/facts/inputinfo.h"
#include "app/gui/jobs/runhandles.h"
#include "core/trace/runfile.h"
#include "views/heatmap/heatmapview.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QPointer>

#include <array>
#include <utility>

namespace retro::app
{

namespace
{

using views::ActionSpec;

constexpr std::array kOtherRunActions{
    ActionSpec{"view.holdrun", RETRO_ACTION("Hold this run to co&mpare"),
               RETRO_ACTION("Keep the heatmap of this run on the right of a line, whatever is run next on the left"),
               "pin", ""},
    ActionSpec{"view.otherrun", RETRO_ACTION("Compare &with a run file…"),
               RETRO_ACTION("Show the heatmap of a recorded run on the right of a line, or "
                            "where this run parts from the arrays of another tool (.npz)"),
               "open", ""},
    ActionSpec{"view.aloneagain", RETRO_ACTION("Show this run &alone"),
               RETRO_ACTION("Take the other run out of the heatmap"), "close", ""},
};

base::Result<views::RunHandle> readHandle(const QString& path, const std::stop_token& stop)
{
    RETRO_TRY(std::shared_ptr<const trace::Run> run, trace::readRun(path.toStdString()));
    if (run->events.empty()) {
        return base::usageError("it holds a graph and no run; choose a file that was saved after a run",
                                path.toStdString());
    }
    return makeHandle(std::move(run), stop);
}

} // namespace

void addOtherRunActions(views::ActionRegistry& actions) { actions.addAll(kOtherRunActions); }

OtherRunReader::OtherRunReader(views::ActionRegistry& actions, QWidget& window)
    : QObject(&window), m_window(window), m_jobs(this)
{
    connect(&actions.at(QStringLiteral("view.holdrun")), &QAction::triggered, this, [this] {
        for (views::HeatmapView* view : heatmaps()) {
            view->holdThisRun();
        }
    });
    connect(&actions.at(QStringLiteral("view.otherrun")), &QAction::triggered, this, [this] { choose(heatmaps()); });
    connect(&actions.at(QStringLiteral("view.aloneagain")), &QAction::triggered, this, [this] {
        for (views::HeatmapView* view : heatmaps()) {
            view->clearOther();
        }
    });
    for (views::HeatmapView* view : heatmaps()) {
        // Queued: the list that it was chosen from closes first.
        connect(
            view, &views::HeatmapView::otherRunWanted, this, [this, view] { choose({view}); }, Qt::QueuedConnection);
    }
}

QList<views::HeatmapView*> OtherRunReader::heatmaps() const { return m_window.findChildren<views::HeatmapView*>(); }

void OtherRunReader::choose(const QList<views::HeatmapView*>& views)
{
    const QString path = QFileDialog::getOpenFileName(&m_window, tr("Compare with another run"), {},
                                                      tr("Runs and arrays (*.retro *.npz);;All files (*)"));
    if (!path.isEmpty()) {
        read(views, path);
    }
}

void OtherRunReader::read(const QList<views::HeatmapView*>& views, const QString& path)
{
    if (path.endsWith(QLatin1String(".npz"), Qt::CaseInsensitive)) {
        emit arraysChosen(path);
    } else {
        readRun(views, path);
    }
}

void OtherRunReader::readRun(const QList<views::HeatmapView*>& views, const QString& path)
{
    const QList<QPointer<views::HeatmapView>> targets(views.begin(), views.end());
    m_jobs.start([this, path, targets](const std::stop_token& stop) {
        auto handle = std::make_shared<base::Result<views::RunHandle>>(readHandle(path, stop));
        return views::JobRunner::Delivery([this, path, targets, handle] {
            if (!handle->ok()) {
                emit failed(handle->error());
                return;
            }
            const views::InputInfo input = inputInfo(*(*handle)->run);
            for (const QPointer<views::HeatmapView>& view : targets) {
                if (view != nullptr) {
                    view->setOther(**handle, input, QFileInfo(path).completeBaseName());
                }
            }
            sayProblem(targets);
            emit taken();
        });
    });
}

void OtherRunReader::sayProblem(const QList<QPointer<views::HeatmapView>>& views)
{
    for (const QPointer<views::HeatmapView>& view : views) {
        if (view != nullptr && !view->otherProblem().isEmpty()) {
            emit said(view->otherProblem());
            return;
        }
    }
}

} // namespace retro::app

#include "moc_otherrunreader.cpp"
