// SPDX-License-Identifier: Apache-2.0
#include "kernels/lut/cpu/wide.h"

#include "kernels/lut/arithmetic.h"

#include <cmath>
#include <cstring>
#include <limits>

// The choice is made while the program is loaded, before a sanitizer is ready for it.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define RETRO_WIDE_REGISTERS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define RETRO_WIDE_REGISTERS
#endif
#define RETRO_INLINE inline __attribute__((always_inline))

namespace retro::lut::cpu
{

namespace
{

/// Rows that are added before the sum goes to the total: keeps the rounding error of long sums small.
constexpr std::uint64_t kRun = 256;
/// How many rows ahead memory is asked for.
constexpr std::uint64_t kAhead = 12;
constexpr std::uint64_t kLineBytes = 64;
/// Vectors of one register block.
constexpr int kBlockVectors = 8;
constexpr std::uint64_t kPartialSums = 16;

/// 32 bytes of numbers; a compiler without such registers takes several.
template <class T>
struct Wide
{
    typedef T Vector __attribute__((vector_size(32)));
    static constexpr std::uint64_t kCount = 32 / sizeof(T);
};

template <class T>
RETRO_INLINE typename Wide<T>::Vector load(const T* from)
{
    typename Wide<T>::Vector vector;
    std::memcpy(&vector, from, sizeof(vector));
    return vector;
}

template <class T>
RETRO_INLINE void store(T* to, const typename Wide<T>::Vector& vector)
{
    std::memcpy(to, &vector, sizeof(vector));
}

template <class T>
RETRO_INLINE void prefetch(const T* row, std::uint64_t elements)
{
    const char* at = reinterpret_cast<const char*>(row);
    for (std::uint64_t line = 0; line < elements * sizeof(T); line += kLineBytes) {
        __builtin_prefetch(at + line);
    }
}

/// One list of ids and what stands behind it in memory, so that rows of the next list are asked for in time.
struct IdList
{
    const std::uint64_t* first;
    const std::uint64_t* end;
    const std::uint64_t* last; ///< of all lists
};

/// Sum of up to kRun rows in `Vectors` registers, at output `at`.
template <int Vectors, class T>
RETRO_INLINE void sumRun(const T* weights, std::uint64_t width, IdList ids, bool isFirst, T* sum)
{
    using Vector = typename Wide<T>::Vector;
    constexpr std::uint64_t kStep = Wide<T>::kCount;
    Vector total[Vectors]{};
    for (const std::uint64_t* id = ids.first; id != ids.end; ++id) {
        if (static_cast<std::uint64_t>(ids.last - id) > kAhead) {
            prefetch(weights + id[kAhead] * width, Vectors * kStep);
        }
        const T* row = weights + *id * width;
        for (int v = 0; v < Vectors; ++v) {
            total[v] += load(row + static_cast<std::uint64_t>(v) * kStep);
        }
    }
    for (int v = 0; v < Vectors; ++v) {
        T* to = sum + static_cast<std::uint64_t>(v) * kStep;
        store(to, isFirst ? total[v] : load(to) + total[v]);
    }
}

/// As sumRun, for outputs that fill no register.
template <class T>
RETRO_INLINE void sumTail(const T* weights, std::uint64_t width, IdList ids, bool isFirst, std::uint64_t count, T* sum)
{
    for (std::uint64_t o = 0; o < count; ++o) {
        T total = 0;
        for (const std::uint64_t* id = ids.first; id != ids.end; ++id) {
            total += weights[*id * width + o];
        }
        sum[o] = isFirst ? total : sum[o] + total;
    }
}

/// One run of one list over all outputs.
template <class T>
RETRO_INLINE void sumWidth(const T* weights, std::uint64_t width, IdList ids, bool isFirst, T* sum)
{
    constexpr std::uint64_t kStep = Wide<T>::kCount;
    std::uint64_t o = 0;
    for (; o + kBlockVectors * kStep <= width; o += kBlockVectors * kStep) {
        sumRun<kBlockVectors>(weights + o, width, ids, isFirst, sum + o);
    }
    for (; o + kBlockVectors / 2 * kStep <= width; o += kBlockVectors / 2 * kStep) {
        sumRun<kBlockVectors / 2>(weights + o, width, ids, isFirst, sum + o);
    }
    for (; o + kStep <= width; o += kStep) {
        sumRun<1>(weights + o, width, ids, isFirst, sum + o);
    }
    sumTail(weights + o, width, ids, isFirst, width - o, sum + o);
}

template <class T>
RETRO_INLINE void sumRowsInline(const T* weights, std::uint64_t width, const std::uint64_t* ids, std::uint64_t sets,
                                std::uint64_t count, T* sums)
{
    const std::uint64_t* last = ids + sets * count;
    for (std::uint64_t s = 0; s < sets; ++s) {
        T* sum = sums + s * width;
        const std::uint64_t* list = ids + s * count;
        const std::uint64_t* end = list + count;
        bool isFirst = true;
        do {
            const std::uint64_t* stop = static_cast<std::uint64_t>(end - list) > kRun ? list + kRun : end;
            sumWidth(weights, width, IdList{list, stop, last}, isFirst, sum);
            list = stop;
            isFirst = false;
        } while (list != end);
    }
}

template <class T>
RETRO_INLINE T scoreDifference(const T* main, const T* other, const T* g, std::uint64_t width)
{
    using Vector = typename Wide<T>::Vector;
    constexpr std::uint64_t kStep = Wide<T>::kCount;
    constexpr int kVectors = static_cast<int>(kPartialSums / kStep);
    Vector sums[kVectors]{};
    std::uint64_t o = 0;
    for (; o + kPartialSums <= width; o += kPartialSums) {
        for (int v = 0; v < kVectors; ++v) {
            const std::uint64_t at = o + static_cast<std::uint64_t>(v) * kStep;
            sums[v] += load(g + at) * (load(main + at) - load(other + at));
        }
    }
    T partial[kPartialSums];
    std::memcpy(partial, sums, sizeof(partial));
    for (std::uint64_t lane = 0; o + lane < width; ++lane) {
        partial[lane] += g[o + lane] * (main[o + lane] - other[o + lane]);
    }
    for (std::uint64_t half = kPartialSums / 2; half > 0; half /= 2) {
        for (std::uint64_t lane = 0; lane < half; ++lane) {
            partial[lane] += partial[lane + half];
        }
    }
    return partial[0];
}

template <class T>
RETRO_INLINE void scoreDifferencesInline(const T* weights, std::uint64_t width, const std::uint64_t* main,
                                         const std::uint64_t* other, std::uint64_t count, const T* g, T* results)
{
    constexpr std::uint64_t kPairsAhead = 4;
    for (std::uint64_t k = 0; k < count; ++k) {
        if (k + kPairsAhead < count) {
            prefetch(weights + main[k + kPairsAhead] * width, width);
            prefetch(weights + other[k + kPairsAhead] * width, width);
        }
        results[k] = scoreDifference(weights + main[k] * width, weights + other[k] * width, g, width);
    }
}

/// The bits of one comparison, added to the rows of all lanes.
template <class T>
RETRO_INLINE void addBits(const T* a, const T* b, std::int32_t number, std::int32_t* row)
{
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
        row[lane] |= static_cast<std::int32_t>(a[lane] - b[lane] > T(0)) << number;
    }
}

template <class T>
RETRO_INLINE void chooseBits(const T* columns, const Anchor* anchors, std::uint32_t comparisons, TableChoice<T>& choice)
{
    std::int32_t row[kLanes]{};
    for (std::uint32_t k = 0; k < comparisons; ++k) {
        if (anchors[k].a != kUnusedAnchor) {
            addBits(columns + std::uint64_t{anchors[k].a} * kLanes, columns + std::uint64_t{anchors[k].b} * kLanes,
                    static_cast<std::int32_t>(k), row);
        }
    }
    std::memcpy(choice.row.data(), row, sizeof(row));
}

/// The weakest comparisons of kLanes samples so far.
template <class T>
struct WeakestLanes
{
    std::int32_t row[kLanes];
    std::int32_t bit[kLanes];
    T delta[kLanes];
    T least[kLanes];
};

/// `consider` for all lanes at once, without branches.
template <class T>
RETRO_INLINE void considerLanes(const T* a, const T* b, std::int32_t number, WeakestLanes<T>& lanes)
{
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
        const T u = a[lane] - b[lane];
        const T size = std::fabs(u);
        lanes.row[lane] |= static_cast<std::int32_t>(u > T(0)) << number;
        // The first number of all may be infinite.
        const bool isWeaker = (size < lanes.least[lane]) | ((lanes.bit[lane] < 0) & (u == u));
        lanes.bit[lane] = isWeaker ? number : lanes.bit[lane];
        lanes.delta[lane] = isWeaker ? u : lanes.delta[lane];
        lanes.least[lane] = isWeaker ? size : lanes.least[lane];
    }
}

