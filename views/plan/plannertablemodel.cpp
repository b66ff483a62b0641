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

using schedule::Attempt;

namespace
{

constexpr double kSymbolRadius = 4;
const QString kNothing = QStringLiteral("–");

/// Another order of the operators that led to the same plan, as far as the table says it.
bool isSame(const Attempt& one, const Attempt& other)
{
    return one.planner == other.planner && one.peak == other.peak && one.cost == other.cost &&
           one.refusal == other.refusal;
}

bool hasPlan(const Attempt& one) { return one.refusal.empty() && one.peak > 0; }

int rankOf(const Attempt& one) { return one.fits ? 0 : hasPlan(one) ? 1 : 2; }

QPixmap symbolPixmap(const Attempt& one, bool isChosen)
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
    : RecordTable(
          {{tr("Planner"), [](const Attempt& one) { return plannerTitle(one.planner); }},
           {tr("Peak %1").arg(ByteScale().unit),
            [this](const Attempt& one) { return hasPlan(one) ? m_scale.figure(one.peak) : kNothing; }, Cells::Figures},
           {tr("Work %"), [this](const Attempt& one) { return workText(one); }, Cells::Figures},
           {tr("To best %"),
            [this](const Attempt& one) {
                return one.fits && m_best > 0 ? fixedText(100 * (one.cost / m_best - 1), 1) : kNothing;
            },
            Cells::Figures}},
          parent)
{}

QString PlannerTableModel::workText(const Attempt& one) const
{
    const double base = m_plan->result.baseCost;
    return hasPlan(one) && base > 0 ? signedText(100 * (one.cost / base - 1), 1) : kNothing;
}

void PlannerTableModel::setPlan(ShownPlanPointer plan, std::vector<Attempt> attempts)
{
    beginResetModel();
    m_plan = std::move(plan);
    std::vector<Attempt> tries;
    m_best = 0;
    if (m_plan) {
        for (Attempt& one : attempts) {
            if (std::ranges::none_of(tries, [&one](const auto& other) { return isSame(one, other); })) {
                tries.push_back(std::move(one));
            }
        }
        m_scale = ByteScale::of(m_plan->subject->storeAllPeak);
        setTitle(PeakColumn, tr("Peak %1").arg(m_scale.unit));
        std::ranges::stable_sort(tries, [](const Attempt& a, const Attempt& b) {
            return std::tuple(rankOf(a), rankOf(a) == 0 ? a.cost : 0.0, a.peak) <
                   std::tuple(rankOf(b), rankOf(b) == 0 ? b.cost : 0.0, b.peak);
        });
        m_best = !tries.empty() && tries.front().fits ? tries.front().cost : 0;
    }
    takeRecords(std::move(tries));
    endResetModel();
}

int PlannerTableModel::chosenRow() const
{
    for (int row = 0; m_plan && row < rowCount(); ++row) {
        const Attempt& one = at(row);
        if (one.planner == m_plan->result.planner && one.peak == m_plan->result.peak) {
            return row;
        }
    }
    return -1;
}

QString PlannerTableModel::tipOf(const Attempt& one) const
{
    if (!one.refusal.empty()) {
        return tr("No plan: %1").arg(QString::fromStdString(one.refusal));
    }
    const QString time = tr("made in %1 ms").arg(fixedText(one.seconds * 1000, 0));
    return one.fits ? tr("Fits; %1. Enter plans with this planner alone.").arg(time)
                    : tr("Does not fit into the budget; %1.").arg(time);
}

QVariant PlannerTableModel::detailOf(int row, int column, int role) const
{
    const Attempt& one = at(row);
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
