// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"

#include <QElapsedTimer>

class QTimer;

namespace retro::views
{

class NowPane;

/// What happens at the cursor, in words and figures: the last events and the next ones, where the relevance of the
/// current node is, its rule with numbers. While a run is played too fast for single visits, what a picture adds up.
/// A click on an event selects its node, a double click goes there, ↑ and ↓ go by one event.
class NowView final : public View
{
    Q_OBJECT

public:
    NowView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Now"); }
    [[nodiscard]] QString subject() const override;
    [[nodiscard]] QString hint() const override
    {
        return tr("The event at the cursor, those around it, and where its relevance is.");
    }
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    [[nodiscard]] NowPane& pane() const { return *m_pane; }

protected:
    void refresh(Changes changes) override;

private:
    void choose(std::uint64_t step);

    NowPane* m_pane = nullptr;
    QTimer* m_rest = nullptr; ///< until fast figures may change again
    QElapsedTimer m_shown;
};

} // namespace retro::views
