// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/onednn/onednncontext.h"
#include "core/ops/reference/convolution.h"

namespace retro::ops::onednn
{

/// How the library reads images and results while it computes.
enum class ActivationLayout : std::uint8_t {
    ChannelsLast,
    InEights ///< planes of eight channels each
};

/// The layout in which the library is fastest. Channels-last wherever the registers are of 512 bits. With those of 256
/// its kernels of several taps walk through memory in strides of all channels, of which few fit a cache where they are
/// powers of two: they lose a third to a half of their speed to that in channels-last order, far more than putting
/// image and result into another order takes.
[[nodiscard]] ActivationLayout bestLayout(const reference::ConvolutionShape& shape);

/// `leading` extents, then one extent per spatial axis.
[[nodiscard]] dnnl::memory::dims dimsOf(dnnl::memory::dims leading, const reference::ConvolutionShape& shape,
                                        std::int64_t reference::WindowAxis::*extent);

/// A convolution in the library's words.
struct ConvolutionDescription
{
    dnnl::memory::desc image;
    dnnl::memory::desc result;
    dnnl::memory::dims kernel; ///< with the group axis in front when there are several
    dnnl::memory::dims strides;
    dnnl::memory::dims dilations;
    dnnl::memory::dims padBegins;
    dnnl::memory::dims padEnds;

    explicit ConvolutionDescription(const reference::ConvolutionShape& shape,
                                    ActivationLayout layout = ActivationLayout::ChannelsLast);

    /// In the layout that the library likes best.
    [[nodiscard]] dnnl::memory::desc packedWeights() const;
    /// Row-major.
    [[nodiscard]] dnnl::memory::desc plainWeights() const;
    [[nodiscard]] dnnl::memory::desc bias() const;
    /// These are empty where the library has no implementation.
    [[nodiscard]] dnnl::convolution_forward::primitive_desc forwardWithBias() const;
    [[nodiscard]] dnnl::convolution_forward::primitive_desc forward(dnnl::prop_kind kind) const;
    [[nodiscard]] dnnl::convolution_backward_data::primitive_desc
    backward(const dnnl::convolution_forward::primitive_desc& hint) const;
};

} // namespace retro::ops::onednn
