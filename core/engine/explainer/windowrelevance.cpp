// SPDX-License-Identifier: Apache-2.0
// Rules of sums over axes and of pooling, as nodes of the standard.
#include "core/engine/explainer/relevancesite.h"
#include "core/graph/attributes.h"
#include "core/ops/layerkind.h"
#include "core/ops/windowsums.h"
#include "core/tape/gradientgraph/reducedaxes.h"
#include "core/tape/gradientgraph/windowgeometry.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

namespace retro::engine
{

namespace
{

using Extents = std::vector<std::int64_t>;

/// What a reverse rule would be given.
tape::EmitSite emitSite(const RelevanceSite& site)
{
    return {site.steps, site.model, site.node, valuesFor(site, site.relevance)};
}

/// R·softmax(±βx) over the axes; the extreme of them is the result, so that no exponential is large.
base::Result<ValueId> softmaxOverAxes(RelevanceSite& site, ValueId s)
{
    RelevanceSteps& steps = site.steps;
    tape::EmitSite at = emitSite(site);
    const tape::ReducedAxes reduced(at);
    if (reduced.axes().empty()) {
        return noForm(site);
    }
    const bool isOfSmallest = ops::windowsOf(site.structure())->smallestWins();
    const ValueId above = steps.subtract(site.operands[0], reduced.widened(site.outputs[0]));
    const ValueId weights = steps.node("Exp", {steps.scaled(above, (isOfSmallest ? -1 : 1) * site.form.beta)});
    const ValueId each = steps.node("Div", {reduced.widened(s), steps.sumOver(weights, reduced.axes(), true)});
    return steps.multiply(weights, each);
}

} // namespace

ValueId inEqualParts(RelevanceSite& site, ValueId s)
{
    tape::EmitSite at = emitSite(site);
    const tape::ReducedAxes reduced(at);
    return reduced.spread(reduced.perElement(s));
}

namespace
{

/// One window of ones per channel.
ValueId onesPerChannel(RelevanceSite& site, const tape::WindowGeometry& windows)
{
    Extents shape{site.shape(0)[1], 1};
    shape.insert(shape.end(), windows.kernel.begin(), windows.kernel.end());
    return site.steps.filledBy(site.steps.ints(shape), 1);
}

/// Of a MaxPool.
base::Result<tape::WindowGeometry> poolWindows(const RelevanceSite& site)
{
    const tape::EmitSite at = emitSite(site);
    tape::WindowGeometry windows(at, at.integers("kernel_shape", {}), site.shape(0), site.outputShape());
    if (at.hasFree(0, 1) || !windows.refusal(at).empty()) {
        return needsExtents(site);
    }
    return windows;
}

/// By one convolution that lays the elements of each window behind each other, and its transposed map: all to the
/// largest element, or (beta) to each by its softmax.
ValueId byTaps(RelevanceSite& site, const tape::WindowGeometry& windows, ValueId s, std::optional<double> beta = {})
{
    RelevanceSteps& steps = site.steps;
    const ValueId x = site.operands[0];
    const std::int64_t channels = site.shape(0)[1];
    const std::int64_t taps =
        std::accumulate(windows.kernel.begin(), windows.kernel.end(), std::int64_t{1}, std::multiplies<>());
    // Kernel k has its one 1 at place k; the same for every channel.
    tensor::Shape shape{taps, 1};
    shape.insert(shape.end(), windows.kernel.begin(), windows.kernel.end());
    std::vector<double> ones(static_cast<std::size_t>(taps * taps), 0);
    for (std::int64_t k = 0; k < taps; ++k) {
        ones[static_cast<std::size_t>(k * taps + k)] = 1;
    }
    const ValueId kernels = steps.floats(tensor::Tensor::of<double>(shape, ones));
    Extents repeats(shape.size(), 1);
    repeats[0] = channels;
    const ValueId all = steps.node("Tile", {kernels, steps.ints(repeats)});
    // What lies outside must win nowhere: zeros of the padding of a convolution could.
    const std::size_t axes = windows.axes();
    Extents pads(2 * axes + 4, 0);
    for (std::size_t i = 0; i < axes; ++i) {
        pads[i + 2] = windows.pads[i];
        pads[axes + 4 + i] = windows.pads[axes + i] + std::max<std::int64_t>(0, -windows.missing[i]);
    }
    const ValueId padded = steps.node("Pad", {x, steps.ints(pads), steps.scalar(std::numeric_limits<float>::lowest())});
    graph::Attributes bare = windows.attributes(channels);
    bare["pads"] = Extents(2 * axes, 0);
    const ValueId laid = steps.node("Conv", {padded, all}, std::move(bare));
    // [N, C·K, O…] → [N, C, K, -1]
    const ValueId apart = steps.node("Reshape", {laid, steps.ints({0, channels, taps, -1})});
    const auto winner = [&] {
        const ValueId place = steps.node("ArgMax", {apart}, {{"axis", std::int64_t{2}}, {"keepdims", std::int64_t{1}}});
        Extents numbers(static_cast<std::size_t>(taps));
        std::iota(numbers.begin(), numbers.end(), 0);
        const ValueId column = steps.node("Reshape", {steps.ints(numbers), steps.ints({taps, 1})});
        return steps.asFloat(steps.node("Equal", {place, column}));
    };
    const ValueId share =
        beta ? steps.node("Softmax", {steps.scaled(apart, *beta)}, {{"axis", std::int64_t{2}}}) : winner();
    const ValueId r = steps.node("Reshape", {s, steps.ints({0, channels, 1, -1})});
    const ValueId routed = steps.reshapeLike(steps.multiply(share, r), laid);
    return windows.spreadBack(steps, routed, all, channels, x);
}

/// With windows; else one window is what is reduced.
bool isPool(const RelevanceSite& site) { return ops::isMaxPool(site.node); }

} // namespace

RelevanceParts backToWinners(RelevanceSite& site, ValueId s)
{
    if (!isPool(site) || !site.usesTaps) {
        return pulledBack(site, {s});
    }
    RETRO_TRY(const tape::WindowGeometry windows, poolWindows(site));
    return site.only(0, byTaps(site, windows, s));
}

base::Result<ValueId> sumOfWindows(RelevanceSite& site, ValueId value)
{
    if (!isPool(site)) {
        tape::EmitSite at = emitSite(site);
        const tape::ReducedAxes reduced(at);
        return reduced.axes().empty() ? value : site.steps.sumOver(value, reduced.axes(), reduced.keepsAxes());
    }
    RETRO_TRY(const tape::WindowGeometry windows, poolWindows(site));
    return site.steps.node("Conv", {value, onesPerChannel(site, windows)}, windows.attributes(site.shape(0)[1]));
}

base::Result<ValueId> backThroughWindows(RelevanceSite& site, ValueId s)
{
    if (!isPool(site)) {
        tape::EmitSite at = emitSite(site);
        return tape::ReducedAxes(at).spread(s);
    }
    RETRO_TRY(const tape::WindowGeometry windows, poolWindows(site));
    return windows.spreadBack(site.steps, s, onesPerChannel(site, windows), site.shape(0)[1], site.operands[0]);
}

base::Result<ValueId> bySoftmaxOfWindows(RelevanceSite& site, ValueId s)
{
    if (!(site.form.beta > 0)) {
        return noForm(site);
    }
    if (!isPool(site)) {
        return softmaxOverAxes(site, s);
    }
    RETRO_TRY(const tape::WindowGeometry windows, poolWindows(site));
    return byTaps(site, windows, s, site.form.beta);
}

} // namespace retro::engine
