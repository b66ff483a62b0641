// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/analysis/fromgraph.h"
#include "core/engine/plan/passsubject.h"
#include "core/engine/plan/planevents.h"
#include "core/runtime/jointprogram.h"
#include "core/schedule/portfolio.h"

#include <filesystem>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

namespace retro::engine
{

/// What a pass has to keep to: a plan that is there, or a budget for which one is made.
struct PlanOptions
{
    std::optional<schedule::Plan> plan; ///< one that is there already; before `file`
    /// How `plan` was come by, its plan left out; none where nobody knows.
    std::optional<schedule::PlanResult> found;
    std::filesystem::path file;         ///< a plan (docs/formats/plan.md); empty = make one
    std::string budget;                 ///< bytes or "P%" of the store-all peak; empty = that peak
    std::string strategy = "fast";      ///< as schedule::planWith
    std::string order = "auto";         ///< of the forward operators, as schedule::planInOrders
    double seconds = 10;                ///< for making a plan
    std::optional<schedule::Tier> tier; ///< where a plan that is made may move values to; none = nothing moves
    double secondsPerCost = 1;          ///< with a tier: of the joint graph's unit of cost
    bool isOfAnother = false;           ///< `plan` or `file` is of another pass: of it, the budget alone
    bool isRecorded = false;            ///< the search into ChosenPlan::record, the pass into a run
};

/// The plan that a pass runs, and how it was come by.
struct ChosenPlan
{
    schedule::Plan plan;
    std::uint64_t storeAllPeak = 0;
    std::optional<schedule::PlanResult> search; ///< when the plan was made
    std::string strategy;                       ///< that was asked for
    SearchRecord record;                        ///< of the search, where it was wished for
};

/// What a plan was made for, beside its joint graph.
struct PlannedHalf
{
    analysis::JointKind kind = analysis::JointKind::Gradient;
    analysis::CostUnit unit = analysis::CostUnit::Operators;
    std::uint64_t constantBytes = 0; ///< weights, outside every budget
    bool isForwardAlone = false;     ///< there is none: the forward operators are planned by themselves
};
/// How the second half of the joint graph of a real run is made.
[[nodiscard]] analysis::JointOptions jointOptions(analysis::JointKind kind, analysis::CostUnit unit);
/// The joint graph of a pass over a bound model, its operators real, forward ones first come, first served. Errors: as
/// runtime::JointProgram::make. `half`, when given, gets what is planned for.
[[nodiscard]] base::Result<runtime::JointProgram> jointProgram(const PassSubject& subject, PlannedHalf* half = nullptr);
/// The plan that is wished for. Errors: Usage (budget, strategy), Input (the file: unreadable, of another graph),
/// Engine (no plan within the budget; says the floor and what was reached), Cancelled.
[[nodiscard]] base::Result<ChosenPlan> choosePlan(const runtime::JointProgram& program, const PlanOptions& wish,
                                                  const std::stop_token& stop = {});

} // namespace retro::engine
