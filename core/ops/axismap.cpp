// SPDX-License-Identifier: Apache-2.0
#include "core/ops/axismap.h"

#include "core/graph/attributes.h"
#include "core/ops/elements.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>

namespace retro::ops
{

namespace
{

using Axes = std::vector<std::int64_t>;
using tensor::Shape;

/// What an attribute or, in newer operator sets, an operand says.
std::optional<Axes> saidBy(const AxesAsked& asked, const char* attribute, std::size_t slot)
{
    const auto* given = graph::attributeOf<Axes>(asked.node, attribute);
    return given != nullptr ? std::optional(*given) : asked.numbers ? asked.numbers(slot) : std::nullopt;
}

/// Counted from the first axis, in order; nothing where one of them is none of `rank`.
std::optional<Axes> fromFront(std::optional<Axes> axes, std::size_t rank)
{
    const auto extent = static_cast<std::int64_t>(rank);
    for (std::size_t i = 0; axes && i < axes->size(); ++i) {
        std::int64_t& axis = (*axes)[i];
        axis += axis < 0 ? extent : 0;
        if (axis < 0 || axis >= extent) {
            return std::nullopt;
        }
    }
    if (axes) {
        std::ranges::sort(*axes);
    }
    return axes;
}

/// Aligned at the last axis; nothing in place of those that are stretched.
AxisMap aligned(const AxesAsked& asked)
{
    const std::size_t rank = asked.to == nullptr ? asked.rank : asked.to->size();
    AxisMap map(rank);
    for (std::size_t i = 0; i < std::min(rank, asked.rank); ++i) {
        const std::size_t axis = asked.rank - 1 - i;
        const bool isKnown = asked.from != nullptr && asked.to != nullptr;
        if (!isKnown || (*asked.from)[axis] == (*asked.to)[rank - 1 - i]) {
            map[rank - 1 - i] = AxisSource{axis};
        }
    }
    return map;
}

/// Aligned, but not index by index along these.
AxisMap alignedBut(const AxesAsked& asked, const Axes& others)
{
    AxisMap map(asked.rank);
    for (std::size_t axis = 0; axis < asked.rank; ++axis) {
        map[axis] = AxisSource{axis, std::ranges::count(others, static_cast<std::int64_t>(axis)) == 0};
    }
    return map;
}

Axes everyAxis(std::size_t rank)
{
    Axes all(rank);
    std::iota(all.begin(), all.end(), std::int64_t{0});
    return all;
}

std::optional<AxisMap> turned(const AxesAsked& asked)
{
    const Axes all = everyAxis(asked.rank);
    const Axes order = graph::attributeOr(asked.node, "perm", Axes(all.rbegin(), all.rend()));
    if (!std::ranges::is_permutation(order, all)) {
        return std::nullopt;
    }
    AxisMap map;
    std::ranges::transform(order, std::back_inserter(map),
                           [](std::int64_t axis) { return AxisSource{static_cast<std::size_t>(axis)}; });
    return map;
}

/// An axis stays one where as many elements stand before it and along it.
AxisMap regrouped(const Shape& from, const Shape& to)
{
    const auto before = [](const Shape& shape, std::size_t axis) {
        return tensor::elementCount({shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axis)});
    };
    AxisMap map(to.size());
    for (std::size_t axis = 0; tensor::elementCount(to) > 0 && axis < to.size(); ++axis) {
        for (std::size_t i = 0; i < from.size() && !map[axis]; ++i) {
            if (from[i] == to[axis] && before(from, i) == before(to, axis)) {
                map[axis] = AxisSource{i};
            }
        }
    }
    return map;
}

std::optional<AxisMap> reshaped(const AxesAsked& asked)
{
    if (asked.from != nullptr && asked.to != nullptr) {
        return regrouped(*asked.from, *asked.to);
    }
    const bool adds = asked.node.op == "Unsqueeze";
    const std::optional<Axes> said = adds || asked.node.op == "Squeeze" ? saidBy(asked, "axes", 1) : std::nullopt;
    const std::optional<Axes> named = fromFront(said, asked.rank + (adds && said ? said->size() : 0));
    if (!named) {
        return std::nullopt;
    }
    AxisMap map = aligned(asked);
    if (adds) {
        std::ranges::for_each(*named, [&map](std::int64_t axis) { map.insert(map.begin() + axis, std::nullopt); });
    } else {
        std::for_each(named->rbegin(), named->rend(), [&map](std::int64_t axis) { map.erase(map.begin() + axis); });
    }
    return map;
}

std::optional<AxisMap> alongOne(const AxesAsked& asked)
{
    const auto axis = fromFront(Axes{graph::intAttribute(asked.node, "axis", 0)}, asked.rank);
    return axis ? std::optional(alignedBut(asked, *axis)) : std::nullopt;
}

std::optional<AxisMap> sliced(const AxesAsked& asked)
{
    constexpr std::size_t kAxes = 3; // slot
    const auto axes = fromFront(saidBy(asked, "axes", kAxes), asked.rank);
    return alignedBut(asked, axes.value_or(everyAxis(asked.rank)));
}

/// Axes of the indices stand in the place of the one that they pick from.
std::optional<AxisMap> gathered(const AxesAsked& asked)
{
    const auto along = fromFront(Axes{graph::intAttribute(asked.node, "axis", 0)}, asked.rank);
    if (asked.node.op != "Gather" || !along || asked.to == nullptr || asked.to->size() + 1 < asked.rank) {
        return std::nullopt;
    }
    AxisMap map = aligned({asked.node, asked.rank});
    map.erase(map.begin() + along->front());
    map.insert(map.begin() + along->front(), asked.to->size() + 1 - asked.rank, std::nullopt);
    return map;
}

} // namespace

std::optional<AxisMap> axesOf(const AxesAsked& asked)
{
    switch (elementsOf(asked.node)) {
    case Elements::Turned:
        return turned(asked);
    case Elements::Reshaped:
        return reshaped(asked);
    case Elements::Taken:
        return asked.node.op == "Slice" ? sliced(asked) : alongOne(asked);
    case Elements::Joined:
        return alongOne(asked);
    case Elements::Padded:
        return alignedBut(asked, everyAxis(asked.rank));
    case Elements::PickedBy:
        return gathered(asked);
    case Elements::Repeated:
        return asked.node.op == "Expand" && asked.to != nullptr ? std::optional(aligned(asked)) : std::nullopt;
    default:
        return isElementByElement(asked.node) ? std::optional(aligned(asked)) : std::nullopt;
    }
}

std::optional<std::size_t> axisBehind(const AxesAsked& asked, std::size_t axis)
{
    const AxisMap map = axesOf(asked).value_or(AxisMap());
    const auto found = std::ranges::find_if(map, [axis](const auto& source) { return source && source->axis == axis; });
    return found == map.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - map.begin()));
}

} // namespace retro::ops
