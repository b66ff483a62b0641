// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/planners/blockends.h"

#include <algorithm>

namespace retro::schedule
{

namespace
{

/// Bytes that cross the boundary behind each position of the forward order.
std::vector<std::uint64_t> crossingBytes(const OpGraph& graph, const std::vector<OpId>& forward)
{
    const CutChain chain(graph, {forward, {}}, regularEnds(forward.size(), 1));
    std::vector<std::uint64_t> bytes;
    for (std::size_t stage = 0; stage < chain.size(); ++stage) {
        bytes.push_back(chain.crossingBytes(stage));
    }
    return bytes;
}

/// Exactly `count` blocks: ends of about as many, the widest of them dropped.
std::vector<std::uint32_t> endsOfCount(const OpGraph& graph, const std::vector<OpId>& forward, std::size_t count)
{
    std::vector<std::uint32_t> ends = narrowEnds(graph, forward, std::min(count, forward.size()));
    if (ends.size() <= count) {
        return ends;
    }
    const std::vector<std::uint64_t> bytes = crossingBytes(graph, forward);
    while (ends.size() > count) {
        const auto last = ends.end() - 1; // stays
        ends.erase(std::max_element(ends.begin(), last,
                                    [&](std::uint32_t a, std::uint32_t b) { return bytes[a - 1] < bytes[b - 1]; }));
    }
    return ends;
}

std::vector<std::uint32_t> endsOfBytes(const OpGraph& graph, const std::vector<OpId>& forward, std::uint64_t most)
{
    std::vector<std::uint32_t> ends;
    std::uint64_t held = 0;
    for (std::uint32_t i = 0; i < forward.size(); ++i) {
        const std::uint64_t bytes = graph.outputBytes(forward[i], false);
        if (held > 0 && held + bytes > most) {
            ends.push_back(i);
            held = 0;
        }
        held += bytes;
    }
    ends.push_back(static_cast<std::uint32_t>(forward.size()));
    return ends;
}

} // namespace

std::vector<std::uint32_t> chosenBlockEnds(const BlockWish& wish, const OpGraph& graph,
                                           const std::vector<OpId>& forward)
{
    return wish.count > 0       ? endsOfCount(graph, forward, wish.count)
           : wish.operators > 0 ? regularEnds(forward.size(), wish.operators)
                                : endsOfBytes(graph, forward, wish.bytes);
}

std::vector<std::uint32_t> endsFor(const PlanRequest& request, const std::vector<OpId>& forward, std::size_t most)
{
    return request.blocks.isAuto() ? narrowEnds(*request.graph, forward, most)
                                   : chosenBlockEnds(request.blocks, *request.graph, forward);
}

} // namespace retro::schedule
