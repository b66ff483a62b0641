// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/analysis/opgraph.h"

#include <optional>
#include <stop_token>
#include <string_view>

namespace retro::analysis
{

/// How an order of the operators is chosen.
enum class OrderHeuristic : std::uint8_t {
    FirstReady,    ///< Kahn: first come, first served
    LeastLive,     ///< the ready operator after which the least is live (`greedy`)
    FitsUnderPeak, ///< one that fits under the peak so far and frees most; else the one that raises it least
    DepthFirst,    ///< towards the outputs, operands by falling (peak − result): Liu's rule, optimal on trees
    Beam,          ///< the best 32 partial orders side by side; equal sets of done operators are one
    LocalSearch,   ///< the best of the others, operators moved inside their slack while the peak falls
};

/// All of them.
inline constexpr OrderHeuristic kOrderHeuristics[] = {OrderHeuristic::FirstReady,    OrderHeuristic::LeastLive,
                                                      OrderHeuristic::FitsUnderPeak, OrderHeuristic::DepthFirst,
                                                      OrderHeuristic::Beam,          OrderHeuristic::LocalSearch};

/// Largest graphs for which the slower heuristics and the exact search run.
inline constexpr std::size_t kMaxBeamOps = 1500;
inline constexpr std::size_t kMaxLocalSearchOps = 400;
inline constexpr std::size_t kMaxExactOps = 24;

/// "kahn", "greedy", …
[[nodiscard]] std::string_view nameOf(OrderHeuristic heuristic);
/// A line for people.
[[nodiscard]] std::string_view descriptionOf(OrderHeuristic heuristic);

/// An order with its peak (transient, bytes).
struct ScoredOrder
{
    OrderHeuristic heuristic = OrderHeuristic::FirstReady;
    std::vector<OpId> order;
    std::uint64_t peak = 0;
    std::uint64_t peakLive = 0;
};

/// The order of one heuristic: complete and topological. None when the graph is too large for it, or when stopped.
/// FirstReady, LeastLive, FitsUnderPeak and DepthFirst take O((operators + operands) · log).
[[nodiscard]] std::optional<ScoredOrder> orderBy(const OpGraph& graph, OrderHeuristic heuristic,
                                                 const std::stop_token& stop = {});
/// The order of the heuristic of that name. Errors (Usage): there is none, or the graph is too large for it.
[[nodiscard]] base::Result<std::vector<OpId>> orderNamed(const OpGraph& graph, std::string_view name);
/// Every heuristic that runs on a graph of this size, best peak first; equal peaks in the order of kOrderHeuristics.
[[nodiscard]] std::vector<ScoredOrder> allOrders(const OpGraph& graph, const std::stop_token& stop = {});

/// Least peaks over all orders without recomputation, each with an order that reaches it.
struct ExactOrders
{
    std::uint64_t transient = 0;
    std::uint64_t live = 0;
    std::vector<OpId> order; ///< reaches `transient`
};
/// By dynamic programming over the sets of done operators. None beyond kMaxExactOps operators, beyond four million
/// sets, or when stopped.
[[nodiscard]] std::optional<ExactOrders> exactOrders(const OpGraph& graph, const std::stop_token& stop = {});

} // namespace retro::analysis
