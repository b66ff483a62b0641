// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tape/gradientgraph/emitrule.h"

#include <cstdint>
#include <vector>

namespace retro::tape
{

/// Windows over the spatial axes of an image (batch × channels × spatial …), spelled out. One entry per axis; pads
/// have two, begins first, and are those that auto_pad comes to.
struct WindowGeometry
{
    std::vector<std::int64_t> image;   ///< extents of the image
    std::vector<std::int64_t> windows; ///< how many windows there are
    std::vector<std::int64_t> kernel;
    std::vector<std::int64_t> strides;
    std::vector<std::int64_t> dilations;
    std::vector<std::int64_t> pads;
    std::vector<std::int64_t> missing; ///< of the image, at its end, in no window; below 0: the last one sticks out
    bool hasFree = false;              ///< these extents are of one run: they are known only when the graph runs

    /// Of a node, whose windows of shape `kernelShape` run over `imageShape` and give `windowShape`.
    WindowGeometry(const EmitSite& site, std::vector<std::int64_t> kernelShape, const tensor::Shape& imageShape,
                   const tensor::Shape& windowShape);

    [[nodiscard]] std::size_t axes() const { return kernel.size(); }
    /// Why free extents stand in the way, in words; empty when they do not.
    [[nodiscard]] std::string refusal(const EmitSite& site) const;
    /// How many windows a convolution over the image has: perhaps more than there are, after output_padding.
    [[nodiscard]] std::vector<std::int64_t> windowsThatFit() const;
    /// Attributes of a Conv with these windows, all of them whole.
    [[nodiscard]] graph::Attributes attributes(std::int64_t group) const;
    /// `value` per window, spread over what each window covers and weighted: an image again. `weight` has the shape of
    /// that of the convolution, `like` that of the image.
    [[nodiscard]] ValueId spreadBack(Emitter& emit, ValueId value, ValueId weight, std::int64_t group,
                                     ValueId like) const;
    /// The same by a Conv of the turned weight, of these extents, where canTurn().
    [[nodiscard]] ValueId turnBack(Emitter& emit, ValueId value, ValueId weight, const tensor::Shape& extents,
                                   std::int64_t group) const;
    /// True where every stride is 1, and no padding is wider than the kernel reaches. Also right for free extents.
    [[nodiscard]] bool canTurn() const;
    /// `value` cut off behind these extents along the axes that windows run over; free ones are those of `like`.
    [[nodiscard]] ValueId cutTo(Emitter& emit, ValueId value, const std::vector<std::int64_t>& extents,
                                ValueId like) const;
    /// How many taps of a window lie within the image, or within its padding, along one axis.
    [[nodiscard]] std::int64_t countOf(std::size_t axis, std::int64_t window, bool withPadding) const;
    /// Per window how many elements an average divides by: those of the image, or with its padding. The shape is
    /// 1 × 1 × windows.
    [[nodiscard]] tensor::Tensor counts(tensor::DType type, bool withPadding) const;
    /// Σ over batch and windows of what stands below each tap of the kernel in `image`, times the window's element in
    /// `windowed`: channels of `windowed` × channels of `image` / group × kernel. Extents of both in these shapes.
    [[nodiscard]] ValueId correlation(Emitter& emit, ValueId pixels, const tensor::Shape& pixelShape, ValueId windowed,
                                      const tensor::Shape& windowedShape, std::int64_t group) const;
};

} // namespace retro::tape
