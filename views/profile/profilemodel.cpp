// SPDX-License-Identifier: Apache-2.0
#include "views/profile/profilemodel.h"

#include "views/common/numbertext.h"
#include "views/common/viewcontext.h"

#include <algorithm>

namespace retro::views
{

ProfileTableModel::ProfileTableModel(QObject* parent)
    : ColumnTable({{tr("Node")},
                   {tr("Operator")},
                   {tr("Forward, ms"), Cells::Figures},
                   {tr("Reverse, ms"), Cells::Figures},
                   {tr("Again, ms"), Cells::Figures},
                   {tr("Share"), Cells::Figures},
                   {tr("MFLOP"), Cells::Figures},
                   {tr("Results"), Cells::Figures}},
                  parent)
{}

void ProfileTableModel::setRun(std::shared_ptr<const trace::Run> run)
{
    beginResetModel();
    m_run = std::move(run);
    m_rows.clear();
    m_seconds = 0;
    if (m_run && m_run->profile) {
        for (const trace::NodeTotal& total : trace::nodeTotals(*m_run->profile, m_run->graph->nodeCount())) {
            if (total.seconds() > 0 || total.allFlops() > 0 || total.bytes > 0) {
                m_rows.push_back(total);
                m_seconds += total.seconds();
            }
        }
        m_rows = trace::byTime(std::move(m_rows));
    }
    endResetModel();
}

int ProfileTableModel::rowOf(base::NodeId node) const
{
    const auto at = std::ranges::find(m_rows, node, &trace::NodeTotal::node);
    return at == m_rows.end() ? -1 : static_cast<int>(at - m_rows.begin());
}

double ProfileTableModel::figureOf(const trace::NodeTotal& total, int column)
{
    switch (column) {
    case ForwardColumn:
        return total.forwardSeconds;
    case ReverseColumn:
        return total.reverseSeconds;
    case AgainColumn:
        return total.rebuildSeconds;
    case OperationsColumn:
        return total.allFlops();
    case BytesColumn:
        return static_cast<double>(total.bytes);
    default:
        return total.seconds();
    }
}

QString ProfileTableModel::textOf(int row, int column) const
{
    return cellOf(m_rows[static_cast<std::size_t>(row)], column);
}

QString ProfileTableModel::cellOf(const trace::NodeTotal& total, int column) const
{
    switch (column) {
    case NodeColumn:
        return RunModel::placeLabel(*m_run->graph, total.node);
    case OperatorColumn:
        return QString::fromStdString(std::string(m_run->graph->opOf(total.node)));
    case ShareColumn:
        return percentText(m_seconds > 0 ? total.seconds() / m_seconds : 0);
    case OperationsColumn:
        return valueText(total.allFlops() / 1e6, 4);
    case BytesColumn:
        return bytesText(total.bytes);
    case AgainColumn:
        return total.rebuilds == 0 ? QStringLiteral("–") : fixedText(total.rebuildSeconds * 1e3, 3);
    default:
        return fixedText(figureOf(total, column) * 1e3, 3);
    }
}

int ProfileTableModel::rows() const { return static_cast<int>(m_rows.size()); }

QVariant ProfileTableModel::detailOf(int row, int column, int role) const
{
    const trace::NodeTotal& total = m_rows[static_cast<std::size_t>(row)];
    if (role == Qt::ToolTipRole && column == NodeColumn) {
        return QString::fromStdString(m_run->graph->labelOf(total.node));
    }
    return role == Qt::ToolTipRole && column == AgainColumn && total.rebuilds > 0
               ? QVariant(tr("computed again %1 times").arg(countText(static_cast<std::int64_t>(total.rebuilds))))
               : QVariant();
}

void ProfileTableModel::sort(int column, Qt::SortOrder order)
{
    beginResetModel();
    const bool isUp = order == Qt::AscendingOrder;
    const auto isLess = [this, column](const trace::NodeTotal& a, const trace::NodeTotal& b) {
        return column == NodeColumn || column == OperatorColumn ? cellOf(a, column) < cellOf(b, column)
                                                                : figureOf(a, column) < figureOf(b, column);
    };
    if (column < 0) {
        m_rows = trace::byTime(std::move(m_rows));
    } else {
        std::ranges::stable_sort(m_rows,
                                 [&](const auto& a, const auto& b) { return isUp ? isLess(a, b) : isLess(b, a); });
    }
    endResetModel();
}

} // namespace retro::views

#include "moc_profilemodel.cpp"
