// SPDX-License-Identifier: Apache-2.0
#include "app/gui/otherrunreader.h"

#include "app/gui/inputinfo.h"
#include "app/gui/runhandles.h"
#include "core/trace/runfile.h"
#include "views/heatmap/heatmapview.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QPointer>

#include <utility>

namespace retro::app
{

namespace
{

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

OtherRunReader::OtherRunReader(QWidget& window) : QObject(&window), m_window(window), m_jobs(this) {}

void OtherRunReader::serve(views::HeatmapView& view)
{
    const auto choose = [this, &view] {
        const QString path = QFileDialog::getOpenFileName(&m_window, tr("Compare with another run"), {},
                                                          tr("Runs (*.retro);;All files (*)"));
        if (!path.isEmpty()) {
            read(view, path);
        }
    };
    // Queued: the list that it was chosen from closes first.
    connect(&view, &views::HeatmapView::otherRunWanted, this, choose, Qt::QueuedConnection);
}

void OtherRunReader::read(views::HeatmapView& view, const QString& path)
{
    m_jobs.start([this, path, target = QPointer<views::HeatmapView>(&view)](const std::stop_token& stop) {
        auto handle = std::make_shared<base::Result<views::RunHandle>>(readHandle(path, stop));
        return views::JobRunner::Delivery([this, path, target, handle] {
            if (!handle->ok()) {
                emit failed(handle->error());
            } else if (target != nullptr) {
                const views::InputInfo input = inputInfo(*(*handle)->run);
                target->setOther(std::move(*handle).value(), input, QFileInfo(path).completeBaseName());
                if (!target->otherProblem().isEmpty()) {
                    emit said(target->otherProblem());
                }
            }
        });
    });
}

} // namespace retro::app
