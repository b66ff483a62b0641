// SPDX-License-Identifier: Apache-2.0
#include "views/plan/plannertablemodel.h"

#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/theme.h"
#include "views/common/widgets/tablecell.h"
#include "views/plan/pareto.h"

#include <QPainter>
#include <QPixmap>

#include <algorithm>

namespace retro::views
{

namespace
{

constexpr double kSymbolRadius = 4;
const QString kNothing = QStringLiteral("–");

/// Another order of the operators that led to the same plan, as far as the table says it.
bool isSame(const schedule::Attempt& one, const schedule::Attempt& other)
{
    return one.planner == other.planner && one.peak == other.peak && one.cost == other.cost &&
           one.refusal == other.refusal;
}

int rankOf(const schedule::Attempt& one) { return one.fits ? 0 : one.refusal.empty() && one.peak > 0 ? 1 : 2; }

QPixmap symbolPixmap(const schedule::Attempt& one, bool isChosen)
{
    constexpr int kRatio = 2;
    const int side = fonts::px(14);
    QPixmap pixmap(side * kRatio, side * kRatio);
    pixmap.setDevicePixelRatio(kRatio);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    painter.setRenderHint(QPainter::Antialiasing);
    paintSymbol(painter, QPointF(side / 2.0, side / 2.0), fonts::px(kSymbolRadius),
                isChosen ? 3 : symbolOf(one.planner), isChosen, theme());
    return pixmap;
}

} // namespace

PlannerTableModel::PlannerTableModel(QObject* parent)
    : ColumnTable({{tr("Planner")},
                   {tr("Peak %1").arg(ByteScale().unit), Cells::Figures},
                   {tr("Work %"), Cells::Figures},
                   {tr("To best %"), Cells::Figures}},
                  parent)
{}

void PlannerTableModel::setPlan(ShownPlanPointer plan, std::vector<schedule::Attempt> attempts)
{
    beginResetModel();
    m_plan = std::move(plan);
    m_tries.clear();
    m_best = 0;
    if (m_plan) {
        for (schedule::Attempt& one : attempts) {
            if (std::ranges::none_of(m_tries, [&one](const auto& other) { return isSame(one, other); })) {
                m_tries.push_back(std::move(one));
            }
        }
        m_scale = ByteScale::of(m_plan->subject->storeAllPeak);
        setTitle(PeakColumn, tr("Peak %1").arg(m_scale.unit));
        std::ranges::stable_sort(m_tries, [](const schedule::Attempt& a, const schedule::Attempt& b) {
            return std::tuple(rankOf(a), rankOf(a) == 0 ? a.cost : 0.0, a.peak) <
                   std::tuple(rankOf(b), rankOf(b) == 0 ? b.cost : 0.0, b.peak);
        });
        m_best = !m_tries.empty() && m_tries.front().fits ? m_tries.front().cost : 0;
    }
    endResetModel();
}

int PlannerTableModel::chosenRow() const
{
    for (int row = 0; m_plan && row < rowCount(); ++row) {
        const schedule::Attempt& one = at(row);
        if (one.planner == m_plan->result.planner && one.peak == m_plan->result.peak) {
            return row;
        }
    }
    return -1;
}

QString PlannerTableModel::textOf(int row, int column) const
{
    const schedule::Attempt& one = at(row);
    const bool hasPlan = one.refusal.empty() && one.peak > 0;
    switch (column) {
    case NameColumn:
        return plannerTitle(one.planner);
    case PeakColumn:
        return hasPlan ? m_scale.figure(one.peak) : kNothing;
    case WorkColumn:
        return hasPlan && m_plan->result.baseCost > 0 ? signedText(100 * (one.cost / m_plan->result.baseCost - 1), 1)
                                                      : kNothing;
    default:
        return one.fits && m_best > 0 ? fixedText(100 * (one.cost / m_best - 1), 1) : kNothing;
    }
}

QString PlannerTableModel::tipOf(const schedule::Attempt& one) const
{
    if (!one.refusal.empty()) {
        return tr("No plan: %1").arg(QString::fromStdString(one.refusal));
    }
    const QString time = tr("made in %1 ms").arg(fixedText(one.seconds * 1000, 0));
    return one.fits ? tr("Fits; %1. Enter plans with this planner alone.").arg(time)
                    : tr("Does not fit into the budget; %1.").arg(time);
}

int PlannerTableModel::rows() const { return static_cast<int>(m_tries.size()); }

QVariant PlannerTableModel::detailOf(int row, int column, int role) const
{
    const schedule::Attempt& one = at(row);
    const bool isChosen = row == chosenRow();
    switch (role) {
    case Qt::ToolTipRole:
        return tipOf(one);
    case Qt::DecorationRole:
        return column == NameColumn ? QVariant(symbolPixmap(one, isChosen)) : QVariant();
    case Qt::FontRole:
        return cellFont(isFigure(column), isChosen);
    case Qt::ForegroundRole:
        return theme()[one.fits ? Role::Text : Role::Text3];
    default:
        return {};
    }
}

} // namespace retro::views

#include "moc_plannertablemodel.cpp"
