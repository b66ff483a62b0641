// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/analysis/joint.h"
#include "core/schedule/simulator.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace retro::views
{

/// What a step does to a tensor.
enum class CellKind : std::uint8_t { Compute, Recompute, Gradient, Offload, Prefetch, Return };
inline constexpr std::size_t kCellKinds = 6; ///< Return: a promise found the value

/// A step at a tensor.
struct ScheduleCell
{
    std::uint32_t row = 0;
    std::uint32_t column = 0;
    CellKind kind = CellKind::Compute;
};

/// A stay of a tensor in memory: columns from … until, the last excluded.
struct ScheduleSpan
{
    std::uint32_t row = 0;
    std::uint32_t from = 0;
    std::uint32_t until = 0;
};

/// What a plan does with a tensor between the forward sweep and the gradients.
enum class Decision : std::uint8_t {
    Keep,      ///< it stays from the forward sweep until a gradient reads it
    Recompute, ///< it is dropped and made again
    Pass       ///< no gradient needs it: it goes with its last forward reader
};

/// A tensor.
struct ScheduleRow
{
    analysis::OpValueId value = 0;
    analysis::OpId op = analysis::kNone; ///< that makes it
    std::uint32_t first = 0;             ///< column of its first cell
    std::uint32_t last = 0;              ///< last column at which it is in memory
    std::uint32_t runs = 0;              ///< how often it is made
    Decision decision = Decision::Pass;
};

/// A computation or a move. What is freed behind it belongs to it.
struct ScheduleColumn
{
    std::uint32_t step = 0; ///< of the plan
    schedule::StepKind kind = schedule::StepKind::Compute;
    analysis::OpId op = analysis::kNone; ///< none for moves
    std::uint32_t row = analysis::kNone; ///< its tensor; none when that has no row
    CellKind cell = CellKind::Compute;
    std::uint64_t bytes = 0;   ///< in memory while it runs
    std::uint32_t live = 0;    ///< tensors with a row that are in memory
    std::uint32_t waiting = 0; ///< tensors with a row that went and will come back
};

/// A plan as a picture: a row per tensor of the forward sweep, in the order in which the plan makes them first, a
/// column per computation or move; the gradient of a tensor stands in the row of the tensor. Gradient tensors of
/// captured graphs have rows of their own. As large as the plan has steps, never rows × columns.
class ScheduleMatrix
{
public:
    ScheduleMatrix() = default;
    /// `run` is what the simulator says of `plan`. O(steps + values, sorted).
    ScheduleMatrix(const analysis::JointGraph& joint, const schedule::Plan& plan, const schedule::Simulation& run);

    /// The same rows over other columns, those of a run: cells and spans in any order. O(cells + spans, sorted).
    [[nodiscard]] ScheduleMatrix over(std::vector<ScheduleColumn> columns, std::vector<ScheduleCell> cells,
                                      std::vector<ScheduleSpan> spans) const;

    [[nodiscard]] std::span<const ScheduleRow> rows() const { return m_rows; }
    [[nodiscard]] std::span<const ScheduleColumn> columns() const { return m_columns; }
    /// By row, then column.
    [[nodiscard]] std::span<const ScheduleCell> cells() const { return m_cells; }
    /// By row, then start.
    [[nodiscard]] std::span<const ScheduleSpan> spans() const { return m_spans; }
    [[nodiscard]] std::span<const ScheduleCell> cellsOf(std::uint32_t row) const;
    [[nodiscard]] std::span<const ScheduleSpan> spansOf(std::uint32_t row) const;
    /// The cell at a place; null when there is none.
    [[nodiscard]] const ScheduleCell* cellAt(std::uint32_t row, std::uint32_t column) const;
    /// Is the tensor of a row in memory at a column?
    [[nodiscard]] bool isLive(std::uint32_t row, std::uint32_t column) const;
    /// The next column behind one (or before it) at which a value goes that will come back, or one is back. O(spans).
    [[nodiscard]] std::optional<std::uint32_t> nextTurn(std::uint32_t column, bool isForward) const;
    /// The row of a value; kNone when it has none.
    [[nodiscard]] std::uint32_t rowOf(analysis::OpValueId value) const;
    /// Column at which the first gradient runs; the number of columns when none does.
    [[nodiscard]] std::uint32_t firstGradient() const { return m_firstGradient; }
    /// Largest of the columns' bytes, and the first column that reaches it.
    [[nodiscard]] std::uint64_t peak() const { return m_peak; }
    [[nodiscard]] std::uint32_t peakAt() const { return m_peakAt; }
    /// Forward operators in the order in which the plan runs them first: what positions in annotations count.
    [[nodiscard]] std::span<const std::uint32_t> rowsOfPosition() const { return m_rowsOfPosition; }

private:
    void addRows(const analysis::JointGraph& joint, const schedule::Plan& plan);
    /// A row of its own, or that of the value whose gradient it is.
    void addRowsOf(const analysis::OpGraph& graph, analysis::OpId op,
                   const std::unordered_map<std::string_view, analysis::OpValueId>& names);
    void addRow(analysis::OpValueId value, analysis::OpId op, analysis::OpValueId owner);
    [[nodiscard]] ScheduleColumn columnOf(const analysis::OpGraph& graph, const schedule::Step& step,
                                          bool isRecompute) const;
    void addColumns(const analysis::JointGraph& joint, const schedule::Plan& plan, const schedule::Simulation& run);
    void addCell(std::uint32_t row, std::uint32_t column);
    void addCells(const analysis::JointGraph& joint);
    void addSpans(const schedule::Plan& plan, const schedule::Simulation& run);
    void countLive();    ///< of the columns, from the spans
    void countWaiting(); ///< of the columns, from the sorted spans
    void findPeak();
    void decide(const analysis::JointGraph& joint);
    [[nodiscard]] Decision decisionOf(std::uint32_t row, bool isForward) const;
    void index();

    std::vector<ScheduleRow> m_rows;
    std::vector<ScheduleColumn> m_columns;
    std::vector<ScheduleCell> m_cells;
    std::vector<ScheduleSpan> m_spans;
    std::vector<std::uint32_t> m_cellStart; ///< per row, and the end
    std::vector<std::uint32_t> m_spanStart;
    std::vector<std::uint32_t> m_rowOfValue; ///< where a value is drawn; kNone
    std::vector<bool> m_isOwnRow;            ///< per value: the row is its own, not that of what it is a gradient of
    std::vector<std::uint32_t> m_rowsOfPosition; ///< per position: first row; then the end
    std::uint64_t m_peak = 0;
    std::uint32_t m_peakAt = 0;
    std::uint32_t m_firstGradient = 0;
};

} // namespace retro::views
