// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/bind/operatorbase.h"
#include "core/ops/kernel/elementmap.h"
#include "core/ops/scatter/scatterreduction.h"

#include <memory>

namespace retro::ops
{

/// Where the elements of the updates go, for the operators that write updates into data.
class ScatterTarget
{
public:
    virtual ~ScatterTarget() = default;
    /// Position in the data of each element of the updates. Reads the index operand alone.
    [[nodiscard]] virtual ElementMap positions(std::span<const Tensor> operands) const = 0;
    /// Refuses indices outside. Errors: Input, without a place.
    [[nodiscard]] virtual base::Result<void> check(std::span<const Tensor> operands) const = 0;
};

/// Operand slots and types of such an operator.
struct ScatterLayout
{
    TensorType data; ///< operand 0, and the result
    tensor::Shape updates;
    std::size_t updateSlot = 2;
    std::size_t indexSlot = 1;
};

/// Data with elements overwritten by updates; where two go to one place, the later one stays.
class ScatterOverwrite final : public Operator<ShapeMap>
{
public:
    ScatterOverwrite(ScatterLayout layout, std::unique_ptr<const ScatterTarget> target);

    [[nodiscard]] base::Result<void> check(std::span<const Tensor> operands) const override
    {
        return m_target->check(operands);
    }
    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override;
    [[nodiscard]] Reads savedForGradient() const override { return {Reads::bit(m_layout.indexSlot), 0}; }
    [[nodiscard]] bool isSteered() const override { return true; }
    [[nodiscard]] Tensor carryBack(std::span<const Tensor> perOutput, std::size_t slot) const override;
    /// To the data where nothing was written, to each update that stayed.
    [[nodiscard]] Tensor carryBack(std::span<const Tensor> perOutput, std::span<const Tensor> operands,
                                   std::size_t slot) const override;

private:
    ScatterLayout m_layout;
    std::unique_ptr<const ScatterTarget> m_target;
};

/// Data with updates added to it, multiplied into it, or taken where they are larger or smaller.
class ScatterCombine final : public Operator<Differentiable>
{
public:
    ScatterCombine(ScatterLayout layout, std::unique_ptr<const ScatterTarget> target, ScatterReduction reduction);

    [[nodiscard]] base::Result<void> check(std::span<const Tensor> operands) const override
    {
        return m_target->check(operands);
    }
    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override;
    [[nodiscard]] Reads savedForGradient() const override;
    /// As Differentiable says; the indices get zeros.
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                                  std::size_t slot) const override;

private:
    ScatterLayout m_layout;
    std::unique_ptr<const ScatterTarget> m_target;
    ScatterReduction m_reduction;
};

} // namespace retro::ops
