// SPDX-License-Identifier: Apache-2.0
// What moves elements: each gives its relevance back to where it came from.
#include "core/engine/explainer/relevancesite.h"
#include "core/graph/attributes.h"
#include "core/lrp/rules/linearform.h"
#include "core/ops/lookup.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace retro::engine
{

namespace
{

using Extents = std::vector<std::int64_t>;

constexpr std::array<std::string_view, 9> kSameElements{"Reshape", "Flatten", "Squeeze",     "Unsqueeze", "Identity",
                                                        "Dropout", "Cast",    "PassThrough", "Checkpoint"};

std::int64_t axisOf(const RelevanceSite& site, std::int64_t fallback, std::size_t rank)
{
    const std::int64_t axis = graph::intAttribute(site.node, "axis", fallback);
    return axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
}

std::vector<ValueId> transposed(RelevanceSite& site)
{
    const std::size_t rank = site.shape(0).size();
    Extents order = graph::attributeOr<Extents>(site.node, "perm", {});
    if (order.empty()) {
        order.resize(rank);
        std::iota(order.rbegin(), order.rend(), 0);
    }
    Extents inverse(rank);
    for (std::size_t i = 0; i < rank; ++i) {
        inverse[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
    }
    return site.only(0, site.steps.op("Transpose", {site.relevance[0]}, {{"perm", inverse}}));
}

RelevanceParts concatenated(RelevanceSite& site)
{
    const std::size_t rank = site.outputShape().size();
    const std::int64_t axis = axisOf(site, 0, rank);
    const auto at = static_cast<std::size_t>(axis);
    std::vector<ValueId> parts(site.tracked.size());
    std::int64_t offset = 0;
    for (std::size_t slot = 0; slot < parts.size(); ++slot) {
        if (site.freeAxes.isFree(site.node.inputs[slot], at)) {
            return needsExtents(site);
        }
        const std::int64_t extent = site.shape(slot)[at];
        if (site.isTracked(slot)) {
            parts[slot] = site.steps.emitter().slice(site.relevance[0], {offset}, {offset + extent}, {axis});
        }
        offset += extent;
    }
    return parts;
}

std::vector<ValueId> split(RelevanceSite& site)
{
    const std::int64_t axis = axisOf(site, 0, site.shape(0).size());
    std::vector<ValueId> whole;
    for (std::size_t k = 0; k < site.node.outputs.size(); ++k) {
        whole.push_back(site.relevance[k].isValid() ? site.relevance[k] : site.steps.filledLike(site.outputs[k], 0));
    }
    return site.only(0, site.steps.op("Concat", std::move(whole), {{"axis", axis}}));
}

/// Steps of 1 along axes whose extents are known: zeros around it.
RelevanceParts sliced(RelevanceSite& site)
{
    const std::size_t rank = site.shape(0).size();
    const bool hasOperands = site.node.inputs.size() > 1;
    Extents starts = hasOperands ? site.known(1) : graph::attributeOr<Extents>(site.node, "starts", {});
    const Extents ends = hasOperands ? site.known(2) : graph::attributeOr<Extents>(site.node, "ends", {});
    Extents axes = hasOperands ? site.known(3) : graph::attributeOr<Extents>(site.node, "axes", {});
    const Extents steps = site.known(4);
    if (starts.empty() || starts.size() != ends.size() ||
        std::ranges::any_of(steps, [](std::int64_t step) { return step != 1; })) {
        return pulledBack(site, site.relevance);
    }
    if (axes.empty()) {
        axes.resize(starts.size());
        std::iota(axes.begin(), axes.end(), 0);
    }
    Extents before(rank, 0);
    Extents after(rank, 0);
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const auto at = static_cast<std::size_t>(axes[i] < 0 ? axes[i] + static_cast<std::int64_t>(rank) : axes[i]);
        if (site.freeAxes.isFree(site.node.inputs[0], at)) {
            return needsExtents(site);
        }
        const std::int64_t extent = site.shape(0)[at];
        const std::int64_t start = std::clamp<std::int64_t>(starts[i] < 0 ? starts[i] + extent : starts[i], 0, extent);
        before[at] = start;
        after[at] = extent - start - site.outputShape()[at];
    }
    return site.only(0, site.steps.emitter().pad(site.relevance[0], before, after));
}

/// Tokens get the sum over their embeddings; of a table that carries relevance itself, each row gets its own.
RelevanceParts gathered(RelevanceSite& site, bool isGradient)
{
    RelevanceSteps& steps = site.steps;
    const std::size_t rank = site.shape(0).size();
    const std::size_t indexRank = site.shape(1).size();
    const std::int64_t axis = axisOf(site, 0, rank);
    const auto at = static_cast<std::size_t>(axis);
    ValueId r = site.relevance[0];
    std::vector<ValueId> parts(site.tracked.size());
    if (site.isTracked(1) && !site.isTracked(0)) {
        if (isGradient && site.flag("times_embedding")) {
            r = steps.multiply(r, site.outputs[0]);
        }
        Extents rest(rank - 1);
        std::iota(rest.begin(), rest.end(), static_cast<std::int64_t>(indexRank));
        if (axis != 0) {
            return notWritten(site, "its tokens do not choose along axis 0");
        }
        parts[1] = rest.empty() ? r : steps.sumOver(r, rest, false);
        return parts;
    }
    const Extents places = site.known(1);
    const bool isOne = places.size() == 1 && indexRank <= 1;
    if (!isOne || site.freeAxes.isFree(site.node.inputs[0], at) || site.isTracked(1)) {
        return pulledBack(site, site.relevance);
    }
    const std::int64_t extent = site.shape(0)[at];
    const std::int64_t place = places[0] < 0 ? places[0] + extent : places[0];
    Extents before(rank, 0);
    Extents after(rank, 0);
    before[at] = place;
    after[at] = extent - place - 1;
    const ValueId row = indexRank == 0 ? steps.op("Unsqueeze", {r, steps.ints({axis})}) : r;
    parts[0] = steps.emitter().pad(row, before, after);
    return parts;
}

/// Fills that are constant; what was added has no relevance.
RelevanceParts padded(RelevanceSite& site)
{
    const std::string mode = graph::attributeOr<std::string>(site.node, "mode", "constant");
    const std::size_t rank = site.shape(0).size();
    Extents pads = site.known(1);
    if (pads.empty()) {
        pads = graph::attributeOr<Extents>(site.node, "pads", {});
    }
    const bool areAll = pads.size() == 2 * rank && !site.has(3);
    if (mode != "constant" || !areAll) {
        return pulledBack(site, site.relevance);
    }
    Extents starts;
    Extents ends;
    Extents axes;
    for (std::size_t axis = 0; axis < rank; ++axis) {
        if (pads[axis] == 0 && pads[rank + axis] == 0) {
            continue;
        }
        if (pads[axis] < 0 || pads[rank + axis] < 0 || site.freeAxes.isFree(site.node.inputs[0], axis)) {
            return pulledBack(site, site.relevance);
        }
        axes.push_back(static_cast<std::int64_t>(axis));
        starts.push_back(pads[axis]);
        ends.push_back(pads[axis] + site.shape(0)[axis]);
    }
    return site.only(0, axes.empty() ? site.relevance[0]
                                     : site.steps.emitter().slice(site.relevance[0], starts, ends, axes));
}

/// The elements that were chosen.
std::vector<ValueId> chosen(RelevanceSite& site)
{
    RelevanceSteps& steps = site.steps;
    std::vector<ValueId> parts(site.tracked.size());
    const ValueId zero = steps.scalar(0);
    for (std::size_t slot = 1; slot < parts.size(); ++slot) {
        if (site.isTracked(slot)) {
            const ValueId kept = slot == 1 ? steps.where(site.operands[0], site.relevance[0], zero)
                                           : steps.where(site.operands[0], zero, site.relevance[0]);
            parts[slot] = steps.sumTo(kept, site.outputShape(), site.shape(slot));
        }
    }
    return parts;
}

std::vector<ValueId> triangle(RelevanceSite& site)
{
    std::vector<ValueId> inputs{site.relevance[0]};
    if (site.has(1)) {
        inputs.push_back(site.operands[1]);
    }
    const std::int64_t upper = graph::intAttribute(site.node, "upper", 1);
    return site.only(0, site.steps.op("Trilu", std::move(inputs), {{"upper", upper}}));
}

/// How relevance goes back through an operator that moves or chooses elements.
struct WayBack
{
    std::string_view op;
    RelevanceParts (*parts)(RelevanceSite& site, bool isGradient);
};

constexpr std::array kWaysBack{
    WayBack{"Transpose", [](RelevanceSite& site, bool) -> RelevanceParts { return transposed(site); }},
    WayBack{"Concat", [](RelevanceSite& site, bool) -> RelevanceParts { return concatenated(site); }},
    WayBack{"Split", [](RelevanceSite& site, bool) -> RelevanceParts { return split(site); }},
    WayBack{"Slice", [](RelevanceSite& site, bool) { return sliced(site); }},
    WayBack{"Gather", gathered},
    WayBack{"Pad", [](RelevanceSite& site, bool) { return padded(site); }},
    WayBack{"Where", [](RelevanceSite& site, bool) -> RelevanceParts { return chosen(site); }},
    WayBack{"Trilu", [](RelevanceSite& site, bool) -> RelevanceParts { return triangle(site); }},
    WayBack{"Expand", [](RelevanceSite& site, bool) -> RelevanceParts {
                return site.only(0, site.steps.sumTo(site.relevance[0], site.outputShape(), site.shape(0)));
            }}};

} // namespace

RelevanceParts relevanceOfShapeMap(RelevanceSite& site)
{
    const std::string_view name = site.rule.name();
    const bool isGradient = name == "gradient";
    if (!isGradient && name != "pass") {
        return noForm(site);
    }
    const std::string& op = site.node.op;
    if (op == "Neg") {
        return site.only(0, isGradient ? site.steps.op("Neg", {site.relevance[0]}) : site.relevance[0]);
    }
    if (std::ranges::find(kSameElements, op) != kSameElements.end()) {
        return site.only(0, site.steps.reshapeLike(site.relevance[0], site.operands[0]));
    }
    const bool isOurGather = op == "Gather" && site.node.domain == "retrograde";
    if (!site.node.domain.empty() && !isOurGather) {
        return notWritten(site, "it is no operator of the standard; export the float model");
    }
    const auto way = std::ranges::find(kWaysBack, std::string_view(op), &WayBack::op);
    return way != kWaysBack.end() ? way->parts(site, isGradient) : pulledBack(site, site.relevance);
}

} // namespace retro::engine
