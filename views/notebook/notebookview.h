// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"
#include "views/notebook/notebookmodel.h"

class QModelIndex;
class QTableView;
class QToolButton;

namespace retro::views
{

class ElidedLabel;

/// The trail of visited places and those that somebody pinned, with comments. A click selects what was selected there
/// and leaves the time alone; a double click or Enter goes there. The window tells what was visited.
class NotebookView final : public View
{
    Q_OBJECT

public:
    NotebookView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Notebook"); }
    [[nodiscard]] QString subject() const override;
    [[nodiscard]] QString hint() const override { return tr("Where you have been and what you noted."); }
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    /// Writes pinned places and trail as Markdown.
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;

    [[nodiscard]] NotebookModel& items() const { return *m_items; }
    /// Pins the present place and opens its comment.
    void pinHere();
    /// Goes to the place of a row: its selection, then its step.
    void goTo(int row);
    [[nodiscard]] QString message() const;

protected:
    void refresh(Changes changes) override;

private:
    QWidget* makeTools();
    void makeTable(QWidget* parent);
    void sizeColumns();
    void chooseRow(const QModelIndex& index);
    void comment(int row);
    void togglePin(int row);
    void showMenu(const QPoint& at);
    void say(const QString& what);
    void updateTools();
    [[nodiscard]] int chosenRow() const;
    [[nodiscard]] Place here() const { return {cursor().position(), selection().thing()}; }

    NotebookModel* m_items = nullptr;
    QTableView* m_table = nullptr;
    QToolButton* m_go = nullptr;
    QToolButton* m_pin = nullptr;
    QToolButton* m_clear = nullptr;
    ElidedLabel* m_message = nullptr;
};

} // namespace retro::views
