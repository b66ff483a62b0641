// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/statistics.h"

#include "core/tensor/visit.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace retro::diagnosis
{

namespace
{

/// Calls f(double) for every element in row-major order.
template <class F>
void forEachElement(const Tensor& tensor, F&& f)
{
    if (!tensor.isValid()) {
        return;
    }
    const Tensor flat = tensor.contiguous();
    const std::int64_t count = flat.size();
    tensor::visitStored(flat.dtype(), [&](auto tag) {
        using Type = decltype(tag);
        const auto* bits = reinterpret_cast<const typename Type::Bits*>(flat.rawData());
        for (std::int64_t i = 0; i < count; ++i) {
            f(static_cast<double>(Type::load(bits[i])));
        }
    });
}

/// Sizes of what lies before, along and behind an axis.
struct AxisSizes
{
    std::int64_t extent = 0;
    std::int64_t inner = 1;
};

AxisSizes axisSizes(const tensor::Shape& shape, std::size_t axis)
{
    AxisSizes sizes;
    if (axis < shape.size()) {
        sizes.extent = shape[axis];
        for (std::size_t i = axis + 1; i < shape.size(); ++i) {
            sizes.inner *= shape[i];
        }
    }
    return sizes;
}

/// Adds f(element) to the sum of its index along an axis.
template <class Sum, class F>
std::vector<Sum> sumsAlong(const Tensor& tensor, std::size_t axis, F&& f)
{
    const AxisSizes sizes = tensor.isValid() ? axisSizes(tensor.shape(), axis) : AxisSizes();
    std::vector<Sum> sums(static_cast<std::size_t>(sizes.extent));
    if (sums.empty()) {
        return sums;
    }
    std::int64_t within = 0;
    std::size_t at = 0;
    forEachElement(tensor, [&](double x) {
        sums[at] += f(x);
        if (++within == sizes.inner) {
            within = 0;
            at = at + 1 == sums.size() ? 0 : at + 1;
        }
    });
    return sums;
}

} // namespace

Statistics statisticsOf(const Tensor& tensor)
{
    Statistics all;
    double least = std::numeric_limits<double>::infinity();
    double largest = -least;
    double sum = 0;
    double squares = 0; // around `first`, which keeps digits where the mean is far from 0
    double first = 0;
    bool hasFirst = false;
    forEachElement(tensor, [&](double x) {
        if (std::isfinite(x)) {
            if (!hasFirst) {
                first = x;
                hasFirst = true;
            }
            least = std::min(least, x);
            largest = std::max(largest, x);
            sum += x - first;
            squares += (x - first) * (x - first);
            all.magnitude += std::abs(x);
            all.zeros += x == 0 ? 1 : 0;
        } else {
            all.firstNotFinite = all.firstNotFinite < 0 ? all.count : all.firstNotFinite;
            ++(std::isnan(x) ? all.nan : (x > 0 ? all.plusInfinity : all.minusInfinity));
        }
        ++all.count;
    });
    if (const auto finite = static_cast<double>(all.finite()); finite > 0) {
        all.least = least;
        all.largest = largest;
        all.mean = first + sum / finite;
        all.variance = std::max(0.0, squares / finite - (sum / finite) * (sum / finite));
    }
    return all;
}

std::vector<double> numbersIn(const Tensor& tensor)
{
    std::vector<double> numbers;
    if (tensor.isValid()) {
        numbers.reserve(static_cast<std::size_t>(tensor.size()));
    }
    forEachElement(tensor, [&numbers](double x) { numbers.push_back(x); });
    return numbers;
}

double median(std::vector<double> numbers)
{
    if (numbers.empty()) {
        return 0;
    }
    const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
    std::nth_element(numbers.begin(), middle, numbers.end());
    const double upper = *middle;
    return numbers.size() % 2 == 1 ? upper : (*std::max_element(numbers.begin(), middle) + upper) / 2;
}

std::vector<std::int64_t> indexAt(std::int64_t position, const tensor::Shape& shape)
{
    std::vector<std::int64_t> index(shape.size());
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        index[axis] = shape[axis] > 0 ? position % shape[axis] : 0;
        position = shape[axis] > 0 ? position / shape[axis] : 0;
    }
    return index;
}

std::vector<double> normsAlong(const Tensor& tensor, std::size_t axis)
{
    std::vector<double> norms = sumsAlong<double>(tensor, axis, [](double x) { return x * x; });
    std::ranges::for_each(norms, [](double& x) { x = std::sqrt(x); });
    return norms;
}

std::vector<std::int64_t> nonZerosAlong(const Tensor& tensor, std::size_t axis)
{
    return sumsAlong<std::int64_t>(tensor, axis, [](double x) { return std::int64_t{x != 0}; });
}

} // namespace retro::diagnosis
