// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/operatorbase.h"
#include "core/ops/bind/windows.h"
#include "core/ops/families.h"
#include "core/ops/kernel/elementloop.h"
#include "core/ops/kernel/visitnumber.h"
#include "core/ops/pickedplaces.h"
#include "core/ops/reference/pool.h"
#include "core/ops/reference/softmaxpool.h"
#include "core/ops/windowsums.h"

#include <fmt/format.h>

#include <array>

namespace retro::ops
{

namespace
{

using reference::WindowAxis;
using tensor::Shape;

/// f(T{}) for the element types that MaxPool takes.
template <class F>
void visitPooled(tensor::DType type, const F& f)
{
    switch (type) {
    case tensor::DType::Int8:
        return f(std::int8_t{});
    case tensor::DType::UInt8:
        return f(std::uint8_t{});
    default:
        return visitFloat(type, f);
    }
}

/// MaxPool and GlobalMaxPool. Computes in channels-last order, whatever the order of the operand.
class WindowMaximum final : public Operator<MaxPool>, public WindowSums, public PickedPlaces
{
public:
    /// The kernels see the operand as batch × channels × `axes`; the operand may have more axes. Output 1, where asked
    /// for: where each maximum lies in the whole operand, spatial axes counted by columns when `isByColumn`.
    WindowMaximum(std::vector<TensorType> outputs, Shape operand, const std::vector<WindowAxis>& axes, bool isByColumn)
        : Operator(std::move(outputs)), m_operand(std::move(operand)),
          m_shape{m_operand[0], m_operand[1], reference::threeAxes(axes)}, m_image{m_operand[0], m_operand[1]},
          m_windows(m_image), m_isByColumn(isByColumn)
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
        visitPooled(x.dtype(), [&](auto zero) {
            using T = decltype(zero);
            reference::maxPool(m_shape, x.data<T>(), buffer.data<T>());
        });
        std::vector<Tensor> results{outer(std::move(buffer).freeze(), m_outputTypes[0].shape)};
        if (m_outputTypes.size() > 1) {
            results.push_back(outer(indices(x), m_outputTypes[1].shape));
        }
        return results;
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

    [[nodiscard]] Tensor pick(const Tensor& t, std::span<const Tensor> operands) const override
    {
        const Tensor from = inner(t, m_image);
        const Tensor image = inner(operands[0], m_image);
        tensor::TensorBuffer buffer(t.dtype(), m_windows, tensor::channelsLastStrides(m_windows));
        visitFloat(t.dtype(), [&](auto zero) {
            using T = decltype(zero);
            reference::pickMaximum(m_shape, from.data<T>(), image.data<T>(), buffer.data<T>());
        });
        return outer(std::move(buffer).freeze(), m_outputTypes[0].shape);
    }

    [[nodiscard]] Tensor sumWindows(const Tensor& x) const override
    {
        const Tensor image = inner(x, m_image);
        tensor::TensorBuffer buffer(x.dtype(), m_windows, tensor::channelsLastStrides(m_windows));
        visitFloat(x.dtype(), [&](auto zero) {
            using T = decltype(zero);
            reference::sumPool(m_shape, image.data<T>(), ones<T>().data(), buffer.data<T>());
        });
        return outer(std::move(buffer).freeze(), m_outputTypes[0].shape);
    }
    [[nodiscard]] Tensor spreadWindows(const Tensor& s) const override
    {
        const Tensor from = inner(s, m_windows);
        tensor::TensorBuffer buffer(s.dtype(), m_image, tensor::channelsLastStrides(m_image));
        visitFloat(s.dtype(), [&](auto zero) {
            using T = decltype(zero);
            reference::spreadOverWindows(m_shape, from.data<T>(), ones<T>().data(), buffer.data<T>());
        });
        return outer(std::move(buffer).freeze(), m_operand);
    }
    [[nodiscard]] Tensor shareBySoftmax(const Tensor& s, const Tensor& x, double beta) const override
    {
        const Tensor from = inner(s, m_windows);
        const Tensor image = inner(x, m_image);
        tensor::TensorBuffer buffer(s.dtype(), m_image, tensor::channelsLastStrides(m_image));
        visitFloat(s.dtype(), [&](auto zero) {
            using T = decltype(zero);
            reference::shareBySoftmax(m_shape, from.data<T>(), image.data<T>(), static_cast<T>(beta), buffer.data<T>());
        });
        return outer(std::move(buffer).freeze(), m_operand);
    }

