// SPDX-License-Identifier: Apache-2.0
#include "core/tape/gradientgraph/windowgeometry.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace retro::tape
{

using tensor::Shape;
using tensor::Tensor;
using WindowInts = std::vector<std::int64_t>;

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

WindowGeometry::WindowGeometry(const EmitSite& site, WindowInts kernelShape, const Shape& imageShape,
                               const Shape& windowShape)
    : image(imageShape.begin() + 2, imageShape.end()), windows(windowShape.begin() + 2, windowShape.end()),
      kernel(std::move(kernelShape))
{
    strides = site.integers("strides", WindowInts(axes(), 1));
    dilations = site.integers("dilations", WindowInts(axes(), 1));
    const std::string automatic = site.text("auto_pad", "NOTSET");
    const WindowInts none(2 * axes(), 0);
    pads = automatic == "VALID" ? none : site.integers("pads", none);
    for (std::size_t i = 0; i < axes(); ++i) {
        const std::int64_t covered = strides[i] * (windows[i] - 1) + dilations[i] * (kernel[i] - 1) + 1;
        if (automatic.starts_with("SAME")) {
            const std::int64_t total = std::max<std::int64_t>(0, covered - image[i]);
            pads[i] = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
            pads[i + axes()] = total - pads[i];
        }
        missing.push_back(image[i] - covered + pads[i] + pads[i + axes()]);
        hasFree = hasFree || site.hasFree(0, i + 2);
    }
}

std::string WindowGeometry::refusal(const EmitSite& site) const
{
    const bool isStrided = std::ranges::any_of(strides, [](std::int64_t stride) { return stride != 1; });
    const bool isPadded = isStrided && site.text("auto_pad", "NOTSET").starts_with("SAME");
    return hasFree && (isPadded || site.integer("ceil_mode", 0) != 0)
               ? "its padding or its last window follow from an extent that is known only when the graph runs"
               : "";
}

graph::Attributes WindowGeometry::attributes(std::int64_t group) const
{
    WindowInts whole = pads;
    for (std::size_t i = 0; i < axes(); ++i) {
        whole[i + axes()] += std::max<std::int64_t>(0, -missing[i]);
    }
    return {
        {"kernel_shape", kernel}, {"strides", strides}, {"dilations", dilations}, {"pads", whole}, {"group", group}};
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

ValueId WindowGeometry::spreadBack(Emitter& emit, ValueId value, ValueId weight, std::int64_t group, ValueId like) const
{
    graph::Attributes all = attributes(group);
    WindowInts after(axes() + 2, 0);
    WindowInts padding;
    bool fits = !hasFree;
    for (std::size_t i = 0; i < axes(); ++i) {
        padding.push_back(std::max<std::int64_t>(0, missing[i]));
        fits = fits && padding[i] < strides[i];
        after[i + 2] = hasFree ? strides[i] - 1 : padding[i];
    }
    if (fits) {
        all["output_padding"] = padding;
        return emit.node("ConvTranspose", {value, weight}, std::move(all));
    }
    // Zeros behind the last window, then as much as there is.
    WindowInts begins = pads;
    std::fill(begins.begin() + static_cast<std::ptrdiff_t>(axes()), begins.end(), 0);
    all["pads"] = begins;
    const ValueId whole = emit.node("ConvTranspose", {value, weight}, std::move(all));
    return cutTo(emit, emit.pad(whole, WindowInts(axes() + 2, 0), after), image, like);
}

ValueId WindowGeometry::cutTo(Emitter& emit, ValueId value, const WindowInts& extents, ValueId like) const
{
    WindowInts spatial(axes());
    std::iota(spatial.begin(), spatial.end(), 2);
    const WindowInts starts(axes(), 0);
    if (!hasFree) {
        return emit.slice(value, starts, extents, spatial);
    }
    const ValueId ends = emit.slice(emit.node("Shape", {like}), {2}, {static_cast<std::int64_t>(axes()) + 2}, {0});
    return emit.node("Slice", {value, emit.ints(starts), ends, emit.ints(spatial)});
}

bool WindowGeometry::canTurn() const
{
    for (std::size_t i = 0; i < axes(); ++i) {
        const std::int64_t reach = (kernel[i] - 1) * dilations[i];
        if (strides[i] != 1 || missing[i] != 0 || pads[i] > reach || pads[axes() + i] > reach) {
            return false;
        }
    }
    return true;
}

// W [O, I / g, kernel] as [I, O / g, kernel], each group by itself and the kernel reversed. Of a stored weight a
// runtime computes it once, when it loads the graph.
ValueId WindowGeometry::turnBack(Emitter& emit, ValueId value, ValueId weight, const Shape& extents,
                                 std::int64_t group) const
{
    if (extents[0] != group || extents[1] != 1) {
        const std::int64_t outputs = extents[0] / group;
        weight = emit.reshape(weight, withSpace({group, outputs, extents[1]}, extents));
        weight = emit.node("Transpose", {weight}, {{"perm", orderOf({0, 2, 1}, extents.size() + 1)}});
        weight = emit.reshape(weight, withSpace({group * extents[1], outputs}, extents));
    }
    if (std::ranges::any_of(kernel, [](std::int64_t extent) { return extent != 1; })) {
        WindowInts spatial(axes());
        std::iota(spatial.begin(), spatial.end(), 2);
        const WindowInts last(axes(), -1);
        const WindowInts beforeFirst(axes(), std::numeric_limits<std::int64_t>::min());
        weight = emit.slice(weight, last, beforeFirst, spatial, last);
    }
    graph::Attributes around = attributes(group);
    WindowInts turned(pads.size());
    for (std::size_t i = 0; i < pads.size(); ++i) {
        turned[i] = (kernel[i % axes()] - 1) * dilations[i % axes()] - pads[i];
    }
    around["pads"] = turned;
    return emit.node("Conv", {value, weight}, std::move(around));
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
