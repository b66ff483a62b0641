// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/jobs/jobs.h"

#include <memory>
#include <stop_token>

namespace retro::app
{

/// Carries out what a job asks as its plan says, recorded: its relevance, or the gradient of its target. Errors: as
/// engine::explain() and engine::recordedPlannedGradient().
[[nodiscard]] base::Result<std::shared_ptr<ExplainDone>> passByPlan(ExplainJob& job, engine::ExplainRequest request,
                                                                    const std::stop_token& token);

} // namespace retro::app
