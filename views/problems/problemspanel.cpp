// SPDX-License-Identifier: Apache-2.0
#include "views/problems/problemspanel.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/icons.h"
#include "views/common/paint/theme.h"
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
#include <QTimer>

#include <algorithm>

namespace retro::views
{

namespace
{

constexpr int kMark = 16;

QPixmap markOf(Severity severity)
{
    const bool isError = severity == Severity::Error;
    return icons::pixmap(isError ? QStringLiteral("close") : QStringLiteral("warning"), kMark,
                         theme()[isError ? Role::AlarmText : Role::SearchText]);
}

constexpr double kLeastHeight = 46; // design pixels: names of columns and a problem

} // namespace

ProblemsModel::ProblemsModel(const ProblemList& list, const RunModel& run, QObject* parent)
    : RecordTable({{tr("What happened"), &Problem::what},
                   {tr("Where"), [&run](const Problem& problem) { return placeOf(problem, run); }},
                   {tr("What to do"), &Problem::remedy}},
                  parent),
      m_list(list)
{
    connect(&list, &ProblemList::changed, this, &ProblemsModel::take);
    connect(&run, &RunModel::runChanged, this, &ProblemsModel::take); // names of nodes
    connect(&ThemeHub::instance(), &ThemeHub::changed, this, &ProblemsModel::take);
    take();
}

void ProblemsModel::take()
{
    std::vector<Problem> problems = m_list.all();
    std::ranges::stable_partition(problems, [](const Problem& p) { return p.severity == Severity::Error; });
    setRecords(std::move(problems));
}

QVariant ProblemsModel::detailOf(int row, int column, int role) const
{
    const Severity severity = at(row).severity;
    if (role == Qt::AccessibleTextRole) {
        return (column == What ? wordOf(severity) + QStringLiteral(": ") : QString()) + textOf(row, column);
    }
    return role == Qt::DecorationRole && column == What ? QVariant(markOf(severity))
                                                        : RecordTable::detailOf(row, column, role);
}

ProblemsPanel::ProblemsPanel(ProblemList& list, RunModel& run, Cursor& cursor, Selection& selection, QWidget* parent)
    : QWidget(parent), m_run(run), m_cursor(cursor), m_selection(selection), m_model(list, run)
{
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    m_stack = new QStackedLayout(this);
    m_stack->setSizeConstraint(QLayout::SetNoConstraint); // a low window stays low
    setMinimumHeight(fonts::px(kLeastHeight));
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
    m_table->setWordWrap(true); // nothing of what is said is left out
    QHeaderView* header = m_table->horizontalHeader();
    header->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    header->setSectionResizeMode(ProblemsModel::What, QHeaderView::Stretch);
    header->setSectionResizeMode(ProblemsModel::Where, QHeaderView::Interactive);
    header->setSectionResizeMode(ProblemsModel::Remedy, QHeaderView::Stretch);
    header->resizeSection(ProblemsModel::Where, fonts::px(220));
    m_fit = new QTimer(this);
    m_fit->setSingleShot(true);
    m_fit->setInterval(0);
    connect(m_fit, &QTimer::timeout, this, &ProblemsPanel::fitRows);
    connect(header, &QHeaderView::sectionResized, m_fit, qOverload<>(&QTimer::start));
    connect(&m_model, &QAbstractItemModel::modelReset, m_fit, qOverload<>(&QTimer::start));
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

/// Each row as high as its sentences are in columns of this width.
void ProblemsPanel::fitRows()
{
    for (int row = 0; row < m_model.rowCount(); ++row) {
        int height = fonts::px(24);
        for (int column = 0; column < ProblemsModel::ColumnCount; ++column) {
            const QModelIndex index = m_model.index(row, column);
            const int mark = column == ProblemsModel::What ? fonts::px(24) : 0;
            const int room = std::max(fonts::px(40), m_table->columnWidth(column) - mark - fonts::px(12));
            const QRect text = m_table->fontMetrics().boundingRect(QRect(0, 0, room, 10'000), Qt::TextWrapAnywhere,
                                                                   index.data().toString());
            const QRect words = m_table->fontMetrics().boundingRect(QRect(0, 0, room, 10'000), Qt::TextWordWrap,
                                                                    index.data().toString());
            height = std::max(height, std::max(text.height(), words.height()) + fonts::px(8));
        }
        m_table->setRowHeight(row, height);
    }
}

const Problem* ProblemsPanel::chosen() const
{
    const QModelIndex current = m_table->currentIndex();
    if (current.isValid()) {
        return &m_model.at(current.row());
    }
    return m_model.rowCount() > 0 ? &m_model.at(0) : nullptr;
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

#include "moc_problemspanel.cpp"
