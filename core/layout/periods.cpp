// SPDX-License-Identifier: Apache-2.0
#include "core/layout/periods.h"

#include <algorithm>
#include <tuple>

namespace retro::layout
{

namespace
{

/// Elements [first, end) in which each equals the one `length` further on, as far as that one is inside.
struct Stretch
{
    Index first = 0;
    Index end = 0;
    Index length = 0;
    [[nodiscard]] Index size() const { return end - first; }
};

void appendStretches(std::span<const std::uint64_t> marks, Index length, const PeriodOptions& options,
                     std::vector<Stretch>& out)
{
    const auto count = static_cast<Index>(marks.size());
    Index first = 0;
    for (Index i = 0; i + length <= count; ++i) {
        const bool isEqual = i + length < count && marks[i] == marks[i + length];
        if (isEqual) {
            continue;
        }
        const Stretch stretch{first, i + length, length};
        if (i > first && stretch.size() >= options.leastCount * length && stretch.size() >= options.leastCovered) {
            out.push_back(stretch);
        }
        first = i + 1;
    }
}

/// Begins the blocks where the least crosses between them; a late start may cost one block.
Period placeBlocks(const Stretch& stretch, std::span<const Index> costs)
{
    Period best;
    Index least = 0;
    for (Index offset = 0; offset < stretch.length; ++offset) {
        const Period period{stretch.first + offset, stretch.length, (stretch.size() - offset) / stretch.length};
        const Index cost = costs[period.first + period.length]; // at the first border that lies inside
        if (best.count == 0 || cost < least) {
            best = period;
            least = cost;
        }
    }
    return best;
}

bool isWorthIt(const Period& period, const PeriodOptions& options)
{
    return period.length >= options.leastLength && period.count >= options.leastCount &&
           period.count * period.length >= options.leastCovered;
}

} // namespace

std::vector<Period> findPeriods(std::span<const std::uint64_t> marks, std::span<const Index> costs,
                                const PeriodOptions& options)
{
    std::vector<Stretch> stretches;
    const Index most = std::min(options.mostLength, static_cast<Index>(marks.size()) / options.leastCount);
    for (Index length = 1; length <= most; ++length) { // one: so that a row of equal elements is not cut into pairs
        appendStretches(marks, length, options, stretches);
    }
    std::sort(stretches.begin(), stretches.end(), [](const Stretch& a, const Stretch& b) {
        return std::tuple(-a.size(), a.length, a.first) < std::tuple(-b.size(), b.length, b.first);
    });
    std::vector<bool> isTaken(marks.size(), false);
    std::vector<Period> out;
    for (const Stretch& stretch : stretches) {
        const auto from = isTaken.begin() + stretch.first;
        if (std::find(from, isTaken.begin() + stretch.end, true) != isTaken.begin() + stretch.end) {
            continue;
        }
        std::fill(from, isTaken.begin() + stretch.end, true);
        const Period period = placeBlocks(stretch, costs);
        if (isWorthIt(period, options)) {
            out.push_back(period);
        }
    }
    std::sort(out.begin(), out.end(), [](const Period& a, const Period& b) { return a.first < b.first; });
    return out;
}

} // namespace retro::layout
