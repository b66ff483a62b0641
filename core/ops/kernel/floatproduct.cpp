// SPDX-License-Identifier: Apache-2.0
#include "core/ops/kernel/floatproduct.h"

#include "core/ops/kernel/flushednumbers.h"
#include "core/ops/kernel/producttile.h"
#include "core/ops/threads.h"

#include <algorithm>
#include <memory>

namespace retro::ops
{

namespace
{

using reference::MatrixView;

constexpr std::int64_t kMostDepth = 384;    // of a block of the inner extent: a few rows of it fit the nearest cache
constexpr std::int64_t kStripColumns = 384; // of b that are packed together: with that depth, 590 kB

constexpr std::int64_t kPanelsApart = 16;     // that are worth a thread when they are packed
constexpr std::int64_t kMostStoredRows = 256; // of a that a panel of stored weights is multiplied with: 390 kB
constexpr std::int64_t kFetchedColumns = 256; // of stored weights that are asked for together

/// The inner extent in blocks.
class Depths
{
public:
    explicit Depths(std::int64_t whole)
        : m_whole(whole), m_block(whole > kMostDepth && whole < 2 * kMostDepth ? (whole + 1) / 2 : kMostDepth)
    {}

    [[nodiscard]] std::int64_t blocks() const { return std::max<std::int64_t>((m_whole + m_block - 1) / m_block, 1); }
    [[nodiscard]] std::int64_t begin(std::int64_t block) const { return std::min(block * m_block, m_whole); }
    [[nodiscard]] std::int64_t length(std::int64_t block) const { return begin(block + 1) - begin(block); }
    /// Of all blocks but the last.
    [[nodiscard]] std::int64_t block() const { return m_block; }
    /// Of the longest block.
    [[nodiscard]] std::int64_t most() const { return std::min(m_block, m_whole); }

private:
    std::int64_t m_whole;
    std::int64_t m_block;
};

/// Numbers beside each other along the first axis of b, `depth` steps, as a panel.
void packPanel(const ProductTiles& tiles, const MatrixView<float>& b, std::int64_t begin, std::int64_t depth,
               std::int64_t column, std::int64_t count, float* to)
{
    const float* from = b.data + begin * b.rowStride + column * b.columnStride;
    if (b.rowStride == 1 && b.columnStride != 1) {
        tiles.turn(from, b.columnStride, count, depth, to);
        return;
    }
    for (std::int64_t k = 0; k < depth; ++k, from += b.rowStride, to += tiles.columns) {
        if (b.columnStride == 1) {
            std::copy_n(from, count, to);
        } else {
            for (std::int64_t j = 0; j < count; ++j) {
                to[j] = from[j * b.columnStride];
            }
        }
        std::fill(to + count, to + tiles.columns, 0.0F);
    }
}

/// These rows and columns of c.
struct Part
{
    std::int64_t firstRow = 0;
    std::int64_t lastRow = 0;
    std::int64_t firstColumn = 0;
    std::int64_t lastColumn = 0;
};

/// Where b is widened from; null: it lies in memory.
struct StoredFactor
{
    const WeightRows* rows = nullptr;
    bool isTurned = false; ///< b is their transpose
};

class FloatProduct
{
public:
    /// `packed`: what packFloats() gave for b, whose data is then not read; null: b is packed on the way.
    /// `stored`: what b is packed from; its data is then not read either.
    FloatProduct(const MatrixView<float>& a, const MatrixView<float>& b, const float* packed, StoredFactor stored,
                 float* c, std::int64_t stride, const AfterProduct& after)
        : m_a(a), m_b(b), m_c(c), m_stride(stride), m_after(after), m_depths(a.columns), m_tiles(productTiles()),
          m_packed(packed), m_stored(stored),
          m_copiesRows(a.columnStride != 1 ||
                       (a.rowStride % kBadStride == 0 && std::min(a.rows, m_tiles.rows) > kMostOnOneLine)),
          m_readsInPlace(packed == nullptr && stored.rows == nullptr && b.columnStride == 1 && a.rows <= m_tiles.rows)
    {}

