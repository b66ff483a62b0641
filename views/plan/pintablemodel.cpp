// SPDX-License-Identifier: Apache-2.0
#include "views/plan/pintablemodel.h"

#include "views/common/csv.h"
#include "views/common/numbertext.h"
#include "views/common/paint/icons.h"
#include "views/common/paint/theme.h"
#include "views/plan/decisionmarks.h"

#include <algorithm>

namespace retro::views
{

PinTableModel::PinTableModel(PlanModel& plan, QObject* parent)
    : ColumnTable({{tr("What if")},
                   {tr("Choice")},
                   {tr("Peak %1").arg(ByteScale().unit), Cells::Figures},
                   {tr("Work %"), Cells::Figures},
                   {}},
                  parent),
      m_plan(plan)
{}

void PinTableModel::take()
{
    beginResetModel();
    m_pins.assign(m_plan.pins().begin(), m_plan.pins().end());
    m_scale = ByteScale::of(m_plan.subject() ? m_plan.subject()->storeAllPeak : 0);
    setTitle(PeakColumn, tr("Peak %1").arg(m_scale.unit));
    endResetModel();
}

int PinTableModel::rowOf(analysis::OpValueId value) const
{
    const auto at = std::ranges::find(m_pins, value);
    return at == m_pins.end() ? -1 : static_cast<int>(at - m_pins.begin());
}

QString PinTableModel::nameOf(analysis::OpValueId value) const
{
    const ShownPlanPointer& plan = m_plan.planOfSteps();
    const std::uint32_t row = plan ? plan->matrix.rowOf(value) : analysis::kNone;
    return row < (plan ? plan->matrix.rows().size() : 0)
               ? plan->rowLabel(row)
               : QString::fromStdString(m_plan.subject()->graph().value(value).name);
}

const PinEffect* PinTableModel::effectAt(int row) const
{
    const auto at = std::ranges::find(m_plan.pinEffects(), valueAt(row), &PinEffect::value);
    return at == m_plan.pinEffects().end() ? nullptr : &*at;
}

double PinTableModel::workOf(const PinEffect& effect) const
{
    const double base = m_plan.subject()->baseCost;
    return base > 0 ? 100 * effect.cost / base : 0;
}

QString PinTableModel::textOf(int row, int column) const
{
    const PinEffect* effect = effectAt(row);
    switch (column) {
    case NameColumn:
        return nameOf(valueAt(row));
    case ChoiceColumn:
        return wordOf(choiceAt(row));
    case PeakColumn:
        return effect == nullptr
                   ? m_plan.refusal().isEmpty() ? QStringLiteral("…") : QStringLiteral("–")
                   : signedText(static_cast<double>(effect->peak) / m_scale.divisor, m_scale.divisor == 1 ? 0 : 1);
    case WorkColumn:
        return effect == nullptr ? m_plan.refusal().isEmpty() ? QStringLiteral("…") : QStringLiteral("–")
                                 : signedText(workOf(*effect), 1);
    default:
        return {};
    }
}

QString PinTableModel::tipOf(int row, int column) const
{
    return column == UndoColumn   ? tr("Take this choice back (Delete)")
           : column == NameColumn ? QString::fromStdString(m_plan.subject()->graph().value(valueAt(row)).name)
                                  : tr("The plan with this choice, less the plan without it");
}

QVariant PinTableModel::detailOf(int row, int column, int role) const
{
    switch (role) {
    case Qt::ToolTipRole:
        return tipOf(row, column);
    case Qt::AccessibleTextRole:
        return column == UndoColumn ? tr("take back") : textOf(row, column);
    case Qt::DecorationRole:
        return column == NameColumn   ? QVariant(decisionPixmap(choiceAt(row)))
               : column == UndoColumn ? QVariant(icons::icon(QStringLiteral("undo")))
                                      : QVariant();
    default:
        return {};
    }
}

std::string PinTableModel::csv() const
{
    CsvText text({"tensor", "choice", "peak_bytes", "work_percent"});
    for (int row = 0; row < rowCount(); ++row) {
        const PinEffect* effect = effectAt(row);
        const auto peak = effect != nullptr ? std::optional(effect->peak) : std::nullopt; // else it is not known
        const auto work = effect != nullptr ? std::optional(workOf(*effect)) : std::nullopt;
        text.row(m_plan.subject()->graph().value(valueAt(row)).name, wordOf(choiceAt(row)), peak, work);
    }
    return text.take();
}

} // namespace retro::views

#include "moc_pintablemodel.cpp"
