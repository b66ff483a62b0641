// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"
#include "views/common/run/fusednode.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

class QPainter;
class QPoint;
class QRectF;

namespace retro::views
{

class Theme;

/// One unit of a memory: its relevance step by step.
struct MemoryUnit
{
    std::int64_t index = 0;
    std::vector<double> steps; ///< R, summed over the batch
};

/// What the state of a recurrent layer carried back through its steps, in one direction.
struct MemoryFigure
{
    base::NodeId node;
    bool isCell = false;           ///< the cell state of an LSTM; else the state of a GRU or an RNN
    bool isBackward = false;       ///< the layer reads from the last step to the first
    std::vector<MemoryUnit> units; ///< by Σ|R|, the largest first
    std::vector<double> carried;   ///< Σ over the units, by step

    [[nodiscard]] int stepCount() const { return static_cast<int>(carried.size()); }
    [[nodiscard]] bool isEmpty() const { return units.empty(); }
    /// Of one unit at one step; none outside. `unit` counts rows of the drawing.
    [[nodiscard]] std::optional<double> at(int unit, int step) const;
};

/// Nodes of a graph that carry a state from step to step.
[[nodiscard]] std::vector<base::NodeId> recurrentNodes(const graph::Graph& graph);
/// Each direction of an opened recurrent node; empty where it is closed or nothing arrived in it.
[[nodiscard]] std::vector<MemoryFigure> memoryFigures(const FusedNode& fused);

/// Units × steps above, what all units carry below, steps on one axis.
void paintMemory(QPainter& painter, const MemoryFigure& figure, const QRectF& room, const Theme& theme);
/// The cell at a place of the drawing: x a step, y a unit; (−1, −1) beside them.
[[nodiscard]] QPoint memoryCellAt(const MemoryFigure& figure, const QRectF& room, double x, double y);
/// direction, unit, step, relevance; a row for each.
[[nodiscard]] std::string memoryCsv(const std::vector<MemoryFigure>& figures);

} // namespace retro::views
