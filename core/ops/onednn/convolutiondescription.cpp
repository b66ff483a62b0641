// SPDX-License-Identifier: Apache-2.0
#include "core/ops/onednn/convolutiondescription.h"

#include "core/ops/onednn/onednncontext.h"

#include <array>

namespace retro::ops::onednn
{

using dnnl::memory;
using reference::ConvolutionShape;
using reference::WindowAxis;

memory::dims dimsOf(memory::dims leading, const ConvolutionShape& shape, std::int64_t WindowAxis::*extent)
{
    for (const WindowAxis& axis : shape.axes) {
        leading.push_back(axis.*extent);
    }
    return leading;
}

ActivationLayout bestLayout(const ConvolutionShape& shape)
{
    const bool fitsEights = shape.groups == 1 && shape.channels % 8 == 0 && shape.filters % 8 == 0;
    return !hasWideRegisters() && fitsEights && shape.taps() > 1 ? ActivationLayout::InEights
                                                                 : ActivationLayout::ChannelsLast;
}

namespace
{

memory::desc laidOut(const memory::dims& dims, ActivationLayout layout)
{
    using Tag = memory::format_tag;
    constexpr std::array kChannelsLast{Tag::nwc, Tag::nhwc, Tag::ndhwc};
    constexpr std::array kInEights{Tag::nCw8c, Tag::nChw8c, Tag::nCdhw8c};
    return {dims, kFloat, (layout == ActivationLayout::InEights ? kInEights : kChannelsLast).at(dims.size() - 3)};
}

/// The caller hands over the scratch memory of each call: the library's own belongs to the thread that made the
/// primitive, and another thread that runs it would have none.
dnnl::primitive_attr withScratchOfTheCall()
{
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return attributes;
}

} // namespace

ConvolutionDescription::ConvolutionDescription(const ConvolutionShape& shape, ActivationLayout layout)
    : image(laidOut(dimsOf({shape.batch, shape.groups * shape.channels}, shape, &WindowAxis::image), layout)),
      result(laidOut(dimsOf({shape.batch, shape.groups * shape.filters}, shape, &WindowAxis::windows), layout)),
      kernel(shape.groups == 1 ? dimsOf({shape.filters, shape.channels}, shape, &WindowAxis::kernel)
                               : dimsOf({shape.groups, shape.filters, shape.channels}, shape, &WindowAxis::kernel)),
      strides(dimsOf({}, shape, &WindowAxis::stride)), dilations(dimsOf({}, shape, &WindowAxis::dilation)),
      padBegins(dimsOf({}, shape, &WindowAxis::padBegin)), padEnds(dimsOf({}, shape, &WindowAxis::padEnd))
{
    for (auto& dilation : dilations) {
        --dilation; // the library counts the gaps
    }
}

memory::desc ConvolutionDescription::packedWeights() const { return {kernel, kFloat, memory::format_tag::any}; }

memory::desc ConvolutionDescription::plainWeights() const
{
    memory::dims plain(kernel.size(), 1);
    for (std::size_t i = kernel.size(); i-- > 1;) {
        plain[i - 1] = plain[i] * kernel[i];
    }
    return {kernel, kFloat, plain};
}

memory::desc ConvolutionDescription::bias() const { return {{result.dims()[1]}, kFloat, memory::format_tag::x}; }

dnnl::convolution_forward::primitive_desc ConvolutionDescription::forwardWithBias() const
{
    const dnnl::convolution_forward::desc desc(dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
                                               image, packedWeights(), bias(), result, strides, dilations, padBegins,
                                               padEnds);
    return {desc, withScratchOfTheCall(), engine(), true};
}

dnnl::convolution_forward::primitive_desc ConvolutionDescription::forward(dnnl::prop_kind kind) const
{
    const dnnl::convolution_forward::desc desc(kind, dnnl::algorithm::convolution_direct, image, packedWeights(),
                                               result, strides, dilations, padBegins, padEnds);
    return {desc, withScratchOfTheCall(), engine(), true};
}

dnnl::convolution_backward_data::primitive_desc
ConvolutionDescription::backward(const dnnl::convolution_forward::primitive_desc& hint) const
{
    const dnnl::convolution_backward_data::desc desc(dnnl::algorithm::convolution_direct, image, packedWeights(),
                                                     result, strides, dilations, padBegins, padEnds);
    return {desc, withScratchOfTheCall(), engine(), hint, true};
}

} // namespace retro::ops::onednn
