// SPDX-License-Identifier: Apache-2.0
#include "core/tape/gradientgraph/emitrule.h"

#include <array>
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

/// Axes of a reduction: attribute or operand, all without either; none when noop_with_empty_axes says so.
Ints axesOf(const EmitSite& site)
{
    Ints axes = site.known(1).value_or(site.integers("axes", {}));
    if (axes.empty() && site.integer("noop_with_empty_axes", 0) == 0) {
        axes = everyAxis(0, site.shape(0).size());
    }
    return axes;
}

std::string knownAxes(const EmitSite& site)
{
    return site.has(1) && !site.known(1) ? "its axes are not known before the run; export it with constant axes" : "";
}

/// `value` of a reduced shape, repeated to `shape` and scaled.
ValueId spread(EmitSite& site, ValueId value, const tensor::Shape& kept, const tensor::Shape& shape, double factor)
{
    const ValueId scaled = factor == 1 ? value : site.emit.node("Mul", {value, site.emit.scalar(factor)});
    return site.emit.node("Expand", {site.emit.reshape(scaled, kept), site.emit.ints(shape)});
}

ValueId spreadBack(EmitSite& site, bool isMean)
{
    const tensor::Shape& shape = site.shape(0);
    tensor::Shape kept = shape;
    double count = 1;
    for (const std::int64_t axis : axesOf(site)) {
        auto& extent = kept[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(shape.size()) : axis)];
        count *= static_cast<double>(extent);
        extent = 1;
    }
    return spread(site, site.up(), kept, shape, isMean ? 1 / count : 1);
}

EmittedParts reduceSum(EmitSite& site) { return {spreadBack(site, false), {}}; }

EmittedParts reduceMean(EmitSite& site) { return {spreadBack(site, true), {}}; }

EmittedParts globalAverage(EmitSite& site)
{
    const tensor::Shape& shape = site.shape(0);
    const double count = static_cast<double>(tensor::elementCount({shape.begin() + 2, shape.end()}));
    return {spread(site, site.up(), site.outputShape(), shape, 1 / count)};
}

std::string newSoftmax(const EmitSite& site)
{
    return site.emit.opset() < 13 ? "it flattens axes as opsets before 13 do; convert the model to a newer opset" : "";
}

EmittedParts softmax(EmitSite& site)
{
    const ValueId y = site.outputs[0];
    const ValueId weighted = site.emit.node("Mul", {site.up(), y});
    const ValueId total = site.emit.reduce("ReduceSum", weighted, {site.integer("axis", -1)});
    return {site.emit.node("Sub", {weighted, site.emit.node("Mul", {y, total})})};
}

EmittedParts logSoftmax(EmitSite& site)
{
    const ValueId total = site.emit.reduce("ReduceSum", site.up(), {site.integer("axis", -1)});
    const ValueId share = site.emit.node("Mul", {site.emit.node("Exp", {site.outputs[0]}), total});
    return {site.emit.node("Sub", {site.up(), share})};
}

std::string constantScale(const EmitSite& site)
{
    const bool isOdd = site.wants(1) || site.wants(2);
    return isOdd ? "its scale or shift is computed; only constant ones have a rule here" : "";
}

/// With x̂ = (x − mean) / σ and a = up ⊙ scale: (a − mean a − x̂ ⊙ mean(a ⊙ x̂)) / σ.
EmittedParts layerNormalization(EmitSite& site)
{
    const std::size_t rank = site.shape(0).size();
    const std::int64_t axis = site.integer("axis", -1);
    const Ints axes =
        everyAxis(static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis), rank);
    Emitter& emit = site.emit;
    const auto mean = [&](ValueId value) { return emit.reduce("ReduceMean", value, axes); };
    const ValueId centred = emit.node("Sub", {site.operands[0], mean(site.operands[0])});
    const ValueId variance = mean(emit.node("Mul", {centred, centred}));
    const ValueId stable = emit.node("Add", {variance, emit.scalar(site.number("epsilon", 1e-5))});
    const ValueId deviation = emit.node("Sqrt", {stable});
    const ValueId unit = emit.node("Div", {centred, deviation});
    const ValueId scaled = emit.node("Mul", {site.up(), site.operands[1]});
    const ValueId along = emit.node("Mul", {unit, mean(emit.node("Mul", {scaled, unit}))});
    const ValueId rest = emit.node("Sub", {emit.node("Sub", {scaled, mean(scaled)}), along});
    return {emit.node("Div", {rest, deviation}), {}, {}};
}

constexpr std::array kRules{
    EmitRule{"GlobalAveragePool", never, globalAverage},
    EmitRule{"LayerNormalization", constantScale, layerNormalization},
    EmitRule{"LogSoftmax", newSoftmax, logSoftmax},
    EmitRule{"ReduceMean", knownAxes, reduceMean},
    EmitRule{"ReduceSum", knownAxes, reduceSum},
    EmitRule{"Softmax", newSoftmax, softmax},
};

} // namespace

std::span<const EmitRule> reductionRules() { return kRules; }

} // namespace retro::tape
