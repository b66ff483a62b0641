// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/localorder.h"

#include "core/analysis/frontier.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace retro::analysis
{

namespace
{

constexpr int kRounds = 4;
/// Places that are tried for one operator.
constexpr std::size_t kPlaces = 16;

using Score = std::pair<std::uint64_t, double>; // peak, area

Score scoreOf(const OpGraph& graph, const std::vector<OpId>& order)
{
    const FrontierProfile profile = frontierProfile(graph, order);
    const double area = std::accumulate(profile.live.begin(), profile.live.end(), 0.0,
                                        [](double sum, std::uint64_t bytes) { return sum + double(bytes); });
    return {*std::max_element(profile.transient.begin(), profile.transient.end()), area};
}

/// Positions between which an operator may stand: behind its producers, before its readers.
std::pair<std::size_t, std::size_t> slackOf(const OpGraph& graph, const std::vector<std::size_t>& position, OpId op)
{
    std::size_t low = 0;
    std::size_t high = position.size() - 1;
    for (const OpValueId input : graph.reads(op)) {
        if (graph.value(input).producer != kNone) {
            low = std::max(low, position[graph.value(input).producer] + 1);
        }
    }
    for (const OpValueId output : graph.op(op).outputs) {
        for (const OpId reader : graph.readers(output)) {
            high = std::min(high, position[reader] - 1);
        }
    }
    return {low, high};
}

std::vector<OpId> moved(const std::vector<OpId>& order, std::size_t from, std::size_t to)
{
    std::vector<OpId> result = order;
    const auto at = [&](std::size_t i) { return result.begin() + static_cast<std::ptrdiff_t>(i); };
    if (from < to) {
        std::rotate(at(from), at(from + 1), at(to + 1));
    } else {
        std::rotate(at(to), at(from), at(from + 1));
    }
    return result;
}

/// Tries places for one operator; true when the order became better.
bool improveOne(const OpGraph& graph, std::vector<OpId>& order, Score& score, OpId op)
{
    std::vector<std::size_t> position(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        position[order[i]] = i;
    }
    const auto [low, high] = slackOf(graph, position, op);
    const std::size_t stride = std::max<std::size_t>(1, (high - low + 1) / kPlaces);
    for (std::size_t to = low; to <= high; to += stride) {
        if (to == position[op]) {
            continue;
        }
        std::vector<OpId> candidate = moved(order, position[op], to);
        const Score now = scoreOf(graph, candidate);
        if (now < score) {
            score = now;
            order = std::move(candidate);
            return true;
        }
    }
    return false;
}

} // namespace

std::vector<OpId> improveOrder(const OpGraph& graph, std::vector<OpId> order, const std::stop_token& stop)
{
    Score score = scoreOf(graph, order);
    bool isBetter = true;
    for (int round = 0; round < kRounds && isBetter; ++round) {
        isBetter = false;
        for (OpId op = 0; op < graph.size(); ++op) {
            if (stop.stop_requested()) {
                return order;
            }
            isBetter = improveOne(graph, order, score, op) || isBetter;
        }
    }
    return order;
}

} // namespace retro::analysis
