// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"

#include "views/common/widgets/columntable.h"

#include <memory>
#include <optional>
#include <vector>

namespace retro::views
{

/// The events of a run as rows; a filter is a vector of steps that is swapped in. Holds no text: cells are written when
/// they are painted.
class LogModel final : public ColumnTable
{
    Q_OBJECT

public:
    enum Column {
        EventColumn,
        VisitColumn,
        ModeColumn,
        KindColumn,
        NodeColumn,
        PromiseColumn,
        BytesColumn, ///< of the tensor that the event moves
        WhatColumn,
        ColumnCount
    };
    enum Role {
        ModeRole = Qt::UserRole, ///< event::Mode of the visit as int
        IsLaterRole,             ///< after the cursor
        IsCursorRole             ///< the event at the cursor, or the last listed one before it
    };

    explicit LogModel(QObject* parent = nullptr);

    /// Another run, all its events.
    void setRun(std::shared_ptr<const trace::Run> run);
    /// Lists only these steps (ascending).
    void setRows(std::vector<std::uint32_t> steps);
    /// Lists everything again.
    void clearRows();
    void setPosition(std::uint64_t position);

    [[nodiscard]] bool isFiltered() const { return m_isFiltered; }
    /// Size of the tensor that the event at `step` moves; nothing for an event without one.
    [[nodiscard]] std::optional<std::int64_t> bytesOf(std::uint64_t step) const;
    /// Number of the promise that the event at `step` is about; nothing for an event without one.
    [[nodiscard]] std::optional<std::uint32_t> promiseOf(std::uint64_t step) const;
    [[nodiscard]] std::size_t eventCount() const { return m_run ? m_run->events.size() : 0; }
    /// Step of a row.
    [[nodiscard]] std::uint64_t stepAt(int row) const;
    /// Row of the event at the cursor, or of the last listed one before it; −1 for none.
    [[nodiscard]] int cursorRow() const { return rowBefore(m_position); }

private:
    [[nodiscard]] int rows() const override { return static_cast<int>(m_isFiltered ? m_rows.size() : eventCount()); }
    [[nodiscard]] QString textOf(int row, int column) const override { return textAt(stepAt(row), column); }
    [[nodiscard]] QVariant detailOf(int row, int column, int role) const override;
    [[nodiscard]] int rowBefore(std::uint64_t position) const;
    [[nodiscard]] event::Mode modeAt(std::uint64_t step) const;
    [[nodiscard]] QString textAt(std::uint64_t step, int column) const;
    [[nodiscard]] QString nodeAt(std::uint64_t step) const;
    [[nodiscard]] QString tipAt(std::uint64_t step, int column) const;

    std::shared_ptr<const trace::Run> m_run;
    std::vector<event::Mode> m_modes; ///< by visit
    std::vector<std::uint32_t> m_rows;
    bool m_isFiltered = false;
    std::uint64_t m_position = 0;
};

} // namespace retro::views
