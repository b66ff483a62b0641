// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "views/common/actions.h"
#include "views/common/jobrunner.h"

#include <QList>
#include <QObject>
#include <QPointer>

namespace retro::views
{
class HeatmapView;
}

namespace retro::app
{

/// Actions of the run that heatmaps are wiped against.
void addOtherRunActions(views::ActionRegistry& actions);

/// The run that the heatmaps of a window are wiped against: held, or read from a file off the GUI thread; the newest
/// wish wins. The actions are for all heatmaps, the choice in a heatmap's own row for that one.
class OtherRunReader final : public QObject
{
    Q_OBJECT

public:
    OtherRunReader(views::ActionRegistry& actions, QWidget& window);

    /// Reads a run file and hands it to the views, or says what is wrong with it. Arrays of another tool (.npz) are no
    /// run that a heatmap could show: they are passed on.
    void read(const QList<views::HeatmapView*>& views, const QString& path);

signals:
    void failed(const retro::base::Error& error);
    void said(const QString& sentence);
    /// A run file was read and handed to the views.
    void taken();
    /// A file of arrays by value name was chosen.
    void arraysChosen(const QString& path);

private:
    [[nodiscard]] QList<views::HeatmapView*> heatmaps() const;
    void readRun(const QList<views::HeatmapView*>& views, const QString& path);
    void sayProblem(const QList<QPointer<views::HeatmapView>>& views);
    void choose(const QList<views::HeatmapView*>& views);

    QWidget& m_window;
    views::JobRunner m_jobs;
};

} // namespace retro::app
