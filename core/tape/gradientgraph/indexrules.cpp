// SPDX-License-Identifier: Apache-2.0
// Operators that move elements by places, and their counterparts.
#include "core/tape/gradientgraph/emitrule.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

namespace retro::tape
{

namespace
{

using Ints = std::vector<std::int64_t>;
using tensor::Shape;

/// Scatter operators add since operator set 16.
constexpr std::int64_t kAdds = 16;

std::size_t axisOf(std::int64_t axis, std::size_t rank)
{
    return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

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

std::string plainGatherNd(const EmitSite& site)
{
    return site.integer("batch_dims", 0) != 0 ? "it has batch axes, which have no rule here" : canAdd(site);
}

EmittedParts gatherNd(EmitSite& site)
{
    const ValueId zeros = site.emit.filled(site.shape(0), 0);
    return {site.emit.node("ScatterND", {zeros, site.operands[1], site.up()}, {{"reduction", std::string("add")}}), {}};
}

/// The places of ScatterND: its rows.
std::vector<Ints> rowPlaces(const Ints& places, std::int64_t depth)
{
    std::vector<Ints> rows;
    for (auto at = places.begin(); depth > 0 && at != places.end(); at += depth) {
        rows.emplace_back(at, at + depth);
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
    const std::vector<Ints> all = isNd ? rowPlaces(*places, site.shape(1).back()) : elementPlaces(site, *places);
    return std::set<Ints>(all.begin(), all.end()).size() != all.size();
}

std::string plainScatter(const EmitSite& site)
{
    const std::string reduction = site.text("reduction", "none");
    if (reduction != "none" && reduction != "add") {
        return "it reduces by " + reduction + "; only plain and adding updates have a rule here";
    }
    const bool isUnclear = reduction == "none" && site.wants(2) && mayRepeat(site, site.node.op == "ScatterND");
    return isUnclear ? "its places repeat or are computed, so that an update may be written over; only constant places "
                       "without repeats have a rule here"
                     : "";
}

/// What was written over gets nothing; an update gets what arrives where it went.
EmittedParts scatter(EmitSite& site)
{
    const bool isNd = site.node.op == "ScatterND";
    graph::Attributes axis;
    if (!isNd) {
        axis["axis"] = site.integer("axis", 0);
    }
    EmittedParts parts(3);
    if (site.wants(0)) {
        const ValueId none = site.emit.filled(site.shape(2), 0);
        const bool adds = site.text("reduction", "none") == "add";
        parts[0] =
            adds ? site.up()
                 : site.emit.node(isNd ? "ScatterND" : "ScatterElements", {site.up(), site.operands[1], none}, axis);
    }
    if (site.wants(2)) {
        parts[2] = site.emit.node(isNd ? "GatherND" : "GatherElements", {site.up(), site.operands[1]}, axis);
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

std::string depthFirst(const EmitSite& site)
{
    return site.text("mode", "DCR") == "DCR"
               ? ""
               : "mode CRD has no counterpart in the standard; write it as Reshape and Transpose";
}

EmittedParts depthToSpace(EmitSite& site)
{
    return {site.emit.node("SpaceToDepth", {site.up()}, {{"blocksize", site.integer("blocksize", 1)}})};
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

/// "ab,bc->ac" → {"ab", "bc", "ac"}; empty where the form is another.
std::vector<std::string> termsOf(const EmitSite& site)
{
    std::string equation = site.text("equation", "");
    std::erase(equation, ' ');
    const std::size_t arrow = equation.find("->");
    const bool isPlain = arrow != std::string::npos && equation.find('.') == std::string::npos;
    std::vector<std::string> terms;
    for (std::size_t at = 0; isPlain && at <= arrow;) {
        const std::size_t end = std::min(equation.find(',', at), arrow);
        terms.push_back(equation.substr(at, end - at));
        at = end + 1;
    }
    if (isPlain) {
        terms.push_back(equation.substr(arrow + 2));
    }
    return terms;
}

/// Each letter of an operand once, and in another term as well.
std::string plainEinsum(const EmitSite& site)
{
    const std::vector<std::string> terms = termsOf(site);
    bool isPlain = terms.size() == site.node.inputs.size() + 1;
    for (std::size_t slot = 0; isPlain && slot + 1 < terms.size(); ++slot) {
        for (const char letter : terms[slot]) {
            const auto others = std::ranges::count_if(
                terms, [&](const std::string& term) { return term.find(letter) != std::string::npos; });
            isPlain = isPlain && others > 1 && std::ranges::count(terms[slot], letter) == 1;
        }
    }
    return isPlain ? ""
                   : "only equations with an arrow, without dots, and without letters that stand twice in a term or in "
                     "one term alone have a rule here";
}

/// The result takes the place of the operand.
EmittedParts einsum(EmitSite& site)
{
    const std::vector<std::string> terms = termsOf(site);
    EmittedParts parts(site.operands.size());
    for (std::size_t slot = 0; slot < parts.size(); ++slot) {
        if (!site.wants(slot)) {
            continue;
        }
        std::string equation = terms.back();
        std::vector<ValueId> inputs{site.up()};
        for (std::size_t other = 0; other < parts.size(); ++other) {
            if (other != slot) {
                equation += "," + terms[other];
                inputs.push_back(site.operands[other]);
            }
        }
        parts[slot] = site.emit.node("Einsum", std::move(inputs), {{"equation", equation + "->" + terms[slot]}});
    }
    return parts;
}

constexpr std::array kRules{
    EmitRule{"CumSum", never, cumulativeSum},
    EmitRule{"DepthToSpace", depthFirst, depthToSpace},
    EmitRule{"Einsum", plainEinsum, einsum},
    EmitRule{"GatherElements", canAdd, gatherElements},
    EmitRule{"GatherND", plainGatherNd, gatherNd},
    EmitRule{"ScatterElements", plainScatter, scatter},
    EmitRule{"ScatterND", plainScatter, scatter},
    EmitRule{"SpaceToDepth", never, spaceToDepth},
    EmitRule{"Tile", never, tile},
    EmitRule{"Trilu", never, triangle},
};

} // namespace

std::span<const EmitRule> indexRules() { return kRules; }

} // namespace retro::tape
