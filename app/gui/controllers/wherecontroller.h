// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/jobs/jobs.h"
#include "core/engine/region/history.h"
#include "views/common/actions.h"
#include "views/common/run/regionfacts.h"

#include <QObject>

#include <functional>
#include <memory>
#include <optional>

namespace retro::views
{
class HeatmapView;
class HistoryView;
class JobRunner;
class RegionView;
} // namespace retro::views

namespace retro::app
{

/// What the controller speaks to.
struct WhereContext
{
    views::ActionRegistry& actions;
    views::RunModel& model;
    views::Cursor& cursor;
    views::Selection& selection;
    views::RegionOverlay& overlay;
    views::HistoryView& history;
    views::RegionView& region;
    std::vector<views::HeatmapView*> heatmaps;
};

/// Adds the actions of regions, and of running to where something changed: region.mark and its like, go.changed,
/// go.changedback.
void addWhereActions(views::ActionRegistry& actions);

/// Where relevance came from, and where it goes: the history of an element that was clicked, what ends in a region that
/// was marked, the maps of single channels. All of it is computed off the GUI thread; the newest question of a kind
/// wins. While the run on screen is replaced by another one of the same model, what was asked is asked again. GUI
/// thread.
class WhereController final : public QObject
{
    Q_OBJECT

public:
    explicit WhereController(const WhereContext& context, QObject* parent = nullptr);
    ~WhereController() override;

    /// The run on screen; of a recorded one also its file, beside which its model may lie.
    void take(const ExplainDone& done, const QString& file);
    void clear();

    /// "VALUE:i,j,…", * for all along an axis.
    void askHistory(const QString& place);
    /// The same, with its pane in front.
    void showHistory(const QString& place);
    /// A region of the inputs by masks in their shapes; `words` say which. Invalid masks = nothing of that input.
    void askRegion(const std::vector<tensor::Tensor>& masks, const QString& words);
    /// A region from a file: NAME=MASK.npy or MASK.npy.
    void askRegionFile(const QString& file);
    /// Nothing is being computed.
    [[nodiscard]] bool isIdle() const;

signals:
    void said(const QString& sentence);
    /// The pane of histories (of regions) is to be seen.
    void historyWanted();
    void regionWanted();

private:
    class Source;
    using SourcePointer = std::shared_ptr<Source>;
    /// Makes the region of an open run.
    using MakeRegion = std::function<engine::RegionRequest(const engine::Historian&, const trace::Run&)>;

    void connectActions();
    void pick(base::ValueId value, const std::vector<std::int64_t>& index);
    void startRegion(MakeRegion make, const QString& words);
    /// A region of every input that relevance reached: its mask from what arrived.
    void startRegionOfInputs(const std::function<tensor::Tensor(const tensor::Tensor&)>& maskOf, const QString& words);
    void askMaps(base::ValueId value, std::size_t axis, const std::vector<std::int64_t>& indices);
    void runToChange(bool isForward);
    void showActions();

    WhereContext m_context;
    views::JobRunner* m_historyJobs = nullptr;
    views::JobRunner* m_regionJobs = nullptr;
    views::JobRunner* m_mapJobs = nullptr;
    SourcePointer m_source; ///< of the run on screen; null = nothing with relevance
    std::optional<ExplainJob> m_job;
    QString m_place;     ///< asked last; empty = nothing
    MakeRegion m_region; ///< asked last; null = nothing
    QString m_regionWords;
};

} // namespace retro::app
