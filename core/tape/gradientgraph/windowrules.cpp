// SPDX-License-Identifier: Apache-2.0
// Operators with windows: convolutions and pooling.
#include "core/tape/gradientgraph/windowgeometry.h"

#include <algorithm>
#include <numeric>

namespace retro::tape
{

namespace
{

using WindowExtents = std::vector<std::int64_t>;

WindowExtents kernelOf(const tensor::Shape& weight) { return {weight.begin() + 2, weight.end()}; }

/// Σ over all axes but the channels.
ValueId overChannels(EmitSite& site)
{
    const tensor::Shape& shape = site.outputShape();
    tensor::Shape channels(shape.size(), 1);
    channels[1] = shape[1];
    return site.emit.reshape(site.emit.sumTo(site.up(), shape, channels), {shape[1]});
}

EmittedParts convolution(EmitSite& site)
{
    const std::int64_t group = site.integer("group", 1);
    const WindowGeometry geometry(site, kernelOf(site.shape(1)), site.shape(0), site.outputShape());
    EmittedParts parts(site.operands.size());
    if (site.wants(0)) {
        parts[0] = geometry.spreadBack(site.emit, site.up(), site.operands[1], group);
    }
    if (site.wants(1)) {
        parts[1] =
            geometry.correlation(site.emit, site.operands[0], site.shape(0), site.up(), site.outputShape(), group);
    }
    if (site.wants(2)) {
        parts[2] = overChannels(site);
    }
    return parts;
}

std::string plainTransposed(const EmitSite& site)
{
    const bool hasShape = site.node.attributes.contains("output_shape");
    const std::string automatic = site.text("auto_pad", "NOTSET");
    if (hasShape || automatic.starts_with("SAME")) {
        return "it states its output shape or pads automatically; export the model with pads";
    }
    return {};
}

EmittedParts transposedConvolution(EmitSite& site)
{
    const std::int64_t group = site.integer("group", 1);
    const WindowGeometry geometry(site, kernelOf(site.shape(1)), site.outputShape(), site.shape(0));
    EmittedParts parts(site.operands.size());
    if (site.wants(0)) {
        // What output_padding adds at the end may hold one more window: it is cut off.
        const ValueId whole = site.emit.node("Conv", {site.up(), site.operands[1]}, geometry.attributes(group));
        WindowExtents spatial(geometry.axes());
        std::iota(spatial.begin(), spatial.end(), 2);
        const bool isExact = geometry.windows == geometry.windowsThatFit();
        parts[0] =
            isExact ? whole : site.emit.slice(whole, WindowExtents(geometry.axes(), 0), geometry.windows, spatial);
    }
    if (site.wants(1)) {
        parts[1] =
            geometry.correlation(site.emit, site.up(), site.outputShape(), site.operands[0], site.shape(0), group);
    }
    if (site.wants(2)) {
        parts[2] = overChannels(site);
    }
    return parts;
}

/// One window of ones per channel.
ValueId onesPerChannel(EmitSite& site, const WindowGeometry& geometry)
{
    tensor::Shape weight{site.shape(0)[1], 1};
    weight.insert(weight.end(), geometry.kernel.begin(), geometry.kernel.end());
    return site.emit.filled(weight, 1);
}

EmittedParts averagePool(EmitSite& site)
{
    const WindowGeometry geometry(site, site.integers("kernel_shape", {}), site.shape(0), site.outputShape());
    const ValueId counts =
        site.emit.constant(geometry.counts(site.emit.floatType(), site.integer("count_include_pad", 0) != 0));
    const ValueId shares = site.emit.node("Div", {site.up(), counts});
    return {geometry.spreadBack(site.emit, shares, onesPerChannel(site, geometry), site.shape(0)[1])};
}

std::string hasSign(const EmitSite& site)
{
    return site.emit.opset() < 11 ? "it compares floating numbers by Equal, of operator set 11; convert the model to a "
                                    "newer opset"
                                  : "";
}

/// sgn(x)·|x|^(p−1) · Σ over the windows of up·y^(1−p); a window of zeros gives nothing.
EmittedParts normPool(EmitSite& site)
{
    const WindowGeometry geometry(site, site.integers("kernel_shape", {}), site.shape(0), site.outputShape());
    Emitter& emit = site.emit;
    const double p = site.node.opset < 2 ? site.number("p", 2) : static_cast<double>(site.integer("p", 2));
    const ValueId zero = emit.scalar(0);
    const ValueId y = site.outputs[0];
    const ValueId isNothing = emit.node("Equal", {y, zero});
    const ValueId divisor = emit.node("Pow", {emit.node("Where", {isNothing, emit.scalar(1), y}), emit.scalar(p - 1)});
    const ValueId shares = emit.node("Where", {isNothing, zero, emit.node("Div", {site.up(), divisor})});
    const ValueId sums = geometry.spreadBack(emit, shares, onesPerChannel(site, geometry), site.shape(0)[1]);
    const ValueId x = site.operands[0];
    const ValueId size = emit.node("Pow", {emit.node("Abs", {x}), emit.scalar(p - 1)});
    return {emit.node("Mul", {sums, emit.node("Mul", {emit.node("Sign", {x}), size})})};
}

/// Along each axis every how manieth window stands clear of the one before.
WindowExtents apartOf(const WindowGeometry& geometry)
{
    WindowExtents apart;
    for (std::size_t i = 0; i < geometry.axes(); ++i) {
        const std::int64_t reach = (geometry.kernel[i] - 1) * geometry.dilations[i] + 1;
        apart.push_back((reach + geometry.strides[i] - 1) / geometry.strides[i]);
    }
    return apart;
}

std::string countsByRows(const EmitSite& site)
{
    if (site.integer("storage_order", 0) != 0) {
        return "it counts its indices by columns; export it with storage_order 0";
    }
    const WindowGeometry geometry(site, site.integers("kernel_shape", {}), site.shape(0), site.outputShape());
    const bool overlaps = std::ranges::any_of(apartOf(geometry), [](std::int64_t every) { return every > 1; });
    return overlaps && site.emit.opset() < 10 ? "its windows overlap, which needs Slice in steps, of operator set 10; "
                                                "convert the model to a newer opset"
                                              : "";
}

/// Puts what arrives at the winners' places. Windows of one call never overlap, so no place is written twice.
ValueId putAtWinners(EmitSite& site, ValueId places, ValueId arrived)
{
    const ValueId zeros = site.emit.filled({tensor::elementCount(site.shape(0))}, 0);
    return site.emit.scatter(zeros, site.emit.reshape(places, {-1}), site.emit.reshape(arrived, {-1}), 0);
}

/// The next start, axis 0 fastest; false behind the last one.
bool moveOn(WindowExtents& start, const WindowExtents& apart, const WindowExtents& windows)
{
    for (std::size_t axis = 0; axis < start.size(); ++axis) {
        if (++start[axis] < std::min(apart[axis], windows[axis])) {
            return true;
        }
        start[axis] = 0;
    }
    return false;
}

/// Before scatter operators could add: windows that stand clear of each other at a time, and the sum.
ValueId addAtWinners(EmitSite& site, ValueId places)
{
    const WindowGeometry geometry(site, site.integers("kernel_shape", {}), site.shape(0), site.outputShape());
    const WindowExtents apart = apartOf(geometry);
    WindowExtents spatial(geometry.axes());
    std::iota(spatial.begin(), spatial.end(), 2);
    WindowExtents start(geometry.axes(), 0);
    const bool isWhole = std::ranges::all_of(apart, [](std::int64_t every) { return every == 1; });
    ValueId sum;
    do {
        const auto some = [&](ValueId value) {
            return isWhole ? value : site.emit.slice(value, start, geometry.windows, spatial, apart);
        };
        const ValueId part = putAtWinners(site, some(places), some(site.up()));
        sum = sum.isValid() ? site.emit.node("Add", {sum, part}) : part;
    } while (moveOn(start, apart, geometry.windows));
    return sum;
}

/// The winners' places come from another MaxPool; what arrived is added there.
EmittedParts maxPool(EmitSite& site)
{
    const ValueId winners = site.winners.isValid()
                                ? site.winners
                                : site.emit.node("MaxPool", {site.operands[0]}, site.node.attributes, 2)[1];
    if (site.emit.opset() < 16) {
        return {site.emit.reshape(addAtWinners(site, winners), site.shape(0))};
    }
    const tensor::Shape flat{tensor::elementCount(site.shape(0))};
    const ValueId zeros = site.emit.filled(flat, 0);
    const ValueId sum =
        site.emit.node("ScatterElements", {zeros, site.emit.reshape(winners, {-1}), site.emit.reshape(site.up(), {-1})},
                       {{"axis", std::int64_t{0}}, {"reduction", std::string("add")}});
    return {site.emit.reshape(sum, site.shape(0))};
}

} // namespace

const EmitRules kWindowRules{
    {"AveragePool", never, averagePool},
    {"Conv", never, convolution},
    {"ConvTranspose", plainTransposed, transposedConvolution},
    {"LpPool", hasSign, normPool},
    {"MaxPool", countsByRows, maxPool},
};

} // namespace retro::tape
