// SPDX-License-Identifier: Apache-2.0
#include "views/region/regionvalues.h"

#include "views/common/numbertext.h"
#include "views/common/viewcontext.h"

#include <algorithm>
#include <utility>

namespace retro::views
{

RegionValuesModel::RegionValuesModel(const RunModel& model, QObject* parent)
    : ColumnTable({{tr("Value")},
                   {tr("Part"), Cells::SmallFigures},
                   {tr("% region"), Cells::SmallFigures},
                   {tr("% of itself"), Cells::SmallFigures}},
                  parent),
      m_model(model)
{}

std::vector<base::ValueId> RegionValuesModel::ordered() const
{
    std::vector<base::ValueId> values;
    for (std::size_t i = 0; m_region && i < m_region->parts.size(); ++i) {
        values.push_back(m_region->parts[i].value);
    }
    const graph::Graph* graph = values.empty() ? nullptr : m_region->run->graph.get();
    std::ranges::stable_sort(values, [&](base::ValueId a, base::ValueId b) {
        const base::NodeId nodeA = graph->nodeOf(a);
        const base::NodeId nodeB = graph->nodeOf(b);
        const bool isInputA = graph->isInput(nodeA);
        const bool isInputB = graph->isInput(nodeB);
        return isInputA != isInputB ? isInputB : nodeB < nodeA;
    });
    return values;
}

void RegionValuesModel::setRegion(RegionPointer region)
{
    const RegionPointer before = std::exchange(m_region, std::move(region));
    std::vector<base::ValueId> values = ordered();
    const bool isSame = before && m_region && before->run == m_region->run && values == m_values;
    if (!isSame) {
        beginResetModel();
    }
    m_values = std::move(values);
    m_parts.clear();
    for (const base::ValueId value : m_values) {
        m_parts.push_back(m_region->partOf(value));
    }
    if (!isSame) {
        endResetModel();
    } else {
        cellsChanged(PartColumn);
    }
}

base::ValueId RegionValuesModel::valueAt(int row) const
{
    return row >= 0 && row < rowCount() ? m_values[static_cast<std::size_t>(row)] : base::ValueId();
}

int RegionValuesModel::rowOf(base::ValueId value) const
{
    const auto at = std::ranges::find(m_values, value);
    return at == m_values.end() ? -1 : static_cast<int>(at - m_values.begin());
}

QString RegionValuesModel::textOf(int row, int column) const
{
    const RegionPart& part = *m_parts[static_cast<std::size_t>(row)];
    switch (column) {
    case ValueColumn:
        return m_model.label(part.value);
    case PartColumn:
        return valueText(part.total);
    case OfRegionColumn:
        return m_region->total == 0 ? QString() : percentText(part.total / m_region->total);
    default:
        return part.relevance == 0 ? QString() : percentText(part.total / part.relevance);
    }
}

QString RegionValuesModel::tipOf(const RegionPart& part)
{
    return part.arrives ? tr("%1 of its %2 arrives at the inputs at all; %3 is lost below it")
                              .arg(valueText(*part.arrives), valueText(part.relevance),
                                   valueText(part.relevance - *part.arrives))
                        : QString();
}

QVariant RegionValuesModel::detailOf(int row, int column, int role) const
{
    if (role != Qt::ToolTipRole) {
        return {};
    }
    return column == OfItselfColumn ? tipOf(*m_parts[static_cast<std::size_t>(row)]) : QString();
}

} // namespace retro::views

#include "moc_regionvalues.cpp"
