// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/timeline.h"

#include <cstdint>
#include <vector>

namespace retro::views
{

/// A promise from where it is opened to where it is fulfilled, in visits.
struct PromiseBar
{
    std::uint32_t promise = 0;
    std::uint64_t openedAt = 0;    ///< step
    std::uint64_t fulfilledAt = 0; ///< step; the number of events when it never is
    std::uint32_t from = 0;        ///< visit in which it is opened
    std::uint32_t to = 0;          ///< visit in which it is fulfilled; the last one when it never is
    std::uint32_t row = 0;
    /// It waits when as many events have been applied.
    [[nodiscard]] bool isOpenAt(std::uint64_t position) const { return openedAt < position && position <= fulfilledAt; }
};

/// All promises of a run as bars in rows: as many rows as promises are open at once, at most kMostBarRows. Beyond that
/// bars of a row lie on each other.
struct PromiseBars
{
    std::vector<PromiseBar> bars; ///< in the order in which they are opened
    std::uint32_t rows = 0;
};
inline constexpr std::uint32_t kMostBarRows = 8;

/// O(promises · rows).
[[nodiscard]] PromiseBars promiseBars(const trace::Run& run, const trace::VisitSeries& series);

} // namespace retro::views
