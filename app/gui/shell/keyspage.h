// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractTableModel>
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
class KeysModel final : public QAbstractTableModel
{
    Q_OBJECT

public:
    enum Column { Action, Key, First, ColumnCount };

    explicit KeysModel(views::ActionRegistry& actions, QObject* parent = nullptr);

    /// Only actions whose name or key has the words.
    void setFilter(const QString& words);
    [[nodiscard]] QAction& actionAt(int row) const { return *m_rows[static_cast<std::size_t>(row)]; }

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    void take();
    void showKey(const QString& id);
    [[nodiscard]] QString textOf(const QAction& action, int column) const;

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
