// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/live/livelistener.h"

#include "views/common/widgets/columntable.h"
#include <QDateTime>

#include <deque>

namespace retro::app
{

/// The runs that notebooks sent, the newest last; one row each. Beyond kMost the oldest goes, and its file. GUI thread.
class LiveRuns final : public views::ColumnTable
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

private:
    [[nodiscard]] int rows() const override { return static_cast<int>(m_rows.size()); }
    [[nodiscard]] QString textOf(int row, int column) const override;
    [[nodiscard]] QVariant detailOf(int row, int column, int role) const override;

    struct Row
    {
        LiveRun run;
        QDateTime when;
        qint64 bytes = 0;
    };

    std::deque<Row> m_rows;
};

} // namespace retro::app
