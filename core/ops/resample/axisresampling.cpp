// SPDX-License-Identifier: Apache-2.0
#include "core/ops/resample/axisresampling.h"

#include "core/ops/kernel/filled.h"
#include "core/ops/threads.h"

namespace retro::ops
{

namespace
{

using tensor::Shape;
using tensor::Tensor;

/// Extents in front of and behind an axis.
struct Around
{
    std::int64_t outer;
    std::int64_t inner;
};

Around around(const Shape& shape, std::size_t axis)
{
    const auto at = shape.begin() + static_cast<std::ptrdiff_t>(axis);
    return {tensor::elementCount({shape.begin(), at}), tensor::elementCount({at + 1, shape.end()})};
}

/// to[i] += weight · from[i].
template <class T>
void addRow(const T* from, T weight, std::int64_t count, T* to)
{
    for (std::int64_t i = 0; i < count; ++i) {
        to[i] += weight * from[i];
    }
}

/// Calls f(element of the result's axis, element of the operand's axis, weight) for all weights, in order.
template <class F>
void forEachWeight(const AxisWeights& weights, const F& f)
{
    for (std::int64_t o = 0; o < weights.to(); ++o) {
        const auto row = static_cast<std::size_t>(o);
        for (std::int64_t k = weights.starts[row]; k < weights.starts[row + 1]; ++k) {
            f(o, weights.indices[static_cast<std::size_t>(k)], weights.weights[static_cast<std::size_t>(k)]);
        }
    }
}

Shape withExtent(Shape shape, std::size_t axis, std::int64_t extent)
{
    shape[axis] = extent;
    return shape;
}

/// Calls f(outer index) in parallel.
template <class F>
void forEachOuter(const Around& extents, const AxisWeights& weights, const F& f)
{
    const std::int64_t work = static_cast<std::int64_t>(weights.indices.size()) * extents.inner;
    parallelFor(extents.outer, 32768 / std::max<std::int64_t>(work, 1), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t o = begin; o < end; ++o) {
            f(o);
        }
    });
}

} // namespace

Tensor resample(const Tensor& t, std::size_t axis, const AxisWeights& weights)
{
    const Tensor x = t.contiguous();
    const Around extents = around(x.shape(), axis);
    return accumulated(x.dtype(), withExtent(x.shape(), axis, weights.to()), [&](auto* y) {
        using T = std::decay_t<decltype(*y)>;
        forEachOuter(extents, weights, [&](std::int64_t outer) {
            const T* in = elements(x, y) + outer * weights.from * extents.inner;
            T* out = y + outer * weights.to() * extents.inner;
            forEachWeight(weights, [&](std::int64_t o, std::int64_t i, double weight) {
                addRow(in + i * extents.inner, static_cast<T>(weight), extents.inner, out + o * extents.inner);
            });
        });
    });
}

Tensor resampleBack(const Tensor& t, std::size_t axis, const AxisWeights& weights)
{
    const Tensor s = t.contiguous();
    const Around extents = around(s.shape(), axis);
    return accumulated(s.dtype(), withExtent(s.shape(), axis, weights.from), [&](auto* r) {
        using T = std::decay_t<decltype(*r)>;
        forEachOuter(extents, weights, [&](std::int64_t outer) {
            const T* in = elements(s, r) + outer * weights.to() * extents.inner;
            T* out = r + outer * weights.from * extents.inner;
            forEachWeight(weights, [&](std::int64_t o, std::int64_t i, double weight) {
                addRow(in + o * extents.inner, static_cast<T>(weight), extents.inner, out + i * extents.inner);
            });
        });
    });
}

} // namespace retro::ops