/// As chooseBits, and the weakest comparison.
template <class T>
RETRO_INLINE void chooseWeakest(const T* columns, const Anchor* anchors, std::uint32_t comparisons,
                                TableChoice<T>& choice)
{
    WeakestLanes<T> lanes;
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
        lanes.row[lane] = 0;
        lanes.bit[lane] = -1;
        lanes.delta[lane] = 0;
        lanes.least[lane] = std::numeric_limits<T>::infinity();
    }
    for (std::uint32_t k = 0; k < comparisons; ++k) {
        if (anchors[k].a != kUnusedAnchor) {
            considerLanes(columns + std::uint64_t{anchors[k].a} * kLanes,
                          columns + std::uint64_t{anchors[k].b} * kLanes, static_cast<std::int32_t>(k), lanes);
        }
    }
    std::memcpy(choice.row.data(), lanes.row, sizeof(lanes.row));
    std::memcpy(choice.bit.data(), lanes.bit, sizeof(lanes.bit));
    std::memcpy(choice.delta.data(), lanes.delta, sizeof(lanes.delta));
}

template <class T>
RETRO_INLINE void chooseRowsInline(const T* columns, const Anchor* anchors, std::uint32_t comparisons, bool withWeakest,
                                   TableChoice<T>& choice)
{
    if (withWeakest) {
        chooseWeakest(columns, anchors, comparisons, choice);
    } else {
        chooseBits(columns, anchors, comparisons, choice);
    }
}

} // namespace

