// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"

#include "core/base/failure.h"
#include "core/ops/kernel/axisreduction.h"
#include "core/ops/kernel/elementloop.h"
#include "core/ops/kernel/stabilise.h"
#include "core/ops/kernel/visitnumber.h"
#include "core/ops/reference/sum.h"

#include <cmath>

namespace retro::ops::algebra
{

namespace
{

template <class F>
Tensor unary(const Tensor& a, const F& f)
{
    return visitFloat(a.dtype(), [&](auto zero) {
        using T = decltype(zero);
        return mapElements<T>(a, Vectorised{[f](T x) { return static_cast<T>(f(x)); }});
    });
}

template <class F>
Tensor binary(const Tensor& a, const Tensor& b, const F& f)
{
    base::guard(a.dtype() == b.dtype(), "two tensors of one type are combined");
    return visitFloat(a.dtype(), [&](auto zero) {
        using T = decltype(zero);
        return mapElements<T>(a, b, a.shape(), Vectorised{[f](T x, T y) { return static_cast<T>(f(x, y)); }});
    });
}

template <class T>
Tensor constantQuotientOf(const Tensor& r, const Tensor& d, const Stabiliser& stabiliser)
{
    const T e = static_cast<T>(stabiliser.epsilon);
    return visitStabiliser<T>(stabiliser, [&](auto stabilised) {
        return mapElements<T>(r, d, r.shape(), [e, stabilised](T x, T y) { return quotient(x, stabilised(y, e)); });
    });
}

Tensor constantQuotient(const Tensor& r, const Tensor& d, const Stabiliser& stabiliser)
{
    return visitFloat(r.dtype(), [&](auto zero) { return constantQuotientOf<decltype(zero)>(r, d, stabiliser); });
}

/// epsilon · root mean square over all but the first axis, broadcastable to d.
Tensor scaledEpsilon(const Tensor& d, double epsilon)
{
    const Tensor plain = d.contiguous();
    const std::int64_t rows = d.rank() == 0 ? 1 : d.shape()[0];
    const std::int64_t length = rows == 0 ? 0 : d.size() / rows;
    tensor::Shape shape(d.rank(), 1);
    if (!shape.empty()) {
        shape[0] = rows;
    }
    tensor::TensorBuffer buffer(d.dtype(), shape);
    visitFloat(d.dtype(), [&](auto zero) {
        using T = decltype(zero);
        for (std::int64_t row = 0; row < rows; ++row) {
            const double squares = reference::pairwiseSum<double>(plain.data<T>() + row * length, length,
                                                                  [](T v) { return static_cast<double>(v) * v; });
            buffer.data<T>()[row] =
                static_cast<T>(epsilon * std::sqrt(squares / static_cast<double>(std::max<std::int64_t>(length, 1))));
        }
    });
    return std::move(buffer).freeze();
}

Tensor scaledQuotient(const Tensor& r, const Tensor& d, const Stabiliser& stabiliser)
{
    const Tensor e = scaledEpsilon(d, stabiliser.epsilon);
    const bool isSigned = stabiliser.isSigned;
    const Tensor denominator = visitFloat(d.dtype(), [&](auto zero) {
        using T = decltype(zero);
        return mapElements<T>(d, e, d.shape(),
                              [isSigned](T y, T step) { return isSigned ? moved(y, step) : y + step; });
    });
    return binary(r, denominator, [](auto x, auto y) { return quotient(x, y); });
}

/// Axes along which `shape` has to be repeated to become a's shape.
std::vector<std::size_t> repeatedAxes(const tensor::Shape& a, const tensor::Shape& shape)
{
    std::vector<std::size_t> axes;
    const std::size_t lead = a.size() - shape.size();
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (i < lead || shape[i - lead] != a[i]) {
            axes.push_back(i);
        }
    }
    return axes;
}

} // namespace

