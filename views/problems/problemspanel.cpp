// SPDX-License-Identifier: Apache-2.0
#include "views/problems/problemspanel.h"

#include "views/common/paint/fonts.h"
#include "views/common/widgets/emptystate.h"
#include "views/common/widgets/listtable.h"
#include "views/problems/problemreport.h"

#include <QApplication>
#include <QClipboard>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QPushButton>
#include <QStackedLayout>
#include <QTableView>

namespace retro::views
{

ProblemsPanel::ProblemsPanel(ProblemList& list, RunModel& run, Cursor& cursor, Selection& selection, QWidget* parent)
    : QWidget(parent), m_run(run), m_cursor(cursor), m_selection(selection), m_model(list, run)
{
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    m_stack = new QStackedLayout(this);
    auto* empty = new EmptyState(this);
    empty->showEmpty(tr("No problems. What goes wrong, or may mislead, is listed here."));
    m_stack->addWidget(empty);
    m_stack->addWidget(makeBody());
    connect(&m_model, &QAbstractItemModel::modelReset, this, &ProblemsPanel::showState);
    showState();
}

QWidget* ProblemsPanel::makeBody()
{
    auto* body = new QWidget(this);
    auto* row = new QHBoxLayout(body);
    row->setContentsMargins(0, 0, fonts::px(8), 0);
    m_table = new QTableView(body);
    makeList(*m_table, m_model, fonts::px(24));
    m_table->setAccessibleName(tr("Problems"));
    m_table->setToolTip(tr("Return or a double click shows the layer"));
    m_table->setAlternatingRowColors(true);
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    m_table->setTextElideMode(Qt::ElideMiddle);
    QHeaderView* header = m_table->horizontalHeader();
    header->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    header->setSectionResizeMode(ProblemsModel::What, QHeaderView::Stretch);
    header->setSectionResizeMode(ProblemsModel::Where, QHeaderView::Interactive);
    header->setSectionResizeMode(ProblemsModel::Remedy, QHeaderView::Stretch);
    header->resizeSection(ProblemsModel::Where, fonts::px(220));
    row->addWidget(m_table, 1);
    auto* column = new QVBoxLayout;
    column->setContentsMargins(0, fonts::px(6), 0, fonts::px(6));
    m_show = new QPushButton(tr("Show layer"), body);
    m_show->setToolTip(tr("Select the layer that the problem is about"));
    m_copy = new QPushButton(tr("Copy report"), body);
    m_copy->setToolTip(tr("Copy everything that is known about the problem as text"));
    column->addWidget(m_show);
    column->addWidget(m_copy);
    column->addStretch(1);
    row->addLayout(column);
    connect(m_table, &QTableView::activated, this, &ProblemsPanel::jump);
    connect(m_table->selectionModel(), &QItemSelectionModel::selectionChanged, this, &ProblemsPanel::showState);
    connect(m_show, &QPushButton::clicked, this, &ProblemsPanel::jump);
    connect(m_copy, &QPushButton::clicked, this, [this] { QApplication::clipboard()->setText(report()); });
    return body;
}

const Problem* ProblemsPanel::chosen() const
{
    const QModelIndex current = m_table->currentIndex();
    if (current.isValid()) {
        return &m_model.problemAt(current.row());
    }
    return m_model.rowCount() > 0 ? &m_model.problemAt(0) : nullptr;
}

bool ProblemsPanel::leadsSomewhere(const Problem& problem) const
{
    return problem.origin == ProblemOrigin::Diagnosis || !placeOf(problem, m_run).isEmpty();
}

void ProblemsPanel::showState()
{
    m_stack->setCurrentIndex(m_model.rowCount() > 0 ? 1 : 0);
    const Problem* problem = chosen();
    m_show->setEnabled(problem != nullptr && leadsSomewhere(*problem));
    m_show->setToolTip(m_show->isEnabled() ? tr("Select the layer that the problem is about")
                                           : tr("This problem is about no single layer"));
}

QString ProblemsPanel::report() const
{
    const Problem* problem = chosen();
    return problem == nullptr ? QString() : problemReport(*problem, m_run);
}

void ProblemsPanel::jump()
{
    const Problem* problem = chosen();
    if (problem == nullptr || !leadsSomewhere(*problem)) {
        return;
    }
    const Problem kept = *problem;
    if (kept.origin == ProblemOrigin::Diagnosis) {
        emit diagnosisWanted(kept.what);
    }
    if (placeOf(kept, m_run).isEmpty()) {
        return;
    }
    if (kept.position) {
        m_cursor.moveTo(*kept.position);
    }
    m_selection.selectNode(kept.node);
}

} // namespace retro::views
