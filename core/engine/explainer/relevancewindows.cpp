// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explainer/relevancewindows.h"

#include "core/graph/attributes.h"

#include <algorithm>
#include <numeric>

namespace retro::engine
{

using Extents = std::vector<std::int64_t>;

namespace
{

/// One axis of the windows of a site, with the extents there.
struct WindowAxis
{
    std::size_t at = 0;
    std::int64_t image = 0;
    std::int64_t windows = 0;
    bool isFree = false; ///< the extent of the image is not known
    std::int64_t reach = 0;
};

/// The padding that auto_pad names, where it names one.
base::Result<void> padAxis(const RelevanceSite& site, const std::string& automatic, const WindowAxis& axis,
                           RelevanceWindows& made)
{
    std::int64_t& before = made.pads[axis.at];
    std::int64_t& after = made.pads[made.kernel.size() + axis.at];
    if (automatic == "VALID") {
        before = after = 0;
    } else if (automatic != "NOTSET") {
        const std::int64_t stride = made.strides[axis.at];
        if (axis.isFree && stride != 1) {
            return notWritten(site, "its padding follows from an extent that the model leaves free; give the "
                                    "inputs a shape by --shape NAME=1x3x224x224");
        }
        const std::int64_t total =
            axis.isFree ? axis.reach - 1
                        : std::max<std::int64_t>((axis.windows - 1) * stride + axis.reach - axis.image, 0);
        const std::int64_t small = total / 2;
        before = automatic == "SAME_UPPER" ? small : total - small;
        after = total - before;
    }
    return {};
}

/// What the windows leave of the image.
base::Result<void> measureAxis(const RelevanceSite& site, const WindowAxis& axis, RelevanceWindows& made)
{
    std::int64_t& after = made.pads[made.kernel.size() + axis.at];
    std::int64_t& missing = made.missing[axis.at];
    const std::int64_t covered = (axis.windows - 1) * made.strides[axis.at] + axis.reach - made.pads[axis.at] - after;
    missing = axis.image - covered;
    const bool isCeiled = graph::intAttribute(site.node, "ceil_mode", 0) != 0;
    if (isCeiled && axis.isFree) {
        return needsExtents(site);
    }
    // A last window beyond the padding, of which a pool counts what there is.
    if (isCeiled && missing < 0 && graph::intAttribute(site.node, "count_include_pad", 0) == 0) {
        after -= missing;
        missing = 0;
    }
    if (missing < 0) {
        return notWritten(site, "its last window reaches beyond the padding (ceil_mode or output_shape); export the "
                                "model with whole windows");
    }
    return {};
}

} // namespace

base::Result<RelevanceWindows> RelevanceWindows::of(const RelevanceSite& site, Extents kernel, graph::ValueId image,
                                                    graph::ValueId windows)
{
    RelevanceWindows made;
    const std::size_t axes = kernel.size();
    made.kernel = std::move(kernel);
    made.strides = graph::attributeOr<Extents>(site.node, "strides", Extents(axes, 1));
    made.dilations = graph::attributeOr<Extents>(site.node, "dilations", Extents(axes, 1));
    made.pads = graph::attributeOr<Extents>(site.node, "pads", Extents(2 * axes, 0));
    made.missing.resize(axes);
    const std::string automatic = graph::attributeOr<std::string>(site.node, "auto_pad", "NOTSET");
    const tensor::Shape& imageShape = site.model.typeOf(image).shape;
    const tensor::Shape& windowShape = site.model.typeOf(windows).shape;
    for (std::size_t i = 0; i < axes; ++i) {
        const WindowAxis axis{i, imageShape[i + 2], windowShape[i + 2], site.freeAxes.isFree(image, i + 2),
                              (made.kernel[i] - 1) * made.dilations[i] + 1};
        made.hasFreeExtents = made.hasFreeExtents || axis.isFree;
        RETRO_CHECK(padAxis(site, automatic, axis, made));
        RETRO_CHECK(measureAxis(site, axis, made));
    }
    return made;
}

graph::Attributes RelevanceWindows::attributes(std::int64_t group) const
{
    return {{"kernel_shape", kernel}, {"strides", strides}, {"dilations", dilations}, {"pads", pads}, {"group", group}};
}

ValueId RelevanceWindows::spreadBack(RelevanceSteps& steps, ValueId value, ValueId weight, std::int64_t group,
                                     ValueId like) const
{
    graph::Attributes attributes = this->attributes(group);
    bool fits = !hasFreeExtents;
    for (std::size_t i = 0; i < axes(); ++i) {
        fits = fits && missing[i] < strides[i]; // what output_padding can be
    }
    if (fits) {
        attributes["output_padding"] = missing;
        return steps.op("ConvTranspose", {value, weight}, std::move(attributes));
    }
    // Zeros behind the last window, then as much as there is.
    Extents begins = pads;
    std::fill(begins.begin() + static_cast<std::ptrdiff_t>(axes()), begins.end(), 0);
    attributes["pads"] = begins;
    const ValueId whole = steps.op("ConvTranspose", {value, weight}, std::move(attributes));
    Extents after(axes() + 2, 0);
    for (std::size_t i = 0; i < axes(); ++i) {
        after[i + 2] = hasFreeExtents ? strides[i] - 1 : std::max<std::int64_t>(missing[i], 0);
    }
    const ValueId padded = steps.emitter().pad(whole, Extents(axes() + 2, 0), after);
    Extents spatial(axes());
    std::iota(spatial.begin(), spatial.end(), 2);
    const ValueId ends = steps.emitter().slice(steps.shapeOf(like), {2}, {static_cast<std::int64_t>(axes()) + 2}, {0});
    return steps.op("Slice", {padded, steps.ints(Extents(axes(), 0)), ends, steps.ints(spatial)});
}

bool RelevanceWindows::canTurn() const
{
    for (std::size_t i = 0; i < axes(); ++i) {
        const std::int64_t reach = (kernel[i] - 1) * dilations[i];
        if (strides[i] != 1 || missing[i] != 0 || pads[i] > reach || pads[axes() + i] > reach) {
            return false;
        }
    }
    return true;
}

graph::Attributes RelevanceWindows::turnedAttributes(std::int64_t group) const
{
    graph::Attributes attributes = this->attributes(group);
    Extents around(pads.size());
    for (std::size_t i = 0; i < pads.size(); ++i) {
        around[i] = (kernel[i % axes()] - 1) * dilations[i % axes()] - pads[i];
    }
    attributes["pads"] = around;
    return attributes;
}

} // namespace retro::engine
