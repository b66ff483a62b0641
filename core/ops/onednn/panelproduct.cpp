// SPDX-License-Identifier: Apache-2.0
#include "core/ops/onednn/panelproduct.h"

#include "core/ops/onednn/onednncontext.h"
#include "core/ops/onednn/sgemm.h"
#include "core/ops/threads.h"

#include <algorithm>
#include <atomic>
#include <memory>

namespace retro::ops::onednn
{

namespace
{

using reference::MatrixView;

constexpr std::int64_t kFewestRows = 32;      // with fewer, the copy costs what it saves
constexpr std::int64_t kMostRows = 540;       // with more, the library copies b itself, however narrow it is
constexpr std::int64_t kBadStride = 512;      // floats in 2 KiB
constexpr std::int64_t kWidth = 256;          // columns of a panel
constexpr std::int64_t kStride = kWidth + 16; // a line of the cache more: successive rows fall on other lines
constexpr std::int64_t kDepth = 1024;         // rows of a panel, which then takes 1.1 MB

struct Panel
{
    std::int64_t row = 0; ///< of b
    std::int64_t column = 0;
    std::int64_t depth = 0;
    std::int64_t width = 0;
};

MatrixView<float> copyOf(const MatrixView<float>& b, const Panel& panel, float* room)
{
    for (std::int64_t k = 0; k < panel.depth; ++k) {
        std::copy_n(b.data + (panel.row + k) * b.rowStride + panel.column, panel.width, room + k * kStride);
    }
    return {room, panel.depth, panel.width, kStride, 1};
}

MatrixView<float> columnsOf(const MatrixView<float>& a, const Panel& panel)
{
    return {a.data + panel.row * a.columnStride, a.rows, panel.depth, a.rowStride, a.columnStride};
}

/// The panels of one strip of columns, one after the other: each adds to what those above it gave.
bool multiplyStrip(const MatrixView<float>& a, const MatrixView<float>& b, std::int64_t column, float* room, float* c)
{
    for (std::int64_t row = 0; row < b.rows; row += kDepth) {
        const Panel panel{row, column, std::min(kDepth, b.rows - row), std::min(kWidth, b.columns - column)};
        const MatrixView<float> right = copyOf(b, panel, room);
        if (!sgemm(columnsOf(a, panel), right, row == 0 ? 0 : 1, c + column, b.columns)) {
            return false;
        }
    }
    return true;
}

} // namespace

bool wantsPanels(const MatrixView<float>& a, const MatrixView<float>& b)
{
    return !hasWideRegisters() && b.columnStride == 1 && b.rowStride % kBadStride == 0 && a.rows >= kFewestRows &&
           a.rows <= kMostRows;
}

bool multiplyInPanels(const MatrixView<float>& a, const MatrixView<float>& b, float* c)
{
    applyThreadsFor(a.rows * b.columns * a.columns);
    std::atomic<bool> isDone = true;
    parallelFor((b.columns + kWidth - 1) / kWidth, 1, [&](std::int64_t begin, std::int64_t end) {
        const auto room =
            std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(std::min(kDepth, b.rows) * kStride));
        for (std::int64_t strip = begin; strip < end; ++strip) {
            if (!multiplyStrip(a, b, strip * kWidth, room.get(), c)) {
                isDone = false;
            }
        }
    });
    return isDone;
}

} // namespace retro::ops::onednn
