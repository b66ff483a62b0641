// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"
#include "views/common/widgets/breakpointlist.h"

#include <optional>
#include <vector>

namespace retro::views
{

class TimelinePane;
class TimeRange;

/// The run from left to right: modes, markers, how wide the frontier is, how deep stacks and queue are. Scrubbing moves
/// the cursor.
class TimelineView final : public View
{
    Q_OBJECT

public:
    TimelineView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent = nullptr);

    /// Marks where breakpoints hold, now and after every change.
    void followBreakpoints(BreakpointList& list);
    /// Lets a part of the run be chosen on the ruler; `range` must outlive the view.
    void followRange(TimeRange& range);
    /// Marks bookmarks in place of those of the run file; positions ascending.
    void setBookmarks(const std::vector<std::uint64_t>& positions);

    [[nodiscard]] QString title() const override { return tr("Timeline"); }
    /// How to use it, or what has no room.
    [[nodiscard]] QString subject() const override;
    [[nodiscard]] QString hint() const override;
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;
    [[nodiscard]] TimelinePane& pane() const { return *m_pane; }

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override;

private:
    TimelinePane* m_pane = nullptr;
    std::optional<std::vector<std::uint64_t>> m_bookmarks;
    const TimeRange* m_range = nullptr;            ///< borrowed
    const BreakpointList* m_breakpoints = nullptr; ///< borrowed; lives as long as the window
};

} // namespace retro::views
