// SPDX-License-Identifier: Apache-2.0
#include "core/tape/gradientgraph/windowgeometry.h"

#include <algorithm>
#include <numeric>

namespace retro::tape
{

using tensor::Shape;
using tensor::Tensor;
using WindowInts = std::vector<std::int64_t>;

WindowGeometry::WindowGeometry(const EmitSite& site, WindowInts kernelShape, const Shape& imageShape,
                               const Shape& windowShape)
    : image(imageShape.begin() + 2, imageShape.end()), windows(windowShape.begin() + 2, windowShape.end()),
      kernel(std::move(kernelShape))
{
    strides = site.integers("strides", WindowInts(axes(), 1));
    dilations = site.integers("dilations", WindowInts(axes(), 1));
    pads = site.integers("pads", WindowInts(2 * axes(), 0));
    const std::string automatic = site.text("auto_pad", "NOTSET");
    for (std::size_t i = 0; i < axes() && automatic.starts_with("SAME"); ++i) {
        const std::int64_t covered = strides[i] * (windows[i] - 1) + dilations[i] * (kernel[i] - 1) + 1;
        const std::int64_t total = std::max<std::int64_t>(0, covered - image[i]);
        pads[i] = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
        pads[i + axes()] = total - pads[i];
    }
}

graph::Attributes WindowGeometry::attributes(std::int64_t group) const
{
    return {{"kernel_shape", kernel}, {"strides", strides}, {"dilations", dilations}, {"pads", pads}, {"group", group}};
}

WindowInts WindowGeometry::windowsThatFit() const
{
    WindowInts fit;
    for (std::size_t i = 0; i < axes(); ++i) {
        const std::int64_t room = image[i] + pads[i] + pads[i + axes()] - dilations[i] * (kernel[i] - 1) - 1;
        fit.push_back(room / strides[i] + 1);
    }
    return fit;
}

ValueId WindowGeometry::spreadBack(Emitter& emit, ValueId value, ValueId weight, std::int64_t group) const
{
    WindowInts missing(axes(), 0);
    WindowInts cut = pads;
    for (std::size_t i = 0; i < axes(); ++i) {
        const std::int64_t covered =
            strides[i] * (windows[i] - 1) + dilations[i] * (kernel[i] - 1) + 1 - pads[i] - pads[i + axes()];
        missing[i] = std::max<std::int64_t>(0, image[i] - covered);
        cut[i + axes()] += std::max<std::int64_t>(0, covered - image[i]); // a last window that stuck out
    }
    graph::Attributes all = attributes(group);
    all["pads"] = cut;
    all["output_padding"] = missing;
    return emit.node("ConvTranspose", {value, weight}, std::move(all));
}

std::int64_t WindowGeometry::countOf(std::size_t axis, std::int64_t window, bool withPadding) const
{
    const std::int64_t first = withPadding ? -pads[axis] : 0;
    const std::int64_t end = image[axis] + (withPadding ? pads[axis + axes()] : 0);
    std::int64_t count = 0;
    for (std::int64_t k = 0; k < kernel[axis]; ++k) {
        const std::int64_t at = window * strides[axis] - pads[axis] + k * dilations[axis];
        count += at >= first && at < end ? 1 : 0;
    }
    return count;
}

Tensor WindowGeometry::counts(tensor::DType type, bool withPadding) const
{
    std::vector<double> all{1};
    for (std::size_t i = 0; i < axes(); ++i) {
        std::vector<double> longer;
        for (const double before : all) {
            for (std::int64_t o = 0; o < windows[i]; ++o) {
                longer.push_back(before * static_cast<double>(countOf(i, o, withPadding)));
            }
        }
        all = std::move(longer);
    }
    Shape shape{1, 1};
    shape.insert(shape.end(), windows.begin(), windows.end());
    std::ranges::for_each(all, [](double& count) { count = std::max(count, 1.0); });
    return Tensor::of<double>(shape, all).to(type);
}

namespace
{

/// group, then what of `shape` follows from axis 2 on.
Shape withSpace(std::initializer_list<std::int64_t> front, const Shape& shape)
{
    Shape all(front);
    all.insert(all.end(), shape.begin() + 2, shape.end());
    return all;
}

WindowInts orderOf(std::initializer_list<std::int64_t> front, std::size_t rank)
{
    WindowInts order(front);
    for (std::size_t axis = order.size(); axis < rank; ++axis) {
        order.push_back(static_cast<std::int64_t>(axis));
    }
    return order;
}

} // namespace

/// A convolution in which batch and channels have changed places, and steps between taps and windows as well.
ValueId WindowGeometry::correlation(Emitter& emit, ValueId pixels, const Shape& pixelShape, ValueId windowed,
                                    const Shape& windowedShape, std::int64_t group) const
{
    const std::int64_t batch = pixelShape[0];
    const std::int64_t own = pixelShape[1] / group;
    const std::size_t rank = pixelShape.size();
    const ValueId apart = emit.reshape(pixels, withSpace({batch, group, own}, pixelShape));
    const ValueId turned = emit.node("Transpose", {apart}, {{"perm", orderOf({2, 1, 0}, rank + 1)}});
    const ValueId x = emit.reshape(turned, withSpace({own, group * batch}, pixelShape));
    const ValueId w = emit.node("Transpose", {windowed}, {{"perm", orderOf({1, 0}, rank)}});
    const WindowInts extents(windowedShape.begin() + 2, windowedShape.end());
    const ValueId all = emit.node(
        "Conv", {x, w},
        {{"kernel_shape", extents}, {"strides", dilations}, {"dilations", strides}, {"pads", pads}, {"group", group}});
    const ValueId sorted = emit.node("Transpose", {all}, {{"perm", orderOf({1, 0}, rank)}});
    WindowInts spatial(axes());
    std::iota(spatial.begin(), spatial.end(), 2);
    return emit.slice(sorted, WindowInts(axes(), 0), kernel, spatial); // remainders
}

} // namespace retro::tape
