// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/jobs/jobs.h"

#include <memory>
#include <stop_token>

namespace retro::app
{

/// Computes the gradient of a job's target as its plan says, recorded. Errors: as engine::recordedPlannedGradient().
[[nodiscard]] base::Result<std::shared_ptr<ExplainDone>> passByPlan(ExplainJob& job, engine::ExplainRequest request,
                                                                    const std::stop_token& token);

} // namespace retro::app
