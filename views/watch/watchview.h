// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"

class QLineEdit;
class QModelIndex;
class QTableView;

namespace retro::views
{

class ElidedLabel;
class WatchModel;

/// Numbers that are to be seen at every step: expressions over relevance and values (WatchExpression), what they are at
/// the cursor and how they changed. A click selects the value, a double click or Enter goes to where its relevance was
/// known in full.
class WatchView final : public View
{
    Q_OBJECT

public:
    WatchView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Watch"); }
    [[nodiscard]] QString subject() const override;
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    /// Writes every expression with its number at the cursor.
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;
    [[nodiscard]] QByteArray saveState() const override;
    void restoreState(const QByteArray& state) override;

    [[nodiscard]] WatchModel& items() const { return *m_items; }
    /// Adds an expression; what is wrong with it is said in the view.
    void add(const QString& expression);
    /// Adds the relevance of a node.
    void addNode(retro::base::NodeId node);
    [[nodiscard]] QString message() const;

protected:
    void refresh(Changes changes) override;

private:
    QWidget* makeAddRow();
    void makeTable();
    void addTyped();
    void chooseRow(const QModelIndex& index);
    void goTo(const QModelIndex& index);
    void removeChosen();
    void say(const QString& what, bool isProblem);

    WatchModel* m_items = nullptr;
    QLineEdit* m_line = nullptr;
    ElidedLabel* m_message = nullptr;
    QTableView* m_table = nullptr;
};

} // namespace retro::views
