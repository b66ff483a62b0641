// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/schedule/plan.h"

#include <functional>

namespace retro::schedule
{

/// Largest plan file that is read, and most steps in it.
inline constexpr std::size_t kMaxPlanBytes = 256U << 20;
inline constexpr std::size_t kMaxPlanSteps = 8'000'000;

/// A plan as JSON (docs/formats/plan.md): operators and values by their names in `graph`, one step a line.
[[nodiscard]] std::string toPlanJson(const OpGraph& graph, const Plan& plan);
/// Reads a plan for `graph`; `where` is used in messages. A plan that says that it was made for another graph is read
/// all the same when `graph` has the names in it; `isOfAnother` (may be null) says so. Errors (Input) name line and
/// field: not JSON, another format or version, a name that the graph does not have, a step or annotation that is none,
/// more than the limits. Whether the plan works is for simulate() to say. `check`, when given, sees what the plan was
/// made for before its steps are read; its error is the answer.
[[nodiscard]] base::Result<Plan> parsePlanJson(const OpGraph& graph, std::string text, const std::string& where,
                                               bool* isOfAnother = nullptr,
                                               const std::function<base::Result<void>(const Subject&)>& check = {});
/// The check that the decisions of a run are those of the plan. Errors (Input): node and both decisions.
[[nodiscard]] std::function<base::Result<void>(const Subject&)> decisionCheck(std::vector<Decision> ofRun);

/// The model that the text of a plan names; empty where it names none. Errors (Input): not JSON.
[[nodiscard]] base::Result<std::string> modelOfPlan(std::string text, const std::string& where);
/// The bytes that the text of a plan keeps to, whatever graph it is of; none where it says none. Errors (Input): not
/// JSON, no number.
[[nodiscard]] base::Result<std::optional<std::uint64_t>> budgetOfPlan(std::string text, const std::string& where);

} // namespace retro::schedule
