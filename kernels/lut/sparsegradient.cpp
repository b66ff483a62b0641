// SPDX-License-Identifier: Apache-2.0
#include "kernels/lut/sparsegradient.h"

#include "kernels/lut/cpu/parallel.h"
#include "kernels/lut/indexing.h"

#include <algorithm>
#include <bit>
#include <type_traits>

namespace retro::lut
{

namespace
{

/// Numbers that a thread takes at once.
constexpr std::uint64_t kNumbersPerItem = 1U << 16;

/// Numbers of which it is asked at once whether there is an entry; most have none.
constexpr std::uint64_t kNumbersPerBlock = 64;

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

/// Everything but +0, the one number without a bit.
template <class T>
BitsOf<T> entryBits(T value)
{
    return std::bit_cast<BitsOf<T>>(value);
}

template <class T>
bool hasEntry(std::span<const T> numbers)
{
    BitsOf<T> any = 0;
    for (const T number : numbers) {
        any |= entryBits(number);
    }
    return any != 0;
}

/// Calls f(i) for each entry, in ascending order.
template <class T, class F>
void forEntries(std::span<const T> numbers, IndexRange range, const F& f)
{
    for (std::uint64_t block = range.begin; block < range.end; block += kNumbersPerBlock) {
        const std::uint64_t end = std::min(block + kNumbersPerBlock, range.end);
        if (!hasEntry(numbers.subspan(block, end - block))) {
            continue;
        }
        for (std::uint64_t i = block; i < end; ++i) {
            if (entryBits(numbers[i]) != 0) {
                f(i);
            }
        }
    }
}

} // namespace

template <class T>
void compact(std::span<T> dense, int threads, SparseGradient<T>& sparse)
{
    const int used = cpu::threadCount(threads);
    const std::uint64_t items = ceilDivide(dense.size(), kNumbersPerItem);
    std::vector<std::uint64_t> starts(items + 1);
    cpu::parallelItems(items, used, [&](std::uint64_t item) {
        const IndexRange range = groupRange(item, dense.size(), kNumbersPerItem);
        std::uint64_t count = 0;
        forEntries<T>(dense, range, [&](std::uint64_t) { ++count; });
        starts[item + 1] = count;
    });
    for (std::uint64_t item = 0; item < items; ++item) {
        starts[item + 1] += starts[item];
    }
    sparse.indices.resize(starts[items]);
    sparse.values.resize(starts[items]);
    cpu::parallelItems(items, used, [&](std::uint64_t item) {
        const IndexRange range = groupRange(item, dense.size(), kNumbersPerItem);
        std::uint64_t to = starts[item];
        forEntries<T>(dense, range, [&](std::uint64_t i) {
            sparse.indices[to] = i;
            sparse.values[to++] = dense[i];
            dense[i] = T(0);
        });
    });
}

template void compact(std::span<float>, int, SparseGradient<float>&);
template void compact(std::span<double>, int, SparseGradient<double>&);

} // namespace retro::lut
