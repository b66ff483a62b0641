// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/kernel/registers.h"
#include "core/ops/threads.h"
#include "core/tensor/tensor.h"

#include <array>
#include <utility>
#include <vector>

namespace retro::ops
{

/// Strides of `t` seen as a tensor of `shape` by broadcasting: 0 along repeated axes. t's shape must be broadcastable.
[[nodiscard]] tensor::Shape broadcastStrides(const tensor::Tensor& t, const tensor::Shape& shape);

/// Strides for a result of `shape`: those of the first dense operand that has this very shape, else row-major.
[[nodiscard]] tensor::Shape resultStrides(const tensor::Shape& shape,
                                          std::initializer_list<const tensor::Tensor*> operands);

/// Dense strides for `shape` in the axis order of `like` (same rank), row-major when `like` has another rank.
[[nodiscard]] tensor::Shape stridesInOrderOf(const tensor::Tensor& like, const tensor::Shape& shape);

/// The same values dense in channels-last order (itself when it already is; row-major for rank < 3).
[[nodiscard]] tensor::Tensor channelsLast(const tensor::Tensor& t);

/// The same values dense with the given strides, a permutation of row-major.
[[nodiscard]] tensor::Tensor withStrides(const tensor::Tensor& t, const tensor::Shape& strides);

/// One walk over an index space that a result (0) and its operands (1 …) share. Axes are ordered by the memory of the
/// result and merged where all agree, so that the innermost row is as long as can be.
class ElementLoop
{
public:
    /// `strides` per participant, each of shape's rank.
    ElementLoop(const tensor::Shape& shape, std::vector<tensor::Shape> strides);

    /// Elements between neighbours of an innermost row.
    [[nodiscard]] std::int64_t innerStride(std::size_t participant) const { return m_strides[participant].back(); }

    /// Calls f(offsets, count) for pieces of innermost rows: offsets of the piece's first element, in elements, per
    /// participant. Pieces run in parallel.
    template <std::size_t N, class F>
    void run(const F& f) const
    {
        constexpr std::int64_t kPiece = 8192;
        const std::int64_t length = m_extents.back();
        const std::int64_t pieces = (length + kPiece - 1) / kPiece;
        const std::int64_t grain = std::max<std::int64_t>(4 * kPiece / std::max<std::int64_t>(length, 1), 4);
        parallelFor(m_rows * pieces, grain, [&](std::int64_t begin, std::int64_t end) {
            if (pieces == 1) {
                return runRows<N>(begin, end, f);
            }
            for (std::int64_t task = begin; task < end; ++task) {
                const std::int64_t first = task % pieces * kPiece;
                f(offsetsOf<N>(task / pieces, first), std::min(kPiece, length - first));
            }
        });
    }

private:
    /// f for whole rows, which may be short: from row to row, offsets move on by strides.
    template <std::size_t N, class F>
    void runRows(std::int64_t begin, std::int64_t end, const F& f) const
    {
        const std::size_t outer = m_extents.size() - 1;
        std::vector<std::int64_t> index(outer);
        std::int64_t rest = begin;
        for (std::size_t axis = outer; axis-- > 0; rest /= m_extents[axis]) {
            index[axis] = rest % m_extents[axis];
        }
        std::array<std::int64_t, N> offsets = offsetsOf<N>(begin, 0);
        for (std::int64_t row = begin; row < end; ++row) {
            f(offsets, m_extents.back());
            for (std::size_t axis = outer; axis-- > 0;) {
                const bool goesOn = ++index[axis] < m_extents[axis];
                for (std::size_t p = 0; p < N; ++p) {
                    offsets[p] += (goesOn ? 1 : 1 - m_extents[axis]) * m_strides[p][axis];
                }
                if (goesOn) {
                    break;
                }
                index[axis] = 0;
            }
        }
    }

    template <std::size_t N>
    [[nodiscard]] std::array<std::int64_t, N> offsetsOf(std::int64_t row, std::int64_t first) const
    {
        std::array<std::int64_t, N> offsets{};
        for (std::size_t p = 0; p < N; ++p) {
            offsets[p] = first * m_strides[p].back();
        }
        for (std::size_t axis = m_extents.size() - 1; axis-- > 0;) {
            const std::int64_t index = row % m_extents[axis];
            row /= m_extents[axis];
            for (std::size_t p = 0; p < N; ++p) {
                offsets[p] += index * m_strides[p][axis];
            }
        }
        return offsets;
    }

