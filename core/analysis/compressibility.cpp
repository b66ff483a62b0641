// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/compressibility.h"

#include <algorithm>
#include <cmath>

namespace retro::analysis
{

namespace
{

constexpr double kMostRatio = 0.35;
constexpr double kMostPercentile = 1.05;
constexpr double kMostReaders = 16;
constexpr double kMostLongLived = 0.35;
/// Smaller graphs get no verdict.
constexpr std::size_t kLeastOperators = 8;
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

double longLivedShare(const OpGraph& graph, const FrontierProfile& profile)
{
    std::vector<std::pair<std::size_t, double>> lives; // positions, byte-steps
    double total = 0;
    for (OpValueId id = 0; id < profile.birth.size(); ++id) {
        if (profile.birth[id] == kForever) {
            continue;
        }
        const std::size_t end = std::min<std::size_t>(profile.death[id], profile.order.size());
        const std::size_t positions = end - profile.birth[id];
        lives.emplace_back(positions, static_cast<double>(positions) * static_cast<double>(graph.value(id).bytes));
        total += lives.back().second;
    }
    std::stable_sort(lives.begin(), lives.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    const std::size_t count = (lives.size() + 19) / 20;
    double held = 0;
    for (std::size_t i = 0; i < std::min(count, lives.size()); ++i) {
        held += lives[i].second;
    }
    return total > 0 ? held / total : 0;
}

/// What both verdicts measure.
Compressibility measured(const OpGraph& graph, const FrontierProfile& profile)
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
    result.depthRatio = static_cast<double>(result.depth) / std::sqrt(static_cast<double>(graph.size()));
    result.longLivedShare = longLivedShare(graph, profile);
    for (OpValueId id = 0; id < graph.values().size(); ++id) {
        result.mostReaders = std::max(result.mostReaders, graph.readers(id).size());
    }
    return result;
}

void addMost(Compressibility& result, const char* name, double measured, double most)
{
    result.criteria.push_back({name, measured, most, measured <= most, false});
}

bool holdAll(const Compressibility& result)
{
    return std::ranges::all_of(result.criteria, [](const Criterion& one) { return one.holds; });
}

} // namespace

Compressibility compressibility(const OpGraph& graph, const FrontierProfile& profile)
{
    Compressibility result = measured(graph, profile);
    addMost(result, "width / all bytes", result.ratio, kMostRatio);
    addMost(result, "held by the long-lived", result.longLivedShare, kMostLongLived);
    addMost(result, "readers of one value", static_cast<double>(result.mostReaders), kMostReaders);
    result.criteria.push_back({"depth / root of operators", result.depthRatio, 1, result.depthRatio >= 1, true});
    result.isTooSmall = graph.size() < kLeastOperators;
    result.isCompressible = !result.isTooSmall && holdAll(result);
    return result;
}

Compressibility legacyCompressibility(const OpGraph& graph, const FrontierProfile& profile)
{
    Compressibility result = measured(graph, profile);
    const double widest = static_cast<double>(result.width);
    addMost(result, "width / all bytes", result.ratio, kMostRatio);
    addMost(result, "95th percentile / width", widest > 0 ? result.percentile95 / widest : 0, kMostPercentile);
    addMost(result, "readers of one value", static_cast<double>(result.mostReaders), kMostReaders);
    result.isCompressible = result.width == 0 || holdAll(result);
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
