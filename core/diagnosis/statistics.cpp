// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/statistics.h"

#include "core/ops/kernel/weightrows.h"
#include "core/ops/kernel/weightvariants.h"
#include "core/ops/threads.h"
#include "core/tensor/visit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

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

/// Sums of one block of numbers, in lanes that compilers keep in registers.
constexpr std::size_t kLanes = 8;
constexpr std::int64_t kBlock = 4096;

/// True when every number of a block is finite.
template <class T>
bool isFiniteBlock(const T* x, std::int64_t count)
{
    std::array<T, kLanes> lanes{};
    std::int64_t i = 0;
    for (; i + static_cast<std::int64_t>(kLanes) <= count; i += kLanes) {
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            lanes[lane] += x[i + static_cast<std::int64_t>(lane)] * T{0}; // NaN for what is not finite
        }
    }
    T rest = 0;
    for (; i < count; ++i) {
        rest += x[i] * T{0};
    }
    return std::accumulate(lanes.begin(), lanes.end(), rest) == 0;
}

/// What statisticsOf() adds up.
struct Sums
{
    double least = std::numeric_limits<double>::infinity();
    double largest = -std::numeric_limits<double>::infinity();
    double sum = 0;
    double squares = 0; // around `first`, which keeps digits where the mean is far from 0
    double first = 0;
    bool hasFirst = false;

    void add(Statistics& all, double x)
    {
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
    }

    /// A block whose numbers are all finite; `count` is a multiple of kLanes.
    template <class T>
    void addFinite(Statistics& all, const T* x, std::int64_t count)
    {
        if (!hasFirst && count > 0) {
            first = static_cast<double>(x[0]);
            hasFirst = true;
        }
        std::array<T, kLanes> low;
        low.fill(x[0]);
        std::array<T, kLanes> high = low;
        std::array<double, kLanes> sums{};
        std::array<double, kLanes> around{};
        std::array<double, kLanes> sizes{};
        std::array<std::int64_t, kLanes> zeros{};
        for (std::int64_t i = 0; i < count; i += kLanes) {
            for (std::size_t lane = 0; lane < kLanes; ++lane) {
                const T one = x[i + static_cast<std::int64_t>(lane)];
                const double away = static_cast<double>(one) - first;
                low[lane] = one < low[lane] ? one : low[lane];
                high[lane] = one > high[lane] ? one : high[lane];
                sums[lane] += away;
                around[lane] += away * away;
                sizes[lane] += std::abs(static_cast<double>(one));
                zeros[lane] += one == 0 ? 1 : 0;
            }
        }
        least = std::min(least, static_cast<double>(*std::ranges::min_element(low)));
        largest = std::max(largest, static_cast<double>(*std::ranges::max_element(high)));
        sum = std::accumulate(sums.begin(), sums.end(), sum);
        squares = std::accumulate(around.begin(), around.end(), squares);
        all.magnitude = std::accumulate(sizes.begin(), sizes.end(), all.magnitude);
        all.zeros = std::accumulate(zeros.begin(), zeros.end(), all.zeros);
        all.count += count;
    }
};

/// In the order of the memory: no sum depends on that but by rounding.
template <class T>
void addBlocks(const Tensor& tensor, Statistics& all, Sums& sums)
{
    const std::span<const T> numbers{tensor.data<T>(), static_cast<std::size_t>(tensor.size())};
    const auto count = static_cast<std::int64_t>(numbers.size());
    for (std::int64_t begin = 0; begin < count; begin += kBlock) {
        const std::int64_t size = std::min(kBlock, count - begin);
        const std::int64_t whole = isFiniteBlock(numbers.data() + begin, size)
                                       ? size / static_cast<std::int64_t>(kLanes) * static_cast<std::int64_t>(kLanes)
                                       : 0;
        if (whole > 0) {
            sums.addFinite(all, numbers.data() + begin, whole);
        }
        for (std::int64_t i = begin + whole; i < begin + size; ++i) {
            sums.add(all, static_cast<double>(numbers[static_cast<std::size_t>(i)]));
        }
    }
}

/// Numbers whose squares are added as float32 before they are added as float64.
constexpr std::int64_t kRunOfSquares = 128;
/// Between these float32 squares and their sums are exact enough; outside they are added again as float64.
constexpr float kLeastSafeSquares = 1e-24F;
constexpr float kLargestSafeSquares = 1e36F;

double squaresInDouble(const float* x, std::int64_t count)
{
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    }
    return sum;
}

/// Σx² of `count` numbers.
double squaresOf(const float* x, std::int64_t count)
{
    double sum = 0;
    std::int64_t begin = 0;
    for (; begin + kRunOfSquares <= count; begin += kRunOfSquares) {
        std::array<float, 2 * kLanes> lanes{};
        for (std::int64_t i = begin; i < begin + kRunOfSquares; i += 2 * kLanes) {
            for (std::size_t lane = 0; lane < 2 * kLanes; ++lane) {
                const float one = x[i + static_cast<std::int64_t>(lane)];
                lanes[lane] += one * one;
            }
        }
        const float squares = std::accumulate(lanes.begin(), lanes.end(), 0.0F);
        const bool isSafe = squares > kLeastSafeSquares && squares < kLargestSafeSquares;
        sum += isSafe ? static_cast<double>(squares) : squaresInDouble(x + begin, kRunOfSquares);
    }
    return sum + squaresInDouble(x + begin, count - begin);
}

