// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lut/hostdevice.h"

#include <cstdint>

namespace retro::lut
{

/// Edge of the square tiles of pairs of positions.
inline constexpr std::uint32_t kPairTile = 32;
/// Pairs of one tile, and threads of the block that works on it.
inline constexpr std::uint32_t kTilePairs = kPairTile * kPairTile;
/// Largest numbers of blocks of a launch in x and y.
inline constexpr std::uint64_t kMaxGridX = 0x7FFFFFFF;
inline constexpr std::uint64_t kMaxGridY = 65'535;

RETRO_HOST_DEVICE constexpr std::uint64_t ceilDivide(std::uint64_t count, std::uint64_t size)
{
    return count / size + (count % size != 0 ? 1 : 0);
}

/// Ordered pairs (earlier, later) of a sequence.
RETRO_HOST_DEVICE constexpr std::uint64_t pairCount(std::uint64_t length)
{
    return length % 2 == 0 ? length / 2 * (length - 1) : (length - 1) / 2 * length;
}

/// Two positions, earlier < later.
struct PositionPair
{
    std::uint32_t earlier = 0;
    std::uint32_t later = 0;
};

/// Place of a pair in the list that has the later position outside: (0,1), (0,2), (1,2), (0,3) …
RETRO_HOST_DEVICE constexpr std::uint64_t pairIndex(PositionPair pair) { return pairCount(pair.later) + pair.earlier; }

/// The pair at a place of that list; exact for every index. O(32) steps.
RETRO_HOST_DEVICE constexpr PositionPair pairAt(std::uint64_t index)
{
    // Largest `later` whose first pair does not come after the index, found bit by bit.
    std::uint64_t later = 0;
    for (int bit = 31; bit >= 0; --bit) {
        const std::uint64_t tried = later | (std::uint64_t{1} << bit);
        if (pairCount(tried) <= index) {
            later = tried;
        }
    }
    return {static_cast<std::uint32_t>(index - pairCount(later)), static_cast<std::uint32_t>(later)};
}

/// Blocks that cover all tiles of a sequence's pairs; those below the diagonal have nothing to do.
RETRO_HOST_DEVICE constexpr std::uint64_t tileBlocks(std::uint64_t length)
{
    const std::uint64_t tiles = ceilDivide(length, kPairTile);
    return tiles * tiles;
}

/// True when a block has a pair at all.
RETRO_HOST_DEVICE constexpr bool isTileUsed(std::uint64_t block, std::uint64_t length)
{
    const std::uint64_t tiles = ceilDivide(length, kPairTile);
    return block % tiles <= block / tiles;
}

/// Gives the pair of a thread of a block; false when this thread has none.
RETRO_HOST_DEVICE constexpr bool tilePair(std::uint64_t block, std::uint32_t thread, std::uint64_t length,
                                          PositionPair& pair)
{
    const std::uint64_t tiles = ceilDivide(length, kPairTile);
    const std::uint64_t earlier = block % tiles * kPairTile + thread % kPairTile;
    const std::uint64_t later = block / tiles * kPairTile + thread / kPairTile;
    if (earlier >= later || later >= length) {
        return false;
    }
    pair = {static_cast<std::uint32_t>(earlier), static_cast<std::uint32_t>(later)};
    return true;
}

/// Id of a table's row among all rows of a layer.
RETRO_HOST_DEVICE constexpr std::uint64_t neuronOf(std::uint64_t table, std::uint64_t row, std::uint64_t rowsPerTable)
{
    return table * rowsPerTable + row;
}

/// Place of (sample, position, table) in arrays of shape [B, S, T].
RETRO_HOST_DEVICE constexpr std::uint64_t siteOf(std::uint64_t sample, std::uint64_t position, std::uint64_t table,
                                                 std::uint64_t length, std::uint64_t tables)
{
    return (sample * length + position) * tables + table;
}

/// Place of a row of a table at (sample, position) in the dense arrays of shape [B, S, T, R].
RETRO_HOST_DEVICE constexpr std::uint64_t cellOf(std::uint64_t site, std::uint64_t row, std::uint64_t rowsPerTable)
{
    return site * rowsPerTable + row;
}

/// Places that (sample, later position, table) has for main firing events of the documented path: `later` from here on;
/// for alternative ones twice as many from twice as far. In the order of samples, positions and tables.
RETRO_HOST_DEVICE constexpr std::uint64_t mainEventsAt(std::uint64_t sample, std::uint64_t later, std::uint64_t table,
                                                       std::uint64_t length, std::uint64_t tables)
{
    return (sample * pairCount(length) + pairCount(later)) * tables + table * later;
}

/// A part of a list: [begin, end).
struct IndexRange
{
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

/// The `group`-th group of `size` of a list of `count`; the last is shorter.
RETRO_HOST_DEVICE constexpr IndexRange groupRange(std::uint64_t group, std::uint64_t count, std::uint64_t size)
{
    const std::uint64_t begin = group * size < count ? group * size : count;
    const std::uint64_t end = count - begin < size ? count : begin + size;
    return {begin, end};
}

/// Blocks that are launched for so much work; the threads loop over what is beyond.
RETRO_HOST_DEVICE constexpr std::uint64_t gridExtent(std::uint64_t blocks, std::uint64_t limit)
{
    return blocks < limit ? blocks : limit;
}

/// First item of a thread that loops with gridStride.
RETRO_HOST_DEVICE constexpr std::uint64_t gridFirst(std::uint64_t block, std::uint64_t blockSize, std::uint64_t thread)
{
    return block * blockSize + thread;
}

/// Distance of one thread's items.
RETRO_HOST_DEVICE constexpr std::uint64_t gridStride(std::uint64_t blocks, std::uint64_t blockSize)
{
    return blocks * blockSize;
}

} // namespace retro::lut
