// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/schedule/portfolio.h"
#include "core/trace/run.h"
#include "views/common/viewcontext.h"

#include <optional>
#include <vector>

namespace retro::views
{

/// What planners tried in a run, in its order: RunModel::derived<SearchTries>().
struct SearchTries
{
    SearchTries() = default;
    explicit SearchTries(const trace::Run& run);

    std::vector<schedule::Attempt> tries;
    std::vector<std::uint64_t> steps;    ///< of their Candidate events
    std::vector<std::uint32_t> bestOnes; ///< numbers of the tries that were the cheapest so far
    std::uint64_t end = 0;               ///< position behind the search; 0 = there was none
};

/// A search for a plan as far as the cursor has come.
struct SearchMoment
{
    std::shared_ptr<const SearchTries> all;
    std::size_t done = 0;               ///< tries
    std::optional<std::uint32_t> best;  ///< number of the cheapest so far
    std::optional<base::ValueId> tried; ///< the value that is let go, or made again, by the try under way
    bool isTold = false;                ///< the cursor is at the end of a try

    [[nodiscard]] std::vector<schedule::Attempt> triesDone() const
    {
        return {all->tries.begin(), all->tries.begin() + static_cast<std::ptrdiff_t>(done)};
    }
    /// "try 3 of 41".
    [[nodiscard]] QString count() const;
    /// "peak shaving lets conv_1_out go".
    [[nodiscard]] QString words(const RunModel& model) const;

private:
    /// Number of the try under way, or that was made just now.
    [[nodiscard]] std::size_t number() const { return done - (isTold ? 1 : 0); }
};
/// Nothing where the cursor is not within a search.
[[nodiscard]] std::optional<SearchMoment> searchMoment(const RunModel& model);

} // namespace retro::views
