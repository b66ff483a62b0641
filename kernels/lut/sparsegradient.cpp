// SPDX-License-Identifier: Apache-2.0
#include "kernels/lut/sparsegradient.h"

#include "kernels/lut/cpu/parallel.h"
#include "kernels/lut/indexing.h"

#include <algorithm>
#include <cmath>

namespace retro::lut
{

namespace
{

/// Numbers that a thread takes at once.
constexpr std::uint64_t kNumbersPerItem = 1U << 16;

template <class T>
bool isEntry(T value)
{
    return value != T(0) || std::signbit(value);
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
        const std::span<T> part = dense.subspan(range.begin, range.end - range.begin);
        starts[item + 1] =
            static_cast<std::uint64_t>(std::count_if(part.begin(), part.end(), [](T v) { return isEntry(v); }));
    });
    for (std::uint64_t item = 0; item < items; ++item) {
        starts[item + 1] += starts[item];
    }
    sparse.indices.resize(starts[items]);
    sparse.values.resize(starts[items]);
    cpu::parallelItems(items, used, [&](std::uint64_t item) {
        const IndexRange range = groupRange(item, dense.size(), kNumbersPerItem);
        std::uint64_t to = starts[item];
        for (std::uint64_t i = range.begin; i < range.end; ++i) {
            if (isEntry(dense[i])) {
                sparse.indices[to] = i;
                sparse.values[to++] = dense[i];
                dense[i] = T(0);
            }
        }
    });
}

template void compact(std::span<float>, int, SparseGradient<float>&);
template void compact(std::span<double>, int, SparseGradient<double>&);

} // namespace retro::lut
