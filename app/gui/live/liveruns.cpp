// SPDX-License-Identifier: Apache-2.0
#include "app/gui/live/liveruns.h"

#include "views/common/numbertext.h"

#include <QFile>
#include <QFileInfo>
#include <QLocale>

#include <algorithm>

namespace retro::app
{

LiveRuns::LiveRuns(QObject* parent)
    : ColumnTable({{tr("Time")}, {tr("Model")}, {tr("Composite")}, {tr("Target")}, {tr("Size"), Cells::Figures}},
                  parent)
{}

void LiveRuns::add(const LiveRun& run)
{
    // A file that is written once more under its name is another run: the old one is gone.
    const auto same = std::ranges::find(m_rows, run.path, [](const Row& row) { return row.run.path; });
    if (same != m_rows.end()) {
        const int row = static_cast<int>(same - m_rows.begin());
        beginRemoveRows({}, row, row);
        m_rows.erase(same);
        endRemoveRows();
    }
    if (m_rows.size() >= static_cast<std::size_t>(kMost)) {
        beginRemoveRows({}, 0, 0);
        QFile::remove(m_rows.front().run.path);
        m_rows.pop_front();
        endRemoveRows();
    }
    const int row = static_cast<int>(m_rows.size());
    beginInsertRows({}, row, row);
    m_rows.push_back({run, QDateTime::currentDateTime(), QFileInfo(run.path).size()});
    endInsertRows();
}

QString LiveRuns::pathOf(int row) const
{
    return row >= 0 && row < rowCount() ? m_rows[static_cast<std::size_t>(row)].run.path : QString();
}

QString LiveRuns::textOf(int at, int column) const
{
    const Row& row = m_rows[static_cast<std::size_t>(at)];
    switch (column) {
    case When:
        return QLocale().toString(row.when.time(), QStringLiteral("HH:mm:ss"));
    case ModelName:
        return row.run.model;
    case Composite:
        return row.run.composite;
    case Target:
        return row.run.target;
    case Size:
        return views::bytesText(row.bytes);
    default:
        return {};
    }
}

QVariant LiveRuns::detailOf(int row, int /*column*/, int role) const
{
    return role == Qt::ToolTipRole ? QVariant(m_rows[static_cast<std::size_t>(row)].run.path) : QVariant();
}

} // namespace retro::app

#include "moc_liveruns.cpp"
