// SPDX-License-Identifier: Apache-2.0
#include "views/plan/tensortablemodel.h"

#include "views/common/csv.h"
#include "views/common/numbertext.h"
#include "views/common/paint/theme.h"
#include "views/plan/decisionmarks.h"

#include <algorithm>

namespace retro::views
{

namespace
{

QString aliveText(const ScheduleRow& row)
{
    return QStringLiteral("%1 – %2").arg(countText(std::int64_t{row.first} + 1), countText(std::int64_t{row.last} + 1));
}

QString rebuiltText(const ScheduleRow& row)
{
    return row.runs > 1 ? QStringLiteral("%1 ×").arg(row.runs - 1) : QStringLiteral("–");
}

} // namespace

TensorTableModel::TensorTableModel(PlanModel& plan, QObject* parent)
    : RecordTable({{tr("Tensor"), [this](Row row) { return m_shown->rowLabel(row); }, Cells::Words, nullptr,
                    [this](Row row) { return m_shown->rowName(row); }},
                   {ByteScale().unit, [this](Row row) { return m_scale.figure(m_shown->bytesOf(row)); }, Cells::Figures,
                    [this](Row row) { return static_cast<double>(m_shown->bytesOf(row)); }},
                   {tr("Alive, steps"), [this](Row row) { return aliveText(facts(row)); }, Cells::Figures,
                    [this](Row row) { return static_cast<double>(facts(row).first); }},
                   {tr("Decision"), [this](Row row) { return decisionText(row); }, Cells::Words,
                    [this](Row row) { return static_cast<double>(facts(row).decision); },
                    [](Row) { return tr("Click: keep it or recompute it, as you choose"); }},
                   {tr("Rebuilt"), [this](Row row) { return rebuiltText(facts(row)); }, Cells::Figures,
                    [this](Row row) { return static_cast<double>(facts(row).runs); }},
                   {tr("Cost"), [this](Row row) { return m_costs.figure(m_shown->costOf(row)); }, Cells::Figures,
                    [this](Row row) { return m_shown->costOf(row); }},
                   {tr("Reason"), [this](Row row) { return m_shown->reasonOf(row); }}},
                  parent),
      m_plan(plan)
{}

void TensorTableModel::takePlan()
{
    beginResetModel();
    m_shown = m_plan.plan();
    std::uint64_t largest = 0;
    double dearest = 0;
    for (Row row = 0; row < allRows(); ++row) {
        largest = std::max(largest, m_shown->bytesOf(row));
        dearest = std::max(dearest, m_shown->costOf(row));
    }
    m_scale = ByteScale::of(largest);
    m_costs = m_shown ? CostScale::of(dearest, m_shown->subject->unit) : CostScale();
    setTitle(SizeColumn, m_scale.unit);
    setTitle(CostColumn, m_shown ? m_costs.unit : tr("Cost"));
    takeRows();
    endResetModel();
}

void TensorTableModel::setFilter(const QString& text)
{
    if (text != m_filter) {
        beginResetModel();
        m_filter = text;
        takeRows();
        endResetModel();
    }
}

void TensorTableModel::takeRows()
{
    std::vector<Row> rows;
    for (Row row = 0; row < allRows(); ++row) {
        if (m_filter.isEmpty() || m_shown->rowName(row).contains(m_filter, Qt::CaseInsensitive)) {
            rows.push_back(row);
        }
    }
    takeRecords(std::move(rows), true);
}

QString TensorTableModel::decisionText(Row row) const
{
    const ScheduleRow& one = facts(row);
    const auto choice = m_plan.choiceOf(one.value);
    return choice ? tr("%1 (mine)").arg(wordOf(*choice)) : wordOf(one.decision);
}

QVariant TensorTableModel::detailOf(int row, int column, int role) const
{
    return role == Qt::DecorationRole && column == DecisionColumn ? QVariant(decisionPixmap(facts(at(row)).decision))
                                                                  : RecordTable::detailOf(row, column, role);
}

std::string TensorTableModel::csv() const
{
    CsvText text({"tensor", "bytes", "first_step", "last_step", "decision", "runs", "cost", "reason"});
    for (int i = 0; i < rowCount(); ++i) {
        const Row row = at(i);
        const ScheduleRow& one = facts(row);
        text.row(m_shown->rowName(row), m_shown->bytesOf(row), one.first + 1, one.last + 1, wordOf(one.decision),
                 one.runs, m_shown->costOf(row), m_shown->reasonOf(row));
    }
    return text.take();
}

} // namespace retro::views

#include "moc_tensortablemodel.cpp"
