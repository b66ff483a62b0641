// SPDX-License-Identifier: Apache-2.0
#include "views/diagnose/statisticsmodel.h"

#include "core/diagnosis/numbertext.h"
#include "views/diagnose/diagnosewords.h"

#include <QBrush>

#include <algorithm>
#include <array>

namespace retro::views
{

namespace
{

QString numberOrDash(bool isKnown, double number)
{
    return isKnown ? QString::fromStdString(diagnosis::numberText(number)) : QStringLiteral("–");
}

bool isMeasured(const diagnosis::CheckRecord& record) { return record.isRun && record.sites > 0; }

} // namespace

StatisticsModel::StatisticsModel(QObject* parent)
    : RecordTable(
          {{tr("Check"),
            [this](Check one) { return signOf(*one) + QStringLiteral("  ") + QString::fromUtf8(one->check->id); }},
           {tr("Largest"), [](Check one) { return numberOrDash(isMeasured(*one), one->largest); }, Cells::Figures},
           {tr("Limit"), [](Check one) { return numberOrDash(one->check->threshold != 0, one->check->threshold); },
            Cells::Figures},
           {tr("Where"), whereText},
           {tr("What is measured"), [](Check one) { return QString::fromUtf8(one->check->statistic); }}},
          parent)
{}

QString StatisticsModel::whereText(Check one)
{
    if (!one->isRun) {
        return tr("not run: %1").arg(QString::fromStdString(one->why));
    }
    return isMeasured(*one) ? QString::fromStdString(one->largestAt) : tr("no such place");
}

void StatisticsModel::setDiagnosis(DiagnosisPointer diagnosis)
{
    beginResetModel();
    m_diagnosis = std::move(diagnosis);
    std::vector<Check> rows;
    m_levels.clear();
    if (m_diagnosis) {
        for (const diagnosis::CheckRecord& record : m_diagnosis->checks) {
            rows.push_back(&record);
        }
        std::ranges::stable_partition(rows, [](const auto* record) { return record->isRun; });
        const auto take = [this](const diagnosis::Finding& finding) {
            diagnosis::Level& level = m_levels.try_emplace(finding.id, finding.level).first->second;
            level = std::max(level, finding.level);
        };
        for (const diagnosis::Finding& finding : m_diagnosis->findings) {
            take(finding);
            std::ranges::for_each(finding.also, take);
        }
    }
    takeRecords(std::move(rows));
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

QVariant StatisticsModel::detailOf(int row, int column, int role) const
{
    const diagnosis::CheckRecord& record = *at(row);
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
