// SPDX-License-Identifier: Apache-2.0
#include "core/ops/kernel/elementloop.h"

#include "core/base/failure.h"
#include "core/tensor/stridedcopy.h"

#include <numeric>

namespace retro::ops
{

using tensor::Shape;
using tensor::Tensor;
using tensor::TensorBuffer;

Shape broadcastStrides(const Tensor& t, const Shape& shape)
{
    base::guard(t.rank() <= shape.size(), "a tensor is broadcast to at least its own rank");
    Shape strides(shape.size(), 0);
    const std::size_t lead = shape.size() - t.rank();
    for (std::size_t i = 0; i < t.rank(); ++i) {
        if (t.shape()[i] != 1) {
            base::guard(t.shape()[i] == shape[lead + i], "a tensor is broadcast along axes of one element");
            strides[lead + i] = t.strides()[i];
        }
    }
    return strides;
}

Shape resultStrides(const Shape& shape, std::initializer_list<const Tensor*> operands)
{
    for (const Tensor* t : operands) {
        if (t->shape() == shape && t->isDense()) {
            return t->strides();
        }
    }
    return tensor::rowMajorStrides(shape);
}

Shape stridesInOrderOf(const Tensor& like, const Shape& shape)
{
    if (like.rank() != shape.size()) {
        return tensor::rowMajorStrides(shape);
    }
    std::vector<std::size_t> order(shape.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return like.strides()[a] > like.strides()[b]; });
    Shape strides(shape.size(), 1);
    std::int64_t step = 1;
    for (std::size_t i = order.size(); i-- > 0;) {
        strides[order[i]] = step;
        step *= std::max<std::int64_t>(shape[order[i]], 1);
    }
    return strides;
}

Tensor withStrides(const Tensor& t, const Shape& strides)
{
    if (t.strides() == strides) {
        return t;
    }
    TensorBuffer buffer(t.dtype(), t.shape(), strides);
    tensor::copyStrided(t, buffer.rawData(), strides);
    return std::move(buffer).freeze();
}

Tensor channelsLast(const Tensor& t)
{
    const Shape strides = tensor::channelsLastStrides(t.shape());
    for (std::size_t i = 0; i < t.rank(); ++i) {
        if (t.shape()[i] != 1 && t.strides()[i] != strides[i]) {
            return withStrides(t, strides);
        }
    }
    return t;
}

namespace
{

/// True when axis `outer` can be walked as a continuation of `inner` by every participant.
bool canMerge(const std::vector<Shape>& strides, std::size_t outer, std::size_t inner, std::int64_t innerExtent)
{
    return std::all_of(strides.begin(), strides.end(),
                       [&](const Shape& s) { return s[outer] == s[inner] * innerExtent; });
}

/// Axes with more than one element, the result's largest stride first.
std::vector<std::size_t> axesInMemoryOrder(const Shape& shape, const Shape& leading)
{
    std::vector<std::size_t> order;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if (shape[axis] != 1) {
            order.push_back(axis);
        }
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return leading[a] > leading[b]; });
    return order;
}

} // namespace

ElementLoop::ElementLoop(const Shape& shape, std::vector<Shape> strides) : m_strides(strides.size())
{
    const auto fits = [&shape](const Shape& each) { return each.size() == shape.size(); };
    base::guard(!strides.empty() && std::ranges::all_of(strides, fits), "all that are walked together have one rank");
    const std::vector<std::size_t> order = axesInMemoryOrder(shape, strides.front());
    for (std::size_t i = 0; i < order.size(); ++i) {
        const bool merges = i > 0 && canMerge(strides, order[i - 1], order[i], shape[order[i]]);
        append(shape[order[i]], order[i], strides, merges);
    }
    if (m_extents.empty()) {
        m_extents.push_back(1);
        for (Shape& s : m_strides) {
            s.push_back(1);
        }
    }
    for (std::size_t i = 0; i + 1 < m_extents.size(); ++i) {
        m_rows *= m_extents[i];
    }
}

void ElementLoop::append(std::int64_t extent, std::size_t axis, const std::vector<Shape>& strides, bool merges)
{
    if (merges) {
        m_extents.back() *= extent;
    } else {
        m_extents.push_back(extent);
    }
    for (std::size_t p = 0; p < strides.size(); ++p) {
        if (merges) {
            m_strides[p].back() = strides[p][axis];
        } else {
            m_strides[p].push_back(strides[p][axis]);
        }
    }
}

} // namespace retro::ops
