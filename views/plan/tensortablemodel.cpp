// SPDX-License-Identifier: Apache-2.0
#include "views/plan/tensortablemodel.h"

#include "views/common/csv.h"
#include "views/common/numbertext.h"
#include "views/common/paint/theme.h"
#include "views/plan/decisionmarks.h"

#include <QPainter>
#include <QPixmap>

#include <algorithm>

namespace retro::views
{

TensorTableModel::TensorTableModel(PlanModel& plan, QObject* parent)
    : ColumnTable({{tr("Tensor")},
                   {ByteScale().unit, Cells::Figures},
                   {tr("Alive, steps"), Cells::Figures},
                   {tr("Decision")},
                   {tr("Rebuilt"), Cells::Figures},
                   {tr("Cost"), Cells::Figures},
                   {tr("Reason")}},
                  parent),
      m_plan(plan)
{}

void TensorTableModel::takePlan()
{
    beginResetModel();
    m_shown = m_plan.plan();
    std::uint64_t largest = 0;
    double dearest = 0;
    for (std::uint32_t row = 0; row < allRows(); ++row) {
        largest = std::max(largest, m_shown->bytesOf(row));
        dearest = std::max(dearest, m_shown->costOf(row));
    }
    m_scale = ByteScale::of(largest);
    m_costs = m_shown ? CostScale::of(dearest, m_shown->subject->unit) : CostScale();
    setTitle(SizeColumn, m_scale.unit);
    setTitle(CostColumn, m_shown ? m_costs.unit : tr("Cost"));
    arrange();
    endResetModel();
}

void TensorTableModel::setFilter(const QString& text)
{
    if (text != m_filter) {
        beginResetModel();
        m_filter = text;
        arrange();
        endResetModel();
    }
}

void TensorTableModel::sort(int column, Qt::SortOrder order)
{
    beginResetModel();
    m_sortColumn = column;
    m_sortOrder = order;
    arrange();
    endResetModel();
}

void TensorTableModel::arrange()
{
    m_rows.clear();
    for (std::uint32_t row = 0; row < allRows(); ++row) {
        if (m_filter.isEmpty() || m_shown->rowName(row).contains(m_filter, Qt::CaseInsensitive)) {
            m_rows.push_back(row);
        }
    }
    if (m_sortColumn >= 0) {
        const bool isUp = m_sortOrder == Qt::AscendingOrder;
        std::ranges::stable_sort(
            m_rows, [this, isUp](std::uint32_t a, std::uint32_t b) { return isUp ? isLess(a, b) : isLess(b, a); });
    }
}

bool TensorTableModel::isLess(std::uint32_t a, std::uint32_t b) const
{
    const ScheduleRow& one = m_shown->matrix.rows()[a];
    const ScheduleRow& other = m_shown->matrix.rows()[b];
    switch (m_sortColumn) {
    case SizeColumn:
        return m_shown->bytesOf(a) < m_shown->bytesOf(b);
    case AliveColumn:
        return one.first < other.first;
    case DecisionColumn:
        return one.decision < other.decision;
    case RebuiltColumn:
        return one.runs < other.runs;
    case CostColumn:
        return m_shown->costOf(a) < m_shown->costOf(b);
    default:
        return cellOf(a, m_sortColumn) < cellOf(b, m_sortColumn);
    }
}

int TensorTableModel::tableRow(std::uint32_t matrixRow) const
{
    const auto at = std::ranges::find(m_rows, matrixRow);
    return at == m_rows.end() ? -1 : static_cast<int>(at - m_rows.begin());
}

QString TensorTableModel::decisionText(std::uint32_t row) const
{
    const ScheduleRow& one = m_shown->matrix.rows()[row];
    const auto choice = m_plan.choiceOf(one.value);
    return choice ? tr("%1 (mine)").arg(wordOf(*choice)) : wordOf(one.decision);
}

QString TensorTableModel::textOf(int row, int column) const { return cellOf(matrixRow(row), column); }

QString TensorTableModel::cellOf(std::uint32_t row, int column) const
{
    const ScheduleRow& one = m_shown->matrix.rows()[row];
    switch (column) {
    case NameColumn:
        return m_shown->rowLabel(row);
    case SizeColumn:
        return m_scale.figure(m_shown->bytesOf(row));
    case AliveColumn:
        return QStringLiteral("%1 – %2").arg(countText(std::int64_t{one.first} + 1),
                                             countText(std::int64_t{one.last} + 1));
    case DecisionColumn:
        return decisionText(row);
    case RebuiltColumn:
        return one.runs > 1 ? QStringLiteral("%1 ×").arg(one.runs - 1) : QStringLiteral("–");
    case CostColumn:
        return m_costs.figure(m_shown->costOf(row));
    default:
        return m_shown->reasonOf(row);
    }
}

int TensorTableModel::rows() const { return static_cast<int>(m_rows.size()); }

QVariant TensorTableModel::detailOf(int row, int column, int role) const
{
    if (role == Qt::ToolTipRole) {
        return column == DecisionColumn ? QVariant(tr("Click: keep it or recompute it, as you choose"))
               : column == NameColumn   ? QVariant(m_shown->rowName(matrixRow(row)))
                                        : QVariant();
    }
    return role == Qt::DecorationRole && column == DecisionColumn
               ? QVariant(decisionPixmap(m_shown->matrix.rows()[matrixRow(row)].decision))
               : QVariant();
}

std::string TensorTableModel::csv() const
{
    CsvText text({"tensor", "bytes", "first_step", "last_step", "decision", "runs", "cost", "reason"});
    for (const std::uint32_t row : m_rows) {
        const ScheduleRow& one = m_shown->matrix.rows()[row];
        text.add(m_shown->rowName(row))
            .add(static_cast<std::int64_t>(m_shown->bytesOf(row)))
            .add(std::int64_t{one.first} + 1)
            .add(std::int64_t{one.last} + 1)
            .add(wordOf(one.decision))
            .add(std::int64_t{one.runs})
            .add(m_shown->costOf(row))
            .add(m_shown->reasonOf(row))
            .endRow();
    }
    return text.take();
}

} // namespace retro::views

#include "moc_tensortablemodel.cpp"
