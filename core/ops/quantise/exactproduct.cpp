// SPDX-License-Identifier: Apache-2.0
#include "core/ops/quantise/exactproduct.h"

#include "core/ops/algebra.h"
#include "core/ops/kernel/filled.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace retro::ops
{

namespace
{

using tensor::DType;

constexpr double kExactInFloat = 1 << 24;
constexpr double kLeastBase = 4;

double largestMagnitude(const Tensor& t)
{
    const Tensor flat = t.contiguous();
    return visitFloat(flat.dtype(), [&](auto of) {
        double most = 0;
        for (const auto v : flat.span<decltype(of)>()) {
            most = std::max(most, std::abs(static_cast<double>(v)));
        }
        return most;
    });
}

/// The largest Σ|w| of one sum, at least 1.
double boundOfSums(const Tensor& weight, SumAxis axis)
{
    const Tensor flat = weight.contiguous();
    const auto& shape = flat.shape();
    if (flat.size() == 0 || shape.empty()) {
        return 1;
    }
    const std::int64_t rows = axis == SumAxis::AllButFirst ? shape[0] : flat.size() / shape.back();
    const std::int64_t columns = flat.size() / rows;
    return visitFloat(flat.dtype(), [&](auto of) {
        const auto values = flat.span<decltype(of)>();
        const bool isDown = axis == SumAxis::BeforeLast && shape.size() > 1;
        std::vector<double> sums(static_cast<std::size_t>(isDown ? columns : rows));
        for (std::int64_t i = 0; i < flat.size(); ++i) {
            const auto at = static_cast<std::size_t>(isDown ? i % columns : i / columns);
            sums[at] += std::abs(static_cast<double>(values[static_cast<std::size_t>(i)]));
        }
        return std::max(1.0, *std::max_element(sums.begin(), sums.end()));
    });
}

/// The most that may be multiplied with: a power of two.
double baseOf(double weightSum) { return std::exp2(std::floor(std::log2(kExactInFloat / weightSum))); }

/// x − base·⌊x / base⌋ or ⌊x / base⌋.
Tensor digitOf(const Tensor& x, double base, bool isLow)
{
    const Tensor in = x.contiguous();
    return filled(in.dtype(), in.shape(), [&](auto* y) {
        using T = std::decay_t<decltype(*y)>;
        const auto* v = elements(in, y);
        const T step = static_cast<T>(base);
        for (std::int64_t i = 0; i < in.size(); ++i) {
            const T high = std::floor(v[i] / step);
            y[i] = isLow ? v[i] - step * high : high;
        }
    });
}

} // namespace

ExactProduct::ExactProduct(std::unique_ptr<BoundOperator> product, const Tensor& weight, DType type, SumAxis axis)
    : m_product(std::move(product)), m_type(type), m_weightSum(weight.isValid() ? boundOfSums(weight, axis) : 0)
{}

bool ExactProduct::fitsFloat(const Tensor& weight, SumAxis axis)
{
    return weight.isValid() && baseOf(boundOfSums(weight, axis)) >= kLeastBase;
}

Tensor ExactProduct::once(const Tensor& x, const Tensor& w) const
{
    const std::array<Tensor, 2> operands{x.to(m_type), w.to(m_type)};
    return m_product->forward(operands)[0].to(DType::Float64).contiguous();
}

Tensor ExactProduct::of(const Tensor& x, const Tensor& w) const
{
    if (m_type == DType::Float64 || !std::isfinite(largestMagnitude(x))) {
        return once(x, w);
    }
    const double base = baseOf(m_weightSum);
    Tensor rest = x;
    Tensor sum;
    double place = 1;
    while (largestMagnitude(rest) > base) {
        const Tensor part = algebra::scale(once(digitOf(rest, base, true), w), place);
        sum = sum.isValid() ? algebra::add(sum, part) : part;
        rest = digitOf(rest, base, false);
        place *= base;
    }
    const Tensor part = algebra::scale(once(rest, w), place);
    return sum.isValid() ? algebra::add(sum, part) : part;
}

} // namespace retro::ops
