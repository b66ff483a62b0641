// SPDX-License-Identifier: Apache-2.0
// Compiled with products contracted into their sums, as the library's convolutions are, and for three widths of
// registers.
#include "core/ops/kernel/weightedlists.h"

#include "core/ops/kernel/loosevector.h"

#include <array>
#include <cstddef>

namespace retro::ops
{

namespace
{

/// Numbers of one register, wherever they lie. The vectors of the widest registers are no good on narrower ones.
using Eight = float __attribute__((vector_size(32), aligned(4), may_alias));
using Sixteen = float __attribute__((vector_size(64), aligned(4), may_alias));

struct Lists
{
    const WeightedEntry* entries;
    const std::int64_t* starts;
    std::int64_t count;
    const float* weights;
    float* out;
    std::int64_t step;
};

/// One list, which is not empty. The sums stay in `registers` registers while it is walked.
template <class Vector, std::size_t registers>
[[gnu::always_inline]] inline void addList(const WeightedEntry* entry, const WeightedEntry* end, const float* weights,
                                           float* out)
{
    auto* const place = reinterpret_cast<typename Loose<Vector>::Type*>(out);
    std::array<Vector, registers> sums;
#pragma GCC unroll 8
    for (std::size_t k = 0; k < registers; ++k) {
        sums[k] = place[k];
    }
    for (; entry != end; ++entry) {
        const auto* const row = reinterpret_cast<const typename Loose<Vector>::Type*>(weights + entry->row);
        const float value = entry->value;
#pragma GCC unroll 8
        for (std::size_t k = 0; k < registers; ++k) {
            sums[k] += value * row[k];
        }
    }
#pragma GCC unroll 8
    for (std::size_t k = 0; k < registers; ++k) {
        place[k] = sums[k];
    }
}

template <class Vector, std::size_t registers>
[[gnu::always_inline]] inline void addLists(const Lists& lists)
{
    float* out = lists.out;
    for (std::int64_t i = 0; i < lists.count; ++i, out += lists.step) {
        const WeightedEntry* const begin = lists.entries + lists.starts[i];
        const WeightedEntry* const end = lists.entries + lists.starts[i + 1];
        if (begin != end) {
            addList<Vector, registers>(begin, end, lists.weights, out);
        }
    }
}

template <class Vector>
[[gnu::always_inline]] inline void addColumns(const Lists& lists, std::int64_t columns)
{
    constexpr std::size_t kWhole = kListColumns * sizeof(float) / sizeof(Vector);
    columns == kListColumns ? addLists<Vector, kWhole>(lists) : addLists<Vector, kWhole / 2>(lists);
}

#if defined(__x86_64__)
[[gnu::target("arch=x86-64-v4")]] void addWide(const Lists& lists, std::int64_t columns)
{
    addColumns<Sixteen>(lists, columns);
}
[[gnu::target("arch=x86-64-v3")]] void addMiddle(const Lists& lists, std::int64_t columns)
{
    addColumns<Eight>(lists, columns);
}
#endif

void addNarrow(const Lists& lists, std::int64_t columns) { addColumns<Eight>(lists, columns); }

using Add = void (*)(const Lists&, std::int64_t);

Add fastest()
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
        __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
        __builtin_cpu_supports("avx512cd") != 0) {
        return addWide;
    }
    if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
        __builtin_cpu_supports("bmi2") != 0) {
        return addMiddle;
    }
#endif
    return addNarrow;
}

} // namespace

void addWeightedLists(const WeightedEntry* entries, const std::int64_t* starts, std::int64_t count,
                      const float* weights, std::int64_t columns, float* out, std::int64_t step)
{
    static const Add add = fastest();
    add({entries, starts, count, weights, out, step}, columns);
}

} // namespace retro::ops
