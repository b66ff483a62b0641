// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/frontier.h"

#include <algorithm>
#include <numeric>

namespace retro::analysis
{

namespace
{

/// Sizes that begin and end at positions; running sums give what is there at each.
class Differences
{
public:
    explicit Differences(std::size_t length) : m_change(length + 1, 0) {}

    /// `bytes` count at positions from … until − 1.
    void add(std::size_t from, std::size_t until, std::uint64_t bytes)
    {
        m_change[from] += bytes;
        m_change[std::min(until, m_change.size() - 1)] -= bytes; // unsigned wrap cancels in the sums
    }

    [[nodiscard]] std::vector<std::uint64_t> sums() const
    {
        std::vector<std::uint64_t> sums(m_change.size());
        std::partial_sum(m_change.begin(), m_change.end(), sums.begin());
        sums.pop_back();
        return sums;
    }

private:
    std::vector<std::uint64_t> m_change;
};

void findLifetimes(const OpGraph& graph, FrontierProfile& profile)
{
    profile.birth.assign(graph.values().size(), kForever);
    profile.death.assign(graph.values().size(), kForever);
    for (std::uint32_t position = 0; position < profile.order.size(); ++position) {
        const OpId op = profile.order[position];
        for (const OpValueId output : graph.op(op).outputs) {
            profile.birth[output] = position;
            profile.death[output] = position;
        }
        for (const OpValueId input : graph.reads(op)) {
            profile.death[input] = position;
        }
    }
}

std::size_t legacyEnd(const OpGraph& graph, const FrontierProfile& profile, OpValueId id)
{
    return graph.readers(id).empty() ? profile.order.size() : profile.death[id];
}

} // namespace

FrontierProfile frontierProfile(const OpGraph& graph, std::span<const OpId> order)
{
    FrontierProfile profile;
    profile.order.assign(order.begin(), order.end());
    findLifetimes(graph, profile);
    Differences live(order.size());
    Differences transient(order.size());
    Differences legacy(order.size());
    for (OpValueId id = 0; id < graph.values().size(); ++id) {
        const OpValue& value = graph.value(id);
        if (profile.birth[id] == kForever) {
            continue;
        }
        legacy.add(profile.birth[id], legacyEnd(graph, profile, id), value.bytes);
        if (value.isOutput || value.isRequired) {
            profile.death[id] = kForever;
        }
        const std::size_t end = value.isOutput || value.isRequired ? order.size() : profile.death[id];
        live.add(profile.birth[id], end, value.bytes);
        transient.add(profile.birth[id], end + 1, value.bytes);
    }
    for (std::size_t position = 0; position < order.size(); ++position) {
        transient.add(position, position + 1, graph.op(order[position]).workspace);
    }
    profile.live = live.sums();
    profile.transient = transient.sums();
    profile.legacy = legacy.sums();
    return profile;
}

double quantile(std::vector<std::uint64_t> numbers, double q)
{
    if (numbers.empty()) {
        return 0;
    }
    const double place = static_cast<double>(numbers.size() - 1) * q;
    const auto below = static_cast<std::size_t>(place);
    const auto at = numbers.begin() + static_cast<std::ptrdiff_t>(below);
    std::nth_element(numbers.begin(), at, numbers.end());
    const auto low = static_cast<double>(*at);
    if (below + 1 == numbers.size()) {
        return low;
    }
    const auto high = static_cast<double>(*std::min_element(at + 1, numbers.end()));
    return low + (place - static_cast<double>(below)) * (high - low);
}

FrontierSummary summarise(const FrontierProfile& profile)
{
    FrontierSummary summary;
    if (profile.live.empty()) {
        return summary;
    }
    const auto peak = std::max_element(profile.transient.begin(), profile.transient.end());
    const auto peakLive = std::max_element(profile.live.begin(), profile.live.end());
    summary.peak = *peak;
    summary.peakAt = static_cast<std::size_t>(peak - profile.transient.begin());
    summary.peakLive = *peakLive;
    summary.peakLiveAt = static_cast<std::size_t>(peakLive - profile.live.begin());
    double sum = 0;
    for (const std::uint64_t bytes : profile.live) {
        sum += static_cast<double>(bytes);
    }
    summary.averageLive = sum / static_cast<double>(profile.live.size());
    summary.medianLive = quantile(profile.live, 0.5);
    summary.percentile95 = quantile(profile.live, 0.95);
    summary.percentile99 = quantile(profile.live, 0.99);
    summary.tail = profile.live.back();
    return summary;
}

std::vector<std::vector<OpValueId>> leaving(const FrontierProfile& profile)
{
    std::vector<std::vector<OpValueId>> result(profile.order.size());
    for (OpValueId id = 0; id < profile.death.size(); ++id) {
        if (profile.birth[id] != kForever && profile.death[id] != kForever) {
            result[profile.death[id]].push_back(id);
        }
    }
    return result;
}

bool isTopological(const OpGraph& graph, std::span<const OpId> order)
{
    std::vector<bool> isDone(graph.size(), false);
    for (const OpId op : order) {
        if (op >= graph.size() || isDone[op]) {
            return false;
        }
        const auto isReady = [&](OpValueId input) {
            const OpId producer = graph.value(input).producer;
            return producer == kNone || isDone[producer];
        };
        if (!std::ranges::all_of(graph.reads(op), isReady)) {
            return false;
        }
        isDone[op] = true;
    }
    return order.size() == graph.size();
}

} // namespace retro::analysis
