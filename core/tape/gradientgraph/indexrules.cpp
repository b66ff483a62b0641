// SPDX-License-Identifier: Apache-2.0
// Operators that move elements by places, and their counterparts.
#include "core/tape/gradientgraph/emitrule.h"

#include <numeric>
#include <set>

namespace retro::tape
{

namespace
{

using Ints = std::vector<std::int64_t>;
using tensor::Shape;
using tensor::Tensor;

/// Scatter operators add since operator set 16.
constexpr std::int64_t kAdds = 16;

std::string canAdd(const EmitSite& site)
{
    return site.emit.opset() < kAdds
               ? "places that are read several times need ScatterElements that adds, of operator set 16; convert the "
                 "model to it"
               : "";
}

EmittedParts gatherElements(EmitSite& site)
{
    const ValueId zeros = site.emit.filled(site.shape(0), 0);
    return {site.emit.node("ScatterElements", {zeros, site.operands[1], site.up()},
                           {{"axis", site.integer("axis", 0)}, {"reduction", std::string("add")}}),
            {}};
}

/// The places of GatherND as those of ScatterND, which knows no batch axes: with the place in each of them in front.
ValueId wholePlaces(EmitSite& site)
{
    const std::int64_t batch = site.integer("batch_dims", 0);
    if (batch == 0) {
        return site.operands[1];
    }
    Shape shape = site.shape(1);
    shape.back() = batch;
    const auto axes = static_cast<std::size_t>(batch);
    Ints places(static_cast<std::size_t>(tensor::elementCount(shape)));
    const Shape strides = tensor::rowMajorStrides(shape);
    for (std::size_t i = 0; i < places.size(); ++i) {
        const std::size_t axis = i % axes;
        places[i] = static_cast<std::int64_t>(i) / strides[axis] % shape[axis];
    }
    return site.emit.node("Concat", {site.emit.constant(Tensor::of<std::int64_t>(shape, places)), site.operands[1]},
                          {{"axis", std::int64_t{-1}}});
}

EmittedParts gatherNd(EmitSite& site)
{
    const ValueId zeros = site.emit.filled(site.shape(0), 0);
    return {site.emit.node("ScatterND", {zeros, wholePlaces(site), site.up()}, {{"reduction", std::string("add")}}),
            {}};
}

/// The places of ScatterND: its rows.
std::vector<Ints> rowPlaces(const EmitSite& site, const Ints& places)
{
    const auto depth = site.shape(1).back();
    std::vector<Ints> rows;
    for (auto at = places.begin(); depth > 0 && at != places.end(); at += depth) {
        Ints row(at, at + depth);
        for (std::size_t axis = 0; axis < row.size(); ++axis) {
            row[axis] += row[axis] < 0 ? site.shape(0)[axis] : 0;
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

/// The places of ScatterElements: those of the indices themselves, with the index in the place of the axis.
std::vector<Ints> elementPlaces(const EmitSite& site, const Ints& places)
{
    const Shape& shape = site.shape(1);
    const std::size_t axis = axisOf(site.integer("axis", 0), shape.size());
    std::vector<Ints> all;
    for (std::size_t i = 0; i < places.size(); ++i) {
        Ints at(shape.size());
        auto rest = static_cast<std::int64_t>(i);
        for (std::size_t k = shape.size(); k-- > 0;) {
            at[k] = rest % shape[k];
            rest /= shape[k];
        }
        at[axis] = places[i] + (places[i] < 0 ? site.shape(0)[axis] : 0);
        all.push_back(std::move(at));
    }
    return all;
}

/// True when an update may be written over by a later one of the same node: then only the last one counts.
bool mayRepeat(const EmitSite& site, bool isNd)
{
    const std::optional<Ints> places = site.known(1);
    if (!places) {
        return true;
    }
    const std::vector<Ints> all = isNd ? rowPlaces(site, *places) : elementPlaces(site, *places);
    return std::set<Ints>(all.begin(), all.end()).size() != all.size();
}

std::string plainScatter(const EmitSite& site)
{
    const std::string reduction = site.text("reduction", "none");
    return reduction == "none" || reduction == "add"
               ? ""
               : "it reduces by " + reduction + "; only plain and adding updates have a rule here";
}

/// What arrives where updates went, 0 for those that a later one wrote over: each writes its number, and finds it again
/// if it stayed.
ValueId ofThoseThatStay(EmitSite& site, std::string_view gather, ValueId gathered, const graph::Attributes& axis)
{
    Emitter& emit = site.emit;
    Ints numbers(static_cast<std::size_t>(tensor::elementCount(site.shape(2))));
    std::iota(numbers.begin(), numbers.end(), 1);
    const ValueId own = emit.constant(Tensor::of<std::int64_t>(site.shape(2), numbers));
    const ValueId none = emit.constant(Tensor::zeros(tensor::DType::Int64, site.shape(0)));
    const ValueId written = emit.node(site.node.op, {none, site.operands[1], own}, axis);
    const ValueId found = emit.node(gather, {written, site.operands[1]}, axis);
    return emit.node("Where", {emit.node("Equal", {found, own}), gathered, emit.scalar(0)});
}

/// What was written over gets nothing; an update gets what arrives where it went.
EmittedParts scatter(EmitSite& site)
{
    const bool isNd = site.node.op == "ScatterND";
    const bool adds = site.text("reduction", "none") == "add";
    graph::Attributes axis;
    if (!isNd) {
        axis["axis"] = site.integer("axis", 0);
    }
    EmittedParts parts(3);
    if (site.wants(0)) {
        const ValueId none = site.emit.filled(site.shape(2), 0);
        parts[0] = adds ? site.up() : site.emit.node(site.node.op, {site.up(), site.operands[1], none}, axis);
    }
    if (site.wants(2)) {
        const std::string_view gather = isNd ? "GatherND" : "GatherElements";
        const ValueId gathered = site.emit.node(gather, {site.up(), site.operands[1]}, axis);
        parts[2] = adds || !mayRepeat(site, isNd) ? gathered : ofThoseThatStay(site, gather, gathered, axis);
    }
    return parts;
}

std::string oldPlaces(const EmitSite& site)
{
    return site.wants(2) && mayRepeat(site, false)
               ? "its places repeat or are computed, so that an update may be written over; only constant places "
                 "without repeats have a rule before operator set 11"
               : "";
}

/// GatherElements of constant places in operator sets that have not got it: one place of the flat array each.
ValueId gatheredFlat(EmitSite& site)
{
    const Shape strides = tensor::rowMajorStrides(site.shape(0));
    Ints flat;
    for (const Ints& place : elementPlaces(site, *site.known(1))) {
        flat.push_back(std::inner_product(place.begin(), place.end(), strides.begin(), std::int64_t{0}));
    }
    const ValueId places = site.emit.constant(Tensor::of<std::int64_t>(site.shape(2), flat));
    return site.emit.node("Gather", {site.emit.reshape(site.up(), {-1}), places}, {{"axis", std::int64_t{0}}});
}

/// Of operator sets 9 and 10, where it is the only one that scatters.
EmittedParts oldScatter(EmitSite& site)
{
    EmittedParts parts(3);
    if (site.wants(0)) {
        const ValueId none = site.emit.filled(site.shape(2), 0);
        parts[0] = site.emit.node("Scatter", {site.up(), site.operands[1], none}, {{"axis", site.integer("axis", 0)}});
    }
    if (site.wants(2)) {
        parts[2] = gatheredFlat(site);
    }
    return parts;
}

/// up has the repeats of each axis side by side.
EmittedParts tile(EmitSite& site)
{
    const Shape& shape = site.shape(0);
    Ints folded;
    Ints axes;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        axes.push_back(static_cast<std::int64_t>(folded.size()));
        folded.push_back(shape[axis] == 0 ? 0 : site.outputShape()[axis] / shape[axis]);
        folded.push_back(shape[axis]);
    }
    const ValueId wide = site.emit.reshape(site.up(), folded);
    return {site.emit.reshape(axes.empty() ? wide : site.emit.reduce("ReduceSum", wide, axes), shape), {}};
}

EmittedParts triangle(EmitSite& site)
{
    std::vector<ValueId> inputs{site.up()};
    if (site.has(1)) {
        inputs.push_back(site.operands[1]);
    }
    EmittedParts parts(site.operands.size());
    parts[0] = site.emit.node("Trilu", std::move(inputs), {{"upper", site.integer("upper", 1)}});
    return parts;
}

/// Mode CRD, which has no counterpart in the standard: channel × row × column within the block, in this order.
ValueId columnsToDepth(EmitSite& site, std::int64_t block)
{
    const Shape& shape = site.shape(0);
    const Shape split{shape[0], shape[1] / (block * block), shape[2], block, shape[3], block};
    const ValueId wide = site.emit.reshape(site.up(), split);
    const ValueId moved = site.emit.node("Transpose", {wide}, {{"perm", Ints{0, 1, 3, 5, 2, 4}}});
    return site.emit.reshape(moved, shape);
}

EmittedParts depthToSpace(EmitSite& site)
{
    const std::int64_t block = site.integer("blocksize", 1);
    if (site.text("mode", "DCR") == "CRD") {
        return {columnsToDepth(site, block)};
    }
    return {site.emit.node("SpaceToDepth", {site.up()}, {{"blocksize", block}})};
}

EmittedParts spaceToDepth(EmitSite& site)
{
    return {site.emit.node("DepthToSpace", {site.up()}, {{"blocksize", site.integer("blocksize", 1)}})};
}

EmittedParts cumulativeSum(EmitSite& site)
{
    const std::int64_t isReverse = site.integer("reverse", 0);
    return {site.emit.node("CumSum", {site.up(), site.operands[1]},
                           {{"exclusive", site.integer("exclusive", 0)}, {"reverse", 1 - isReverse}}),
            {}};
}

} // namespace

const EmitRules kIndexRules{
    {"CumSum", never, cumulativeSum},
    {"DepthToSpace", never, depthToSpace},
    {"GatherElements", canAdd, gatherElements},
    {"GatherND", canAdd, gatherNd},
    {"Scatter", oldPlaces, oldScatter},
    {"ScatterElements", plainScatter, scatter},
    {"ScatterND", plainScatter, scatter},
    {"SpaceToDepth", never, spaceToDepth},
    {"Tile", never, tile},
    {"Trilu", never, triangle, kAllSlots, always},
};

} // namespace retro::tape
