// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/bind/operatorbase.h"
#include "core/ops/kernel/weightrows.h"
#include "core/ops/kernel/weightvariants.h"
#include "core/ops/reference/matrix.h"

namespace retro::ops
{

/// How a product of matrices with one constant factor is laid out. Inner shapes are what is multiplied: at least two
/// axes, batch axes in front.
struct MatrixMapPlan
{
    std::size_t slot = 0;        ///< operand that is x
    bool isWeightOnRight = true; ///< z = x·W, else z = W·x
    bool isTransposed = false;   ///< x's last two axes are swapped first
    tensor::Shape xOuter;        ///< x as the node sees it
    tensor::Shape xInner;        ///< x after reshaping and swapping
    tensor::Shape zInner;        ///< z before reshaping to the output's shape
    Tensor weight;               ///< inner shape, scaled and swapped already; may be narrow as it is stored
    std::shared_ptr<const PackedMatrix> packed; ///< in its place, on the right; or null
    Tensor bias;                                ///< invalid, or broadcastable to the output
};

/// MatMul by a constant, and Gemm with a constant matrix (and bias).
class MatrixMap final : public Operator<LinearMap>
{
public:
    MatrixMap(TensorType output, MatrixMapPlan plan);

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override;
    [[nodiscard]] Tensor forwardThrough(std::span<Tensor> operands, const RowsOver& rows) const override;
    [[nodiscard]] Reads savedForGradient() const override;
    [[nodiscard]] double flops() const override;

    [[nodiscard]] std::size_t operandSlot() const override { return m_plan.slot; }
    [[nodiscard]] bool hasBias() const override { return m_bias.isValid(); }
    [[nodiscard]] Tensor bias(WeightVariant variant) const override;
    [[nodiscard]] Tensor apply(const Tensor& x, WeightVariant variant) const override;
    [[nodiscard]] Tensor pullback(const Tensor& s, WeightVariant variant) const override;

private:
    [[nodiscard]] const tensor::Shape& weightShape() const;
    /// The weights in the type of the run.
    [[nodiscard]] Tensor weight(WeightVariant variant) const;
    /// Whether all of x is one matrix that is multiplied by the weights, in float32.
    [[nodiscard]] bool isOneProduct(const Tensor& x) const;
    /// Product and bias per column, and `over` (may be null) over it, in one walk; invalid where that does not exist.
    [[nodiscard]] Tensor inOneWalk(const Tensor& x, const RowsOver* over) const;
    /// The weights as rows that are widened piece by piece, for a product of float32 where no wide copy may be made;
    /// null where they are multiplied as they lie. `isTurned`: the rows are columns of the weights.
    [[nodiscard]] std::unique_ptr<const WeightRows> rows(const Tensor& x, WeightVariant variant, bool& isTurned) const;
    /// The weights packed, from the second product on, where packing them takes long and what was in memory at most
    /// leaves room beside it; null or invalid elsewhere.
    [[nodiscard]] const Tensor* keptPack(const reference::MatrixView<float>& b) const;
    /// Product of an inner operand with the weights, or with their transpose.
    [[nodiscard]] Tensor product(const Tensor& x, WeightVariant variant, bool isBackward) const;
    /// What a cotangent of the inner result gives for the inner operand. Rows that are all 0 are not multiplied.
    [[nodiscard]] Tensor backward(const Tensor& s, WeightVariant variant) const;
    /// x as it is multiplied: row-major, reshaped or swapped.
    [[nodiscard]] Tensor inner(const Tensor& x) const;

    MatrixMapPlan m_plan;
    WeightVariants m_weight;
    WeightVariants m_bias;
    PreparedCache<int, Tensor> m_pack; ///< of the weights as they are
};

} // namespace retro::ops
