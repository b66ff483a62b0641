// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/plan/passsubject.h"
#include "core/runtime/reversehalf.h"

#include <functional>
#include <vector>

namespace retro::engine
{

/// What starts at a target, given its forward value.
using StartOf = std::function<base::Result<tensor::Tensor>(base::ValueId, const tensor::Tensor&)>;

/// The second half of a joint graph as the oracle computes it: the rules of a relevance pass, parts summed in the order
/// of the in-edges of its graph. So relevance has the oracle's bits. A rule that is applied once per operand is booked
/// once in `ledger` (may be null), which is borrowed.
[[nodiscard]] runtime::ReverseHalf relevanceHalf(const PassSubject& subject, StartOf startOf,
                                                 std::vector<event::LedgerEntry>* ledger);

} // namespace retro::engine
