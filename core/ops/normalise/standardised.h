// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/bind/operatorbase.h"
#include "core/ops/detachable.h"
#include "core/ops/reference/standardise.h"

namespace retro::ops
{

/// How an operator that standardises sees its operand.
struct StandardisedView
{
    reference::Standardisation form;
    tensor::Shape order;                 ///< axes of the operand as they are read; empty: as they are
    tensor::Shape shape;                 ///< the operand as scale and bias are broadcast to it; empty: its own shape
    tensor::Shape affine;                ///< shape of scale and bias before they are broadcast to it; empty: their own
    std::vector<tensor::Shape> operands; ///< shapes of all operands
};

/// y = (x − mean)/deviation over groups of elements, times scale (operand 1), plus bias (operand 2), both optional.
/// Outputs 1 and 2, where asked for: mean and 1/deviation per group.
class Standardised final : public Operator<SelfNormalisation>, public Detachable
{
public:
    Standardised(std::vector<TensorType> outputs, StandardisedView view);

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override;
    [[nodiscard]] Reads savedForGradient() const override { return {Reads::bit(0) | Reads::bit(1), 0}; }
    /// By operand, scale or bias.
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands,
                                  std::span<const Tensor> outputs, std::size_t slot) const override;
    [[nodiscard]] bool isCentred() const override { return m_view.form.isCentred; }
    [[nodiscard]] Tensor detachedPullback(const Tensor& s, std::span<const Tensor> operands) const override;
    [[nodiscard]] Tensor detachedForward(const Tensor& v, std::span<const Tensor> operands) const override;
    [[nodiscard]] Tensor sumsPerScale(const Tensor& perElement) const override;

private:
    [[nodiscard]] tensor::DType type() const { return m_outputTypes[0].dtype; }
    /// The operand with its groups as rows, row-major.
    [[nodiscard]] Tensor rowsOf(const Tensor& t) const;
    /// Back to the operand's shape.
    [[nodiscard]] Tensor fromRows(const Tensor& rows) const;
    [[nodiscard]] Tensor standardised(const Tensor& x) const;
    /// True when operand `slot` is missing or has one value per element of a row.
    [[nodiscard]] bool isPerElement(std::span<const Tensor> operands, std::size_t slot) const;
    /// Output 0, when that is so for scale and bias.
    [[nodiscard]] Tensor inOnePass(std::span<const Tensor> operands) const;
    /// Output 0.
    [[nodiscard]] Tensor scaled(std::span<const Tensor> operands) const;
    /// Scale or bias as it is broadcast.
    [[nodiscard]] Tensor affine(const Tensor& t) const;
    /// What arrives at output 0, before the scale: per element of the operand.
    [[nodiscard]] Tensor beforeScale(const Tensor& s, const Tensor& scale) const;
    [[nodiscard]] Tensor toOperand(const Tensor& x, const Tensor& scale, std::span<const Tensor> s) const;
    [[nodiscard]] Tensor toAffine(const Tensor& product, std::size_t slot) const;

    StandardisedView m_view;
    tensor::Shape m_operand;
};

} // namespace retro::ops
