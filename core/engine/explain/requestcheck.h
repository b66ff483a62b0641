// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"

#include <span>

namespace retro::engine
{

/// What no engine can do. Errors: Usage.
[[nodiscard]] base::Result<void> checkRequest(const ExplainRequest& request);

/// The relevance of tokens is a sum over their embeddings; their numbers are names, not magnitudes. Error (Usage): the
/// composite multiplies by the input, a tracked input has no floating elements, and no rule multiplies by its
/// embedding.
[[nodiscard]] base::Result<void> checkTimesInput(const lrp::Composite& composite,
                                                 std::span<const trace::NodeRule> rules,
                                                 const execute::BoundModel& model);

/// All targets of a request, as they are written.
[[nodiscard]] std::vector<TargetRequest> targetsOf(const ExplainRequest& request);

} // namespace retro::engine
