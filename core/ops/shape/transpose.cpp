// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/lookup.h"

#include <fmt/format.h>

#include <numeric>

namespace retro::ops
{

namespace
{

using tensor::Shape;

/// Axes in another order; a view, nothing is moved.
class Transpose final : public Operator<ShapeMap>, public TokenMap
{
public:
    Transpose(TensorType output, Shape operand, Shape order)
        : Operator(std::move(output)), m_operand(std::move(operand)), m_order(std::move(order)),
          m_inverse(m_order.size())
    {
        for (std::size_t i = 0; i < m_order.size(); ++i) {
            m_inverse[static_cast<std::size_t>(m_order[i])] = static_cast<std::int64_t>(i);
        }
    }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        return {operands[0].permuted(m_order)};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::nothing(); }
    [[nodiscard]] bool isRearrangement() const override { return true; }
    [[nodiscard]] Tensor carryBack(std::span<const Tensor> perOutput, std::size_t) const override
    {
        return perOutput[0].isValid() ? perOutput[0].permuted(m_inverse)
                                      : Tensor::zeros(m_outputTypes[0].dtype, m_operand);
    }

private:
    Shape m_operand;
    Shape m_order;
    Shape m_inverse;
};

BoundResult bindTranspose(const BindContext& context)
{
    const TensorType& operand = firstType(context);
    Shape reversed(operand.shape.size());
    std::iota(reversed.rbegin(), reversed.rend(), std::int64_t{0});
    Shape order = context.intsAttribute("perm", reversed);
    if (!std::is_permutation(order.begin(), order.end(), reversed.begin(), reversed.end())) {
        return context.error(fmt::format("perm [{}] does not name each of the {} axes once", fmt::join(order, ", "),
                                         operand.shape.size()));
    }
    Shape shape(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        shape[i] = operand.shape[static_cast<std::size_t>(order[i])];
    }
    return bound<Transpose>(TensorType{operand.dtype, std::move(shape)}, operand.shape, std::move(order));
}

} // namespace

const OperatorFamily kTransposeOperators{
    {"", "Transpose", 1, 0, "shape map", true, bindTranspose, true, Elements::Turned},
};

} // namespace retro::ops
