// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/bind/operatorbase.h"
#include "core/ops/onednn/onednnconvolution.h"
#include "core/ops/readsbyslot.h"

namespace retro::ops
{

/// Conv and ConvTranspose whose weights (operand 1) or bias (operand 2) are computed: a function of all of them.
class DynamicConvolution final : public Operator<Differentiable>, public ReadsBySlot
{
public:
    /// `direction` is that of the operator: Forward for Conv, Transposed for ConvTranspose.
    DynamicConvolution(TensorType output, reference::ConvolutionShape shape, onednn::Direction direction,
                       tensor::Shape weight);

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override;
    [[nodiscard]] Reads savedForGradient() const override { return {Reads::bit(0) | Reads::bit(1), 0}; }
    [[nodiscard]] Reads readsFor(std::span<const std::uint8_t> slots) const override { return readsOfProduct(slots); }
    [[nodiscard]] double flops() const override;
    /// By operand, weights or bias.
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands,
                                  std::span<const Tensor> outputs, std::size_t slot) const override;
    /// Bilinear in operand and weights.
    [[nodiscard]] double share(std::span<const std::uint8_t> tracked, std::size_t slot) const override;

private:
    [[nodiscard]] Tensor weightGradient(const Tensor& s, const Tensor& x) const;

    reference::ConvolutionShape m_shape;
    onednn::Direction m_direction;
    tensor::Shape m_weight;
};

} // namespace retro::ops
