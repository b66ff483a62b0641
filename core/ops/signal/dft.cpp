// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/matrixproduct.h"
#include "core/ops/linearoperands.h"
#include "core/ops/signal/fouriermatrix.h"

#include <fmt/format.h>

namespace retro::ops
{

namespace
{

using tensor::Shape;

/// Fourier transform along one axis of a tensor whose last axis is real and imaginary part: linear. One-sided and
/// inverse, it makes a real signal of the first half of its spectrum.
class Dft final : public Operator<Differentiable>, public LinearOperands, public FourierRows
{
public:
    Dft(TensorType output, Shape operand, std::size_t axis, const FourierForm& form)
        : Operator(std::move(output)), FourierRows(fourierMatrix(m_outputTypes[0].dtype, form)),
          m_operand(std::move(operand)), m_axis(axis)
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        return {multiplied(operands[0], m_matrix, m_outputTypes[0].shape)};
    }
    [[nodiscard]] bool isLinearIn(std::size_t slot) const override { return slot == 0; }
    [[nodiscard]] std::size_t axis() const override { return m_axis; }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::nothing(); }
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor>, std::span<const Tensor>,
                                  std::size_t) const override
    {
        return multiplied(s[0], swapped(m_matrix), m_operand);
    }

private:
    /// The axis swapped with the one before the last, and back: it is its own inverse.
    [[nodiscard]] Tensor axisLast(const Tensor& t) const
    {
        Shape order(t.rank());
        for (std::size_t i = 0; i < order.size(); ++i) {
            order[i] = static_cast<std::int64_t>(i);
        }
        std::swap(order[m_axis], order[order.size() - 2]);
        return t.permuted(order).contiguous();
    }
    [[nodiscard]] Tensor multiplied(const Tensor& t, const Tensor& matrix, const Shape& result) const
    {
        const Tensor x = axisLast(t);
        const std::int64_t depth = matrix.shape()[0];
        const Tensor rows = x.reshaped({x.size() / depth, depth});
        Shape inner = result;
        std::swap(inner[m_axis], inner[inner.size() - 2]);
        return axisLast(matrixProduct(rows, matrix).reshaped(std::move(inner)));
    }

    Shape m_operand;
    std::size_t m_axis;
};

base::Result<std::size_t> transformAxis(const BindContext& context)
{
    const std::size_t rank = firstType(context).shape.size();
    std::int64_t axis = context.node.opset < 20 ? context.intAttribute("axis", 1) : -2;
    if (context.node.opset >= 20) {
        RETRO_TRY(const auto given, context.constantInts(2));
        axis = given.empty() ? axis : given.front();
    }
    RETRO_TRY(const std::size_t plain, axisWithin(context, axis, rank));
    if (plain + 1 == rank) {
        return context.error("the last axis holds real and imaginary part and cannot be transformed");
    }
    return plain;
}

base::Result<FourierForm> formOf(const BindContext& context, std::size_t axis)
{
    const Shape& x = firstType(context).shape;
    const bool isOneSided = context.intAttribute("onesided", 0) != 0;
    FourierForm form;
    form.signal = x[axis];
    form.components = x.back();
    form.isInverse = context.intAttribute("inverse", 0) != 0;
    form.isHalf = form.isInverse && isOneSided;
    RETRO_TRY(const auto length, context.constantInts(1));
    form.length = !length.empty() ? length.front() : form.isHalf ? 2 * (x[axis] - 1) : x[axis];
    if (form.length < 1 || form.length > kMaxTransform || form.signal < 1 || form.signal > kMaxTransform) {
        return context.error(fmt::format("a transform of length {} over {} elements is not between 1 and {}",
                                         form.length, form.signal, kMaxTransform));
    }
    if ((form.components != 1 && form.components != 2) || (isOneSided && (form.components == 2) != form.isInverse)) {
        return context.error("the last axis must be real (1) or real and imaginary (2); onesided needs a real signal, "
                             "or real and imaginary part where inverse is 1");
    }
    form.bins = isOneSided && !form.isInverse ? form.length / 2 + 1 : form.length;
    return form;
}

BoundResult bindDft(const BindContext& context)
{
    const TensorType& x = firstType(context);
    if (!tensor::isFloating(x.dtype) || x.shape.size() < 2) {
        return context.error("a floating operand of rank 2 or more is needed");
    }
    RETRO_TRY(const std::size_t axis, transformAxis(context));
    RETRO_TRY(const FourierForm form, formOf(context, axis));
    Shape shape = x.shape;
    shape[axis] = form.bins;
    shape.back() = resultComponents(form);
    RETRO_CHECK(expectSize(context, shape));
    return bound<Dft>(TensorType{x.dtype, std::move(shape)}, x.shape, axis, form);
}

} // namespace

const OperatorFamily kDftOperators{
    {"", "DFT", 17, 19, "function", true, bindDft},
    {"", "DFT", 20, 0, "function", true, bindDft},
};

} // namespace retro::ops
