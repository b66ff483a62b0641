// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/jobs/jobs.h"
#include "views/plan/plananalysis.h"

#include <memory>
#include <stop_token>
#include <string>

namespace retro::app
{

/// The plan that a recorded run has, as views draw it; one that is damaged becomes a warning. `where` = the file.
void takeRecordedPlan(std::shared_ptr<const trace::RunPlan> plan, const trace::Run& run, const std::string& where,
                      ExplainDone& done);

/// What is true of a subject whatever the plan. Any thread; null when it was stopped.
[[nodiscard]] views::PlanAnalysisPointer analysisOf(const views::PlanSubject& subject, const std::stop_token& stop);

} // namespace retro::app
