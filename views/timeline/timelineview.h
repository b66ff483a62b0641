// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"

namespace retro::views
{

class TimelinePane;

/// The run from left to right: modes, promises, how wide the frontier is. Scrubbing moves the cursor.
class TimelineView final : public View
{
    Q_OBJECT

public:
    TimelineView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Timeline"); }
    [[nodiscard]] QString subject() const override { return tr("drag to scrub, wheel to zoom"); }
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    [[nodiscard]] QStringList exportFormats() const override;
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;
    [[nodiscard]] TimelinePane& pane() const { return *m_pane; }

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override;

private:
    TimelinePane* m_pane = nullptr;
};

} // namespace retro::views
