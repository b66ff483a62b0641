// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/widgets/recordtable.h"
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
class KeysModel final : public views::RecordTable<QAction*>
{
    Q_OBJECT

public:
    enum Column { Action, Key, First, ColumnCount };

    explicit KeysModel(views::ActionRegistry& actions, QObject* parent = nullptr);

    /// Only actions whose name or key has the words.
    void setFilter(const QString& words);

private:
    [[nodiscard]] QVariant detailOf(int row, int column, int role) const override;

    void take();
    void showKey(const QString& id);
    /// The key is not the one that the action was made with.
    [[nodiscard]] bool isChanged(const QAction& action) const;

    views::ActionRegistry& m_actions;
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