/// So many numbers are worth a thread of their own.
constexpr std::int64_t kWorthAThread = 65536;

/// Σx² per index along an axis of a row-major tensor of float32. Each sum is made by one thread, in one order.
std::vector<double> squaresAlong(const Tensor& tensor, std::size_t axis)
{
    const AxisSizes sizes = axisSizes(tensor.shape(), axis);
    std::vector<double> sums(static_cast<std::size_t>(sizes.extent));
    const float* const numbers = tensor.span<float>().data();
    const std::int64_t outer = tensor.size() / (sizes.extent * sizes.inner);
    const std::int64_t grain = std::max<std::int64_t>(1, kWorthAThread / (outer * sizes.inner));
    ops::parallelFor(sizes.extent, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t o = 0; o < outer; ++o) {
            const float* const row = numbers + o * sizes.extent * sizes.inner;
            for (std::int64_t i = begin; i < end && sizes.inner > 1; ++i) {
                sums[static_cast<std::size_t>(i)] += squaresOf(row + i * sizes.inner, sizes.inner);
            }
            for (std::int64_t i = begin; i < end && sizes.inner == 1; ++i) { // along the last axis
                sums[static_cast<std::size_t>(i)] += static_cast<double>(row[i]) * static_cast<double>(row[i]);
            }
        }
    });
    return sums;
}

/// The same of a matrix of 16 bits, whose rows are widened piece by piece.
std::vector<double> squaresOfNarrow(const Tensor& matrix, std::size_t axis)
{
    const auto rows = ops::weightRows(matrix, {});
    const std::int64_t length = rows->length();
    std::vector<double> sums(static_cast<std::size_t>(matrix.shape()[axis]));
    const std::int64_t across = std::max<std::int64_t>(1, matrix.shape()[1 - axis]);
    ops::parallelFor(std::ssize(sums), std::max<std::int64_t>(1, kWorthAThread / across),
                     [&](std::int64_t begin, std::int64_t end) {
                         std::vector<float> row(static_cast<std::size_t>(axis == 0 ? length : end - begin));
                         for (std::int64_t i = begin; i < end && axis == 0; ++i) {
                             rows->widen(i, 0, length, row.data());
                             sums[static_cast<std::size_t>(i)] = squaresOf(row.data(), length);
                         }
                         for (std::int64_t i = 0; i < rows->rows() && axis == 1; ++i) {
                             rows->widen(i, begin, end - begin, row.data());
                             for (std::int64_t j = begin; j < end; ++j) {
                                 const double x = row[static_cast<std::size_t>(j - begin)];
                                 sums[static_cast<std::size_t>(j)] += x * x;
                             }
                         }
                     });
    return sums;
}

/// Adds a number to each sum.
void addToEach(const float* at, std::vector<double>& sums)
{
    for (std::size_t i = 0; i < sums.size(); ++i) {
        sums[i] += static_cast<double>(at[i]);
    }
}

/// Adds all numbers of one run to a sum.
double addRun(const float* at, std::int64_t count, double sum)
{
    std::array<double, kLanes> lanes{};
    std::int64_t i = 0;
    for (; i + static_cast<std::int64_t>(kLanes) <= count; i += kLanes) {
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            lanes[lane] += static_cast<double>(at[i + static_cast<std::int64_t>(lane)]);
        }
    }
    for (; i < count; ++i) {
        sum += static_cast<double>(at[i]);
    }
    return std::accumulate(lanes.begin(), lanes.end(), sum);
}

/// Σx per index along the axis of the runs.
std::vector<double> sumsInRuns(const float* at, const MemoryRuns& runs)
{
    std::vector<double> sums(static_cast<std::size_t>(runs.extent));
    for (std::int64_t o = 0; o < runs.outer; ++o) {
        if (runs.inner == 1) {
            addToEach(at, sums);
            at += runs.extent;
            continue;
        }
        for (double& sum : sums) {
            sum = addRun(at, runs.inner, sum);
            at += runs.inner;
        }
    }
    return sums;
}

} // namespace

Statistics statisticsOf(const Tensor& tensor)
{
    Statistics all;
    Sums sums;
    const bool isDense = tensor.isValid() && tensor.isDense() && tensor.size() > 0;
    if (isDense && tensor.dtype() == tensor::DType::Float32) {
        addBlocks<float>(tensor, all, sums);
    } else if (isDense && tensor.dtype() == tensor::DType::Float64) {
        addBlocks<double>(tensor, all, sums);
    } else {
        forEachElement(tensor, [&](double x) { sums.add(all, x); });
    }
    if (all.firstNotFinite >= 0 && isDense && !tensor.isContiguous()) {
        std::int64_t position = 0;
        all.firstNotFinite = -1;
        forEachElement(tensor, [&](double x) {
            all.firstNotFinite = all.firstNotFinite < 0 && !std::isfinite(x) ? position : all.firstNotFinite;
            ++position;
        });
    }
    if (const auto finite = static_cast<double>(all.finite()); finite > 0) {
        all.least = sums.least;
        all.largest = sums.largest;
        all.mean = sums.first + sums.sum / finite;
        all.variance = std::max(0.0, sums.squares / finite - (sums.sum / finite) * (sums.sum / finite));
    }
    return all;
}

