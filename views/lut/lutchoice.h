// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/lutdetail.h"
#include "views/common/viewcontext.h"
#include "views/lut/lutrun.h"

#include <QObject>

namespace retro::views
{

class JobRunner;

/// Which layer, path, sample, table and pair of positions the views of LUT layers show, and the layer's numbers. The
/// layer is the selected node when that is one, else the one that was shown before, else the first. Shared by the views
/// of one workspace, as TimeRange is. GUI thread.
class LutChoice final : public QObject
{
    Q_OBJECT

public:
    LutChoice(RunModel& model, Selection& selection, QObject* parent = nullptr);

    /// The layer that is shown; null without one.
    [[nodiscard]] const LutLayer* layer() const;
    [[nodiscard]] const std::vector<LutLayer>& layers() const { return m_run->layers(); }
    [[nodiscard]] lut::Path path() const { return m_path; }
    [[nodiscard]] const trace::TableSite& site() const { return m_site; }

    /// Schedules of the passes that ran, on the path that is shown; sizes that overflow leave a pass out.
    [[nodiscard]] std::vector<lut::Schedule> schedules() const;

    /// The numbers, when they are there.
    [[nodiscard]] const std::shared_ptr<const trace::LutDetail>& detail() const { return m_detail; }
    /// Why there are none; empty while there are, or while they are worked out.
    [[nodiscard]] const QString& problem() const { return m_problem; }
    [[nodiscard]] bool isLoading() const;
    /// How long launches take on a GPU, on the path that is shown; null while nobody measured it, or without a GPU.
    [[nodiscard]] const std::shared_ptr<const ops::LutDeviceTimes>& deviceTimes() const { return m_deviceTimes; }
    /// Measures that unless it was tried.
    void wantDeviceTimes();
    /// Works the numbers out unless they are there; views that show them ask when they are seen.
    void wantDetail();

public slots:
    void chooseLayer(int index);
    void choosePath(retro::lut::Path path);
    /// Cut to what the layer has.
    void chooseSite(const retro::trace::TableSite& site);

signals:
    /// Another layer, path or run.
    void layerChanged();
    /// Another sample, table or pair.
    void siteChanged();
    /// Numbers came, or the reason why there are none.
    void detailChanged();
    /// Launches were measured.
    void deviceTimesChanged();

private:
    void takeRun();
    void takeSelection();
    void dropDetail();
    void dropDeviceTimes();
    [[nodiscard]] trace::TableSite cut(trace::TableSite site) const;
    [[nodiscard]] trace::TableSite strongestSite() const;

    RunModel& m_model;
    Selection& m_selection;
    JobRunner* m_jobs = nullptr;
    JobRunner* m_clock = nullptr;
    std::shared_ptr<const LutRun> m_run;
    std::shared_ptr<const trace::LutDetail> m_detail;
    std::shared_ptr<const ops::LutDeviceTimes> m_deviceTimes;
    bool m_hasAskedForTimes = false; ///< of this layer and path
    QString m_problem;
    base::NodeId m_node;
    lut::Path m_path = lut::Path::Fused;
    trace::TableSite m_site;
};

} // namespace retro::views
