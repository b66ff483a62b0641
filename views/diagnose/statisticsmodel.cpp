// SPDX-License-Identifier: Apache-2.0
#include "views/diagnose/statisticsmodel.h"

#include "core/diagnosis/numbertext.h"
#include "views/diagnose/diagnosewords.h"

#include <QBrush>

#include <algorithm>
#include <array>

namespace retro::views
{

StatisticsModel::StatisticsModel(QObject* parent)
    : ColumnTable({{tr("Check")},
                   {tr("Largest"), Cells::Figures},
                   {tr("Limit"), Cells::Figures},
                   {tr("Where")},
                   {tr("What is measured")}},
                  parent)
{}

void StatisticsModel::setDiagnosis(DiagnosisPointer diagnosis)
{
    beginResetModel();
    m_diagnosis = std::move(diagnosis);
    m_rows.clear();
    m_levels.clear();
    if (m_diagnosis) {
        for (const diagnosis::CheckRecord& record : m_diagnosis->checks) {
            m_rows.push_back(&record);
        }
        std::ranges::stable_partition(m_rows, [](const auto* record) { return record->isRun; });
        const auto take = [this](const diagnosis::Finding& finding) {
            diagnosis::Level& level = m_levels.try_emplace(finding.id, finding.level).first->second;
            level = std::max(level, finding.level);
        };
        for (const diagnosis::Finding& finding : m_diagnosis->findings) {
            take(finding);
            std::ranges::for_each(finding.also, take);
        }
    }
    endResetModel();
}

/// The same shapes as the marks of findings.
QString StatisticsModel::signOf(const diagnosis::CheckRecord& record) const
{
    const auto level = m_levels.find(record.check->id);
    if (level == m_levels.end()) {
        return record.isRun ? QStringLiteral("✓") : QStringLiteral("–");
    }
    constexpr std::array kSigns{"●", "▲", "◆", "✕"};
    return QString::fromUtf8(kSigns[static_cast<std::size_t>(level->second)]);
}

QString StatisticsModel::textOf(int row, int column) const
{
    const diagnosis::CheckRecord& record = at(row);
    const bool isMeasured = record.isRun && record.sites > 0;
    switch (column) {
    case CheckColumn:
        return signOf(record) + QStringLiteral("  ") + QString::fromUtf8(record.check->id);
    case LargestColumn:
        return isMeasured ? QString::fromStdString(diagnosis::numberText(record.largest)) : QStringLiteral("–");
    case LimitColumn:
        return record.check->threshold != 0 ? QString::fromStdString(diagnosis::numberText(record.check->threshold))
                                            : QStringLiteral("–");
    case WhereColumn:
        if (!record.isRun) {
            return tr("not run: %1").arg(QString::fromStdString(record.why));
        }
        return isMeasured ? QString::fromStdString(record.largestAt) : tr("no such place");
    default:
        return QString::fromUtf8(record.check->statistic);
    }
}

int StatisticsModel::rows() const { return static_cast<int>(m_rows.size()); }

QVariant StatisticsModel::detailOf(int row, int column, int role) const
{
    const diagnosis::CheckRecord& record = at(row);
    if (role == Qt::ToolTipRole) {
        return tr("%1\nOn healthy models: %2").arg(textOf(row, column), QString::fromUtf8(record.check->healthy));
    }
    if (role != Qt::ForegroundRole) {
        return {};
    }
    const auto level = m_levels.find(record.check->id);
    const bool isFound = level != m_levels.end() && column == CheckColumn;
    const Role calm = record.isRun && column != WhatColumn ? Role::Text : Role::Text3;
    return QBrush(theme()[isFound ? roleOf(level->second) : calm]);
}

} // namespace retro::views

#include "moc_statisticsmodel.cpp"
