// SPDX-License-Identifier: Apache-2.0
#include "core/ops/linear/dynamicconvolution.h"

#include "core/ops/algebra.h"
#include "core/ops/kernel/filled.h"
#include "core/ops/linear/convolutionmap.h"

namespace retro::ops
{

using onednn::Direction;
using tensor::Shape;

DynamicConvolution::DynamicConvolution(TensorType output, reference::ConvolutionShape shape, Direction direction,
                                       Shape weight)
    : Operator(std::move(output)), m_shape(std::move(shape)), m_direction(direction), m_weight(std::move(weight))
{}

double DynamicConvolution::flops() const
{
    const std::int64_t perWindow = m_shape.groups * m_shape.filters * m_shape.channels * m_shape.taps();
    return 2.0 * static_cast<double>(m_shape.batch * m_shape.windowCount()) * static_cast<double>(perWindow);
}

std::vector<Tensor> DynamicConvolution::forward(std::span<const Tensor> operands) const
{
    const ConvolutionMap map(m_outputTypes[0], m_shape, m_direction, operands[1], {});
    const Tensor z = map.apply(operands[0], {});
    if (operands.size() < 3 || !operands[2].isValid()) {
        return {z};
    }
    Shape broadcast(z.rank(), 1);
    broadcast[1] = z.shape()[1];
    return {algebra::addBroadcast(z, operands[2].contiguous().reshaped(std::move(broadcast)))};
}

Tensor DynamicConvolution::weightGradient(const Tensor& s, const Tensor& x) const
{
    const bool isForward = m_direction == Direction::Forward;
    const Tensor image = (isForward ? x : s).contiguous();
    const Tensor result = (isForward ? s : x).contiguous();
    return accumulated(s.dtype(), m_weight, [&](auto* w) {
        if (image.size() > 0 && result.size() > 0) {
            reference::convolveWeights(m_shape, elements(image, w), elements(result, w), w);
        }
    });
}

Tensor DynamicConvolution::pullback(std::span<const Tensor> s, std::span<const Tensor> operands,
                                    std::span<const Tensor>, std::size_t slot) const
{
    if (slot == 0) {
        return ConvolutionMap(m_outputTypes[0], m_shape, m_direction, operands[1], {}).pullback(s[0], {});
    }
    if (slot == 1) {
        return weightGradient(s[0], operands[0]);
    }
    Shape channels(s[0].rank(), 1);
    channels[1] = s[0].shape()[1];
    return algebra::reduceTo(s[0], channels).contiguous().reshaped({channels[1]});
}

double DynamicConvolution::share(std::span<const std::uint8_t> tracked, std::size_t slot) const
{
    return slot < 2 && tracked[0] != 0 && tracked[1] != 0 ? 0.5 : 1;
}

} // namespace retro::ops
