// SPDX-License-Identifier: Apache-2.0
#include "app/gui/live/liveruns.h"

#include <QFile>
#include <QFileInfo>
#include <QLocale>

#include <algorithm>

namespace retro::app
{

LiveRuns::LiveRuns(QObject* parent) : QAbstractTableModel(parent) {}

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

int LiveRuns::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int LiveRuns::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : ColumnCount; }

QString LiveRuns::textOf(const Row& row, int column)
{
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
        return QLocale().formattedDataSize(row.bytes);
    default:
        return {};
    }
}

QVariant LiveRuns::data(const QModelIndex& index, int role) const
{
    if (!index.isValid() || index.row() >= rowCount()) {
        return {};
    }
    const Row& row = m_rows[static_cast<std::size_t>(index.row())];
    if (role == Qt::DisplayRole) {
        return textOf(row, index.column());
    }
    if (role == Qt::TextAlignmentRole && index.column() == Size) {
        return QVariant::fromValue(Qt::Alignment(Qt::AlignRight | Qt::AlignVCenter));
    }
    return role == Qt::ToolTipRole ? QVariant(row.run.path) : QVariant();
}

QVariant LiveRuns::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) {
        return {};
    }
    const QStringList titles{tr("Time"), tr("Model"), tr("Composite"), tr("Target"), tr("Size")};
    return titles.value(section);
}

} // namespace retro::app

#include "moc_liveruns.cpp"