    /// Adds an axis inside the others, or merges it into the innermost.
    void append(std::int64_t extent, std::size_t axis, const std::vector<tensor::Shape>& strides, bool merges);

    tensor::Shape m_extents;              // outermost first, at least one
    std::vector<tensor::Shape> m_strides; // per participant
    std::int64_t m_rows = 1;
};

/// Marks a function of elements whose loops are compiled for every width of registers: it calls no function of a
/// library and has no branches.
template <class F>
struct Vectorised : F
{
    static constexpr bool kIsVectorised = true;
};
template <class F>
Vectorised(F) -> Vectorised<F>;

/// The loop, compiled for every width of registers where F asks for it.
template <class F, class Loop>
void runLoop(const Loop& loop)
{
    if constexpr (requires { F::kIsVectorised; }) {
        onWidestRegisters(loop);
    } else {
        loop();
    }
}

/// o[i·so] = f(x[i·sx]) for `count` elements; o and x may be the same.
template <class Out, class T, class F>
void mapRow(Out* o, std::int64_t so, const T* x, std::int64_t sx, std::int64_t count, const F& f)
{
    if (so == 1 && sx == 1) {
        runLoop<F>([o, x, count, f] {
#pragma GCC ivdep
            for (std::int64_t i = 0; i < count; ++i) {
                o[i] = f(x[i]);
            }
        });
        return;
    }
    for (std::int64_t i = 0; i < count; ++i) {
        o[i * so] = f(x[i * sx]);
    }
}

/// o[i·so] = f(x[i·sx], y[i·sy]) for `count` elements; o may be x or y.
template <class Out, class T, class F>
void mapRow(Out* o, std::int64_t so, const T* x, std::int64_t sx, const T* y, std::int64_t sy, std::int64_t count,
            const F& f)
{
    if (so == 1 && sx == 1 && sy == 1) {
        runLoop<F>([o, x, y, count, f] {
#pragma GCC ivdep
            for (std::int64_t i = 0; i < count; ++i) {
                o[i] = f(x[i], y[i]);
            }
        });
        return;
    }
    if (so == 1 && sx == 1 && sy == 0) {
        runLoop<F>([o, x, value = *y, count, f] {
#pragma GCC ivdep
            for (std::int64_t i = 0; i < count; ++i) {
                o[i] = f(x[i], value);
            }
        });
        return;
    }
    for (std::int64_t i = 0; i < count; ++i) {
        o[i * so] = f(x[i * sx], y[i * sy]);
    }
}

/// f(element) for every element of `a`; the result has a's shape, and its strides when dense.
template <class T, class Out = T, class F>
[[nodiscard]] tensor::Tensor mapElements(const tensor::Tensor& a, const F& f)
{
    tensor::Shape strides = resultStrides(a.shape(), {&a});
    tensor::TensorBuffer buffer{tensor::DTypeOf<Out>::value, a.shape(), strides};
    const ElementLoop loop{a.shape(), {std::move(strides), a.strides()}};
    const T* in = a.data<T>();
    Out* out = buffer.data<Out>();
    const std::int64_t so = loop.innerStride(0);
    const std::int64_t sa = loop.innerStride(1);
    loop.run<2>([&](const std::array<std::int64_t, 2>& offsets, std::int64_t count) {
        mapRow(out + offsets[0], so, in + offsets[1], sa, count, f);
    });
    return std::move(buffer).freeze();
}

/// f(element of a, element of b), both broadcast to `shape`.
template <class T, class F>
[[nodiscard]] tensor::Tensor mapElements(const tensor::Tensor& a, const tensor::Tensor& b, const tensor::Shape& shape,
                                         const F& f)
{
    tensor::Shape strides = resultStrides(shape, {&a, &b});
    tensor::TensorBuffer buffer{tensor::DTypeOf<T>::value, shape, strides};
    const ElementLoop loop{shape, {std::move(strides), broadcastStrides(a, shape), broadcastStrides(b, shape)}};
    const T* inA = a.data<T>();
    const T* inB = b.data<T>();
    T* out = buffer.data<T>();
    const std::int64_t so = loop.innerStride(0);
    const std::int64_t sa = loop.innerStride(1);
    const std::int64_t sb = loop.innerStride(2);
    loop.run<3>([&](const std::array<std::int64_t, 3>& offsets, std::int64_t count) {
        mapRow(out + offsets[0], so, inA + offsets[1], sa, inB + offsets[2], sb, count, f);
    });
    return std::move(buffer).freeze();
}

} // namespace retro::ops
