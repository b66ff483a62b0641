// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/viewcontext.h"
#include "views/problems/problemlist.h"

#include "views/common/widgets/recordtable.h"
#include <QWidget>

class QPushButton;
class QStackedLayout;
class QTableView;
class QTimer;

namespace retro::views
{

/// The list as a table: what, where, what to do. Errors first, each group in its order. GUI thread.
class ProblemsModel final : public RecordTable<Problem>
{
    Q_OBJECT

public:
    enum Column { What, Where, Remedy, ColumnCount };

    ProblemsModel(const ProblemList& list, const RunModel& run, QObject* parent = nullptr);

private:
    [[nodiscard]] QVariant detailOf(int row, int column, int role) const override;

    void take();

    const ProblemList& m_list;
};

/// The list of problems: Return or a double click selects the node and, where one is known, goes to the step; one
/// button copies a report. It does not depend on a run being there. GUI thread.
class ProblemsPanel final : public QWidget
{
    Q_OBJECT

public:
    ProblemsPanel(ProblemList& list, RunModel& run, Cursor& cursor, Selection& selection, QWidget* parent = nullptr);

    [[nodiscard]] QTableView& table() const { return *m_table; }
    /// The report of the chosen problem, else of the first; empty without problems.
    [[nodiscard]] QString report() const;
    /// Selects the node of the chosen problem and goes to its step, as far as it has them.
    void jump();

signals:
    /// A finding of the diagnosis was jumped to: it is to be seen with what can be done about it.
    void diagnosisWanted(const QString& what);

private:
    void fitRows();
    [[nodiscard]] QWidget* makeBody();
    [[nodiscard]] const Problem* chosen() const;
    void showState();
    /// To a node, or to a finding.
    [[nodiscard]] bool leadsSomewhere(const Problem& problem) const;

    RunModel& m_run;
    Cursor& m_cursor;
    Selection& m_selection;
    ProblemsModel m_model;
    QTimer* m_fit = nullptr;
    QStackedLayout* m_stack = nullptr;
    QTableView* m_table = nullptr;
    QPushButton* m_show = nullptr;
    QPushButton* m_copy = nullptr;
};

} // namespace retro::views
