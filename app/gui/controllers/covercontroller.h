// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/jobs/jobs.h"
#include "views/common/actions.h"

#include <QObject>

#include <optional>

namespace retro::views
{
class InputView;
}

namespace retro::app
{

/// "Cover and see": the actions of the brush, and the jobs that let class and heatmap follow the covered picture. At
/// most one such job is under way; what is painted meanwhile is asked once it has answered, so that slow models follow
/// at their own pace and the newest picture always wins. GUI thread.
class CoverController final : public QObject
{
    Q_OBJECT

public:
    CoverController(views::ActionRegistry& actions, views::InputView& view, QObject* parent = nullptr);

    /// What is on screen now; the brush belongs to its picture.
    void takeResult(const ExplainDone& result);
    /// A job ended; when it was the one that was waited for, what was painted meanwhile is asked.
    void takeEnd(std::uint64_t generation);
    /// Generation of the job that the window posted for jobWanted().
    void setPosted(std::uint64_t generation) { m_awaited = generation; }
    /// While following, every change is explained at once; else with the next run.
    void setFollowing(bool isFollowing);
    [[nodiscard]] bool isFollowing() const { return m_isFollowing; }
    /// The covered pixels, when they belong to these inputs; else null.
    [[nodiscard]] std::shared_ptr<const engine::Cover> coverFor(const std::vector<std::string>& inputs) const;
    /// Covers the marked box of the picture; no effect without one.
    void coverTag();

signals:
    /// Explain the same question with the pixels that are covered now; answer with setPosted().
    void jobWanted(const retro::app::ExplainJob& job);

private:
    void takeChange();
    void ask();
    void showActions();
    [[nodiscard]] QString refusal() const;

    views::InputView& m_view;
    QAction& m_brush;
    QAction& m_tag;
    QAction& m_reset;
    std::optional<ExplainJob> m_last; ///< what is on screen, with its inputs as read; none = nothing to cover
    std::optional<QRect> m_tagBox;
    bool m_isRecorded = false; ///< what is on screen was recorded: there is no model to ask
    std::uint64_t m_awaited = 0;
    bool m_isDue = false; ///< something was painted since the last request
    bool m_isFollowing = true;
};

/// Adds the actions of the brush to the registry: cover.brush, cover.tag, cover.reset. edit.undo must be
/// there.
void addCoverActions(views::ActionRegistry& actions);

} // namespace retro::app
