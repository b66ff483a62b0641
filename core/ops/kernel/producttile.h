// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace retro::ops
{

/// A block of a product that stays in registers: rows × columns of c, from rows of a and a panel of b.
struct ProductTile
{
    const float* a = nullptr;
    std::int64_t aRow = 0;    ///< from row to row of a
    std::int64_t aStep = 1;   ///< along the inner extent
    const float* b = nullptr; ///< `width()` numbers side by side per step
    std::int64_t bStep = 0;
    std::int64_t depth = 0; ///< of the inner extent
    float* c = nullptr;
    std::int64_t cRow = 0;
    std::int64_t rows = 0;            ///< 1 … ProductTiles::rows
    std::int64_t columns = 0;         ///< 1 … ProductTiles::columns
    bool adds = false;                ///< to what c holds
    const float* perColumn = nullptr; ///< added last; null: nothing
};

/// Numbers in bfloat16 lie in pairs: step 2k in the upper half of 32 bits, step 2k + 1 in the lower one. A tile of
/// pairs is a ProductTile whose a and b hold such pairs in place of numbers, and whose depth counts pairs.
///
/// A processor with AVX-512 BF16 adds both products of a pair in one instruction. It takes the upper half first, each
/// product is exact and rounded once with its sum, and numbers below the least normal one count as zero: the bits are
/// those of two steps of float32 under FlushedNumbers.
struct PairTiles
{
    /// Computes one tile of pairs.
    void (*multiply)(const ProductTile& tile) = nullptr;
    /// `depth` (even) steps of `count` numbers beside each other, as a panel of pairs; 0 behind them.
    void (*pack)(const std::uint16_t* from, std::int64_t row, std::int64_t count, std::int64_t depth,
                 float* to) = nullptr;
    /// The same of lines of neighbours along the inner extent, as ProductTiles::turn has it.
    void (*turn)(const std::uint16_t* from, std::int64_t line, std::int64_t count, std::int64_t depth,
                 float* to) = nullptr;
    /// False: the processor has no such instruction, or oneDNN may not use it (ONEDNN_MAX_CPU_ISA).
    [[nodiscard]] bool areThere() const { return multiply != nullptr; }
};

/// `count` (even) numbers as pairs. False, with nothing that counts in `to`, if one of them is not a bfloat16.
[[nodiscard]] bool pairNumbers(const float* from, std::int64_t count, float* to);

/// Some columns of a product of few rows with a matrix whose numbers lie beside each other along the inner extent. Each
/// is read once, as it lies.
struct TurnedProduct
{
    /// Instead of b: numbers of four bits, the lower ones of a byte first. Each is (level - zero) · scale.
    struct Levels
    {
        const std::uint8_t* bytes = nullptr;
        std::int64_t column = 0;       ///< bytes from column to column
        std::int64_t together = 32;    ///< steps of a column that share scale and zero; a multiple of 32
        const float* scales = nullptr; ///< `lanes` columns side by side for each such group
        const float* zeros = nullptr;
        [[nodiscard]] bool areThere() const { return bytes != nullptr; }
    };

    const float* a = nullptr; ///< rows × depth
    std::int64_t aRow = 0;    ///< from row to row of a
    const float* b = nullptr; ///< columns × depth
    std::int64_t bColumn = 0; ///< from column to column of b
    std::int64_t depth = 0;
    std::int64_t block = 1; ///< sums of so many steps are added one after the other
    float* c = nullptr;
    std::int64_t cRow = 0;
    std::int64_t rows = 0;                  ///< 1 … ProductTiles::turnedRows
    std::int64_t columns = 0;               ///< any number
    const float* perColumn = nullptr;       ///< added last; null: nothing
    const std::uint16_t* bfloats = nullptr; ///< b in bfloat16, instead of b
    Levels levels = {};                     ///< instead of b: at most ProductTiles::lanes columns; depth and block
                                            ///< are multiples of 32, or there is one block
};

/// How the processor at hand computes tiles.
struct ProductTiles
{
    std::int64_t rows;    ///< most rows of a tile
    std::int64_t columns; ///< most columns: a panel of b has so many side by side, filled up with zeros
    std::int64_t flat;    ///< a tile of one row may have so many columns as well, all of which it has
    /// Computes one tile. Reads all `columns` numbers of each step of b.
    void (*multiply)(const ProductTile& tile);
    std::int64_t turnedRows; ///< most rows of a TurnedProduct
    std::int64_t lanes;      ///< numbers of a register
    void (*multiplyTurned)(const TurnedProduct& product);
    /// `panels` panels out of b whose numbers lie beside each other from column to column, `panel` numbers apart.
    void (*pack)(const float* from, std::int64_t row, std::int64_t depth, std::int64_t panels, std::int64_t panel,
                 float* to);
    /// to[k · columns + j] = from[j · line + k] for j < count, k < depth; 0 for the other j: lines of neighbours along
    /// the inner extent become a panel.
    void (*turn)(const float* from, std::int64_t line, std::int64_t count, std::int64_t depth, float* to);
    /// The same of numbers in bfloat16.
    void (*turnBfloats)(const std::uint16_t* from, std::int64_t line, std::int64_t count, std::int64_t depth,
                        float* to);
    PairTiles pairs = {};
};

/// One for the whole program. What oneDNN is told to leave unused (ONEDNN_MAX_CPU_ISA) is not used here either.
[[nodiscard]] const ProductTiles& productTiles();

} // namespace retro::ops
