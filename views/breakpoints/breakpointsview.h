// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"
#include "views/common/widgets/breakpointlist.h"

class QLabel;
class QLineEdit;
class QTableView;
class QToolButton;

namespace retro::views
{

class BreakpointModel;

/// Where runs stop: a line to type a condition in, and the list with check marks, words and hits. F9 and the graph add
/// to the same list.
class BreakpointsView final : public View
{
    Q_OBJECT

public:
    BreakpointsView(RunModel& model, Cursor& cursor, Selection& selection, BreakpointList& list,
                    QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Breakpoints"); }
    [[nodiscard]] QString subject() const override;
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;

    /// Opens the condition of the breakpoint on that node for editing; makes one when there is none.
    void editAt(base::NodeId node);
    /// The cursor goes to the next or previous stop of the chosen breakpoint.
    void goToHit(bool isForward);

protected:
    void refresh(Changes changes) override;

private:
    QWidget* makeAddRow();
    void makeTable(QWidget* parent);
    void addTyped();
    void add(const QString& condition);
    void removeChosen();
    void showMenu(const QPoint& at);
    void showAddMenu();
    void updateCompletions();
    void say(const QString& problem);

    BreakpointList& m_list;
    BreakpointModel* m_items = nullptr;
    QLineEdit* m_line = nullptr;
    QToolButton* m_add = nullptr;
    QTableView* m_table = nullptr;
    QLabel* m_message = nullptr;
};

} // namespace retro::views