Tensor stabilisedQuotient(const Tensor& r, const Tensor& d, const Stabiliser& stabiliser)
{
    if (stabiliser.kind == StabiliserKind::RmsScaled) {
        return scaledQuotient(r, d, stabiliser);
    }
    return constantQuotient(r, d, stabiliser);
}

Tensor multiply(const Tensor& a, const Tensor& b)
{
    return binary(a, b, [](auto x, auto y) { return x * y; });
}

Tensor add(const Tensor& a, const Tensor& b)
{
    return binary(a, b, [](auto x, auto y) { return x + y; });
}

Tensor subtract(const Tensor& a, const Tensor& b)
{
    return binary(a, b, [](auto x, auto y) { return x - y; });
}

Tensor scale(const Tensor& a, double factor)
{
    return unary(a, [factor](auto x) { return x * static_cast<decltype(x)>(factor); });
}

Tensor addScaled(const Tensor& a, const Tensor& b, double factor)
{
    return binary(a, b, [factor](auto x, auto y) { return x + static_cast<decltype(x)>(factor) * y; });
}

Tensor addBroadcast(const Tensor& a, const Tensor& v) { return add(a, v); }

Tensor multiplyBroadcast(const Tensor& a, const Tensor& v) { return multiply(a, v); }

Tensor absolute(const Tensor& a)
{
    return unary(a, [](auto x) { return std::abs(x); });
}

Tensor positivePart(const Tensor& a)
{
    return unary(a, [](auto x) { return x < 0 ? decltype(x){0} : x; });
}

Tensor negativePart(const Tensor& a)
{
    return unary(a, [](auto x) { return x > 0 ? decltype(x){0} : x; });
}

namespace
{

/// Looks at all of the few values, without leaving early: that vectorises.
template <typename T>
bool anyNegativeIn(const T* data, std::int64_t count)
{
    int found = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        found |= data[i] < T{0} ? 1 : 0;
    }
    return found != 0;
}

} // namespace

bool anyNegative(const Tensor& a)
{
    const Tensor dense = a.isDense() ? a : a.contiguous();
    return visitFloat(a.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const T* const data = dense.data<T>();
        constexpr std::int64_t kBlock = 1024;
        for (std::int64_t begin = 0; begin < dense.size(); begin += kBlock) {
            if (anyNegativeIn(data + begin, std::min(kBlock, dense.size() - begin))) {
                return true;
            }
        }
        return false;
    });
}

Tensor keepWherePositive(const Tensor& a, const Tensor& gate)
{
    return binary(a, gate, [](auto x, auto g) { return g > 0 ? x : decltype(x){0}; });
}

Tensor keepWhereNegative(const Tensor& a, const Tensor& gate)
{
    return binary(a, gate, [](auto x, auto g) { return g < 0 ? x : decltype(x){0}; });
}

Tensor broadcastTo(const Tensor& a, const tensor::Shape& shape)
{
    if (a.shape() == shape) {
        return a;
    }
    return Tensor(a.dtype(), shape, broadcastStrides(a, shape), a.offset(), a.storage()).contiguous();
}

Tensor reduceTo(const Tensor& a, const tensor::Shape& shape)
{
    if (a.shape() == shape) {
        return a;
    }
    return sumOverAxes(a, repeatedAxes(a.shape(), shape)).reshaped(shape);
}

Tensor laidOutAs(const Tensor& a, const Tensor& like)
{
    return like.isDense() && like.shape() == a.shape() ? withStrides(a, like.strides()) : a;
}

Tensor filledLike(const Tensor& like, double value)
{
    return unary(like, [value](auto x) { return static_cast<decltype(x)>(value); });
}

bool allFinite(const Tensor& a)
{
    const Tensor dense = a.isDense() ? a : a.contiguous();
    return visitFloat(a.dtype(), [&](auto zero) {
        using T = decltype(zero);
        return std::all_of(dense.data<T>(), dense.data<T>() + dense.size(), [](T v) { return std::isfinite(v); });
    });
}

} // namespace retro::ops::algebra
