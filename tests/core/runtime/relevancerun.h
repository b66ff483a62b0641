// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/plan/passsubject.h"
#include "core/runtime/jointprogram.h"
#include "core/schedule/plan.h"
#include "tests/core/lrp/tensorrun.h"

#include <QString>

namespace retro::runtimetest
{

/// The values that relevance starts at.
[[nodiscard]] std::vector<base::ValueId> relevanceTargets(const lrptest::TensorCase& one);
/// The relevance pass of a case.
[[nodiscard]] engine::PassSubject relevanceSubject(const lrptest::TensorCase& one);
/// Carries a plan out. The first value whose relevance has not the bits of the oracle, or the step that held other
/// bytes than predicted; empty when there is neither.
[[nodiscard]] QString faultOfRelevance(const lrptest::TensorCase& one, const runtime::JointProgram& program,
                                       const schedule::Plan& plan, const lrp::RelevanceTable& expected);

} // namespace retro::runtimetest