    [[nodiscard]] Tensor averageBySoftmax(const Tensor& t, const Tensor& x, double beta) const override
    {
        const Tensor from = inner(t, m_image);
        const Tensor image = inner(x, m_image);
        tensor::TensorBuffer buffer(t.dtype(), m_windows, tensor::channelsLastStrides(m_windows));
        visitFloat(t.dtype(), [&](auto zero) {
            using T = decltype(zero);
            reference::averageBySoftmax(m_shape, from.data<T>(), image.data<T>(), static_cast<T>(beta),
                                        buffer.data<T>());
        });
        return outer(std::move(buffer).freeze(), m_outputTypes[0].shape);
    }

private:
    template <class T>
    [[nodiscard]] std::vector<T> ones() const
    {
        const bool isEmpty = m_shape.batch * m_shape.channels == 0;
        return std::vector<T>(isEmpty ? 0 : static_cast<std::size_t>(m_shape.windowCount()), T{1});
    }
    static Tensor inner(const Tensor& t, const Shape& shape)
    {
        return channelsLast(t.shape() == shape ? t : t.reshaped(shape));
    }
    static Tensor outer(const Tensor& t, const Shape& shape) { return t.shape() == shape ? t : t.reshaped(shape); }

    /// A position in the image, counted by columns: the first spatial axis is the fastest.
    [[nodiscard]] std::int64_t byColumn(std::int64_t position) const
    {
        const auto& axes = m_shape.axes;
        const std::int64_t last = position % axes[2].image;
        const std::int64_t middle = position / axes[2].image % axes[1].image;
        const std::int64_t first = position / axes[2].image / axes[1].image;
        return first + axes[0].image * (middle + axes[1].image * last);
    }

    [[nodiscard]] Tensor indices(const Tensor& x) const
    {
        tensor::TensorBuffer buffer(tensor::DType::Int64, m_windows, tensor::channelsLastStrides(m_windows));
        auto* at = buffer.data<std::int64_t>();
        visitPooled(x.dtype(), [&](auto zero) { reference::findMaximum(m_shape, x.data<decltype(zero)>(), at); });
        const std::int64_t count = tensor::elementCount(m_windows);
        for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t channel = i % m_shape.channels;
            const std::int64_t image = i / (m_shape.channels * m_shape.windowCount());
            at[i] =
                (m_isByColumn ? byColumn(at[i]) : at[i]) + (image * m_shape.channels + channel) * m_shape.imageSize();
        }
        return std::move(buffer).freeze();
    }

    Shape m_operand;
    reference::PoolShape m_shape;
    Shape m_image;
    Shape m_windows;
    bool m_isByColumn;
};

base::Result<void> expectPooled(const BindContext& context)
{
    constexpr std::array kTypes{tensor::DType::Float32, tensor::DType::Float64, tensor::DType::Int8,
                                tensor::DType::UInt8};
    const tensor::DType type = firstType(context).dtype;
    if (std::find(kTypes.begin(), kTypes.end(), type) == kTypes.end()) {
        return context.error(
            fmt::format("operand 0 is {}, but must be float32, float64, int8 or uint8", tensor::nameOf(type)));
    }
    return {};
}

BoundResult bindMaxPool(const BindContext& context)
{
    RETRO_CHECK(expectPooled(context));
    RETRO_TRY(const auto axes, poolWindows(context));
    RETRO_TRY(const Shape shape, pooledShape(context, axes));
    const TensorType& x = firstType(context);
    std::vector<TensorType> outputs{{x.dtype, shape}};
    if (context.node.outputs.size() > 1) {
        outputs.push_back({tensor::DType::Int64, shape});
    }
    return bound<WindowMaximum>(std::move(outputs), x.shape, axes, context.intAttribute("storage_order", 0) != 0);
}

BoundResult bindGlobalMaxPool(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    const TensorType& x = firstType(context);
    RETRO_TRY(GlobalWindow all, globalWindow(context));
    if (all.axis.image == 0) {
        return context.error("the largest of no elements is not defined");
    }
    return bound<WindowMaximum>(std::vector{TensorType{x.dtype, std::move(all.shape)}}, x.shape, std::vector{all.axis},
                                false);
}

} // namespace

const OperatorFamily kMaxPoolOperators{
    {"", "MaxPool", 1, 0, "max pool", true, bindMaxPool},
    {"", "GlobalMaxPool", 1, 0, "max pool", true, bindGlobalMaxPool},
};

} // namespace retro::ops