RETRO_WIDE_REGISTERS void chooseRows(const float* columns, const Anchor* anchors, std::uint32_t comparisons,
                                     bool withWeakest, TableChoice<float>& choice)
{
    chooseRowsInline(columns, anchors, comparisons, withWeakest, choice);
}

RETRO_WIDE_REGISTERS void chooseRows(const double* columns, const Anchor* anchors, std::uint32_t comparisons,
                                     bool withWeakest, TableChoice<double>& choice)
{
    chooseRowsInline(columns, anchors, comparisons, withWeakest, choice);
}

RETRO_WIDE_REGISTERS void sumRows(const float* weights, std::uint64_t width, const std::uint64_t* ids,
                                  std::uint64_t sets, std::uint64_t count, float* sums)
{
    sumRowsInline(weights, width, ids, sets, count, sums);
}

RETRO_WIDE_REGISTERS void sumRows(const double* weights, std::uint64_t width, const std::uint64_t* ids,
                                  std::uint64_t sets, std::uint64_t count, double* sums)
{
    sumRowsInline(weights, width, ids, sets, count, sums);
}

RETRO_WIDE_REGISTERS void scoreDifferences(const float* weights, std::uint64_t width, const std::uint64_t* main,
                                           const std::uint64_t* other, std::uint64_t count, const float* g,
                                           float* results)
{
    scoreDifferencesInline(weights, width, main, other, count, g, results);
}

RETRO_WIDE_REGISTERS void scoreDifferences(const double* weights, std::uint64_t width, const std::uint64_t* main,
                                           const std::uint64_t* other, std::uint64_t count, const double* g,
                                           double* results)
{
    scoreDifferencesInline(weights, width, main, other, count, g, results);
}

} // namespace retro::lut::cpu
