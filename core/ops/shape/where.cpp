// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/rowloop.h"
#include "core/ops/masking.h"

#include <fmt/format.h>

#include <array>

namespace retro::ops
{

namespace
{

using tensor::DType;
using tensor::Shape;

/// x where the condition holds, else y; elements of any type, by their width.
template <class Word>
void chooseRow(const void* const* in, void* out, std::int64_t count, RowParameters)
{
    const auto* condition = static_cast<const std::uint8_t*>(in[0]);
    const auto* x = static_cast<const Word*>(in[1]);
    const auto* y = static_cast<const Word*>(in[2]);
    auto* z = static_cast<Word*>(out);
    for (std::int64_t i = 0; i < count; ++i) {
        z[i] = condition[i] != 0 ? x[i] : y[i];
    }
}

RowFunction chooseRows(DType type)
{
    switch (tensor::sizeOf(type)) {
    case 1:
        return chooseRow<std::uint8_t>;
    case 2:
        return chooseRow<std::uint16_t>;
    case 4:
        return chooseRow<std::uint32_t>;
    default:
        return chooseRow<std::uint64_t>;
    }
}

/// Elements of operand 1 where operand 0 holds, else of operand 2; all broadcast.
class Where final : public Operator<ShapeMap>, public Masking
{
public:
    Where(TensorType output, std::array<Shape, 3> operands)
        : Operator(std::move(output)), m_operands(std::move(operands))
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const TensorType& type = m_outputTypes[0];
        return {mapRows(chooseRows(type.dtype), type.dtype, type.shape, operands.first(3))};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::firstOperand(); }
    [[nodiscard]] bool isSteered() const override { return true; }
    [[nodiscard]] Tensor carryBack(std::span<const Tensor>, std::size_t slot) const override
    {
        return Tensor::zeros(m_outputTypes[0].dtype, m_operands[slot]); // without the condition nothing is known
    }
    [[nodiscard]] Tensor carryBack(std::span<const Tensor> perOutput, std::span<const Tensor> operands,
                                   std::size_t slot) const override
    {
        const TensorType& type = m_outputTypes[0];
        if (!perOutput[0].isValid() || slot == 0) {
            return Tensor::zeros(slot == 0 ? DType::Bool : type.dtype, m_operands[slot]);
        }
        const Tensor zero = Tensor::zeros(type.dtype, {});
        const Tensor part = mapRows(chooseRows(type.dtype), type.dtype, type.shape,
                                    {operands[0], slot == 1 ? perOutput[0] : zero, slot == 2 ? perOutput[0] : zero});
        return algebra::reduceTo(part, m_operands[slot]);
    }

private:
    std::array<Shape, 3> m_operands;
};

BoundResult bindWhere(const BindContext& context)
{
    const TensorType& x = context.operandTypes[1];
    if (firstType(context).dtype != DType::Bool) {
        return context.error("the condition (operand 0) must be bool; insert a Cast");
    }
    if (x.dtype != context.operandTypes[2].dtype) {
        return context.error(fmt::format("operand 2 is {}, but operand 1 is {}; insert a Cast",
                                         nameOf(context.operandTypes[2].dtype), nameOf(x.dtype)));
    }
    const std::array shapes{firstType(context).shape, x.shape, context.operandTypes[2].shape};
    RETRO_TRY(const Shape both, broadcastShape(context, shapes[1], shapes[2]));
    RETRO_TRY(Shape shape, broadcastShape(context, shapes[0], both));
    return bound<Where>(TensorType{x.dtype, std::move(shape)}, shapes);
}

} // namespace

const OperatorFamily kWhereOperators{
    {"", "Where", 9, 0, "shape map", true, bindWhere, false, Elements::Chosen},
};

} // namespace retro::ops
