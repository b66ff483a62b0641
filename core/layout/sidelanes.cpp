// SPDX-License-Identifier: Apache-2.0
#include "core/layout/sidelanes.h"

#include <cmath>
#include <limits>

namespace retro::layout
{

namespace
{

/// Largest x used so far per layer; asks and raises whole ranges of layers in O(log layers).
class Skyline
{
public:
    explicit Skyline(const std::vector<double>& heights)
    {
        while (m_leaves < heights.size()) {
            m_leaves *= 2;
        }
        m_most.assign(2 * m_leaves, -std::numeric_limits<double>::infinity());
        m_floor = m_most;
        std::copy(heights.begin(), heights.end(), m_most.begin() + static_cast<std::ptrdiff_t>(m_leaves));
        for (std::size_t i = m_leaves; i-- > 1;) {
            m_most[i] = std::max(m_most[2 * i], m_most[2 * i + 1]);
        }
    }

    /// Largest value in layers [first, last].
    [[nodiscard]] double most(Index first, Index last) const
    {
        double result = -std::numeric_limits<double>::infinity();
        forEachCover(first, last, [&](std::size_t i) {
            result = std::max(result, m_most[i]);
            for (i /= 2; i > 0; i /= 2) {
                result = std::max(result, m_floor[i]);
            }
        });
        return result;
    }

    /// Raises layers [first, last] to at least `value`.
    void raise(Index first, Index last, double value)
    {
        forEachCover(first, last, [&](std::size_t i) {
            m_floor[i] = std::max(m_floor[i], value);
            for (; i > 0; i /= 2) {
                m_most[i] = std::max(m_most[i], value);
            }
        });
    }

private:
    /// Calls f for the few tree nodes that together are the range.
    template <class F>
    void forEachCover(Index first, Index last, F f) const
    {
        std::size_t low = m_leaves + static_cast<std::size_t>(first);
        std::size_t high = m_leaves + static_cast<std::size_t>(last) + 1;
        for (; low < high; low /= 2, high /= 2) {
            if (low % 2 == 1) {
                f(low++);
            }
            if (high % 2 == 1) {
                f(--high);
            }
        }
    }

    std::size_t m_leaves = 1;
    std::vector<double> m_most;  // per tree node: largest value below it
    std::vector<double> m_floor; // per tree node: everything below it is at least this
};

struct SideLaneSpan
{
    Index element = kNone;
    Index first = 0; ///< layers that it passes
    Index last = 0;
};

/// Side lanes by rising span, then by index.
std::vector<SideLaneSpan> findSideLanes(const Elements& elements)
{
    std::vector<SideLaneSpan> lanes;
    for (Index s = elements.layeredSegmentCount; s < static_cast<Index>(elements.segments.size()); ++s) {
        const auto [upper, lower] = elements.segments[s];
        if (elements.kind[lower] == ElementKind::SideLane) {
            lanes.push_back({lower, elements.layer[upper] + 1, elements.layer[upper] + 1});
        } else {
            lanes.back().last = std::max(lanes.back().last, elements.layer[lower] - 1);
        }
    }
    std::stable_sort(lanes.begin(), lanes.end(),
                     [](const SideLaneSpan& a, const SideLaneSpan& b) { return a.last - a.first < b.last - b.first; });
    return lanes;
}

} // namespace

void placeSideLanes(const Elements& elements, const LayoutOptions& options, std::vector<double>& x)
{
    const std::vector<SideLaneSpan> lanes = findSideLanes(elements);
    if (lanes.empty()) {
        return;
    }
    const double outwards = options.lanesFirst ? -1 : 1; // left or right of everything
    std::vector<double> reach;
    for (Index l = 0; l < elements.layerCount(); ++l) {
        const Index outermost = options.lanesFirst ? elements.layers[l].front() : elements.layers[l].back();
        reach.push_back(outwards * x[outermost] + elements.width[outermost] / 2);
    }
    Skyline skyline(reach);
    for (const SideLaneSpan& lane : lanes) {
        const double half = elements.width[lane.element] / 2;
        const double at = std::ceil(skyline.most(lane.first, lane.last) + options.laneGap + half);
        x[lane.element] = outwards * at;
        skyline.raise(lane.first, lane.last, at + half);
    }
}

} // namespace retro::layout
