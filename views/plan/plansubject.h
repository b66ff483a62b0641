// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/analysis/fromgraph.h"
#include "core/analysis/joint.h"
#include "core/schedule/planner.h"

#include <QString>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace retro::views
{

/// Which pass plans are made for.
enum class PlanFor : std::uint8_t {
    Relevance, ///< forward pass and relevance, as the question on screen has it
    Gradient,  ///< forward pass and the gradient of the target
    Forward    ///< the forward pass alone
};

/// What a traversal by a plan keeps, drops and brings back.
struct SavingNumbers
{
    std::size_t kept = 0;
    std::uint64_t keptBytes = 0;
    std::size_t dropped = 0;
    std::size_t byPromise = 0;
    std::size_t recomputed = 0;
    std::uint32_t promises = 0;
    std::uint32_t visits = 0;
    bool operator==(const SavingNumbers&) const = default;
};

/// What is planned for: the joint graph of a model, with the figures that hold for every plan. Immutable.
struct PlanSubject
{
    QString model;                     ///< its name
    PlanFor half = PlanFor::Gradient;  ///< what the second half is
    analysis::OpGraph forward;         ///< the forward operators, with the inputs
    analysis::JointGraph joint;        ///< forward operators, then gradients
    analysis::CostUnit unit{};         ///< of every cost
    std::uint64_t constantBytes = 0;   ///< weights: in memory throughout, outside every budget
    std::uint64_t storeAllPeak = 0;    ///< bytes, when nothing is computed twice
    double baseCost = 0;               ///< when nothing is computed twice
    std::vector<std::string> warnings; ///< what was assumed
    /// Of a relevance pass over a bound model: its traversal with what a plan keeps, over no values. Any thread; null
    /// = nobody knows. Nothing when it was stopped.
    std::function<std::optional<SavingNumbers>(const schedule::Plan&, const std::stop_token&)> forecast;

    [[nodiscard]] const analysis::OpGraph& graph() const { return joint.graph; }
};
using PlanSubjectPointer = std::shared_ptr<const PlanSubject>;

/// Strategies that the views offer by name.
inline constexpr const char* kFastStrategy = "fast";
inline constexpr const char* kBestStrategy = "best";
inline constexpr const char* kUserStrategy = "user";      ///< "mine" in the window
inline constexpr const char* kBlockStrategy = "interval"; ///< for a block size that was chosen

/// What the planners are asked.
struct PlanQuestion
{
    std::string strategy = kFastStrategy;
    std::uint64_t budget = 0; ///< bytes
    schedule::UserChoices choices;
    double seconds = 5;                 ///< for `best`
    std::optional<schedule::Tier> tier; ///< where values may be moved to; none = nothing moves
    std::string order = "auto";         ///< of the forward operators, as schedule::planInOrders
    schedule::BlockWish blocks{};       ///< for planners that cut into blocks
};

/// Places that the views offer to move values to, at rates of common machines: those of runtime::standardTiers().
[[nodiscard]] std::span<const schedule::Tier> knownTiers();
/// Seconds of one unit of cost beside copies: a millisecond as the graph states it, an operation at 20 GFLOP/s.
[[nodiscard]] double secondsPerCost(analysis::CostUnit unit);

} // namespace retro::views
