// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/live/livelistener.h"

#include <QAbstractTableModel>
#include <QDateTime>

#include <deque>

namespace retro::app
{

/// The runs that notebooks sent, the newest last; one row each. Beyond kMost the oldest goes, and its file. GUI thread.
class LiveRuns final : public QAbstractTableModel
{
    Q_OBJECT

public:
    enum Column { When, ModelName, Composite, Target, Size, ColumnCount };
    static constexpr int kMost = 200;

    explicit LiveRuns(QObject* parent = nullptr);

    /// Adds a run at the end.
    void add(const LiveRun& run);
    /// Path of the run file of a row; empty where there is no such row.
    [[nodiscard]] QString pathOf(int row) const;

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    struct Row
    {
        LiveRun run;
        QDateTime when;
        qint64 bytes = 0;
    };
    [[nodiscard]] static QString textOf(const Row& row, int column);

    std::deque<Row> m_rows;
};

} // namespace retro::app
