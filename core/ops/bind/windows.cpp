// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/windows.h"

#include <fmt/format.h>

namespace retro::ops
{

using reference::WindowAxis;
using tensor::Shape;

namespace
{

/// Largest extent, stride, dilation or pad; products of two still fit.
constexpr std::int64_t kMaxWindowExtent = 1LL << 30;

base::Result<std::vector<std::int64_t>> checkedList(const BindContext& context, std::string_view name,
                                                    std::size_t count, std::int64_t least)
{
    std::vector<std::int64_t> values = context.intsAttribute(name, std::vector<std::int64_t>(count, least));
    if (values.size() != count) {
        return context.error(fmt::format("{} has {} entries, but {} are needed", name, values.size(), count));
    }
    for (const std::int64_t value : values) {
        if (value < least || value > kMaxWindowExtent) {
            return context.error(
                fmt::format("{} contains {}, which is not between {} and {}", name, value, least, kMaxWindowExtent));
        }
    }
    return values;
}

/// Pads that make one window per stride: SAME_UPPER puts the odd one behind, SAME_LOWER in front.
void padToSame(WindowAxis& axis, bool isUpper)
{
    axis.windows = (axis.image + axis.stride - 1) / axis.stride;
    const std::int64_t total = std::max<std::int64_t>((axis.windows - 1) * axis.stride + axis.span() - axis.image, 0);
    axis.padBegin = isUpper ? total / 2 : total - total / 2;
    axis.padEnd = total - axis.padBegin;
}

base::Result<void> fitWindows(const BindContext& context, WindowAxis& axis, bool isCeil)
{
    const std::int64_t room = axis.image + axis.padBegin + axis.padEnd - axis.span();
    if (room < 0) {
        return context.error(fmt::format("a window spans {} positions, but the padded operand has only {}", axis.span(),
                                         axis.image + axis.padBegin + axis.padEnd));
    }
    axis.windows = (isCeil ? (room + axis.stride - 1) / axis.stride : room / axis.stride) + 1;
    if (isCeil && (axis.windows - 1) * axis.stride >= axis.image + axis.padBegin) {
        --axis.windows;
    }
    return {};
}

} // namespace

base::Result<std::size_t> spatialAxes(const BindContext& context, const std::vector<std::int64_t>& kernel)
{
    const Shape& shape = firstType(context).shape;
    if (shape.size() < 3 || shape.size() > 5) {
        return context.error(fmt::format("operand 0 has rank {}, but batch × channels × one to three spatial axes are "
                                         "needed",
                                         shape.size()));
    }
    if (kernel.size() != shape.size() - 2) {
        return context.error(fmt::format("the kernel has {} axes, but the operand has {} spatial axes", kernel.size(),
                                         shape.size() - 2));
    }
    for (std::size_t i = 0; i < kernel.size(); ++i) {
        if (kernel[i] < 1 || kernel[i] > kMaxWindowExtent || shape[2 + i] > kMaxWindowExtent) {
            return context.error(fmt::format("kernel extent {} or operand extent {} is not between 1 and {}", kernel[i],
                                             shape[2 + i], kMaxWindowExtent));
        }
    }
    return kernel.size();
}

base::Result<WindowAttributes> windowAttributes(const BindContext& context, std::size_t count)
{
    WindowAttributes result;
    RETRO_TRY(result.strides, checkedList(context, "strides", count, 1));
    RETRO_TRY(result.dilations, checkedList(context, "dilations", count, 1));
    RETRO_TRY(result.pads, checkedList(context, "pads", 2 * count, 0));
    result.autoPad = context.textAttribute("auto_pad", "NOTSET");
    result.isCeil = context.intAttribute("ceil_mode", 0) != 0;
    constexpr std::array<std::string_view, 4> kKnown{"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};
    if (std::find(kKnown.begin(), kKnown.end(), result.autoPad) == kKnown.end()) {
        return context.error(fmt::format("auto_pad '{}' is unknown", result.autoPad));
    }
    return result;
}

base::Result<void> expectOnePadding(const BindContext& context)
{
    const std::string autoPad = context.textAttribute("auto_pad", "NOTSET");
    if (autoPad != "NOTSET" && context.node.attributes.contains("pads")) {
        return context.error(fmt::format("attribute 'pads' is given together with auto_pad '{}'; only with NOTSET it "
                                         "may be",
                                         autoPad));
    }
    return {};
}

namespace
{

/// Pads and windows of axis `i` of `count`, whose other numbers are known.
base::Result<void> placeWindows(const BindContext& context, const WindowAttributes& attributes, std::size_t i,
                                std::size_t count, WindowAxis& axis)
{
    if (attributes.autoPad.starts_with("SAME")) {
        padToSame(axis, attributes.autoPad == "SAME_UPPER");
        return {};
    }
    if (attributes.autoPad == "NOTSET") {
        axis.padBegin = attributes.pads[i];
        axis.padEnd = attributes.pads[count + i];
    }
    return fitWindows(context, axis, attributes.isCeil);
}

} // namespace

base::Result<std::vector<WindowAxis>> windowsOver(const BindContext& context, const std::vector<std::int64_t>& kernel)
{
    RETRO_TRY(const std::size_t count, spatialAxes(context, kernel));
    RETRO_TRY(const WindowAttributes attributes, windowAttributes(context, count));
    std::vector<WindowAxis> axes(count);
    for (std::size_t i = 0; i < count; ++i) {
        axes[i].image = firstType(context).shape[2 + i];
        axes[i].kernel = kernel[i];
        axes[i].stride = attributes.strides[i];
        axes[i].dilation = attributes.dilations[i];
        RETRO_CHECK(placeWindows(context, attributes, i, count, axes[i]));
    }
    return axes;
}

base::Result<std::vector<WindowAxis>> poolWindows(const BindContext& context)
{
    RETRO_TRY(auto axes, windowsOver(context, context.intsAttribute("kernel_shape", {})));
    for (const WindowAxis& axis : axes) {
        if (std::max(axis.padBegin, axis.padEnd) >= axis.span()) {
            return context.error(fmt::format("pads {} and {} must be smaller than the window, which spans {}",
                                             axis.padBegin, axis.padEnd, axis.span()));
        }
    }
    return axes;
}

base::Result<GlobalWindow> globalWindow(const BindContext& context)
{
    const Shape& operand = firstType(context).shape;
    if (operand.size() < 3) {
        return context.error("the operand needs the axes batch × channels and at least one more");
    }
    GlobalWindow all{{}, Shape(operand.size(), 1)};
    all.axis.image = tensor::elementCount({operand.begin() + 2, operand.end()});
    all.axis.kernel = all.axis.image;
    all.shape[0] = operand[0];
    all.shape[1] = operand[1];
    return all;
}

namespace
{

/// A pooling that reads each element many thousand times, or that has thousands of windows per element, is a mistake in
/// a file (kernel, pads). What is small is computed all the same.
base::Result<void> expectWork(const BindContext& context, const std::vector<WindowAxis>& axes)
{
    constexpr double kSmallReads = 1LL << 31; // elements read
    constexpr double kMostTimes = 1LL << 14;
    constexpr double kSmallResult = 1LL << 26; // elements
    constexpr double kMostWindows = 4096;      // per element
    double image = 1;
    double windows = 1;
    double reads = 1; // at most
    for (const WindowAxis& axis : axes) {
        image *= static_cast<double>(axis.image);
        windows *= static_cast<double>(axis.windows);
        reads *= std::min(static_cast<double>(axis.windows) * static_cast<double>(std::min(axis.kernel, axis.image)),
                          static_cast<double>(axis.image) * static_cast<double>(std::min(axis.kernel, axis.windows)));
    }
    const Shape& shape = firstType(context).shape;
    const double images = static_cast<double>(shape[0]) * static_cast<double>(shape[1]);
    const double all = reads * images;
    const bool readsTooMuch = all > kSmallReads && reads > kMostTimes * std::max(image, windows);
    const bool hasTooMany = windows * images > kSmallResult && windows > kMostWindows * image;
    if (readsTooMuch || hasTooMany) {
        return context.error(fmt::format("{:.3g} windows over {:.3g} elements would read {:.3g} elements; make the "
                                         "kernel or the pads smaller, or the strides larger",
                                         windows, image, all));
    }
    return {};
}

} // namespace

base::Result<Shape> pooledShape(const BindContext& context, const std::vector<WindowAxis>& axes)
{
    Shape shape;
    for (const WindowAxis& axis : axes) {
        shape.push_back(axis.windows);
    }
    RETRO_CHECK(expectSize(context, shape)); // also where there are no channels
    shape.insert(shape.begin(), {firstType(context).shape[0], firstType(context).shape[1]});
    RETRO_CHECK(expectSize(context, shape));
    RETRO_CHECK(expectWork(context, axes));
    return shape;
}

} // namespace retro::ops
