// SPDX-License-Identifier: Apache-2.0
// What moves elements: each gives its relevance back to where it came from.
#include "core/engine/explainer/relevancesite.h"
#include "core/graph/attributes.h"
#include "core/ops/elements.h"

#include <numeric>

namespace retro::engine
{

namespace
{

using Extents = std::vector<std::int64_t>;

std::int64_t axisOf(const RelevanceSite& site, std::int64_t fallback, std::size_t rank)
{
    const std::int64_t axis = graph::intAttribute(site.node, "axis", fallback);
    return axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
}

/// Tokens get the sum over their embeddings; of a table that carries relevance itself, each row gets its own.
RelevanceParts gathered(RelevanceSite& site, ValueId r)
{
    RelevanceSteps& steps = site.steps;
    const std::size_t rank = site.shape(0).size();
    const std::size_t indexRank = site.shape(1).size();
    const std::int64_t axis = axisOf(site, 0, rank);
    const auto at = static_cast<std::size_t>(axis);
    std::vector<ValueId> parts(site.tracked.size());
    if (site.isTracked(1) && !site.isTracked(0)) {
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
        return pulledBack(site, {r});
    }
    const std::int64_t extent = site.shape(0)[at];
    const std::int64_t place = places[0] < 0 ? places[0] + extent : places[0];
    Extents before(rank, 0);
    Extents after(rank, 0);
    before[at] = place;
    after[at] = extent - place - 1;
    const ValueId row = indexRank == 0 ? steps.node("Unsqueeze", {r, steps.ints({axis})}) : r;
    parts[0] = steps.pad(row, before, after);
    return parts;
}

} // namespace

RelevanceParts backThroughShapeMap(RelevanceSite& site, std::vector<ValueId> s)
{
    const bool isNegated = lrp::as<ops::ShapeMap>(site.structure()).sign() != 1;
    if (isNegated && site.form.way == lrp::Way::Carried) {
        return site.only(0, s[0]);
    }
    if (ops::keepsElements(site.node)) {
        return site.only(0, site.steps.reshapeLike(s[0], site.operands[0]));
    }
    const bool isGather = site.node.op == "Gather";
    if (!site.node.domain.empty() && !isGather) {
        return notWritten(site, "it is no operator of the standard; export the float model");
    }
    return isGather ? gathered(site, s[0]) : pulledBack(site, std::move(s));
}

} // namespace retro::engine
