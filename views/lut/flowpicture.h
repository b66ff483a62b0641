// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lut/schedule.h"

#include <QPointF>
#include <QRectF>
#include <QSizeF>

#include <functional>
#include <vector>

namespace retro::views
{

/// A kernel or a buffer in the picture of a pass.
struct FlowBox
{
    bool isKernel = false;
    std::size_t pass = 0;  ///< which of the schedules
    std::size_t index = 0; ///< of its launches, or of its buffers
    QRectF rect;
    std::size_t stack = 0; ///< boxes of one stack lie on each other; their arrows start and end at the whole of it
};

/// What a kernel reads (from buffer to kernel) or writes; of several buffers of a stack, the first stands for all.
struct FlowEdge
{
    std::size_t from = 0; ///< boxes
    std::size_t to = 0;
    bool isWrite = false;
    std::vector<QPointF> points;
};

/// The number of a launch, counted from 1 through all passes: the same in every view.
[[nodiscard]] std::size_t launchNumber(const std::vector<lut::Schedule>& schedules, std::size_t pass,
                                       std::size_t launch);

/// The data flow of passes, drawn from their launch schedules: beside each other where there is room, else one below
/// the other; each from its inputs down to its results. Buffers that always go together (rows with their weakest
/// comparisons, sparse weights) are stacked. A buffer that a kernel both reads and writes has the arrow of the reading;
/// the other would run in a circle. Plain geometry, in design pixels.
struct FlowPicture
{
    std::vector<lut::Schedule> schedules;
    std::vector<FlowBox> boxes;
    std::vector<FlowEdge> edges;
    std::vector<QRectF> passes; ///< the room of each
    QSizeF size;
    bool isBeside = false; ///< the passes stand beside each other

    /// The box under a point; none: boxes.size().
    [[nodiscard]] std::size_t boxAt(const QPointF& point) const;
    /// The box of a launch; none: boxes.size().
    [[nodiscard]] std::size_t kernelBox(std::size_t pass, std::size_t launch) const;
    /// The number of a kernel, counted from 1 through all passes.
    [[nodiscard]] std::size_t numberOf(const FlowBox& box) const
    {
        return launchNumber(schedules, box.pass, box.index);
    }
    [[nodiscard]] const lut::Launch& launch(const FlowBox& box) const
    {
        return schedules[box.pass].launches[box.index];
    }
    [[nodiscard]] const lut::Buffer& buffer(const FlowBox& box) const { return schedules[box.pass].buffers[box.index]; }
};

/// Size that a box needs, in design pixels: of a kernel, or of a buffer.
struct FlowSizes
{
    std::function<QSizeF(const lut::Launch&)> kernel;
    std::function<QSizeF(const lut::Buffer&)> buffer;
    double width = 0; ///< of rows of what a kernel starts from; half of it for its results; 0 = one row of any width
    double room = 0;  ///< width in which passes may stand beside each other
};

/// Draws the schedules. Empty when there is none.
[[nodiscard]] FlowPicture flowPicture(std::vector<lut::Schedule> schedules, const FlowSizes& sizes);

} // namespace retro::views