    /// On the threads at hand.
    void run() const
    {
        const std::int64_t panels = (m_b.columns + m_tiles.columns - 1) / m_tiles.columns;
        const std::int64_t bands = (m_a.rows + m_tiles.rows - 1) / m_tiles.rows;
        if (isForFewRows()) {
            parallelFor(panels, grainOf(m_a.rows * m_tiles.columns), [&](std::int64_t begin, std::int64_t end) {
                const std::int64_t last = std::min(end * m_tiles.columns, m_b.columns);
                const std::int64_t first = begin * m_tiles.columns;
                m_stored.rows == nullptr ? turned(first, last, m_b.data + first * m_b.columnStride, m_b.columnStride)
                                         : turnedStored(first, last);
            });
            return;
        }
        // Columns apart pack no number of b twice; rows apart do, which counts for little where they are many.
        if (panels >= 2 * threads() || bands < kManyBands * threads()) {
            parallelFor(panels, grainOf(m_a.rows * m_tiles.columns), [&](std::int64_t begin, std::int64_t end) {
                run({0, m_a.rows, begin * m_tiles.columns, std::min(end * m_tiles.columns, m_b.columns)});
            });
        } else {
            parallelFor(bands, grainOf(m_b.columns * m_tiles.rows), [&](std::int64_t begin, std::int64_t end) {
                run({begin * m_tiles.rows, std::min(end * m_tiles.rows, m_a.rows), 0, m_b.columns});
            });
        }
    }

    /// b is packed on the way.
    [[nodiscard]] bool packs() const { return m_packed == nullptr && !m_readsInPlace; }
    /// Rows of b's transpose are read as they lie.
    [[nodiscard]] bool isForFewRows() const
    {
        const bool isTurned = m_stored.rows == nullptr ? m_b.rowStride == 1 && m_b.rows > 1 : m_stored.isTurned;
        return m_packed == nullptr && m_a.rows <= m_tiles.turnedRows && isTurned && m_a.columnStride == 1;
    }

private:
    static constexpr std::int64_t kManyBands = 16;
    static constexpr std::int64_t kLine = 16;               // floats in a line of a cache
    static constexpr std::int64_t kBadStride = 1024;        // floats in 4 KiB: rows so far apart fall on the same lines
    static constexpr std::int64_t kMostOnOneLine = 6;       // of so many a cache keeps all
    static constexpr std::int64_t kLinesTogether = 1 << 15; // numbers that are widened before they are multiplied
    static constexpr std::int64_t kLeastLines = 8;
    static constexpr std::int64_t kTurnedTogether = 192; // steps: of a panel so many fit the nearest cache

    using Numbers = std::unique_ptr<float[]>;
    struct Room
    {
        Numbers panels; ///< of b
        Numbers rows;   ///< of a
        Numbers lines;  ///< of b, widened
        Numbers pairs;  ///< of rows of a, in bfloat16
    };

    /// Panels (bands) with `each` elements of c that are worth a thread.
    [[nodiscard]] std::int64_t grainOf(std::int64_t each) const
    {
        const std::int64_t work = std::max<std::int64_t>(each * m_a.columns, 1);
        return (kMultiplicationsPerThread + work - 1) / work;
    }

    static Numbers numbers(std::int64_t count)
    {
        return std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(count));
    }

    void run(const Part& part) const
    {
        if (m_stored.rows != nullptr) {
            return runStored(part);
        }
        Room room;
        if (packs() || (m_readsInPlace && m_b.columns % m_tiles.columns != 0)) {
            const std::int64_t width = packs() ? std::min(part.lastColumn - part.firstColumn, kStripColumns) : 1;
            room.panels = numbers((width + m_tiles.columns - 1) / m_tiles.columns * panelStep(m_depths.most()));
        }
        if (m_copiesRows) {
            room.rows = numbers(m_depths.most() * m_tiles.rows);
        }
        for (std::int64_t column = part.firstColumn; column < part.lastColumn; column += kStripColumns) {
            const std::int64_t last = std::min(column + kStripColumns, part.lastColumn);
            for (std::int64_t block = 0; block < m_depths.blocks(); ++block) {
                strip({part.firstRow, part.lastRow, column, last}, block, room);
            }
        }
    }

