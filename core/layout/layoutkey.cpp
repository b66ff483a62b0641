// SPDX-License-Identifier: Apache-2.0
#include "core/layout/layoutkey.h"

#include <array>
#include <bit>

namespace retro::layout
{

namespace
{

void addNumber(base::Hasher128& hasher, double number) { hasher.number(std::bit_cast<std::uint64_t>(number)); }

void addIndices(base::Hasher128& hasher, const std::vector<Index>& indices)
{
    hasher.number(indices.size());
    hasher.bytes(std::as_bytes(std::span(indices)));
}

void addBoxes(base::Hasher128& hasher, const LayoutInput& input)
{
    hasher.number(input.nodeSizes.size());
    for (const Size& size : input.nodeSizes) {
        addNumber(hasher, size.width);
        addNumber(hasher, size.height);
    }
    hasher.number(input.pins.size());
    for (const Pin pin : input.pins) {
        hasher.number(static_cast<std::uint64_t>(pin));
    }
}

void addEdges(base::Hasher128& hasher, const LayoutInput& input)
{
    hasher.number(input.edges.size());
    for (const LayoutEdge& edge : input.edges) {
        hasher.number((static_cast<std::uint64_t>(edge.from) << 32) | static_cast<std::uint32_t>(edge.to));
    }
    hasher.number(input.edgePins.size());
    for (const EdgePins& pins : input.edgePins) {
        addNumber(hasher, pins.leave);
        addNumber(hasher, pins.enter);
    }
}

void addOptions(base::Hasher128& hasher, const LayoutOptions& options)
{
    for (const double distance : std::array{
             options.nodeGap, options.laneGap, options.layerGap, options.gapSlope, options.maxLayerGap, options.portGap,
             options.parallelGap, options.componentGap, options.rowAspect, options.groupPadding, options.groupHeader}) {
        addNumber(hasher, distance);
    }
    hasher.number(static_cast<std::uint64_t>(options.maxLaneSpan));
    hasher.number(static_cast<std::uint64_t>(options.sweeps));
    hasher.number(options.lanesFirst ? 1 : 0);
}

} // namespace

base::Hash128 layoutKey(const LayoutInput& input, const LayoutOptions& options, std::string_view method)
{
    base::Hasher128 hasher;
    hasher.text(method);
    addBoxes(hasher, input);
    addEdges(hasher, input);
    addIndices(hasher, input.nodeGroups);
    addIndices(hasher, input.groupParents);
    addOptions(hasher, options);
    return hasher.value();
}

} // namespace retro::layout
