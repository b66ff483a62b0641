// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/jobs/jobs.h"

#include <QObject>

#include <optional>
#include <vector>

namespace retro::views
{
class HeatmapView;
class JobRunner;
} // namespace retro::views

namespace retro::app
{

/// Maps of the input by the methods that heatmaps offer beside relevance (HeatmapView::mapWanted), of the question on
/// screen. They are computed off the GUI thread; the newest question of a heatmap wins. GUI thread.
class MapController final : public QObject
{
    Q_OBJECT

public:
    explicit MapController(const std::vector<views::HeatmapView*>& heatmaps, QObject* parent = nullptr);

    /// The run on screen: what heatmaps show of the one before is asked again.
    void take(const ExplainDone& done);
    void clear();

private:
    /// A heatmap and what is computed for it.
    struct Pane
    {
        views::HeatmapView* heatmap = nullptr;
        views::JobRunner* jobs = nullptr;
    };
    void ask(const Pane& pane, const QString& method);

    std::vector<Pane> m_panes;
    std::optional<ExplainJob> m_job; ///< of the run on screen; none = there is no model to ask
};

} // namespace retro::app