    /// Columns [first, last) of a product of few rows; where b lies is left open.
    [[nodiscard]] TurnedProduct fewRows(std::int64_t first, std::int64_t last) const
    {
        TurnedProduct product;
        product.a = m_a.data;
        product.aRow = m_a.rowStride;
        product.depth = m_a.columns;
        product.block = m_depths.block();
        product.c = m_c + first;
        product.cRow = m_stride;
        product.rows = m_a.rows;
        product.columns = last - first;
        product.perColumn = m_after.perColumn == nullptr ? nullptr : m_after.perColumn + first;
        return product;
    }

    void finishFewRows(std::int64_t first, std::int64_t last) const
    {
        if (m_after.rows != nullptr) {
            finish({0, m_a.rows, first, last});
        }
    }

    /// Columns [first, last) of b as they lie: from `data`, `column` numbers apart.
    void turned(std::int64_t first, std::int64_t last, const float* data, std::int64_t column) const
    {
        TurnedProduct product = fewRows(first, last);
        product.b = data;
        product.bColumn = column;
        {
            const FlushedNumbers flushed;
            m_tiles.multiplyTurned(product);
        }
        finishFewRows(first, last);
    }

    /// The same as they are stored, or with some columns widened at a time.
    void turnedStored(std::int64_t first, std::int64_t last) const
    {
        bool isDone = false;
        {
            const FlushedNumbers flushed;
            isDone = m_stored.rows->multiplyFew(fewRows(first, last), first);
        }
        isDone ? finishFewRows(first, last) : turnedWidened(first, last);
    }

    void turnedWidened(std::int64_t first, std::int64_t last) const
    {
        const std::int64_t depth = m_a.columns;
        const std::int64_t together = std::clamp(kLinesTogether / std::max<std::int64_t>(depth, 1), kLeastLines,
                                                 std::max(last - first, kLeastLines));
        const Numbers lines = numbers(together * depth);
        for (std::int64_t begin = first; begin < last; begin += together) {
            const std::int64_t end = std::min(begin + together, last);
            for (std::int64_t j = begin; j < end; ++j) {
                m_stored.rows->widen(j, 0, depth, lines.get() + (j - begin) * depth);
            }
            turned(begin, end, lines.get(), depth);
        }
    }

    /// From panel to panel in a strip; not a power of two, which would put all of them on the same lines of a cache.
    [[nodiscard]] std::int64_t panelStep(std::int64_t depth) const { return (depth * m_tiles.columns) + kLine; }

    void packStrip(const Part& part, std::int64_t block, float* to) const
    {
        const std::int64_t depth = m_depths.length(block);
        const std::int64_t begin = m_depths.begin(block);
        const std::int64_t whole = m_b.columnStride == 1 ? (part.lastColumn - part.firstColumn) / m_tiles.columns : 0;
        m_tiles.pack(m_b.data + begin * m_b.rowStride + part.firstColumn, m_b.rowStride, depth, whole, panelStep(depth),
                     to);
        to += whole * panelStep(depth);
        for (std::int64_t j = part.firstColumn + whole * m_tiles.columns; j < part.lastColumn; j += m_tiles.columns) {
            packPanel(m_tiles, m_b, begin, depth, j, std::min(m_tiles.columns, part.lastColumn - j), to);
            to += panelStep(depth);
        }
    }

