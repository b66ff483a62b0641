// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/run/gradientreach.h"
#include "views/common/run/verification.h"
#include "views/common/viewcontext.h"
#include "views/verify/factsheet.h"

namespace retro::views
{

/// Most nodes that a page lists; the worst come first.
inline constexpr std::size_t kMostListed = 5000;

/// Every node that was checked: its reverse rule against a difference, float against double; the worst first.
[[nodiscard]] FactSheet nodesSheet(const RunModel& model, const VerificationPointer& verification);

/// Every operator that a gradient does not visit, with the reason, in the order of the graph. `reach` may be null: then
/// `refusal` says why.
[[nodiscard]] FactSheet reachSheet(const RunModel& model, const GradientReachPointer& reach, const QString& refusal);

} // namespace retro::views
