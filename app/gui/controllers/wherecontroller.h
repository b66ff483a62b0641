// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/jobs/jobs.h"
#include "core/engine/region/history.h"
#include "core/trace/runregion.h"
#include "views/common/actions.h"
#include "views/common/run/regionfacts.h"

#include <QElapsedTimer>
#include <QObject>

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

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
    views::RegionView& region;
    /// Heatmaps, each with the pane that shows histories beside it.
    std::vector<std::pair<views::HeatmapView*, views::HistoryView*>> panes;
};

/// Makes the region of an open run.
using MakeRegion = std::function<engine::RegionRequest(const engine::Historian&, const trace::Run&)>;

/// A region that was asked for. Two are the same when they were asked at once.
struct AskedRegion
{
    MakeRegion make; ///< null = none
    QString words;
    std::uint64_t number = 0; ///< 0 = none
    bool operator==(const AskedRegion& other) const { return number == other.number; }
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
    /// What was asked last, and asking it again: what is taken back was asked.
    [[nodiscard]] const AskedRegion& askedRegion() const { return m_region; }
    void putRegion(const AskedRegion& region);
    [[nodiscard]] const QString& askedElement() const { return m_place; }
    void putElement(const QString& place);
    /// The region of the run on screen, for its file; null = none is marked, or it is not known yet.
    [[nodiscard]] std::shared_ptr<const trace::RunRegion> keptRegion() const;
    /// No question is being answered.
    [[nodiscard]] bool isIdle() const;
    /// What every question about the run on screen needs is made: after a run that happens by itself, beside the
    /// window, until somebody asks or something else is computed.
    [[nodiscard]] bool isPrepared() const { return m_isPrepared; }
    /// The machine is needed for something that is waited for.
    void stopPreparing();

signals:
    void said(const QString& sentence);
    /// The pane of histories (of regions) is to be seen; null = that of the workspace in front.
    void historyWanted(retro::views::HistoryView* pane);
    void regionWanted();
    /// A person asked for another region, or about another element.
    void regionAsked();
    void elementAsked();

private:
    class Source;
    using SourcePointer = std::shared_ptr<Source>;

    void connectActions();
    void connectPanes();
    void pick(views::HistoryView* pane, base::ValueId value, const std::vector<std::int64_t>& index);
    void startRegion(MakeRegion make, const QString& words);
    void runRegion();
    void prepare();
    void takeKept(const std::shared_ptr<const trace::RunRegion>& kept);
    void clearHistories();
    void refuseHistory(const QString& why);
    /// A region of every input that relevance reached: its mask from what arrived.
    void startRegionOfInputs(const std::function<tensor::Tensor(const tensor::Tensor&)>& maskOf, const QString& words);
    void askMaps(base::ValueId value, std::size_t axis, const std::vector<std::int64_t>& indices);
    void runToChange(bool isForward);
    void showActions();

    WhereContext m_context;
    views::JobRunner* m_historyJobs = nullptr;
    views::JobRunner* m_regionJobs = nullptr;
    views::JobRunner* m_mapJobs = nullptr;
    views::JobRunner* m_preparing = nullptr;
    bool m_isPrepared = false;
    SourcePointer m_source; ///< of the run on screen; null = nothing with relevance
    std::optional<ExplainJob> m_job;
    QString m_place;      ///< asked last; empty = nothing
    AskedRegion m_region; ///< asked last
    std::uint64_t m_regions = 0;
    std::shared_ptr<const trace::RunRegion> m_kept; ///< of the region that is drawn
    QElapsedTimer m_regionTime;                     ///< since the pass under way began
    bool m_isStale = false;                         ///< the pass under way is of an older stroke
};

} // namespace retro::app