    /// With stored weights: some rows of a lie near, and each panel of b is widened just before it is multiplied with
    /// all of them, so that it never leaves the near caches.
    void runStored(const Part& part) const
    {
        const std::int64_t rows = part.lastRow - part.firstRow;
        const std::int64_t groups = (rows + kMostStoredRows - 1) / kMostStoredRows;
        Room room;
        room.panels = numbers(panelsTogether() * panelStep(m_depths.most()));
        room.rows = numbers((rows + groups - 1) / groups * m_depths.most());
        room.lines = numbers(std::max(kTurnedTogether, panelsTogether()) * m_tiles.columns);
        room.pairs = numbers(mayPair() ? (rows + groups - 1) / groups * m_depths.most() / 2 : 0);
        for (std::int64_t i = 0; i < groups; ++i) {
            const Part group{part.firstRow + rows * i / groups, part.firstRow + rows * (i + 1) / groups,
                             part.firstColumn, part.lastColumn};
            for (std::int64_t block = 0; block < m_depths.blocks(); ++block) {
                copyRows(group, block, room.rows.get());
                const bool inPairs = pairRows(group, block, room);
                for (std::int64_t j = part.firstColumn; j < part.lastColumn; j += kFetchedColumns) {
                    const std::int64_t last = std::min(j + kFetchedColumns, part.lastColumn);
                    storedStrip({group.firstRow, group.lastRow, j, last}, block, inPairs, room,
                                following(group, j, block));
                }
            }
        }
    }

    /// Panels that are widened at a time: of what is slow to begin with, as many as a strip has.
    [[nodiscard]] std::int64_t panelsTogether() const
    {
        return m_stored.isTurned || m_stored.rows->beginsFast() ? 1 : kFetchedColumns / m_tiles.columns;
    }

    /// Rows of a, `depth` numbers each.
    void copyRows(const Part& part, std::int64_t block, float* to) const
    {
        const std::int64_t depth = m_depths.length(block);
        for (std::int64_t i = part.firstRow; i < part.lastRow; ++i, to += depth) {
            const float* const from = m_a.data + i * m_a.rowStride + m_depths.begin(block) * m_a.columnStride;
            if (m_a.columnStride == 1) {
                std::copy_n(from, depth, to);
                continue;
            }
            for (std::int64_t k = 0; k < depth; ++k) {
                to[k] = from[k * m_a.columnStride];
            }
        }
    }

    /// True where numbers that are stored in bfloat16 can be multiplied as pairs.
    [[nodiscard]] bool mayPair() const
    {
        return m_tiles.pairs.areThere() && m_stored.rows->bfloats(0, 0) != nullptr && m_a.rows > 0 && m_a.columns > 1;
    }

    /// Pairs of the rows of a that lie near. False: one of their numbers is no bfloat16, as those of a pass backward.
    [[nodiscard]] bool pairRows(const Part& part, std::int64_t block, const Room& room) const
    {
        const std::int64_t depth = m_depths.length(block);
        if (!mayPair() || depth % 2 != 0) {
            return false;
        }
        for (std::int64_t i = 0; i < part.lastRow - part.firstRow; ++i) {
            if (!pairNumbers(room.rows.get() + i * depth, depth, room.pairs.get() + i * (depth / 2))) {
                return false;
            }
        }
        return true;
    }

    /// Columns [first, first + count) of the block of b as a panel of pairs.
    void pairPanel(std::int64_t first, std::int64_t count, std::int64_t block, const Room& room) const
    {
        const std::int64_t depth = m_depths.length(block);
        const std::int64_t begin = m_depths.begin(block);
        const std::int64_t length = m_stored.rows->length();
        if (m_stored.isTurned) {
            m_tiles.pairs.turn(m_stored.rows->bfloats(first, begin), length, count, depth, room.panels.get());
        } else {
            m_tiles.pairs.pack(m_stored.rows->bfloats(begin, first), length, count, depth, room.panels.get());
        }
    }

    /// Columns [first, first + count) of the block of b as panels.
    void widenPanels(std::int64_t first, std::int64_t count, std::int64_t block, const Room& room) const
    {
        const std::int64_t depth = m_depths.length(block);
        const std::int64_t begin = m_depths.begin(block);
        if (!m_stored.isTurned) {
            m_stored.rows->widenPanels(begin, depth, first, count,
                                       {m_tiles.columns, panelStep(depth), room.lines.get(), room.panels.get()});
        } else if (const std::uint16_t* const bfloats = m_stored.rows->bfloats(first, begin)) {
            m_tiles.turnBfloats(bfloats, m_stored.rows->length(), count, depth, room.panels.get());
        } else {
            turnPanel(first, count, block, room);
        }
    }

