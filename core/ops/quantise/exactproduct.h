// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/boundoperator.h"

#include <cstdint>
#include <memory>

namespace retro::ops
{

/// Which axes of a weight one sum runs over: all but the first (Conv), the one before the last (MatMul), the last.
enum class SumAxis : std::uint8_t { AllButFirst, BeforeLast, Last };

/// A linear operator (Conv, Gemm or MatMul without a bias) on whole numbers, exactly. float32 holds every whole number
/// up to 2²⁴: left operands are cut into digits so small that no sum goes beyond it, and the parts are added in double.
class ExactProduct
{
public:
    ExactProduct() = default;
    /// `product` is bound in `type`, which is double where fitsFloat() says no; `weight`: its operand 1 when that is
    /// constant, else invalid.
    ExactProduct(std::unique_ptr<BoundOperator> product, const Tensor& weight, tensor::DType type, SumAxis axis);

    /// False where sums of such a weight need double whatever the digits are.
    [[nodiscard]] static bool fitsFloat(const Tensor& weight, SumAxis axis);
    /// The product in double. `x` and `w` hold whole numbers.
    [[nodiscard]] Tensor of(const Tensor& x, const Tensor& w) const;

private:
    [[nodiscard]] Tensor once(const Tensor& x, const Tensor& w) const;

    std::unique_ptr<BoundOperator> m_product;
    tensor::DType m_type = tensor::DType::Float32;
    double m_weightSum = 0; ///< bound of Σ|w| of one sum; 0: the weight is computed
};

} // namespace retro::ops
