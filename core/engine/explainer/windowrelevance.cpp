// SPDX-License-Identifier: Apache-2.0
// Rules of sums over axes and of pooling, as nodes of the standard.
#include "core/engine/explainer/relevancesite.h"
#include "core/graph/attributes.h"
#include "core/ops/windowsums.h"
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

/// The axes that a node sums over, counted from the start; ascending.
Extents summedAxes(const RelevanceSite& site)
{
    const auto rank = static_cast<std::int64_t>(site.shape(0).size());
    Extents axes = site.known(1);
    if (axes.empty()) {
        axes = graph::attributeOr<Extents>(site.node, "axes", {});
    }
    if (site.node.op.starts_with("Global")) {
        axes.resize(static_cast<std::size_t>(rank - 2));
        std::iota(axes.begin(), axes.end(), 2);
    } else if (axes.empty() && graph::intAttribute(site.node, "noop_with_empty_axes", 0) == 0) {
        axes.resize(static_cast<std::size_t>(rank));
        std::iota(axes.begin(), axes.end(), 0);
    }
    for (std::int64_t& axis : axes) {
        axis += axis < 0 ? rank : 0;
    }
    std::ranges::sort(axes);
    return axes;
}

bool keepsAxes(const RelevanceSite& site)
{
    return site.node.op.starts_with("Global") || graph::intAttribute(site.node, "keepdims", 1) != 0;
}

/// The result with the axes that it lost.
ValueId withAxes(RelevanceSite& site, ValueId value, const Extents& axes)
{
    return keepsAxes(site) || axes.empty() ? value : site.steps.node("Unsqueeze", {value, site.steps.ints(axes)});
}

/// How many elements are added, as a number.
ValueId summedCount(RelevanceSite& site, const Extents& axes)
{
    RelevanceSteps& steps = site.steps;
    double known = 1;
    Extents free;
    for (const std::int64_t axis : axes) {
        const auto at = static_cast<std::size_t>(axis);
        if (site.freeAxes.isFree(site.node.inputs[0], at)) {
            free.push_back(axis);
        } else {
            known *= static_cast<double>(site.shape(0)[at]);
        }
    }
    if (free.empty()) {
        return steps.scalar(known);
    }
    const ValueId extents = steps.node("Gather", {steps.shapeOf(site.operands[0]), steps.ints(free)});
    graph::Attributes whole{{"keepdims", std::int64_t{0}}};
    return steps.scaled(steps.node("ReduceProd", {steps.asFloat(extents)}, std::move(whole)), known);
}

/// Repeated to all that one result was made of.
ValueId spread(RelevanceSite& site, ValueId value)
{
    return site.steps.expandLike(withAxes(site, value, summedAxes(site)), site.operands[0]);
}

/// Divided by how many elements one result was made of.
ValueId perElement(RelevanceSite& site, ValueId value)
{
    return site.steps.node("Div", {value, summedCount(site, summedAxes(site))});
}

/// True where the smallest element wins.
bool isOfSmallest(const RelevanceSite& site)
{
    const ops::WindowSums* windows = ops::windowsOf(site.structure());
    return windows != nullptr && windows->smallestWins();
}

/// R·softmax(±βx) over the axes; the extreme of them is the result, so that no exponential is large.
base::Result<ValueId> softmaxOverAxes(RelevanceSite& site, ValueId s)
{
    RelevanceSteps& steps = site.steps;
    const Extents axes = summedAxes(site);
    if (axes.empty()) {
        return noForm(site);
    }
    const ValueId above = steps.subtract(site.operands[0], withAxes(site, site.outputs[0], axes));
    const ValueId weights = steps.node("Exp", {steps.scaled(above, (isOfSmallest(site) ? -1 : 1) * site.form.beta)});
    const ValueId each = steps.node("Div", {withAxes(site, s, axes), steps.sumOver(weights, axes, true)});
    return steps.multiply(weights, each);
}

} // namespace

base::Result<ValueId> backThroughReduction(RelevanceSite& site, ValueId s)
{
    return spread(site, site.node.op != "ReduceSum" ? perElement(site, s) : s);
}

base::Result<ValueId> inEqualParts(RelevanceSite& site, ValueId s) { return spread(site, perElement(site, s)); }

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
    const tape::EmitSite at(site.steps, site.model, site.node, valuesFor(site, site.relevance));
    tape::WindowGeometry windows(at, at.integers("kernel_shape", {}), site.shape(0), site.outputShape());
    if (at.hasFree(0, 1) || !windows.refusal(at).empty()) {
        return needsExtents(site);
    }
    return windows;
}

/// Of each sample and channel (or along one axis), the place of the largest element takes all.
base::Result<ValueId> toLargest(RelevanceSite& site, ValueId s)
{
    RelevanceSteps& steps = site.steps;
    const ValueId x = site.operands[0];
    const Extents axes = summedAxes(site);
    const auto rank = static_cast<std::int64_t>(site.shape(0).size());
    // Axes that are not the last ones, one behind the other, would be put in another order.
    const bool areLast = !axes.empty() && axes.back() == rank - 1 &&
                         axes.back() - axes.front() + 1 == static_cast<std::int64_t>(axes.size());
    if (axes.size() != 1 && !areLast) {
        return notWritten(site, "it is over several axes that are not the last ones; reduce them one by one");
    }
    ValueId flat = x;
    ValueId arrived = withAxes(site, s, axes);
    std::int64_t axis = axes.front();
    if (axes.size() > 1) {
        const Extents kept(static_cast<std::size_t>(axis), 0);
        Extents folded = kept;
        folded.push_back(-1);
        Extents single = kept;
        single.push_back(1);
        flat = steps.node("Reshape", {x, steps.ints(folded)});
        arrived = steps.node("Reshape", {arrived, steps.ints(single)});
    }
    const ValueId place =
        steps.node(isOfSmallest(site) ? "ArgMin" : "ArgMax", {flat}, {{"axis", axis}, {"keepdims", std::int64_t{1}}});
    const ValueId routed = steps.scatter(steps.filledLike(flat, 0), place, arrived, axis);
    return axes.size() > 1 ? steps.reshapeLike(routed, x) : routed;
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
bool isPool(const RelevanceSite& site) { return site.node.op == "MaxPool"; }

} // namespace

RelevanceParts backToWinners(RelevanceSite& site, ValueId s)
{
    if (isPool(site) && !site.usesTaps) {
        return pulledBack(site, {s});
    }
    if (!isPool(site)) {
        RETRO_TRY(const ValueId part, toLargest(site, s));
        return site.only(0, part);
    }
    RETRO_TRY(const tape::WindowGeometry windows, poolWindows(site));
    return site.only(0, byTaps(site, windows, s));
}

base::Result<ValueId> sumOfWindows(RelevanceSite& site, ValueId value)
{
    if (!isPool(site)) {
        const Extents axes = summedAxes(site);
        return axes.empty() ? value : site.steps.sumOver(value, axes, keepsAxes(site));
    }
    RETRO_TRY(const tape::WindowGeometry windows, poolWindows(site));
    return site.steps.node("Conv", {value, onesPerChannel(site, windows)}, windows.attributes(site.shape(0)[1]));
}

base::Result<ValueId> backThroughWindows(RelevanceSite& site, ValueId s)
{
    if (!isPool(site)) {
        return spread(site, s);
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
