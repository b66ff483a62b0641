// SPDX-License-Identifier: Apache-2.0
#include "core/ops/linear/convolutionmap.h"

#include "core/ops/algebra.h"
#include "core/ops/kernel/elementloop.h"
#include "core/ops/kernel/visitnumber.h"

namespace retro::ops
{

using onednn::Direction;
using tensor::Shape;

ConvolutionMap::ConvolutionMap(TensorType output, reference::ConvolutionShape shape, Direction direction, Tensor weight,
                               Tensor bias)
    : Operator(std::move(output)), m_shape(std::move(shape)), m_direction(direction),
      m_weight(weight.contiguous(), m_outputTypes[0].dtype), m_bias(std::move(bias), m_outputTypes[0].dtype)
{}

double ConvolutionMap::flops() const
{
    const std::int64_t perImage = m_shape.groups * m_shape.filters * m_shape.channels * m_shape.taps();
    return 2.0 * static_cast<double>(m_shape.batch) * static_cast<double>(perImage) *
           static_cast<double>(m_shape.windowCount());
}

Shape ConvolutionMap::shapeAfter(Direction direction) const
{
    const bool isForward = direction == Direction::Forward;
    Shape shape{m_shape.batch, m_shape.groups * (isForward ? m_shape.filters : m_shape.channels)};
    for (const reference::WindowAxis& axis : m_shape.axes) {
        shape.push_back(isForward ? axis.windows : axis.image);
    }
    return shape;
}

onednn::PackedConvolution ConvolutionMap::pack(WeightVariant variant, Direction direction) const
{
    return {m_shape, direction, m_weight.make(variant).data<float>()};
}

Tensor ConvolutionMap::packed(const Tensor& t, WeightVariant variant, Direction direction) const
{
    if (!m_weight.isKept()) {
        return through(pack(variant, direction), t, direction);
    }
    const PackKey key{WeightVariants::canonical(variant), direction, threads()};
    return through(m_packs.get(key, [&] { return pack(variant, direction); }), t, direction);
}

Tensor ConvolutionMap::through(const onednn::PackedConvolution& pack, const Tensor& t, Direction direction) const
{
    if (!pack.isValid()) {
        return {};
    }
    const Shape shape = shapeAfter(direction);
    tensor::TensorBuffer buffer(t.dtype(), shape, tensor::channelsLastStrides(shape));
    const Tensor in = channelsLast(t);
    pack.run(in.data<float>(), buffer.data<float>());
    return std::move(buffer).freeze();
}

Tensor ConvolutionMap::walk(const Tensor& t, WeightVariant variant, Direction direction) const
{
    const Shape shape = shapeAfter(direction);
    if (t.size() == 0 || tensor::elementCount(shape) == 0 || tensor::elementCount(m_weight.shape()) == 0) {
        return Tensor::zeros(t.dtype(), shape);
    }
    if (t.dtype() == tensor::DType::Float32) {
        if (Tensor result = packed(t, variant, direction); result.isValid()) {
            return result;
        }
    }
    const Tensor in = t.contiguous();
    const Tensor weight = m_weight.get(variant);
    tensor::TensorBuffer buffer(t.dtype(), shape);
    visitFloat(t.dtype(), [&](auto zero) {
        using T = decltype(zero);
        if (direction == Direction::Forward) {
            reference::convolve(m_shape, in.data<T>(), weight.data<T>(), buffer.data<T>());
        } else {
            reference::convolveTransposed(m_shape, in.data<T>(), weight.data<T>(), buffer.data<T>());
        }
    });
    return std::move(buffer).freeze();
}

Tensor ConvolutionMap::apply(const Tensor& x, WeightVariant variant) const { return walk(x, variant, m_direction); }

Tensor ConvolutionMap::pullback(const Tensor& s, WeightVariant variant) const
{
    return walk(s, variant, m_direction == Direction::Forward ? Direction::Transposed : Direction::Forward);
}

std::vector<Tensor> ConvolutionMap::forward(std::span<const Tensor> operands) const
{
    const Tensor z = apply(operands[0], {});
    return {hasBias() ? algebra::addBroadcast(z, m_bias.get({})) : z};
}

} // namespace retro::ops
