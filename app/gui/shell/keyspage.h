// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/widgets/columntable.h"
#include <QWidget>

#include "views/common/actions.h"

class QComboBox;
class QKeySequenceEdit;
class QLabel;
class QLineEdit;
class QPushButton;
class QTableView;

namespace retro::app
{

class Preferences;

/// Actions with their keys; filter by words. GUI thread.
class KeysModel final : public views::ColumnTable
{
    Q_OBJECT

public:
    enum Column { Action, Key, First, ColumnCount };

    explicit KeysModel(views::ActionRegistry& actions, QObject* parent = nullptr);

    /// Only actions whose name or key has the words.
    void setFilter(const QString& words);
    [[nodiscard]] QAction& actionAt(int row) const { return *m_rows[static_cast<std::size_t>(row)]; }

private:
    [[nodiscard]] int rows() const override;
    [[nodiscard]] QString textOf(int row, int column) const override;
    [[nodiscard]] QVariant detailOf(int row, int column, int role) const override;

    void take();
    void showKey(const QString& id);

    views::ActionRegistry& m_actions;
    std::vector<QAction*> m_rows;
    QString m_filter;
};

/// The page of the preferences that gives actions other keys; says who has a key already before it is taken away.
class KeysPage final : public QWidget
{
    Q_OBJECT

public:
    KeysPage(views::ActionRegistry& actions, Preferences& preferences, QWidget* parent = nullptr);

private:
    void makeEditor();
    void makeSchemes();
    void showScheme();
    [[nodiscard]] QAction* chosen() const;
    void showChosen();
    void showConflict();
    void assign(const QKeySequence& key);

    views::ActionRegistry& m_actions;
    Preferences& m_preferences;
    KeysModel m_model;
    QLineEdit* m_filter = nullptr;
    QComboBox* m_scheme = nullptr;
    QTableView* m_table = nullptr;
    QKeySequenceEdit* m_key = nullptr;
    QPushButton* m_set = nullptr;
    QPushButton* m_first = nullptr;
    QPushButton* m_none = nullptr;
    QLabel* m_conflict = nullptr;
};

} // namespace retro::app
