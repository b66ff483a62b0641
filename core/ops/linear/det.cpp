// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/visitnumber.h"

#include <cmath>

namespace retro::ops
{

namespace
{

using tensor::Shape;
using Matrix = std::vector<double>; // n × n, row by row

/// Row from k on whose element in column k is largest.
std::size_t pivotOf(const Matrix& m, std::size_t n, std::size_t k)
{
    std::size_t pivot = k;
    for (std::size_t row = k + 1; row < n; ++row) {
        pivot = std::abs(m[row * n + k]) > std::abs(m[pivot * n + k]) ? row : pivot;
    }
    return pivot;
}

void swapRows(Matrix& m, std::size_t n, std::size_t a, std::size_t b)
{
    const auto at = [&](std::size_t row) { return m.begin() + static_cast<std::ptrdiff_t>(row * n); };
    std::swap_ranges(at(a), at(a + 1), at(b));
}

/// Subtracts multiples of row k from those below, so that column k is 0 there.
void eliminate(Matrix& m, std::size_t n, std::size_t k)
{
    for (std::size_t row = k + 1; row < n; ++row) {
        const double factor = m[row * n + k] / m[k * n + k];
        for (std::size_t column = k; column < n; ++column) {
            m[row * n + column] -= factor * m[k * n + column];
        }
    }
}

/// Determinant by elimination with row pivots.
double determinant(Matrix m, std::size_t n)
{
    double result = 1;
    for (std::size_t k = 0; k < n; ++k) {
        const std::size_t pivot = pivotOf(m, n, k);
        if (pivot != k) {
            swapRows(m, n, k, pivot);
            result = -result;
        }
        result *= m[k * n + k];
        if (m[k * n + k] == 0) {
            return result; // 0, or NaN that came before
        }
        eliminate(m, n, k);
    }
    return result;
}

/// Determinant of m with row i and column j taken away, with its sign: ∂det/∂m_ij.
double cofactor(const Matrix& m, std::size_t n, std::size_t i, std::size_t j)
{
    Matrix rest;
    for (std::size_t row = 0; row < n; ++row) {
        for (std::size_t column = 0; column < n; ++column) {
            if (row != i && column != j) {
                rest.push_back(m[row * n + column]);
            }
        }
    }
    return ((i + j) % 2 == 0 ? 1 : -1) * determinant(std::move(rest), n - 1);
}

/// Determinants of a batch of matrices, worked out in double.
class Det final : public Operator<Differentiable>
{
public:
    Det(TensorType output, Shape operand)
        : Operator(std::move(output)), m_operand(std::move(operand)), m_n(static_cast<std::size_t>(m_operand.back()))
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        std::vector<double> results;
        forEachMatrix(operands[0], [&](const Matrix& m) { results.push_back(determinant(m, m_n)); });
        return {Tensor::of<double>(m_outputTypes[0].shape, results).to(m_outputTypes[0].dtype)};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::firstOperand(); }
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                                  std::size_t) const override
    {
        std::vector<double> results;
        std::int64_t number = 0;
        forEachMatrix(operands[0], [&](const Matrix& m) {
            const double seed = s[0].at(number++);
            for (std::size_t i = 0; i < m_n * m_n; ++i) {
                results.push_back(seed * cofactor(m, m_n, i / m_n, i % m_n));
            }
        });
        return Tensor::of<double>(m_operand, results).to(m_outputTypes[0].dtype);
    }
    /// det(c·m) = cⁿ·det(m).
    [[nodiscard]] double share(std::span<const std::uint8_t>, std::size_t) const override
    {
        return 1.0 / static_cast<double>(std::max<std::size_t>(m_n, 1));
    }

private:
    template <class F>
    void forEachMatrix(const Tensor& x, const F& f) const
    {
        const Tensor wide = x.to(tensor::DType::Float64).contiguous();
        const std::size_t size = m_n * m_n;
        const auto count = static_cast<std::size_t>(tensor::elementCount(m_outputTypes[0].shape));
        for (std::size_t i = 0; i < count; ++i) {
            f(Matrix(wide.data<double>() + i * size, wide.data<double>() + (i + 1) * size));
        }
    }

    Shape m_operand;
    std::size_t m_n;
};

BoundResult bindDet(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    const TensorType& x = firstType(context);
    const std::size_t rank = x.shape.size();
    if (rank < 2 || x.shape[rank - 1] != x.shape[rank - 2]) {
        return context.error("the last two axes must be a square matrix");
    }
    return bound<Det>(TensorType{x.dtype, Shape(x.shape.begin(), x.shape.end() - 2)}, x.shape);
}

} // namespace

const OperatorFamily kDetOperators{
    {"", "Det", 11, 0, "function", true, bindDet},
};

} // namespace retro::ops
