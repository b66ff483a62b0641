// SPDX-License-Identifier: Apache-2.0
#include "core/tape/gradientgraph/reducedaxes.h"

#include <algorithm>
#include <numeric>

namespace retro::tape
{

namespace
{

using Ints = std::vector<std::int64_t>;

Ints everyAxis(std::size_t first, std::size_t rank)
{
    Ints axes(rank - first);
    std::iota(axes.begin(), axes.end(), static_cast<std::int64_t>(first));
    return axes;
}

std::string knownAxes(const EmitSite& site)
{
    return site.has(1) && !site.known(1) ? "its axes are not known before the run; export it with constant axes" : "";
}

EmittedParts reduceSum(EmitSite& site) { return {ReducedAxes(site).spread(site.up()), {}}; }

EmittedParts reduceMean(EmitSite& site)
{
    const ReducedAxes reduced(site);
    EmittedParts parts(site.operands.size());
    parts[0] = reduced.spread(reduced.perElement(site.up()));
    return parts;
}

/// What a softmax normalises: one axis; before operator set 13 all axes from this one on, as one line.
struct Normalised
{
    tensor::Shape shape;
    std::int64_t axis = -1;

    explicit Normalised(const EmitSite& site)
        : shape(site.shape(0)), axis(site.node.opset < 13 ? -1 : site.integer("axis", -1))
    {
        if (site.node.opset >= 13) {
            return;
        }
        const std::size_t given = axisOf(site.integer("axis", 1), shape.size());
        if (given + 1 == shape.size()) {
            return;
        }
        const auto at = shape.begin() + static_cast<std::ptrdiff_t>(given);
        shape = {tensor::elementCount({shape.begin(), at}), tensor::elementCount({at, shape.end()})};
        axis = 1;
    }
    ValueId of(EmitSite& site, ValueId value) const
    {
        return shape == site.shape(0) ? value : site.emit.reshape(value, shape);
    }
    EmittedParts back(EmitSite& site, ValueId part) const
    {
        return {shape == site.shape(0) ? part : site.emit.reshape(part, site.shape(0))};
    }
};

/// Nothing is reshaped.
bool isOverOneAxis(const EmitSite& site) { return Normalised(site).shape == site.shape(0); }

EmittedParts softmax(EmitSite& site)
{
    const Normalised lines(site);
    const ValueId y = lines.of(site, site.outputs[0]);
    const ValueId weighted = site.emit.node("Mul", {lines.of(site, site.up()), y});
    const ValueId total = site.emit.reduce("ReduceSum", weighted, {lines.axis});
    return lines.back(site, site.emit.node("Sub", {weighted, site.emit.node("Mul", {y, total})}));
}

EmittedParts logSoftmax(EmitSite& site)
{
    const Normalised lines(site);
    const ValueId up = lines.of(site, site.up());
    const ValueId total = site.emit.reduce("ReduceSum", up, {lines.axis});
    const ValueId share = site.emit.node("Mul", {site.emit.node("Exp", {lines.of(site, site.outputs[0])}), total});
    return lines.back(site, site.emit.node("Sub", {up, share}));
}

/// What arrives or was made, in a shape that broadcasts against the operand.
ValueId widened(EmitSite& site, ValueId value) { return ReducedAxes(site).widened(value); }

EmittedParts reduceSquares(EmitSite& site)
{
    const ValueId twice = site.emit.node("Mul", {site.up(), site.emit.scalar(2)});
    return {site.emit.node("Mul", {site.operands[0], widened(site, twice)}), {}};
}

EmittedParts reduceLength(EmitSite& site)
{
    const ValueId share = site.emit.node("Div", {site.up(), site.outputs[0]});
    return {site.emit.node("Mul", {site.operands[0], widened(site, share)}), {}};
}

EmittedParts reduceAbsolute(EmitSite& site)
{
    const ValueId sign = site.emit.node("Sign", {site.operands[0]});
    return {site.emit.node("Mul", {sign, widened(site, site.up())}), {}};
}

EmittedParts reduceLogSum(EmitSite& site)
{
    const ValueId total = site.emit.node("Exp", {site.outputs[0]});
    const ValueId share = site.emit.node("Div", {site.up(), total});
    return {ReducedAxes(site).spread(share), {}};
}

EmittedParts reduceLogSumExp(EmitSite& site)
{
    const ValueId over = site.emit.node("Sub", {site.operands[0], widened(site, site.outputs[0])});
    return {site.emit.node("Mul", {site.emit.node("Exp", {over}), widened(site, site.up())}), {}};
}

std::string comparesFloatsOnAxes(const EmitSite& site)
{
    return site.emit.opset() < 11 ? "it needs Equal of floating numbers, of operator set 11; convert the model to a "
                                    "newer opset"
                                  : knownAxes(site);
}

/// Of each element the product of the others: that of all that are not zero, divided by its own, where no other one is
/// zero; else zero.
EmittedParts reduceProduct(EmitSite& site)
{
    const Ints axes = ReducedAxes(site).axes();
    Emitter& emit = site.emit;
    if (axes.empty()) {
        return {site.up(), {}};
    }
    const ValueId one = emit.scalar(1);
    const ValueId zero = emit.scalar(0);
    const ValueId isZero = emit.node("Equal", {site.operands[0], zero});
    const ValueId factors = emit.node("Where", {isZero, one, site.operands[0]});
    const ValueId own = emit.node("Where", {isZero, one, zero});
    const ValueId others = emit.node("Sub", {emit.reduce("ReduceSum", own, axes), own});
    const ValueId quotient = emit.node("Div", {emit.reduce("ReduceProd", factors, axes), factors});
    const ValueId product = emit.node("Where", {emit.node("Equal", {others, zero}), quotient, zero});
    return {emit.node("Mul", {product, widened(site, site.up())}), {}};
}

EmittedParts toWinners(EmitSite& site, std::string_view choose)
{
    EmittedParts parts(site.operands.size());
    parts[0] = ReducedAxes(site).toWinners(choose);
    return parts;
}

EmittedParts toLargest(EmitSite& site) { return toWinners(site, "ArgMax"); }
EmittedParts toSmallest(EmitSite& site) { return toWinners(site, "ArgMin"); }

/// x̂ = (x − m) / d over `axes`, d with what it divides by: the root of the mean of squares; without m where
/// `isCentred` does not say so.
struct Standardised
{
    ValueId unit;
    ValueId deviation;
};

Standardised standardised(EmitSite& site, ValueId x, const Ints& axes, bool isCentred)
{
    Emitter& emit = site.emit;
    const auto mean = [&](ValueId value) { return emit.reduce("ReduceMean", value, axes); };
    const ValueId centred = isCentred ? emit.node("Sub", {x, mean(x)}) : x;
    const ValueId variance = mean(emit.node("Mul", {centred, centred}));
    const ValueId deviation =
        emit.node("Sqrt", {emit.node("Add", {variance, emit.scalar(site.number("epsilon", 1e-5))})});
    return {emit.node("Div", {centred, deviation}), deviation};
}

/// With a = up ⊙ scale: (a − mean a − x̂ ⊙ mean(a ⊙ x̂)) / d; without the mean of a where nothing is centred.
ValueId standardBack(EmitSite& site, const Standardised& own, ValueId scaled, const Ints& axes, bool isCentred)
{
    Emitter& emit = site.emit;
    const auto mean = [&](ValueId value) { return emit.reduce("ReduceMean", value, axes); };
    const ValueId along = emit.node("Mul", {own.unit, mean(emit.node("Mul", {scaled, own.unit}))});
    const ValueId level = isCentred ? emit.node("Sub", {scaled, mean(scaled)}) : scaled;
    return emit.node("Div", {emit.node("Sub", {level, along}), own.deviation});
}

/// Parts of scale (operand 1, Σ up ⊙ x̂) and shift (operand 2, Σ up), whose numbers stand in these shapes beside x.
void addAffine(EmitSite& site, ValueId unit, const tensor::Shape& scale, const tensor::Shape& shift,
               EmittedParts& parts)
{
    const auto total = [&](ValueId value, const tensor::Shape& shape, std::size_t slot) {
        return site.emit.reshape(site.emit.sumTo(value, site.shape(0), shape), site.shape(slot));
    };
    if (site.wants(1)) {
        parts[1] = total(site.emit.node("Mul", {site.up(), unit}), scale, 1);
    }
    if (site.wants(2)) {
        parts[2] = total(site.up(), shift, 2);
    }
}

/// Over the last axes.
EmittedParts lastAxes(EmitSite& site, bool isCentred)
{
    const std::size_t rank = site.shape(0).size();
    const Ints axes = everyAxis(axisOf(site.integer("axis", -1), rank), rank);
    EmittedParts parts(site.operands.size());
    const Standardised own = standardised(site, site.operands[0], axes, isCentred);
    if (site.wants(0)) {
        const ValueId scaled = site.emit.node("Mul", {site.up(), site.operands[1]});
        parts[0] = standardBack(site, own, scaled, axes, isCentred);
    }
    const auto besides = [&](std::size_t slot) {
        tensor::Shape shape = site.has(slot) ? site.shape(slot) : tensor::Shape();
        shape.insert(shape.begin(), rank - shape.size(), 1);
        return shape;
    };
    addAffine(site, own.unit, besides(1), besides(2), parts);
    return parts;
}

/// Mean and 1/deviation (outputs 1 and 2) have slopes of their own: 1/N and −x̂/(N·d²).
EmittedParts layerNormalization(EmitSite& site)
{
    Emitter& emit = site.emit;
    const auto arrives = [&site](std::size_t k) { return k < site.upstream.size() && site.upstream[k].isValid(); };
    if (!site.up().isValid()) {
        site.upstream[0] = emit.filled(site.outputShape(), 0);
    }
    EmittedParts parts = lastAxes(site, true);
    if (!site.wants(0) || !(arrives(1) || arrives(2))) {
        return parts;
    }
    const std::size_t rank = site.shape(0).size();
    const Ints axes = everyAxis(axisOf(site.integer("axis", -1), rank), rank);
    double length = 1;
    for (const std::int64_t axis : axes) {
        length *= static_cast<double>(site.shape(0)[static_cast<std::size_t>(axis)]);
    }
    const ValueId share = emit.scalar(1 / length);
    if (arrives(1)) {
        parts[0] = emit.node("Add", {parts[0], emit.node("Mul", {site.upstream[1], share})});
    }
    if (arrives(2)) {
        const Standardised own = standardised(site, site.operands[0], axes, true);
        const ValueId square = emit.node("Mul", {own.deviation, own.deviation});
        const ValueId slope = emit.node("Div", {emit.node("Mul", {own.unit, share}), square});
        parts[0] = emit.node("Sub", {parts[0], emit.node("Mul", {site.upstream[2], slope})});
    }
    return parts;
}

EmittedParts rmsNormalization(EmitSite& site) { return lastAxes(site, false); }

/// Over groups of channels, in the shape `groups` (batch × groups × elements); scale and shift are per channel.
EmittedParts channelGroups(EmitSite& site, const tensor::Shape& groups)
{
    Emitter& emit = site.emit;
    const tensor::Shape& shape = site.shape(0);
    tensor::Shape channels(shape.size(), 1);
    channels[1] = shape[1];
    EmittedParts parts(site.operands.size());
    const Standardised own = standardised(site, emit.reshape(site.operands[0], groups), {2}, true);
    if (site.wants(0)) {
        const ValueId scaled = emit.node("Mul", {site.up(), emit.reshape(site.operands[1], channels)});
        parts[0] = emit.reshape(standardBack(site, own, emit.reshape(scaled, groups), {2}, true), shape);
    }
    addAffine(site, emit.reshape(own.unit, shape), channels, channels, parts);
    return parts;
}

EmittedParts instanceNormalization(EmitSite& site)
{
    const tensor::Shape& shape = site.shape(0);
    return channelGroups(site, {shape[0], shape[1], tensor::elementCount({shape.begin() + 2, shape.end()})});
}

/// Scale and shift are per group, as before operator set 21.
EmittedParts scaledGroups(EmitSite& site, const tensor::Shape& groups)
{
    Emitter& emit = site.emit;
    const tensor::Shape perGroup{1, groups[1], 1};
    EmittedParts parts(site.operands.size());
    const ValueId up = emit.reshape(site.up(), groups);
    const Standardised own = standardised(site, emit.reshape(site.operands[0], groups), {2}, true);
    if (site.wants(0)) {
        const ValueId scaled = emit.node("Mul", {up, emit.reshape(site.operands[1], perGroup)});
        parts[0] = emit.reshape(standardBack(site, own, scaled, {2}, true), site.shape(0));
    }
    if (site.wants(1)) {
        const ValueId along = emit.node("Mul", {up, own.unit});
        parts[1] = emit.reshape(emit.sumTo(along, groups, perGroup), site.shape(1));
    }
    if (site.wants(2)) {
        parts[2] = emit.reshape(emit.sumTo(up, groups, perGroup), site.shape(2));
    }
    return parts;
}

EmittedParts groupNormalization(EmitSite& site)
{
    const tensor::Shape& shape = site.shape(0);
    const std::int64_t count = site.integer("num_groups", 1);
    const tensor::Shape groups{shape[0], count,
                               tensor::elementCount(shape) / std::max<std::int64_t>(1, shape[0] * count)};
    return site.node.opset < 21 ? scaledGroups(site, groups) : channelGroups(site, groups);
}

/// With c = x − mean, σ its deviation and d = σ + ε: (up − mean up)/d − c·mean(up·c)/(d²·σ); where σ is 0, so is c.
EmittedParts meanVarianceNormalization(EmitSite& site)
{
    constexpr double kEpsilon = 1e-9; // fixed by the standard
    Emitter& emit = site.emit;
    const Ints axes = site.integers("axes", {0, 2, 3});
    const auto mean = [&](ValueId value) { return emit.reduce("ReduceMean", value, axes); };
    const auto centre = [&](ValueId value) { return emit.node("Sub", {value, mean(value)}); };
    const ValueId centred = centre(site.operands[0]);
    const ValueId deviation = emit.node("Sqrt", {mean(emit.node("Mul", {centred, centred}))});
    const ValueId divisor = emit.node("Add", {deviation, emit.scalar(kEpsilon)});
    const ValueId isSpread = emit.node("Cast", {deviation}, {{"to", kBoolType}});
    const ValueId own = emit.node("Where", {isSpread, deviation, emit.scalar(1)});
    const ValueId total = mean(emit.node("Mul", {site.up(), centred}));
    const ValueId slope = emit.node("Div", {emit.node("Div", {total, divisor}), own});
    const ValueId along = emit.node("Mul", {centred, slope});
    return {emit.node("Div", {emit.node("Sub", {centre(site.up()), along}), divisor})};
}

/// up·sgn(x)·(|x|/y)^(p−1); a channel of zeros gets nothing.
EmittedParts globalNorm(EmitSite& site)
{
    Emitter& emit = site.emit;
    const ValueId y = site.outputs[0];
    const ValueId x = site.operands[0];
    const ValueId hasLength = emit.node("Cast", {y}, {{"to", kBoolType}});
    const ValueId divisor = emit.node("Where", {hasLength, y, emit.scalar(1)});
    const double p = static_cast<double>(site.integer("p", 2));
    const ValueId share = emit.node("Div", {emit.node("Abs", {x}), divisor});
    const ValueId size = emit.node("Pow", {share, emit.scalar(p - 1)});
    const ValueId slope = emit.node("Mul", {emit.node("Sign", {x}), size});
    return {emit.node("Mul", {slope, emit.node("Where", {hasLength, site.up(), emit.scalar(0)})})};
}

/// With n the norm of a line: up/n − s·Σ(up·x)/n², where s is sgn(x), or x/n for the 2-norm; a line of zeros gets
/// nothing.
EmittedParts unitNorm(EmitSite& site)
{
    Emitter& emit = site.emit;
    const auto rank = static_cast<std::int64_t>(site.shape(0).size());
    const std::int64_t axis = site.integer("axis", -1);
    const Ints axes{axis < 0 ? axis + rank : axis};
    const bool isFirst = site.integer("p", 2) == 1;
    const ValueId x = site.operands[0];
    const ValueId norm = emit.reduce(isFirst ? "ReduceL1" : "ReduceL2", x, axes);
    const ValueId hasLength = emit.node("Cast", {norm}, {{"to", kBoolType}});
    const ValueId divisor = emit.node("Where", {hasLength, norm, emit.scalar(1)});
    const ValueId slope = isFirst ? emit.node("Sign", {x}) : emit.node("Div", {x, divisor});
    const ValueId total = emit.reduce("ReduceSum", emit.node("Mul", {site.up(), x}), axes);
    const ValueId along = emit.node("Mul", {slope, emit.node("Div", {total, divisor})});
    const ValueId part = emit.node("Div", {emit.node("Sub", {site.up(), along}), divisor});
    return {emit.node("Where", {hasLength, part, emit.scalar(0)})};
}

/// Sums over the windows of neighbouring channels as a matrix, or over the windows that read a channel.
ValueId overNeighbours(EmitSite& site, ValueId value, bool isBack)
{
    const std::int64_t channels = site.shape(0)[1];
    const std::int64_t size = site.integer("size", 1);
    const std::int64_t before = isBack ? size / 2 : (size - 1) / 2;
    const std::int64_t after = isBack ? (size - 1) / 2 : size / 2;
    std::vector<double> band;
    for (std::int64_t c = 0; c < channels; ++c) {
        for (std::int64_t i = 0; i < channels; ++i) {
            band.push_back(i >= c - before && i <= c + after ? 1 : 0);
        }
    }
    return site.emit.alongAxis(value, site.shape(0), 1, band, channels);
}

/// With d = bias + alpha/size · Σ x² over the window: up·d^−β − 2·β·alpha/size · x · Σ up·x·d^(−β−1) over the windows
/// that read x.
EmittedParts localResponse(EmitSite& site)
{
    Emitter& emit = site.emit;
    const ValueId x = site.operands[0];
    const double factor = site.number("alpha", 1e-4) / static_cast<double>(site.integer("size", 1));
    const double beta = site.number("beta", 0.75);
    const ValueId squares = overNeighbours(site, emit.node("Mul", {x, x}), false);
    const ValueId divisor =
        emit.node("Add", {emit.node("Mul", {squares, emit.scalar(factor)}), emit.scalar(site.number("bias", 1))});
    const ValueId own = emit.node("Mul", {site.up(), emit.node("Pow", {divisor, emit.scalar(-beta)})});
    const ValueId shares = emit.node("Div", {emit.node("Mul", {own, x}), divisor});
    const ValueId scaled = emit.node("Mul", {x, emit.scalar(2 * beta * factor)});
    return {emit.node("Sub", {own, emit.node("Mul", {scaled, overNeighbours(site, shares, true)})})};
}

} // namespace

const EmitRules kReductionRules{
    {"GlobalLpPool", never, globalNorm},
    {"GlobalMaxPool", never, toLargest, kAllSlots, always},
    {"GroupNormalization", never, groupNormalization},
    {"InstanceNormalization", never, instanceNormalization},
    {"RMSNormalization", never, rmsNormalization},
    {"LRN", never, localResponse},
    {"LpNormalization", never, unitNorm},
    {"MeanVarianceNormalization", never, meanVarianceNormalization},
    {"ReduceL1", knownAxes, reduceAbsolute, kAllSlots, always},
    {"ReduceL2", knownAxes, reduceLength, kAllSlots, always},
    {"ReduceLogSum", knownAxes, reduceLogSum, kAllSlots, always},
    {"ReduceLogSumExp", knownAxes, reduceLogSumExp, kAllSlots, always},
    {"ReduceMax", knownAxes, toLargest, kAllSlots, always},
    {"ReduceMin", knownAxes, toSmallest, kAllSlots, always},
    {"ReduceProd", comparesFloatsOnAxes, reduceProduct},
    {"ReduceSumSquare", knownAxes, reduceSquares, kAllSlots, always},
    {"GlobalAveragePool", never, reduceMean, kAllSlots, always},
    {"LayerNormalization", never, layerNormalization},
    {"LogSoftmax", never, logSoftmax, kAllSlots, isOverOneAxis},
    {"ReduceMean", knownAxes, reduceMean, kAllSlots, always},
    {"ReduceSum", knownAxes, reduceSum, kAllSlots, always},
    {"SimplifiedLayerNormalization", never, rmsNormalization},
    {"Softmax", never, softmax, kAllSlots, isOverOneAxis},
};

} // namespace retro::tape
