// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/event/event.h"
#include "core/execute/savedvalues.h"
#include "core/trace/run.h"

#include <span>

namespace retro::engine
{

/// A finished relevance pass, as far as the search for its first wrong number needs it.
struct FinishedRelevance
{
    const execute::SavedValues& saved;          ///< of the forward pass
    std::span<const trace::NodeRule> rules;     ///< by NodeId
    std::span<const tensor::Tensor> relevance;  ///< by ValueId; invalid where nothing arrived
    std::span<const event::LedgerEntry> ledger; ///< in the order of the pass
};

/// Errors (Engine): a rule handed on NaN or infinity. The message names the first such node in the order of the pass,
/// its rule, the value, the element and its number, and the forward value that was not finite before, if one was. Costs
/// one look at each row of the ledger when all is well.
[[nodiscard]] base::Result<void> checkFinite(const FinishedRelevance& pass);

/// The same error without its advice to go on, for callers that cannot.
[[nodiscard]] base::Error withoutAdvice(base::Error error);

} // namespace retro::engine
