// SPDX-License-Identifier: Apache-2.0
#include "core/ops/quantise/qonnx.h"

#include "core/ops/algebra.h"
#include "core/ops/bind/bindcheck.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace retro::ops
{

using tensor::DType;
using tensor::Shape;

base::Result<QonnxRounding> qonnxRounding(const BindContext& context, std::string_view fallback)
{
    static constexpr std::array<std::pair<std::string_view, QonnxRounding>, 9> kModes{
        {{"ROUND", QonnxRounding::HalfEven},
         {"HALF_EVEN", QonnxRounding::HalfEven},
         {"CEIL", QonnxRounding::Ceil},
         {"FLOOR", QonnxRounding::Floor},
         {"UP", QonnxRounding::Up},
         {"DOWN", QonnxRounding::Down},
         {"ROUND_TO_ZERO", QonnxRounding::Down},
         {"HALF_UP", QonnxRounding::HalfUp},
         {"HALF_DOWN", QonnxRounding::HalfDown}}};
    const std::string given = context.textAttribute("rounding_mode", std::string(fallback));
    std::string mode = given;
    std::ranges::transform(mode, mode.begin(),
                           [](char c) { return static_cast<char>(std::toupper(static_cast<unsigned char>(c))); });
    const auto* const found = std::ranges::find(kModes, mode, [](const auto& each) { return each.first; });
    if (found == kModes.end()) {
        return context.error(fmt::format("rounding_mode '{}' is unknown; it must be ROUND, HALF_EVEN, CEIL, FLOOR, UP, "
                                         "DOWN, ROUND_TO_ZERO, HALF_UP or HALF_DOWN",
                                         given));
    }
    return found->second;
}

QonnxRange qonnxRange(const BindContext& context)
{
    return {context.intAttribute("signed", 1) != 0, context.intAttribute("narrow", 0) != 0};
}

base::Result<void> expectQonnxOperands(const BindContext& context, std::size_t count)
{
    const Shape& x = firstType(context).shape;
    for (std::size_t slot = 0; slot < count; ++slot) {
        if (!context.present(slot)) {
            return context.error(fmt::format("operand {} is missing", slot));
        }
        const TensorType& type = context.operandTypes[slot];
        if (!tensor::isFloating(type.dtype)) {
            return context.error(
                fmt::format("operand {} is {}, but must be floating", slot, tensor::nameOf(type.dtype)));
        }
        RETRO_TRY(const Shape shape, broadcastShape(context, x, type.shape));
        if (shape != x) {
            return context.error(fmt::format("operand {} of shape [{}] does not broadcast to operand 0 of shape [{}]",
                                             slot, tensor::toText(type.shape), tensor::toText(x)));
        }
    }
    return {};
}

QonnxOperator::QonnxOperator(const BindContext& context)
    : Operator(firstType(context)), m_operands(operandShapes(context))
{}

std::vector<Tensor> QonnxOperator::spread(std::span<const Tensor> operands, DType type) const
{
    std::vector<Tensor> result;
    for (const Tensor& t : operands) {
        result.push_back(algebra::broadcastTo(t.to(type), m_operands.front()).contiguous());
    }
    return result;
}

Tensor QonnxOperator::carryBack(std::span<const Tensor>, std::size_t slot) const
{
    return Tensor::zeros(m_outputTypes[0].dtype, m_operands[slot]); // without the operands nothing is known
}

Tensor QonnxOperator::carryBack(std::span<const Tensor> perOutput, std::span<const Tensor> operands,
                                std::size_t slot) const
{
    if (slot != 0 || !perOutput[0].isValid()) {
        return carryBack(perOutput, slot);
    }
    return algebra::multiply(perOutput[0], passing(operands).to(perOutput[0].dtype()));
}

} // namespace retro::ops
