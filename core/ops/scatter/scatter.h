// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/bind/operatorbase.h"
#include "core/ops/kernel/elementmap.h"

#include <memory>

namespace retro::ops
{

/// What becomes of an element that updates go to.
enum class ScatterReduction : std::uint8_t { None, Add, Mul, Max, Min };

/// y[map[i]] = y[map[i]] ∘ updates[i] on a copy of `data`, in the order of i; any number type, bool as 0 and 1.
[[nodiscard]] tensor::Tensor scatterReduced(const tensor::Tensor& data, const ElementMap& map,
                                            const tensor::Tensor& updates, ScatterReduction reduction);

/// Gradients of Σ s·y with respect to data and updates; float32, float64. Of equal extremes the first gets it, data
/// before updates.
struct ScatterGradients
{
    tensor::Tensor data;
    tensor::Tensor updates;
};
/// See ScatterGradients; shapes of data and updates.
[[nodiscard]] ScatterGradients scatterGradients(const tensor::Tensor& s, const tensor::Tensor& data,
                                                const ElementMap& map, const tensor::Tensor& updates,
                                                ScatterReduction reduction);

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
