// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"

class QTableView;

namespace retro::views
{

class ElidedLabel;
class JobRunner;
class ProgramModel;

/// The compiled program of the run (core/program): its sections ARGS and REL, an instruction per row, with the buffers
/// that it makes, reads and lets go. A click selects the node, a double click or Enter goes to where the traversal did
/// the same. Derived from the events off the GUI thread, when the view is seen.
class ProgramView final : public View
{
    Q_OBJECT

public:
    ProgramView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Program"); }
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;

    [[nodiscard]] ProgramModel& items() const { return *m_items; }
    /// The program is being derived.
    [[nodiscard]] bool isLoading() const;
    /// "118 instructions, 97 buffers", or why there is no program.
    [[nodiscard]] QString message() const;
    /// The selected rows as text, cells apart by tabs.
    [[nodiscard]] QString copiedText() const;

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override;

private:
    void makeTable();
    void derive();
    void sizeColumns();
    void showMessage();
    void followSelection();
    void chooseRow(const QModelIndex& index);
    void goTo(const QModelIndex& index);
    void copy();

    ProgramModel* m_items = nullptr;
    JobRunner* m_jobs = nullptr;
    ElidedLabel* m_message = nullptr;
    QTableView* m_table = nullptr;
    bool m_isChoosing = false; ///< the selection that comes is our own
};

} // namespace retro::views
