// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/operatorbase.h"
#include "core/ops/bind/windows.h"
#include "core/ops/families.h"
#include "core/ops/kernel/elementloop.h"
#include "core/ops/kernel/visitnumber.h"
#include "core/ops/reference/pool.h"

#include <array>

namespace retro::ops
{

namespace
{

using reference::WindowAxis;
using tensor::Shape;

/// MaxPool and GlobalMaxPool. Computes in channels-last order, whatever the order of the operand.
class WindowMaximum final : public Operator<MaxPool>
{
public:
    /// `image` and `windows` are batch × channels × spatial as the kernels see them; the operand may have more axes.
    WindowMaximum(TensorType output, Shape operand, const std::vector<WindowAxis>& axes)
        : Operator(std::move(output)), m_operand(std::move(operand)),
          m_shape{m_operand[0], m_operand[1], reference::threeAxes(axes)}, m_image{m_operand[0], m_operand[1]},
          m_windows(m_image)
    {
        for (const WindowAxis& axis : axes) {
            m_image.push_back(axis.image);
            m_windows.push_back(axis.windows);
        }
    }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const Tensor x = inner(operands[0], m_image);
        tensor::TensorBuffer buffer(x.dtype(), m_windows, tensor::channelsLastStrides(m_windows));
        visitFloat(x.dtype(), [&](auto zero) {
            using T = decltype(zero);
            reference::maxPool(m_shape, x.data<T>(), buffer.data<T>());
        });
        return {outer(std::move(buffer).freeze(), m_outputTypes[0].shape)};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::firstOperand(); }
    [[nodiscard]] Tensor route(const Tensor& s, const Tensor& x) const override
    {
        const Tensor from = inner(s, m_windows);
        const Tensor image = inner(x, m_image);
        tensor::TensorBuffer buffer(s.dtype(), m_image, tensor::channelsLastStrides(m_image));
        visitFloat(s.dtype(), [&](auto zero) {
            using T = decltype(zero);
            reference::routeToMaximum(m_shape, from.data<T>(), image.data<T>(), buffer.data<T>());
        });
        return outer(std::move(buffer).freeze(), m_operand);
    }

private:
    static Tensor inner(const Tensor& t, const Shape& shape)
    {
        return channelsLast(t.shape() == shape ? t : t.reshaped(shape));
    }
    static Tensor outer(const Tensor& t, const Shape& shape) { return t.shape() == shape ? t : t.reshaped(shape); }

    Shape m_operand;
    reference::PoolShape m_shape;
    Shape m_image;
    Shape m_windows;
};

BoundResult bindMaxPool(const BindContext& context)
{
    RETRO_CHECK(expect(
        context, {.outputs = 2, .types = OperandTypes::Floats, .attributes = {{"kernel_shape", AttributeKind::Ints}}}));
    if (context.node.outputs.size() > 1) {
        return context.error("the second output (Indices) is not supported; remove what reads it");
    }
    RETRO_TRY(const auto axes, poolWindows(context));
    RETRO_TRY(Shape shape, pooledShape(context, axes));
    const TensorType& x = firstType(context);
    return bound<WindowMaximum>(TensorType{x.dtype, std::move(shape)}, x.shape, axes);
}

BoundResult bindGlobalMaxPool(const BindContext& context)
{
    RETRO_CHECK(expect(context, {.types = OperandTypes::Floats}));
    const TensorType& x = firstType(context);
    if (x.shape.size() < 3) {
        return context.error("the operand needs the axes batch × channels and at least one more");
    }
    WindowAxis all;
    all.image = tensor::elementCount({x.shape.begin() + 2, x.shape.end()});
    all.kernel = all.image;
    if (all.image == 0) {
        return context.error("the largest of no elements is not defined");
    }
    Shape shape(x.shape.size(), 1);
    shape[0] = x.shape[0];
    shape[1] = x.shape[1];
    return bound<WindowMaximum>(TensorType{x.dtype, std::move(shape)}, x.shape, std::vector{all});
}

} // namespace

std::span<const OperatorDeclaration> maxPoolDeclarations()
{
    static constexpr std::array kDeclarations{
        OperatorDeclaration{"", "MaxPool", 1, 0, "max pool", true, bindMaxPool},
        OperatorDeclaration{"", "GlobalMaxPool", 1, 0, "max pool", true, bindGlobalMaxPool},
    };
    return kDeclarations;
}

} // namespace retro::ops