bool isAllFinite(const Tensor& tensor)
{
    if (!tensor.isValid()) {
        return true;
    }
    if (tensor.dtype() == tensor::DType::Float32 && tensor.isDense()) {
        return isFiniteBlock(reinterpret_cast<const float*>(tensor.rawData()), tensor.size());
    }
    return statisticsOf(tensor).notFinite() == 0;
}

std::int64_t zerosIn(const Tensor& tensor)
{
    std::int64_t zeros = 0;
    if (tensor.isValid() && tensor.dtype() == tensor::DType::Float32 && tensor.isDense()) {
        const float* const x = tensor.data<float>();
        for (std::int64_t begin = 0; begin < tensor.size(); begin += kBlock) {
            std::int32_t here = 0; // of one block: narrow, so that several are counted at once
            const std::int64_t end = std::min(begin + kBlock, tensor.size());
            for (std::int64_t i = begin; i < end; ++i) {
                here += x[i] == 0 ? 1 : 0;
            }
            zeros += here;
        }
        return zeros;
    }
    forEachElement(tensor, [&zeros](double x) { zeros += x == 0 ? 1 : 0; });
    return zeros;
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
    const bool isNarrow = tensor.isValid() && axis < tensor.rank() && tensor.size() > 0 &&
                          ops::isSixteenBit(tensor.dtype()) && ops::hasWeightRows(tensor);
    if (isNarrow) {
        std::vector<double> norms = squaresOfNarrow(tensor, axis);
        std::ranges::for_each(norms, [](double& x) { x = std::sqrt(x); });
        return norms;
    }
    const bool isPlain = tensor.isValid() && tensor.dtype() == tensor::DType::Float32 && tensor.isContiguous() &&
                         axis < tensor.rank() && tensor.size() > 0;
    std::vector<double> norms =
        isPlain ? squaresAlong(tensor, axis) : sumsAlong<double>(tensor, axis, [](double x) { return x * x; });
    std::ranges::for_each(norms, [](double& x) { x = std::sqrt(x); });
    return norms;
}

std::vector<std::int64_t> nonZerosAlong(const Tensor& tensor, std::size_t axis)
{
    return sumsAlong<std::int64_t>(tensor, axis, [](double x) { return std::int64_t{x != 0}; });
}

std::vector<std::int64_t> zerosAlong(const Tensor& tensor, std::size_t axis)
{
    const AxisSizes sizes = tensor.isValid() ? axisSizes(tensor.shape(), axis) : AxisSizes();
    std::vector<std::int64_t> zeros;
    const Tensor flat = tensor.isValid() ? tensor.contiguous() : Tensor();
    const std::int64_t outer = sizes.extent > 0 && sizes.inner > 0 ? flat.size() / (sizes.extent * sizes.inner) : 0;
    for (std::int64_t i = 0; i < sizes.extent; ++i) {
        bool isZero = flat.size() > 0;
        for (std::int64_t k = 0; k < outer && isZero; ++k) {
            for (std::int64_t m = 0; m < sizes.inner && isZero; ++m) { // most end at the first element
                isZero = flat.at((k * sizes.extent + i) * sizes.inner + m) == 0;
            }
        }
        if (isZero) {
            zeros.push_back(i);
        }
    }
    return zeros;
}

std::optional<MemoryRuns> runsAlong(const Tensor& tensor, std::size_t axis)
{
    if (!tensor.isValid() || axis >= tensor.rank() || tensor.size() == 0) {
        return std::nullopt;
    }
    const std::int64_t extent = tensor.shape()[axis];
    if (tensor.isContiguous()) {
        const std::int64_t inner = axisSizes(tensor.shape(), axis).inner;
        return MemoryRuns{tensor.size() / (extent * inner), extent, inner};
    }
    const bool isInnermost = tensor.isDense() && tensor.strides()[axis] == 1;
    return isInnermost ? std::optional(MemoryRuns{tensor.size() / extent, extent, 1}) : std::nullopt;
}

std::vector<double> meansAlong(const Tensor& tensor, std::size_t axis)
{
    const auto runs =
        tensor.isValid() && tensor.dtype() == tensor::DType::Float32 ? runsAlong(tensor, axis) : std::nullopt;
    std::vector<double> means =
        runs ? sumsInRuns(tensor.data<float>(), *runs) : sumsAlong<double>(tensor, axis, [](double x) { return x; });
    const double each = means.empty() ? 1 : static_cast<double>(tensor.size()) / static_cast<double>(means.size());
    std::ranges::for_each(means, [each](double& mean) { mean /= each; });
    return means;
}

} // namespace retro::diagnosis