    /// A panel of numbers that lie beside each other along the inner extent.
    void turnPanel(std::int64_t first, std::int64_t count, std::int64_t block, const Room& room) const
    {
        const std::int64_t depth = m_depths.length(block);
        for (std::int64_t k = 0; k < depth; k += kTurnedTogether) {
            const std::int64_t piece = std::min(kTurnedTogether, depth - k);
            for (std::int64_t i = 0; i < count; ++i) {
                m_stored.rows->widen(first + i, m_depths.begin(block) + k, piece, room.lines.get() + i * piece);
            }
            m_tiles.turn(room.lines.get(), piece, count, piece, room.panels.get() + k * m_tiles.columns);
        }
    }

    /// A part of what is widened next.
    struct Following
    {
        std::int64_t firstRow = 0; ///< of what is stored
        std::int64_t rows = 0;
        std::int64_t begin = 0; ///< in a row
        std::int64_t count = 0;
    };

    /// What is stored of the columns behind these, or of the next block; nothing behind the last ones.
    [[nodiscard]] Following following(const Part& part, std::int64_t column, std::int64_t block) const
    {
        const bool isLast = column + kFetchedColumns >= part.lastColumn;
        if (isLast && block + 1 == m_depths.blocks()) {
            return {};
        }
        const std::int64_t next = isLast ? part.firstColumn : column + kFetchedColumns;
        const std::int64_t columns = std::min(kFetchedColumns, part.lastColumn - next);
        const std::int64_t begin = m_depths.begin(isLast ? block + 1 : block);
        const std::int64_t depth = m_depths.length(isLast ? block + 1 : block);
        return m_stored.isTurned ? Following{next, columns, begin, depth} : Following{begin, depth, next, columns};
    }

    /// Asks for the rows that stand for tile `tile` of `tiles`: memory is read while tiles are multiplied.
    void fetch(const Following& next, std::int64_t tile, std::int64_t tiles) const
    {
        for (std::int64_t row = next.rows * tile / tiles; row < next.rows * (tile + 1) / tiles; ++row) {
            m_stored.rows->fetch(next.firstRow + row, next.begin, next.count);
        }
    }

    void storedStrip(const Part& part, std::int64_t block, bool inPairs, const Room& room, const Following& next) const
    {
        const std::int64_t together = panelsTogether() * m_tiles.columns; // what is in bfloat16 begins fast: one panel
        const std::int64_t bands = (part.lastRow - part.firstRow + m_tiles.rows - 1) / m_tiles.rows;
        const std::int64_t tiles = (part.lastColumn - part.firstColumn + m_tiles.columns - 1) / m_tiles.columns * bands;
        std::int64_t tile = 0;
        for (std::int64_t j = part.firstColumn; j < part.lastColumn; j += m_tiles.columns) {
            const std::int64_t inStrip = (j - part.firstColumn) % together;
            const std::int64_t count = std::min(together, part.lastColumn - j);
            if (inPairs) {
                pairPanel(j, count, block, room);
            } else if (inStrip == 0) {
                widenPanels(j, count, block, room);
            }
            const std::int64_t last = std::min(j + m_tiles.columns, part.lastColumn);
            const float* const panel =
                room.panels.get() + inStrip / m_tiles.columns * panelStep(m_depths.length(block));
            storedPanel({part.firstRow, part.lastRow, j, last}, block, inPairs, panel,
                        inPairs ? room.pairs.get() : room.rows.get(), [&] { fetch(next, tile++, tiles); });
        }
        if (block + 1 == m_depths.blocks() && m_after.rows != nullptr) {
            finish(part);
        }
    }

