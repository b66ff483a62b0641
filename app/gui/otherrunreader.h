// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "views/common/jobrunner.h"

#include <QObject>

namespace retro::views
{
class HeatmapView;
}

namespace retro::app
{

/// Reads recorded runs that heatmaps are wiped against, off the GUI thread. The newest wish wins.
class OtherRunReader final : public QObject
{
    Q_OBJECT

public:
    explicit OtherRunReader(QWidget& window);

    /// Asks for a file when the view wants one.
    void serve(views::HeatmapView& view);
    /// Reads a run file and hands it to the view, or says what is wrong with it.
    void read(views::HeatmapView& view, const QString& path);

signals:
    void failed(const retro::base::Error& error);
    void said(const QString& sentence);

private:
    QWidget& m_window;
    views::JobRunner m_jobs;
};

} // namespace retro::app
