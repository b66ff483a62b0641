// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/families.h"
#include "core/ops/normalise/standardised.h"

#include <fmt/format.h>

namespace retro::ops
{

namespace
{

using tensor::Shape;

/// Slots of the optional operands; kNone: the operator has none such.
constexpr std::size_t kNone = 99;
struct SkipSlots
{
    std::size_t beta = kNone;
    std::size_t bias = kNone;
};

/// Normalisation over the last axis of operand 0 + skip (operand 1) + bias, times gamma (operand 2), plus beta.
/// Outputs: the result, mean, 1/deviation, and the sum.
class SkipNormalization final : public Operator<Composed>
{
public:
    SkipNormalization(std::vector<TensorType> outputs, const StandardisedView& view, const SkipSlots& slots,
                      std::vector<Shape> operands)
        : Operator(outputs), m_slots(slots), m_operands(std::move(operands)),
          m_norm({outputs[0], outputs[1], outputs[2]}, view)
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const Tensor sum = sumOf(operands);
        std::vector<Tensor> results = m_norm.forward(normOperands(operands, sum));
        results.push_back(sum);
        return results;
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::allOperands(); }
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                                  std::size_t slot) const override
    {
        const Tensor sum = sumOf(operands);
        const std::vector<Tensor> inner = normOperands(operands, sum);
        const auto normalised = s.first(std::min<std::size_t>(s.size(), 3));
        if (slot == 2 || slot == m_slots.beta) {
            return m_norm.pullback(normalised, inner, {}, slot == 2 ? 1 : 2);
        }
        Tensor gradient = m_norm.pullback(normalised, inner, {}, 0);
        if (s.size() > 3 && s[3].isValid()) {
            gradient = algebra::add(gradient, s[3].contiguous());
        }
        return algebra::reduceTo(gradient, m_operands[slot]);
    }

private:
    [[nodiscard]] Tensor sumOf(std::span<const Tensor> operands) const
    {
        const Tensor sum = algebra::addBroadcast(operands[0], operands[1]);
        const bool hasBias = m_slots.bias < operands.size() && operands[m_slots.bias].isValid();
        return (hasBias ? algebra::addBroadcast(sum, operands[m_slots.bias]) : sum).contiguous();
    }
    [[nodiscard]] std::vector<Tensor> normOperands(std::span<const Tensor> operands, const Tensor& sum) const
    {
        return {sum, operands[2], m_slots.beta < operands.size() ? operands[m_slots.beta] : Tensor()};
    }

    SkipSlots m_slots;
    std::vector<Shape> m_operands;
    Standardised m_norm;
};

/// Whether skip can be added to an operand of shape `x`: batch × tokens × width or tokens × width; one for all images,
/// or without that axis.
bool fitsSkip(const Shape& x, const Shape& skip)
{
    if (skip == x) {
        return x.size() == 2 || x.size() == 3;
    }
    return x.size() == 3 && (skip == Shape{1, x[1], x[2]} || skip == Shape{x[1], x[2]});
}

BoundResult bindSkip(const BindContext& context, const SkipSlots& slots)
{
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    const TensorType& x = firstType(context);
    if (x.shape.empty()) {
        return context.error("a scalar cannot be normalised");
    }
    StandardisedView view;
    view.form.length = x.shape.back();
    view.form.rows = tensor::elementCount({x.shape.begin(), x.shape.end() - 1});
    view.form.isCentred = slots.beta != kNone;
    view.form.epsilon = context.floatAttribute("epsilon", 1e-12);
    std::vector<Shape> shapes;
    for (std::size_t slot = 0; slot < context.node.inputs.size(); ++slot) {
        shapes.push_back(context.operandTypes[slot].shape);
        const bool fits = slot == 0   ? true
                          : slot == 1 ? fitsSkip(x.shape, shapes.back())
                                      : shapes.back() == Shape{view.form.length};
        if (context.present(slot) && !fits) {
            return context.error(fmt::format("operand {} does not fit operand 0", slot));
        }
    }
    view.operands = {x.shape, {view.form.length}, {view.form.length}};
    Shape reduced = x.shape;
    reduced.back() = 1;
    std::vector<TensorType> outputs{x, {x.dtype, reduced}, {x.dtype, reduced}, x};
    return bound<SkipNormalization>(std::move(outputs), view, slots, std::move(shapes));
}

BoundResult bindSkipLayerNormalization(const BindContext& context) { return bindSkip(context, {3, 4}); }
BoundResult bindSkipSimplified(const BindContext& context) { return bindSkip(context, {kNone, 3}); }

} // namespace

const OperatorFamily kSkipNormalizationOperators{
    {"com.microsoft", "SkipLayerNormalization", 1, 0, "composed", true, bindSkipLayerNormalization},
    {"com.microsoft", "SkipSimplifiedLayerNormalization", 1, 0, "composed", true, bindSkipSimplified},
};

} // namespace retro::ops
