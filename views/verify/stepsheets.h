// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/run/verification.h"
#include "views/common/viewcontext.h"
#include "views/verify/factsheet.h"

namespace retro::views
{

/// What holds at the cursor: every invariant with how often it was checked so far, and the first step that breaks it;
/// then what only Verify can check, with what it found when `verification` is not null.
[[nodiscard]] FactSheet invariantsSheet(const RunModel& model, const VerificationPointer& verification);

/// The parts of a node (or input) in the order in which they are added, with the sum so far, what has landed at the
/// cursor and what is still to come. `node` may be invalid: then the sheet asks for one.
[[nodiscard]] FactSheet additionSheet(const RunModel& model, base::NodeId node);

/// The loop beside the recursion after the rule of the node at the cursor: what every slot that it wrote holds in both,
/// and whether they have parted up to there. `verification` may be null: then the sheet is empty.
[[nodiscard]] FactSheet recursionSheet(const RunModel& model, const VerificationPointer& verification);

} // namespace retro::views
