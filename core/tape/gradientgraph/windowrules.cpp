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
        parts[0] = site.turnsWeights && geometry.canTurn()
                       ? geometry.turnBack(site.emit, site.up(), site.operands[1], site.shape(1), group)
                       : geometry.spreadBack(site.emit, site.up(), site.operands[1], group, site.operands[0]);
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
        const bool isExact = !geometry.hasFree && geometry.windows == geometry.windowsThatFit();
        parts[0] = isExact ? whole : geometry.cutTo(site.emit, whole, geometry.windows, site.operands[0]);
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
    return site.isFree ? site.emit.filledBy(site.emit.ints(weight), 1) : site.emit.filled(weight, 1);
}

WindowGeometry poolWindows(const EmitSite& site)
{
    return {site, site.integers("kernel_shape", {}), site.shape(0), site.outputShape()};
}

/// Per window how many elements its average divides by.
ValueId elementsPerWindow(EmitSite& site, const WindowGeometry& geometry)
{
    const bool withPadding = site.integer("count_include_pad", 0) != 0;
    const bool hasPads = std::ranges::any_of(geometry.pads, [](std::int64_t pad) { return pad != 0; });
    const bool sticksOut = std::ranges::any_of(geometry.missing, [](std::int64_t more) { return more < 0; });
    if (!sticksOut && (withPadding || !hasPads)) {
        return site.emit.scalar(static_cast<double>(tensor::elementCount(geometry.kernel)));
    }
    if (!geometry.hasFree) {
        return site.emit.constant(geometry.counts(site.emit.floatType(), withPadding));
    }
    const ValueId one = site.emit.slice(site.operands[0], {0, 0}, {1, 1}, {0, 1});
    tensor::Shape weight{1, 1};
    weight.insert(weight.end(), geometry.kernel.begin(), geometry.kernel.end());
    return site.emit.node("Conv", {site.emit.filledLike(one, 1), site.emit.filled(weight, 1)}, geometry.attributes(1));
}

EmittedParts averagePool(EmitSite& site)
{
    const WindowGeometry geometry = poolWindows(site);
    const ValueId shares = site.emit.node("Div", {site.up(), elementsPerWindow(site, geometry)});
    return {geometry.spreadBack(site.emit, shares, onesPerChannel(site, geometry), site.shape(0)[1], site.operands[0])};
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
    const WindowGeometry geometry = poolWindows(site);
    Emitter& emit = site.emit;
    const double p = site.node.opset < 2 ? site.number("p", 2) : static_cast<double>(site.integer("p", 2));
    const ValueId zero = emit.scalar(0);
    const ValueId y = site.outputs[0];
    const ValueId isNothing = emit.node("Equal", {y, zero});
    const ValueId divisor = emit.node("Pow", {emit.node("Where", {isNothing, emit.scalar(1), y}), emit.scalar(p - 1)});
    const ValueId shares = emit.node("Where", {isNothing, zero, emit.node("Div", {site.up(), divisor})});
    const ValueId sums =
        geometry.spreadBack(emit, shares, onesPerChannel(site, geometry), site.shape(0)[1], site.operands[0]);
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
    if (site.winners.isValid() && site.integer("storage_order", 0) != 0) {
        return "it counts its indices by columns; export it with storage_order 0";
    }
    const WindowGeometry geometry = poolWindows(site);
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
    const WindowGeometry geometry = poolWindows(site);
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

/// The places of the winners; by rows, where another MaxPool gives them.
ValueId winnersOf(EmitSite& site)
{
    graph::Attributes attributes = site.node.attributes;
    attributes.erase("storage_order");
    return site.winners.isValid() ? site.winners
                                  : site.emit.node("MaxPool", {site.operands[0]}, std::move(attributes), 2)[1];
}

/// What arrived is added at the winners' places.
EmittedParts maxPool(EmitSite& site)
{
    Emitter& emit = site.emit;
    const ValueId winners = winnersOf(site);
    if (emit.opset() < 16) {
        return {emit.reshape(addAtWinners(site, winners), site.shape(0))};
    }
    const auto line = [&emit](ValueId value) { return emit.reshape(value, {-1}); };
    graph::Attributes scatter{{"axis", std::int64_t{0}}};
    if (std::ranges::any_of(apartOf(poolWindows(site)), [](std::int64_t every) { return every > 1; })) {
        scatter["reduction"] = std::string("add");
    }
    const ValueId zeros = site.isFree ? emit.filledBy(line(emit.node("Size", {site.operands[0]})), 0)
                                      : emit.filled({tensor::elementCount(site.shape(0))}, 0);
    const ValueId sum = emit.node("ScatterElements", {zeros, line(winners), line(site.up())}, std::move(scatter));
    return {site.isFree ? emit.node("Reshape", {sum, emit.node("Shape", {site.operands[0]})})
                        : emit.reshape(sum, site.shape(0))};
}

/// Channels, and what follows from extents along the windows, are known.
bool runsFreely(const EmitSite& site, const WindowGeometry& geometry)
{
    return !site.hasFree(0, 1) && geometry.refusal(site).empty();
}

bool poolsFreely(const EmitSite& site) { return runsFreely(site, poolWindows(site)); }

bool convolvesFreely(const EmitSite& site)
{
    const bool isBack = site.node.op == "ConvTranspose";
    return !site.wants(1) &&
           runsFreely(site, {site, kernelOf(site.shape(1)), isBack ? site.outputShape() : site.shape(0),
                             isBack ? site.shape(0) : site.outputShape()});
}

} // namespace

const EmitRules kWindowRules{
    {"AveragePool", never, averagePool, kAllSlots, poolsFreely},
    {"Conv", never, convolution, kAllSlots, convolvesFreely},
    {"ConvTranspose", plainTransposed, transposedConvolution, kAllSlots, convolvesFreely},
    {"LpPool", hasSign, normPool},
    {"MaxPool", countsByRows, maxPool, kAllSlots, always},
};

} // namespace retro::tape
