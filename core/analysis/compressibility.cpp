// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/compressibility.h"

#include <algorithm>

namespace retro::analysis
{

namespace
{

constexpr double kMostRatio = 0.35;
constexpr double kMostPercentile = 1.05;
constexpr double kMostReaders = 16;
/// Below this many positions the percentile is the peak itself.
constexpr std::size_t kLeastForPercentile = 5;

std::size_t depthOf(const OpGraph& graph)
{
    std::vector<std::size_t> depth(graph.size(), 1);
    std::size_t most = 0;
    for (const OpId op : graph.order()) {
        for (const OpValueId input : graph.reads(op)) {
            const OpId producer = graph.value(input).producer;
            depth[op] = producer == kNone ? depth[op] : std::max(depth[op], depth[producer] + 1);
        }
        most = std::max(most, depth[op]);
    }
    return most;
}

} // namespace

Compressibility compressibility(const OpGraph& graph, const FrontierProfile& profile)
{
    Compressibility result;
    const FrontierSummary summary = summarise(profile);
    result.width = summary.peakLive;
    result.average = summary.averageLive;
    const double total = static_cast<double>(graph.totalBytes());
    result.ratio = total > 0 ? static_cast<double>(result.width) / total : 0;
    result.percentile95 =
        profile.live.size() >= kLeastForPercentile ? summary.percentile95 : static_cast<double>(result.width);
    result.depth = depthOf(graph);
    for (OpValueId id = 0; id < graph.values().size(); ++id) {
        result.mostReaders = std::max(result.mostReaders, graph.readers(id).size());
    }
    const double widest = static_cast<double>(result.width);
    const auto add = [&](const char* name, double measured, double limit) {
        result.criteria.push_back({name, measured, limit, measured <= limit});
    };
    add("width / all bytes", result.ratio, kMostRatio);
    add("95th percentile / width", widest > 0 ? result.percentile95 / widest : 0, kMostPercentile);
    add("readers of one value", static_cast<double>(result.mostReaders), kMostReaders);
    result.isCompressible =
        result.width == 0 || std::ranges::all_of(result.criteria, [](const Criterion& c) { return c.holds; });
    return result;
}

std::vector<CutSet> cutSets(const OpGraph& graph, const FrontierProfile& profile)
{
    const std::size_t length = profile.order.size();
    std::vector<std::int64_t> bytes(length + 1, 0);
    std::vector<std::int64_t> values(length + 1, 0);
    for (OpValueId id = 0; id < profile.birth.size(); ++id) {
        if (profile.birth[id] == kForever) {
            continue;
        }
        const std::size_t end = std::min<std::size_t>(profile.death[id], length);
        const auto size = static_cast<std::int64_t>(graph.value(id).bytes);
        bytes[profile.birth[id]] += size;
        bytes[end] -= size;
        values[profile.birth[id]] += 1;
        values[end] -= 1;
    }
    std::vector<CutSet> cuts;
    std::int64_t bytesNow = 0;
    std::int64_t valuesNow = 0;
    for (std::size_t position = 0; position + 1 < length; ++position) {
        bytesNow += bytes[position];
        valuesNow += values[position];
        cuts.push_back({position, static_cast<std::uint64_t>(bytesNow), static_cast<std::size_t>(valuesNow)});
    }
    return cuts;
}

LongestSkip longestSkip(const FrontierProfile& profile)
{
    LongestSkip longest;
    for (OpValueId id = 0; id < profile.birth.size(); ++id) {
        if (profile.birth[id] == kForever) {
            continue;
        }
        const std::size_t end = std::min<std::size_t>(profile.death[id], profile.order.size() - 1);
        const std::size_t positions = end - profile.birth[id];
        if (longest.value == kNone || positions > longest.positions) {
            longest = {id, positions};
        }
    }
    return longest;
}

} // namespace retro::analysis
