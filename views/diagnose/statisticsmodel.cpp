// SPDX-License-Identifier: Apache-2.0
#include "views/diagnose/statisticsmodel.h"

#include "core/diagnosis/numbertext.h"
#include "views/common/widgets/tablecell.h"
#include "views/diagnose/diagnosewords.h"

#include <QBrush>

#include <algorithm>
#include <array>

namespace retro::views
{

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

int StatisticsModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int StatisticsModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : ColumnCount; }

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

QString StatisticsModel::textOf(const diagnosis::CheckRecord& record, int column) const
{
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

QVariant StatisticsModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid()) {
        return {};
    }
    const diagnosis::CheckRecord& record = at(index.row());
    const bool isFigure = index.column() == LargestColumn || index.column() == LimitColumn;
    switch (role) {
    case Qt::DisplayRole:
        return textOf(record, index.column());
    case Qt::ToolTipRole:
        return tr("%1\nOn healthy models: %2")
            .arg(textOf(record, index.column()), QString::fromUtf8(record.check->healthy));
    case Qt::TextAlignmentRole:
        return cellAlignment(isFigure);
    case Qt::FontRole:
        return cellFont(isFigure);
    case Qt::ForegroundRole: {
        const auto level = m_levels.find(record.check->id);
        const bool isFound = level != m_levels.end() && index.column() == CheckColumn;
        const Role calm = record.isRun && index.column() != WhatColumn ? Role::Text : Role::Text3;
        return QBrush(theme()[isFound ? roleOf(level->second) : calm]);
    }
    default:
        return {};
    }
}

QVariant StatisticsModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    constexpr std::array kTitles{QT_TR_NOOP("Check"), QT_TR_NOOP("Largest"), QT_TR_NOOP("Limit"), QT_TR_NOOP("Where"),
                                 QT_TR_NOOP("What is measured")};
    if (orientation != Qt::Horizontal || section < 0 || section >= ColumnCount) {
        return {};
    }
    if (role == Qt::TextAlignmentRole) {
        return cellAlignment(section == LargestColumn || section == LimitColumn);
    }
    return role == Qt::DisplayRole ? QVariant(tr(kTitles[static_cast<std::size_t>(section)])) : QVariant();
}

} // namespace retro::views

#include "moc_statisticsmodel.cpp"