    /// One panel and all rows of a that lie near; calls `before` before each tile.
    template <class Before>
    void storedPanel(const Part& part, std::int64_t block, bool inPairs, const float* panel, const float* a,
                     const Before& before) const
    {
        const auto multiply = inPairs ? m_tiles.pairs.multiply : m_tiles.multiply;
        const std::int64_t rows = part.lastRow - part.firstRow;
        const std::int64_t bands = (rows + m_tiles.rows - 1) / m_tiles.rows;
        const bool isLast = block + 1 == m_depths.blocks();
        ProductTile tile;
        tile.depth = inPairs ? m_depths.length(block) / 2 : m_depths.length(block);
        tile.aRow = tile.depth;
        tile.b = panel;
        tile.bStep = m_tiles.columns;
        tile.cRow = m_stride;
        tile.columns = part.lastColumn - part.firstColumn;
        tile.adds = block > 0;
        tile.perColumn = isLast && m_after.perColumn != nullptr ? m_after.perColumn + part.firstColumn : nullptr;
        const FlushedNumbers flushed;
        for (std::int64_t i = 0; i < bands; ++i) {
            const std::int64_t first = rows * i / bands;
            tile.rows = rows * (i + 1) / bands - first;
            tile.a = a + first * tile.depth;
            tile.c = m_c + (part.firstRow + first) * m_stride + part.firstColumn;
            before();
            multiply(tile);
        }
    }

    void strip(const Part& part, std::int64_t block, const Room& room) const
    {
        if (packs()) {
            packStrip(part, block, room.panels.get());
        }
        const std::int64_t rows = part.lastRow - part.firstRow;
        const std::int64_t bands = (rows + m_tiles.rows - 1) / m_tiles.rows;
        for (std::int64_t i = 0; i < bands; ++i) {
            const Part tiles{part.firstRow + rows * i / bands, part.firstRow + rows * (i + 1) / bands, part.firstColumn,
                             part.lastColumn};
            band(tiles, block, room);
            if (block + 1 == m_depths.blocks() && m_after.rows != nullptr) {
                finish(tiles);
            }
        }
    }

    void finish(const Part& part) const
    {
        const std::int64_t columns = part.lastColumn - part.firstColumn;
        if (columns == m_stride) {
            m_after.rows->over(m_c + part.firstRow * m_stride, (part.lastRow - part.firstRow) * m_stride);
            return;
        }
        for (std::int64_t i = part.firstRow; i < part.lastRow; ++i) {
            m_after.rows->over(m_c + i * m_stride + part.firstColumn, columns);
        }
    }

    /// Rows of one tile, and all columns of a strip.
    void band(const Part& part, std::int64_t block, const Room& room) const
    {
        const std::int64_t begin = m_depths.begin(block);
        ProductTile tile;
        tile.depth = m_depths.length(block);
        tile.rows = part.lastRow - part.firstRow;
        tile.a = m_a.data + part.firstRow * m_a.rowStride + begin * m_a.columnStride;
        tile.aRow = m_a.rowStride;
        tile.cRow = m_stride;
        tile.adds = block > 0;
        if (m_copiesRows) {
            copyRows(tile, room.rows.get());
        }
        const bool isLast = block + 1 == m_depths.blocks();
        const FlushedNumbers flushed;
        for (std::int64_t j = part.firstColumn; j < part.lastColumn; j += tile.columns) {
            const bool isFlat = m_readsInPlace && m_a.rows == 1 && part.lastColumn - j >= m_tiles.flat;
            tile.columns = isFlat ? m_tiles.flat : std::min(m_tiles.columns, part.lastColumn - j);
            tile.c = m_c + part.firstRow * m_stride + j;
            tile.perColumn = isLast && m_after.perColumn != nullptr ? m_after.perColumn + j : nullptr;
            placePanel(tile, block, j, j - part.firstColumn, room);
            m_tiles.multiply(tile);
        }
    }

    /// Says where the tile reads b: at column j, which is `inStrip` columns behind the first of its strip.
    void placePanel(ProductTile& tile, std::int64_t block, std::int64_t j, std::int64_t inStrip, const Room& room) const
    {
        const auto inPlace = [&] { return m_b.data + m_depths.begin(block) * m_b.rowStride + j; };
        tile.b = m_packed;
        tile.bStep = m_tiles.columns;
        if (m_packed != nullptr) {
            const std::int64_t panels = (m_b.columns + m_tiles.columns - 1) / m_tiles.columns;
            tile.b = m_packed + m_depths.begin(block) * panels * m_tiles.columns + j * tile.depth;
        } else if (!m_readsInPlace) {
            tile.b = room.panels.get() + inStrip / m_tiles.columns * panelStep(tile.depth);
        } else if (tile.columns >= m_tiles.columns) {
            tile.b = inPlace();
            tile.bStep = m_b.rowStride;
        } else {
            packPanel(m_tiles, m_b, m_depths.begin(block), tile.depth, j, tile.columns, room.panels.get());
            tile.b = room.panels.get();
        }
    }

