// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/schedule/lifetimes.h"
#include "core/schedule/searchlistener.h"

#include <functional>
#include <random>

namespace retro::schedule
{

/// How one shaving goes.
struct ShaveOptions
{
    double costPower = 1;               ///< candidates are ranked by gain / cost^power
    double noise = 0;                   ///< ranks are multiplied by up to 1 + noise
    std::mt19937_64* random = nullptr;  ///< needed with noise
    std::function<bool()> isOver;       ///< ends early; may be empty
    SearchListener* listener = nullptr; ///< hears what is dropped and rebuilt; borrowed, may be null
    std::uint64_t* work = nullptr;      ///< counts the positions that are looked at; borrowed, may be null
};

/// Takes the memory of a sequence of computations below a budget by rebuilding values (docs/planning.md, `shave`): at
/// the first peak, a value that waits for a later reader is dropped and computed again right before that reader, with
/// the operands that are not there; of all candidates the one with the most byte-steps over the budget removed for its
/// cost is taken. True when the sequence fits; else it is the best that was reached.
[[nodiscard]] bool shave(const OpGraph& graph, std::uint64_t budget, std::vector<OpId>& sequence,
                         const ShaveOptions& options = {});
/// Deletes repeated computations whose results nobody reads, until there are none.
void dropUseless(const OpGraph& graph, std::vector<OpId>& sequence);
/// Deletes repeated computations, dearest first, as long as the sequence stays within the budget; those whose results
/// nobody reads always.
void prune(const OpGraph& graph, std::uint64_t budget, std::vector<OpId>& sequence,
           const std::function<bool()>& isOver = {});

} // namespace retro::schedule
