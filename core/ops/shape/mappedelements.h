// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/bind/operatorbase.h"
#include "core/ops/kernel/elementmap.h"

namespace retro::ops
{

/// A shape map of operand 0 that is given by the position that each result element comes from.
class MappedElements : public Operator<ShapeMap>
{
public:
    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        return {gathered(operands[0], sources(operands), m_outputTypes[0].shape, fill(operands))};
    }
    [[nodiscard]] Reads savedForGradient() const override
    {
        return m_isSteered ? Reads{Reads::bit(1), 0} : Reads::nothing();
    }
    [[nodiscard]] bool isSteered() const override { return m_isSteered; }
    [[nodiscard]] Tensor carryBack(std::span<const Tensor> perOutput, std::size_t slot) const override
    {
        return carryBack(perOutput, {}, slot);
    }
    /// Sums what arrives at all places of an element.
    [[nodiscard]] Tensor carryBack(std::span<const Tensor> perOutput, std::span<const Tensor> operands,
                                   std::size_t) const override
    {
        if (!perOutput[0].isValid()) {
            return Tensor::zeros(m_outputTypes[0].dtype, m_operand);
        }
        return scatterSum(perOutput[0], sources(operands), m_operand);
    }

protected:
    /// `isSteered`: operand 1 decides at run time which elements move.
    MappedElements(TensorType output, tensor::Shape operand, bool isSteered)
        : Operator(std::move(output)), m_operand(std::move(operand)), m_isSteered(isSteered)
    {}

    /// The position in operand 0 of each result element. Reads operand 1 alone, and only when steered.
    [[nodiscard]] virtual ElementMap sources(std::span<const Tensor> operands) const = 0;
    /// What elements of none are; invalid = 0.
    [[nodiscard]] virtual Tensor fill(std::span<const Tensor> operands) const
    {
        (void)operands;
        return {};
    }
    [[nodiscard]] const tensor::Shape& operandShape() const { return m_operand; }

private:
    tensor::Shape m_operand;
    bool m_isSteered;
};

/// Mapped elements that are known when the operator is bound.
class FixedMap : public MappedElements
{
public:
    FixedMap(TensorType output, tensor::Shape operand, ElementMap map, Tensor fill = {})
        : MappedElements(std::move(output), std::move(operand), false), m_map(std::move(map)), m_fill(std::move(fill))
    {}

protected:
    [[nodiscard]] ElementMap sources(std::span<const Tensor>) const override { return m_map; }
    [[nodiscard]] Tensor fill(std::span<const Tensor>) const override { return m_fill; }

private:
    ElementMap m_map;
    Tensor m_fill;
};

} // namespace retro::ops