    /// The tile's rows of a where they are near each other.
    void copyRows(ProductTile& tile, float* to) const
    {
        const float* from = tile.a;
        if (m_a.columnStride == 1) {
            for (std::int64_t i = 0; i < tile.rows; ++i) {
                std::copy_n(from + i * m_a.rowStride, tile.depth, to + i * tile.depth);
            }
            tile.aRow = tile.depth;
        } else {
            for (std::int64_t k = 0; k < tile.depth; ++k) {
                for (std::int64_t i = 0; i < tile.rows; ++i) {
                    to[k * tile.rows + i] = from[i * m_a.rowStride + k * m_a.columnStride];
                }
            }
            tile.aRow = 1;
            tile.aStep = tile.rows;
        }
        tile.a = to;
    }

    MatrixView<float> m_a;
    MatrixView<float> m_b;
    float* m_c;
    std::int64_t m_stride;
    AfterProduct m_after;
    Depths m_depths;
    const ProductTiles& m_tiles;
    const float* m_packed;
    StoredFactor m_stored;
    bool m_copiesRows;
    bool m_readsInPlace; ///< b, of which each number is needed once
};

} // namespace

void multiplyFloats(const MatrixView<float>& a, const MatrixView<float>& b, float* c, std::int64_t stride,
                    const AfterProduct& after)
{
    FloatProduct(a, b, nullptr, {}, c, stride, after).run();
}

bool isPackingLong(const MatrixView<float>& a, const MatrixView<float>& b)
{
    constexpr std::int64_t kManyRows = 196; // from here on it takes less
    const FloatProduct product(a, b, nullptr, {}, nullptr, b.columns, {});
    return a.rows < kManyRows && product.packs() && !product.isForFewRows();
}

tensor::Tensor packFloats(const MatrixView<float>& b)
{
    const ProductTiles& tiles = productTiles();
    const Depths depths(b.rows);
    const std::int64_t panels = (b.columns + tiles.columns - 1) / tiles.columns;
    tensor::TensorBuffer buffer(tensor::DType::Float32, {b.rows * panels * tiles.columns});
    float* const to = buffer.data<float>();
    parallelFor(panels, kPanelsApart, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t block = 0; block < depths.blocks(); ++block) {
            const std::int64_t depth = depths.length(block);
            float* const panel = to + depths.begin(block) * panels * tiles.columns;
            for (std::int64_t i = begin; i < end; ++i) {
                const std::int64_t column = i * tiles.columns;
                packPanel(tiles, b, depths.begin(block), depth, column, std::min(tiles.columns, b.columns - column),
                          panel + column * depth);
            }
        }
    });
    return std::move(buffer).freeze();
}

void multiplyPacked(const MatrixView<float>& a, const tensor::Tensor& packed, std::int64_t columns, float* c,
                    std::int64_t stride, const AfterProduct& after)
{
    const MatrixView<float> b{nullptr, a.columns, columns, columns, 1};
    const std::int64_t width = productTiles().columns;
    base::guard(packed.size() == a.columns * ((columns + width - 1) / width) * width, "a packed matrix has its size");
    FloatProduct(a, b, packed.data<float>(), {}, c, stride, after).run();
}

void multiplyStored(const MatrixView<float>& a, const WeightRows& weights, bool isTurned, float* c, std::int64_t stride,
                    const AfterProduct& after)
{
    const std::int64_t rows = isTurned ? weights.length() : weights.rows();
    const std::int64_t columns = isTurned ? weights.rows() : weights.length();
    base::guard(a.columns == rows, "the columns of a matrix meet the rows of the weights");
    const MatrixView<float> b{nullptr, rows, columns, isTurned ? 1 : columns, isTurned ? rows : 1};
    FloatProduct(a, b, nullptr, {&weights, isTurned}, c, stride, after).run();
}

} // namespace retro::ops
