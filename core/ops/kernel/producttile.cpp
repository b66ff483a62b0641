// SPDX-License-Identifier: Apache-2.0
// Compiled with products contracted into their sums, and for three widths of
// registers.
#include "core/ops/kernel/producttile.h"

#include "core/ops/kernel/loosevector.h"
#include "core/ops/kernel/registers.h"

#include <array>
#include <cstddef>
#include <cstring>

namespace retro::ops
{

namespace
{

/// Numbers of one register, wherever they lie.
using Four = float __attribute__((vector_size(16), aligned(4), may_alias));
using Eight = float __attribute__((vector_size(32), aligned(4), may_alias));
using Sixteen = float __attribute__((vector_size(64), aligned(4), may_alias));

template <class Vector>
inline constexpr std::int64_t kLanes = sizeof(Vector) / sizeof(float);

template <class Vector, std::size_t rows, std::size_t vectors>
struct Sums
{
    Vector at[rows][vectors];
};

/// Without this the compiler reads a number of a again for each product with
/// it, and reading becomes what takes longest.
template <std::size_t uses, class Vector>
[[gnu::always_inline]] inline void keepInRegister([[maybe_unused]] Vector& value)
{
#if defined(__x86_64__)
    if constexpr (uses > 1) {
        if constexpr (sizeof(Vector) == sizeof(Sixteen)) {
            asm("" : "+v"(value));
        } else {
            asm("" : "+x"(value));
        }
    }
#endif
}

/// Moves on by so many numbers.
template <std::size_t count>
[[gnu::always_inline]] inline void moveOn(const float* (&places)[count], std::int64_t step)
{
#pragma GCC unroll 16
    for (std::size_t i = 0; i < count; ++i) {
        places[i] += step;
    }
}

/// Whole numbers of the same bits as a register's.
template <class Vector>
using Bits = decltype(Vector{} < Vector{});

/// A step is a number.
struct NumberSteps
{
    /// sums += left · right for one row.
    template <class Vector, std::size_t vectors>
    [[gnu::always_inline]] static void addRow(const float* number, const Vector (&right)[vectors],
                                              Vector (&sums)[vectors])
    {
        Vector left = *number - Vector{};
        keepInRegister<vectors>(left);
#pragma GCC unroll 16
        for (std::size_t j = 0; j < vectors; ++j) {
            sums[j] += left * right[j];
        }
    }
};

#if defined(__x86_64__)
/// A step is a pair of numbers in bfloat16.
struct PairSteps
{
    template <class Vector, std::size_t vectors>
    [[gnu::always_inline]] static void addRow(const float* pair, const Vector (&right)[vectors],
                                              Vector (&sums)[vectors])
    {
        std::int32_t bits = 0;
        std::memcpy(&bits, pair, sizeof bits);
        const Bits<Vector> left = bits - Bits<Vector>{};
#pragma GCC unroll 16
        for (std::size_t j = 0; j < vectors; ++j) {
            asm("vdpbf16ps %2, %1, %0" : "+v"(sums[j]) : "v"(right[j]), "v"(left));
        }
    }
};
#endif

/// sums += a · b, one step of the inner extent after the other.
template <class Step, class Vector, std::size_t rows, std::size_t vectors>
[[gnu::always_inline]] inline void addSteps(const ProductTile& tile, Sums<Vector, rows, vectors>& sums)
{
    // Rows of a in threes: an address is a base and at most twice the distance of
    // rows.
    constexpr std::size_t kBases = (rows + 2) / 3;
    const float* a[kBases];
#pragma GCC unroll 16
    for (std::size_t base = 0; base < kBases; ++base) {
        a[base] = tile.a + static_cast<std::int64_t>(3 * base) * tile.aRow;
    }
    const std::int64_t row = tile.aRow;
    const std::int64_t step = tile.aStep;
    const float* b = tile.b;
    for (std::int64_t k = 0; k < tile.depth; ++k, b += tile.bStep) {
        Vector right[vectors];
#pragma GCC unroll 16
        for (std::size_t j = 0; j < vectors; ++j) {
            right[j] = *looseAt<Vector>(b + static_cast<std::int64_t>(j) * kLanes<Vector>);
        }
#pragma GCC unroll 16
        for (std::size_t i = 0; i < rows; ++i) {
            Step::addRow(a[i / 3] + static_cast<std::int64_t>(i % 3) * row, right, sums.at[i]);
        }
        moveOn(a, step);
    }
}

/// Rows of whole registers.
template <class Vector, std::size_t rows, std::size_t vectors>
[[gnu::always_inline]] inline void storeWhole(const ProductTile& tile, const Sums<Vector, rows, vectors>& sums)
{
#pragma GCC unroll 16
    for (std::size_t i = 0; i < rows; ++i) {
        auto* const c =
            reinterpret_cast<typename Loose<Vector>::Type*>(tile.c + static_cast<std::int64_t>(i) * tile.cRow);
#pragma GCC unroll 16
        for (std::size_t j = 0; j < vectors; ++j) {
            Vector value = sums.at[i][j];
            if (tile.adds) {
                value = c[j] + value;
            }
            if (tile.perColumn != nullptr) {
                value = value + *looseAt<Vector>(tile.perColumn + static_cast<std::int64_t>(j) * kLanes<Vector>);
            }
            c[j] = value;
        }
    }
}

/// What goes to c for the sums at `j`.
template <class Vector>
[[gnu::always_inline]] inline void finishSums(const ProductTile& tile, const float* c, std::int64_t j, Vector& value)
{
    if (tile.adds) {
        value = *looseAt<Vector>(c + j) + value;
    }
    if (tile.perColumn != nullptr) {
        value = value + *looseAt<Vector>(tile.perColumn + j);
    }
}

/// `count` sums of a row, at least as many as a register has: the last ones in
/// a register that overlaps those before.
template <class Vector>
[[gnu::always_inline]] inline void storeOverlapping(const ProductTile& tile, const float* sums, std::int64_t count,
                                                    float* c)
{
    const std::int64_t last = count - kLanes<Vector>;
    Vector first = *looseAt<Vector>(sums);
    Vector second = *looseAt<Vector>(sums + last);
    finishSums(tile, c, 0, first);
    finishSums(tile, c, last, second);
    *looseAt<Vector>(c) = first;
    *looseAt<Vector>(c + last) = second;
}

/// The first tile.columns of the sums of one row.
template <class Vector>
[[gnu::always_inline]] inline void storeFirst(const ProductTile& tile, const float* sums, float* c)
{
    if (tile.columns >= kLanes<Vector>) {
        return storeOverlapping<Vector>(tile, sums, tile.columns, c);
    }
    if (kLanes < Vector >> 8 && tile.columns >= 8) {
        return storeOverlapping<Eight>(tile, sums, tile.columns, c);
    }
    if (kLanes < Vector >> 4 && tile.columns >= 4) {
        return storeOverlapping<Four>(tile, sums, tile.columns, c);
    }
    for (std::int64_t j = 0; j < tile.columns; ++j) {
        float value = sums[j];
        finishSums(tile, c, j, value);
        c[j] = value;
    }
}

template <class Vector, std::size_t rows, std::size_t vectors>
[[gnu::always_inline]] inline void storePart(const ProductTile& tile, const Sums<Vector, rows, vectors>& sums)
{
    constexpr std::size_t kWidth = vectors * kLanes<Vector>;
    alignas(64) std::array<float, rows * kWidth> room;
#pragma GCC unroll 16
    for (std::size_t i = 0; i < rows; ++i) {
#pragma GCC unroll 16
        for (std::size_t j = 0; j < vectors; ++j) {
            *looseAt<Vector>(&room[i * kWidth + j * kLanes<Vector>]) = sums.at[i][j];
        }
    }
    for (std::size_t i = 0; i < rows; ++i) {
        storeFirst<Vector>(tile, &room[i * kWidth], tile.c + static_cast<std::int64_t>(i) * tile.cRow);
    }
}

/// Asks for what the sums are added to: it may lie far away, and is needed last.
template <class Vector, std::size_t rows, std::size_t vectors>
[[gnu::always_inline]] inline void fetchSums(const ProductTile& tile)
{
#pragma GCC unroll 16
    for (std::size_t i = 0; i < rows; ++i) {
#pragma GCC unroll 16
        for (std::size_t j = 0; j < vectors; ++j) {
            __builtin_prefetch(tile.c + static_cast<std::int64_t>(i) * tile.cRow +
                               static_cast<std::int64_t>(j) * kLanes<Vector>);
        }
    }
}

template <class Step, class Vector, std::size_t rows, std::size_t vectors>
[[gnu::always_inline]] inline void multiplyRows(const ProductTile& tile)
{
    if (tile.adds) {
        fetchSums<Vector, rows, vectors>(tile);
    }
    Sums<Vector, rows, vectors> sums{};
    addSteps<Step, Vector, rows, vectors>(tile, sums);
    if (tile.columns == static_cast<std::int64_t>(vectors) * kLanes<Vector>) {
        storeWhole<Vector, rows, vectors>(tile, sums);
    } else {
        storePart<Vector, rows, vectors>(tile, sums);
    }
}

/// A case for every number of rows.
template <class Step, class Vector, std::size_t vectors, std::size_t rows, std::size_t... others>
[[gnu::always_inline]] inline void multiplySome(const ProductTile& tile)
{
    if (tile.rows == static_cast<std::int64_t>(rows)) {
        multiplyRows<Step, Vector, rows, vectors>(tile);
        return;
    }
    if constexpr (sizeof...(others) > 0) {
        multiplySome<Step, Vector, vectors, others...>(tile);
    }
}

/// Registers of a tile of one row.
constexpr std::size_t kFlat = 8;

/// Tiles of few columns take one register per row.
template <class Step, class Vector, std::size_t... rows>
[[gnu::always_inline]] inline void multiplyTile(const ProductTile& tile)
{
    if (tile.columns == kFlat * kLanes<Vector>) {
        multiplyRows<Step, Vector, 1, kFlat>(tile);
    } else if (tile.columns <= kLanes<Vector>) {
        multiplySome<Step, Vector, 1, rows...>(tile);
    } else {
        multiplySome<Step, Vector, 2, rows...>(tile);
    }
}

/// Which numbers of two lines the first (or second) of them gets when they
/// exchange blocks of `size`; those of the second line count on from those of
/// the first.
template <std::int64_t size, bool isSecond, class Places>
[[gnu::always_inline]] inline void placeExchange(Places& places)
{
    constexpr std::int64_t kCount = sizeof(Places) / sizeof(std::int32_t);
    for (std::int64_t i = 0; i < kCount; ++i) {
        const bool isUpper = (i & size) != 0;
        const std::int64_t stays = isSecond ? i + kCount : i;
        const std::int64_t comes = isSecond ? i + size : i - size + kCount;
        places[i] = static_cast<std::int32_t>(isUpper == isSecond ? stays : comes);
    }
}

/// result = the numbers of two lines that stand at `places`.
template <class Vector, class Places>
[[gnu::always_inline]] inline void exchange(const Vector& first, const Vector& second, const Places& places,
                                            Vector& result)
{
#if defined(__clang__) // it takes constants alone
    for (std::int64_t i = 0; i < kLanes<Vector>; ++i) {
        const std::int64_t from = places[i];
        result[i] = from < kLanes<Vector> ? first[from] : second[from - kLanes<Vector>];
    }
#else
    result = __builtin_shuffle(first, second, places);
#endif
}

/// As many lines as a register has numbers, turned: number k of line j becomes
/// number j of line k.
template <std::int64_t size, class Vector>
[[gnu::always_inline]] inline void turnLines(Vector (&lines)[kLanes<Vector>])
{
#pragma GCC unroll 16
    for (std::int64_t i = 0; i < kLanes<Vector>; ++i) {
        if ((i & size) == 0) {
            const Vector first = lines[i];
            const Vector second = lines[i + size];
            decltype(first < second) ofFirst{};
            decltype(first < second) ofSecond{};
            placeExchange<size, false>(ofFirst);
            placeExchange<size, true>(ofSecond);
            exchange(first, second, ofFirst, lines[i]);
            exchange(first, second, ofSecond, lines[i + size]);
        }
    }
    if constexpr (size > 1) {
        turnLines<size / 2>(lines);
    }
}

template <class Vector>
[[gnu::always_inline]] inline void loadTurned(const float* (&from)[kLanes<Vector>], std::int64_t k,
                                              Vector (&lines)[kLanes<Vector>])
{
#pragma GCC unroll 16
    for (std::int64_t j = 0; j < kLanes<Vector>; ++j) {
        lines[j] = *looseAt<Vector>(from[j] + k);
    }
    turnLines<kLanes<Vector> / 2>(lines);
}

/// The numbers at k of all lines.
template <class Vector>
[[gnu::always_inline]] inline void loadColumn(const float* (&from)[kLanes<Vector>], std::int64_t k, Vector& numbers)
{
    for (std::int64_t j = 0; j < kLanes<Vector>; ++j) {
        numbers[j] = from[j][k];
    }
}

/// Where lines begin; those behind the last are the last.
template <std::int64_t lanes, class Number>
[[gnu::always_inline]] inline void placeLines(const Number* b, std::int64_t line, std::int64_t count,
                                              const Number* (&from)[lanes])
{
    for (std::int64_t j = 0; j < lanes; ++j) {
        from[j] = b + (j < count ? j : count - 1) * line;
    }
}

/// `count` lines, turned, beside each other from `to` on, `width` numbers from
/// step to step; 0 for the lines behind them.
template <class Vector>
[[gnu::always_inline]] inline void turnSome(const float* b, std::int64_t line, std::int64_t count, std::int64_t depth,
                                            std::int64_t width, float* to)
{
    const float* from[kLanes<Vector>];
    placeLines<kLanes<Vector>>(b, line, count, from);
    std::int64_t k = 0;
    for (; k + kLanes<Vector> <= depth; k += kLanes<Vector>) {
        Vector lines[kLanes<Vector>];
        loadTurned<Vector>(from, k, lines);
#pragma GCC unroll 16
        for (std::int64_t i = 0; i < kLanes<Vector>; ++i) {
            *looseAt<Vector>(to + (k + i) * width) = lines[i];
        }
    }
    for (; k < depth; ++k) {
        Vector column;
        loadColumn<Vector>(from, k, column);
        *looseAt<Vector>(to + k * width) = column;
    }
    for (std::int64_t i = count; i < kLanes<Vector>; ++i) {
        for (std::int64_t step = 0; step < depth; ++step) {
            to[step * width + i] = 0;
        }
    }
}

template <class Vector>
[[gnu::always_inline]] inline void turnPanel(const float* b, std::int64_t line, std::int64_t count, std::int64_t depth,
                                             float* to)
{
    constexpr std::int64_t kWidth = 2 * kLanes<Vector>;
    turnSome<Vector>(b, line, count < kLanes<Vector> ? count : kLanes<Vector>, depth, kWidth, to);
    if (count > kLanes<Vector>) {
        turnSome<Vector>(b + kLanes<Vector> * line, line, count - kLanes<Vector>, depth, kWidth, to + kLanes<Vector>);
        return;
    }
    for (std::int64_t k = 0; k < depth; ++k) {
        *looseAt<Vector>(to + k * kWidth + kLanes<Vector>) = Vector{};
    }
}

inline constexpr int kHalfBits = 16;
inline constexpr std::int32_t kUpperHalf = -0x10000;
inline constexpr std::int32_t kLowerHalf = 0xffff;

[[gnu::always_inline]] inline void storePair(std::uint16_t first, std::uint16_t second, float* to)
{
    const std::uint32_t pair = static_cast<std::uint32_t>(first) << kHalfBits | second;
    std::memcpy(to, &pair, sizeof pair);
}

/// As many lines of bfloat16 as a register has numbers, turned: they lie in pairs, which stay together.
template <class Vector>
[[gnu::always_inline]] inline void loadPairs(const std::uint16_t* (&from)[kLanes<Vector>], std::int64_t k,
                                             Vector (&lines)[kLanes<Vector>])
{
#pragma GCC unroll 16
    for (std::int64_t j = 0; j < kLanes<Vector>; ++j) {
        std::memcpy(&lines[j], from[j] + k, sizeof(Vector));
    }
    turnLines<kLanes<Vector> / 2>(lines);
}
/// The steps of a pair, one after the other.
template <class Vector>
[[gnu::always_inline]] inline void splitPairs(const Vector& pairs, Vector (&two)[2])
{
    two[0] = reinterpret_cast<Vector>(reinterpret_cast<Bits<Vector>>(pairs) << kHalfBits);
    two[1] = reinterpret_cast<Vector>(reinterpret_cast<Bits<Vector>>(pairs) & kUpperHalf);
}

/// Two steps for each number of a register.
template <class Vector>
[[gnu::always_inline]] inline void turnPairs(const std::uint16_t* (&from)[kLanes<Vector>], std::int64_t k,
                                             std::int64_t width, float* to)
{
    Vector lines[kLanes<Vector>];
    loadPairs<Vector>(from, k, lines);
#pragma GCC unroll 16
    for (std::int64_t i = 0; i < kLanes<Vector>; ++i) {
        Vector two[2];
        splitPairs(lines[i], two);
        *looseAt<Vector>(to + (2 * i) * width) = two[0];
        *looseAt<Vector>(to + (2 * i + 1) * width) = two[1];
    }
}

/// The bfloat16 at k of all lines.
template <class Vector>
[[gnu::always_inline]] inline void widenColumn(const std::uint16_t* (&from)[kLanes<Vector>], std::int64_t k, float* to)
{
    for (std::int64_t j = 0; j < kLanes<Vector>; ++j) {
        const std::uint32_t bits = static_cast<std::uint32_t>(from[j][k]) << kHalfBits;
        std::memcpy(to + j, &bits, sizeof bits);
    }
}

/// As turnSome() of numbers in bfloat16; a register takes two steps.
template <class Vector>
[[gnu::always_inline]] inline void turnSomeBfloats(const std::uint16_t* b, std::int64_t line, std::int64_t count,
                                                   std::int64_t depth, std::int64_t width, float* to)
{
    const std::uint16_t* from[kLanes<Vector>];
    placeLines<kLanes<Vector>>(b, line, count, from);
    std::int64_t k = 0;
    for (; k + 2 * kLanes<Vector> <= depth; k += 2 * kLanes<Vector>) {
        turnPairs<Vector>(from, k, width, to + k * width);
    }
    for (; k < depth; ++k) {
        widenColumn<Vector>(from, k, to + k * width);
    }
    for (std::int64_t i = count; i < kLanes<Vector>; ++i) {
        for (std::int64_t step = 0; step < depth; ++step) {
            to[step * width + i] = 0;
        }
    }
}

template <class Vector>
[[gnu::always_inline]] inline void turnBfloatPanel(const std::uint16_t* b, std::int64_t line, std::int64_t count,
                                                   std::int64_t depth, float* to)
{
    constexpr std::int64_t kWidth = 2 * kLanes<Vector>;
    turnSomeBfloats<Vector>(b, line, count < kLanes<Vector> ? count : kLanes<Vector>, depth, kWidth, to);
    if (count > kLanes<Vector>) {
        turnSomeBfloats<Vector>(b + kLanes<Vector> * line, line, count - kLanes<Vector>, depth, kWidth,
                                to + kLanes<Vector>);
        return;
    }
    for (std::int64_t k = 0; k < depth; ++k) {
        *looseAt<Vector>(to + k * kWidth + kLanes<Vector>) = Vector{};
    }
}

#if defined(__x86_64__)
/// As turnSomeBfloats(), with the pairs as PairTiles has them.
template <class Vector>
[[gnu::always_inline]] inline void pairSomeLines(const std::uint16_t* b, std::int64_t line, std::int64_t count,
                                                 std::int64_t depth, std::int64_t width, float* to)
{
    constexpr std::int64_t kSteps = 2 * kLanes<Vector>;
    const std::uint16_t* from[kLanes<Vector>];
    placeLines<kLanes<Vector>>(b, line, count, from);
    std::int64_t k = 0;
    for (; k + kSteps <= depth; k += kSteps) {
        Vector lines[kLanes<Vector>];
        loadPairs<Vector>(from, k, lines);
#pragma GCC unroll 16
        for (std::int64_t i = 0; i < kLanes<Vector>; ++i) {
            const auto pairs = reinterpret_cast<Bits<Vector>>(lines[i]);
            const Bits<Vector> upperFirst = (pairs << kHalfBits) | ((pairs >> kHalfBits) & kLowerHalf);
            *looseAt<Vector>(to + (k / 2 + i) * width) = reinterpret_cast<Vector>(upperFirst);
        }
    }
    for (; k < depth; k += 2) {
        for (std::int64_t j = 0; j < kLanes<Vector>; ++j) {
            storePair(from[j][k], from[j][k + 1], to + k / 2 * width + j);
        }
    }
    for (std::int64_t i = count; i < kLanes<Vector>; ++i) {
        for (std::int64_t step = 0; step < depth / 2; ++step) {
            to[step * width + i] = 0;
        }
    }
}

template <class Vector>
[[gnu::always_inline]] inline void pairPanel(const std::uint16_t* from, std::int64_t line, std::int64_t count,
                                             std::int64_t depth, float* to)
{
    constexpr std::int64_t kHalf = kLanes<Vector>;
    pairSomeLines<Vector>(from, line, count < kHalf ? count : kHalf, depth, 2 * kHalf, to);
    if (count > kHalf) {
        pairSomeLines<Vector>(from + kHalf * line, line, count - kHalf, depth, 2 * kHalf, to + kHalf);
        return;
    }
    for (std::int64_t k = 0; k < depth / 2; ++k) {
        *looseAt<Vector>(to + k * 2 * kHalf + kHalf) = Vector{};
    }
}

/// `count` numbers of two steps, side by side.
[[gnu::always_inline]] inline void pairSomeColumns(const std::uint16_t* first, const std::uint16_t* second,
                                                   std::int64_t count, float* to)
{
    for (std::int64_t j = 0; j < count; ++j) {
        storePair(first[j], second[j], to + j);
    }
}
#endif

/// Rows of b that are packed together: so many streams are fetched ahead.
constexpr std::int64_t kRowsTogether = 4;

/// One step of a panel, and asks for what lies `ahead` numbers behind it.
template <class Vector>
[[gnu::always_inline]] inline void copyStep(const float* from, std::int64_t ahead, float* to)
{
    const Vector first = *looseAt<Vector>(from);
    const Vector second = *looseAt<Vector>(from + kLanes<Vector>);
    *looseAt<Vector>(to) = first;
    *looseAt<Vector>(to + kLanes<Vector>) = second;
    __builtin_prefetch(from + ahead);
    if constexpr (sizeof(Vector) == sizeof(Sixteen)) {
        __builtin_prefetch(from + ahead + kLanes<Vector>);
    }
}

template <class Vector>
[[gnu::always_inline]] inline void packPanels(const float* from, std::int64_t row, std::int64_t depth,
                                              std::int64_t panels, std::int64_t panel, float* to)
{
    constexpr std::int64_t kWidth = 2 * kLanes<Vector>;
    for (std::int64_t k = 0; k < depth; k += kRowsTogether) {
        const std::int64_t rows = depth - k < kRowsTogether ? depth - k : kRowsTogether;
        for (std::int64_t p = 0; p < panels; ++p) {
            for (std::int64_t i = k; i < k + rows; ++i) {
                copyStep<Vector>(from + i * row + p * kWidth, kRowsTogether * row, to + p * panel + i * kWidth);
            }
        }
    }
}

/// own += the steps from k on of some columns, each in `lines`.
template <class Vector, std::size_t rows, std::size_t steps>
[[gnu::always_inline]] inline void addLines(const TurnedProduct& product, std::int64_t k, const Vector (&lines)[steps],
                                            Vector (&own)[rows])
{
#pragma GCC unroll 16
    for (std::size_t i = 0; i < steps; ++i) {
        for (std::size_t row = 0; row < rows; ++row) {
            const std::int64_t at = static_cast<std::int64_t>(row) * product.aRow + k + static_cast<std::int64_t>(i);
            own[row] += product.a[at] * lines[i];
        }
    }
}

/// The sums of the steps from `begin` to `end`.
template <class Vector, std::size_t rows>
[[gnu::always_inline]] inline void multiplyBlock(const TurnedProduct& product, const float* (&from)[kLanes<Vector>],
                                                 std::int64_t begin, std::int64_t end, Vector (&own)[rows])
{
    std::int64_t k = begin;
    for (; k + kLanes<Vector> <= end; k += kLanes<Vector>) {
        Vector lines[kLanes<Vector>];
        loadTurned<Vector>(from, k, lines);
        addLines(product, k, lines, own);
    }
    for (; k < end; ++k) {
        Vector right[1]{};
        loadColumn<Vector>(from, k, right[0]);
        addLines(product, k, right, own);
    }
}

template <class Vector>
[[gnu::always_inline]] inline void storeLines(const TurnedProduct& product, const Vector& sums, std::int64_t first,
                                              std::int64_t count, float* c)
{
    for (std::int64_t j = 0; j < count; ++j) {
        c[j] = product.perColumn == nullptr ? sums[j] : sums[j] + product.perColumn[first + j];
    }
}

/// Bytes that lie so far ahead are asked for: those of the columns after these.
template <class Vector, class Number>
[[gnu::always_inline]] inline void fetchAhead(const Number* (&from)[kLanes<Vector>], std::int64_t k, std::int64_t ahead)
{
    constexpr int kSecondCache = 2;
#pragma GCC unroll 16
    for (std::int64_t j = 0; j < kLanes<Vector>; ++j) {
        __builtin_prefetch(from[j] + k + ahead, 0, kSecondCache);
    }
}

/// The sums of the steps from `begin` to `end`, of numbers in bfloat16: a register takes two steps.
template <class Vector, std::size_t rows>
[[gnu::always_inline]] inline void multiplyBlock(const TurnedProduct& product,
                                                 const std::uint16_t* (&from)[kLanes<Vector>], std::int64_t begin,
                                                 std::int64_t end, Vector (&own)[rows])
{
    std::int64_t k = begin;
    for (; k + 2 * kLanes<Vector> <= end; k += 2 * kLanes<Vector>) {
        fetchAhead<Vector>(from, k, kLanes<Vector> * product.bColumn);
        Vector pairs[kLanes<Vector>];
        loadPairs<Vector>(from, k, pairs);
#pragma GCC unroll 16
        for (std::int64_t i = 0; i < kLanes<Vector>; ++i) {
            Vector two[2];
            splitPairs(pairs[i], two);
            addLines(product, k + 2 * i, two, own);
        }
    }
    for (; k < end; ++k) {
        Vector right[1]{};
        widenColumn<Vector>(from, k, reinterpret_cast<float*>(&right[0]));
        addLines(product, k, right, own);
    }
}

/// Eight steps of numbers of four bits; each is made as it is widened elsewhere.
template <class Vector, std::size_t rows>
[[gnu::always_inline]] inline void addLevels(const TurnedProduct& product, std::int64_t k, const Vector& line,
                                             const Vector& scale, const Vector& zero, Vector (&own)[rows])
{
    constexpr int kBits = 4;
    constexpr int kLevel = 15;
    const auto packed = reinterpret_cast<Bits<Vector>>(line);
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
        const Vector level = __builtin_convertvector((packed >> (i * kBits)) & kLevel, Vector);
        const Vector number[1] = {(level - zero) * scale};
        addLines(product, k + i, number, own);
    }
}

/// The same of numbers of four bits, which are looked at eight at a time.
template <class Vector, std::size_t rows>
[[gnu::always_inline]] inline void multiplyBlock(const TurnedProduct& product,
                                                 const std::uint8_t* (&from)[kLanes<Vector>], std::int64_t begin,
                                                 std::int64_t end, Vector (&own)[rows])
{
    constexpr std::int64_t kSteps = 8;
    constexpr std::int64_t kPerByte = 2;
    constexpr std::int64_t kLine = 128;
    for (std::int64_t k = begin; k < end; k += kSteps) {
        if (k % kLine == 0) {
            fetchAhead<Vector>(from, k / kPerByte, kLanes<Vector> * product.levels.column);
        }
        Vector line;
        for (std::int64_t j = 0; j < kLanes<Vector>; ++j) {
            std::memcpy(reinterpret_cast<float*>(&line) + j, from[j] + k / kPerByte, sizeof(float));
        }
        const std::int64_t group = k / product.levels.together * kLanes<Vector>;
        addLevels(product, k, line, *looseAt<Vector>(product.levels.scales + group),
                  *looseAt<Vector>(product.levels.zeros + group), own);
    }
}

/// As many columns of a product as a register has numbers, or fewer; those of b begin at `b`, `column` numbers apart.
template <class Vector, std::size_t rows, class Number>
[[gnu::always_inline]] inline void multiplyLines(const TurnedProduct& product, const Number* b, std::int64_t column,
                                                 std::int64_t first)
{
    const std::int64_t count = product.columns - first < kLanes<Vector> ? product.columns - first : kLanes<Vector>;
    const Number* from[kLanes<Vector>];
    placeLines<kLanes<Vector>>(b + first * column, column, count, from);
    Vector sums[rows]{};
    for (std::int64_t begin = 0; begin < product.depth; begin += product.block) {
        const std::int64_t end = begin + product.block < product.depth ? begin + product.block : product.depth;
        Vector own[rows]{};
        multiplyBlock<Vector, rows>(product, from, begin, end, own);
        for (std::size_t row = 0; row < rows; ++row) {
            sums[row] = begin == 0 ? own[row] : sums[row] + own[row];
        }
    }
    for (std::size_t row = 0; row < rows; ++row) {
        storeLines(product, sums[row], first, count, product.c + static_cast<std::int64_t>(row) * product.cRow + first);
    }
}

template <class Vector, std::size_t rows>
[[gnu::always_inline]] inline void multiplySomeLines(const TurnedProduct& product, std::int64_t first)
{
    if (product.levels.areThere()) {
        multiplyLines<Vector, rows>(product, product.levels.bytes, product.levels.column, first);
    } else if (product.bfloats != nullptr) {
        multiplyLines<Vector, rows>(product, product.bfloats, product.bColumn, first);
    } else {
        multiplyLines<Vector, rows>(product, product.b, product.bColumn, first);
    }
}

template <class Vector>
[[gnu::always_inline]] inline void multiplyAllLines(const TurnedProduct& product)
{
    for (std::int64_t first = 0; first < product.columns; first += kLanes<Vector>) {
        if (product.rows == 1) {
            multiplySomeLines<Vector, 1>(product, first);
        } else {
            multiplySomeLines<Vector, 2>(product, first);
        }
    }
}

constexpr std::int64_t kTurnedRows = 2;

#if defined(__x86_64__)
constexpr std::int64_t kWideRows = 14;
constexpr std::int64_t kMiddleRows = 6;

[[gnu::target("arch=x86-64-v4")]] void multiplyWide(const ProductTile& tile)
{
    multiplyTile<NumberSteps, Sixteen, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1>(tile);
}
[[gnu::target("arch=x86-64-v4")]] void multiplyTurnedWide(const TurnedProduct& product)
{
    multiplyAllLines<Sixteen>(product);
}
[[gnu::target("arch=x86-64-v4")]] void packWide(const float* from, std::int64_t row, std::int64_t depth,
                                                std::int64_t panels, std::int64_t panel, float* to)
{
    packPanels<Sixteen>(from, row, depth, panels, panel, to);
}
[[gnu::target("arch=x86-64-v4")]] void turnWide(const float* from, std::int64_t line, std::int64_t count,
                                                std::int64_t depth, float* to)
{
    turnPanel<Sixteen>(from, line, count, depth, to);
}
[[gnu::target("arch=x86-64-v4")]] void turnBfloatsWide(const std::uint16_t* from, std::int64_t line, std::int64_t count,
                                                       std::int64_t depth, float* to)
{
    turnBfloatPanel<Sixteen>(from, line, count, depth, to);
}

constexpr std::int64_t kPairWidth = 2 * sizeof(Sixteen) / sizeof(float);

[[gnu::target("arch=x86-64-v4,avx512bf16")]] void multiplyPairs(const ProductTile& tile)
{
    multiplyTile<PairSteps, Sixteen, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1>(tile);
}
[[gnu::target("arch=x86-64-v4,prefer-vector-width=512")]] void
packPairs(const std::uint16_t* from, std::int64_t row, std::int64_t count, std::int64_t depth, float* to)
{
    for (std::int64_t k = 0; k < depth; k += 2, from += 2 * row, to += kPairWidth) {
        if (count == kPairWidth) {
            pairSomeColumns(from, from + row, kPairWidth, to);
        } else {
            pairSomeColumns(from, from + row, count, to);
            std::memset(to + count, 0, static_cast<std::size_t>(kPairWidth - count) * sizeof(float));
        }
    }
}
[[gnu::target("arch=x86-64-v4")]] void turnPairsWide(const std::uint16_t* from, std::int64_t line, std::int64_t count,
                                                     std::int64_t depth, float* to)
{
    pairPanel<Sixteen>(from, line, count, depth, to);
}

[[gnu::target("arch=x86-64-v3")]] void multiplyMiddle(const ProductTile& tile)
{
    multiplyTile<NumberSteps, Eight, 6, 5, 4, 3, 2, 1>(tile);
}
[[gnu::target("arch=x86-64-v3")]] void multiplyTurnedMiddle(const TurnedProduct& product)
{
    multiplyAllLines<Eight>(product);
}
[[gnu::target("arch=x86-64-v3")]] void packMiddle(const float* from, std::int64_t row, std::int64_t depth,
                                                  std::int64_t panels, std::int64_t panel, float* to)
{
    packPanels<Eight>(from, row, depth, panels, panel, to);
}
[[gnu::target("arch=x86-64-v3")]] void turnMiddle(const float* from, std::int64_t line, std::int64_t count,
                                                  std::int64_t depth, float* to)
{
    turnPanel<Eight>(from, line, count, depth, to);
}
[[gnu::target("arch=x86-64-v3")]] void turnBfloatsMiddle(const std::uint16_t* from, std::int64_t line,
                                                         std::int64_t count, std::int64_t depth, float* to)
{
    turnBfloatPanel<Eight>(from, line, count, depth, to);
}
#endif

constexpr std::int64_t kNarrowRows = 4;

void multiplyNarrow(const ProductTile& tile) { multiplyTile<NumberSteps, Four, 4, 3, 2, 1>(tile); }
void multiplyTurnedNarrow(const TurnedProduct& product) { multiplyAllLines<Four>(product); }
void packNarrow(const float* from, std::int64_t row, std::int64_t depth, std::int64_t panels, std::int64_t panel,
                float* to)
{
    packPanels<Four>(from, row, depth, panels, panel, to);
}
void turnNarrow(const float* from, std::int64_t line, std::int64_t count, std::int64_t depth, float* to)
{
    turnPanel<Four>(from, line, count, depth, to);
}
void turnBfloatsNarrow(const std::uint16_t* from, std::int64_t line, std::int64_t count, std::int64_t depth, float* to)
{
    turnBfloatPanel<Four>(from, line, count, depth, to);
}

template <class Vector>
constexpr ProductTiles tilesOf(std::int64_t rows, decltype(ProductTiles::multiply) multiply,
                               decltype(ProductTiles::multiplyTurned) multiplyTurned, decltype(ProductTiles::pack) pack,
                               decltype(ProductTiles::turn) turn, decltype(ProductTiles::turnBfloats) turnBfloats)
{
    return {rows,
            2 * kLanes<Vector>,
            kFlat * kLanes<Vector>,
            multiply,
            kTurnedRows,
            kLanes<Vector>,
            multiplyTurned,
            pack,
            turn,
            turnBfloats,
            {}};
}

ProductTiles fastestTiles()
{
#if defined(__x86_64__)
    if (registersAtHand() == Registers::Wide) {
        ProductTiles tiles =
            tilesOf<Sixteen>(kWideRows, multiplyWide, multiplyTurnedWide, packWide, turnWide, turnBfloatsWide);
        if (hasPairsOfBfloats()) {
            tiles.pairs = {multiplyPairs, packPairs, turnPairsWide};
        }
        return tiles;
    }
    if (registersAtHand() == Registers::Middle) {
        return tilesOf<Eight>(kMiddleRows, multiplyMiddle, multiplyTurnedMiddle, packMiddle, turnMiddle,
                              turnBfloatsMiddle);
    }
#endif
    return tilesOf<Four>(kNarrowRows, multiplyNarrow, multiplyTurnedNarrow, packNarrow, turnNarrow, turnBfloatsNarrow);
}

} // namespace

bool pairNumbers(const float* from, std::int64_t count, float* to)
{
    std::uint32_t rest = 0;
    onWidestRegisters([from, count, to, &rest] {
        std::uint32_t lower = 0;
        for (std::int64_t k = 0; k < count; k += 2) {
            std::uint32_t two[2];
            std::memcpy(two, from + k, sizeof two);
            lower |= two[0] | two[1];
            const std::uint32_t pair = two[0] | two[1] >> static_cast<unsigned>(kHalfBits);
            std::memcpy(to + k / 2, &pair, sizeof pair);
        }
        rest = lower & static_cast<std::uint32_t>(kLowerHalf);
    });
    return rest == 0;
}

const ProductTiles& productTiles()
{
    static const ProductTiles tiles = fastestTiles();
    return tiles;
}

} // namespace retro::ops
