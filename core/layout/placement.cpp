// SPDX-License-Identifier: Apache-2.0
#include "core/layout/placement.h"

#include <cmath>
#include <limits>
#include <tuple>

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

/// Sets x of the side lanes: to the right of everything in the layers that they pass (left of it with lanesFirst),
/// shorter ones inside longer ones. O(k log layers) for k side lanes.
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

/// Elements that share one x: vertical runs over consecutive layers. Two blocks never cross, so "left of" has no cycle.
struct Blocks
{
    std::vector<Index> block; ///< per element; kNone for side lanes
    Buckets members;          ///< per block its elements, top layer first

    [[nodiscard]] Index count() const { return members.count(); }
};

enum class Claim { Frame, Trunk, Branch, Lane, Rest };

/// A segment that asks to be vertical; smaller is stronger.
struct Candidate
{
    Claim claim = Claim::Rest;
    Index run = 0;       ///< length of the run that it would lengthen
    Index offCentre = 0; ///< distance from the middle of its upper's readers and its lower's operands
    Index upperPosition = 0;
    Index lowerPosition = 0;
    Index segment = kNone;

    bool operator<(const Candidate& o) const
    {
        return std::tuple(claim, -run, offCentre, upperPosition, lowerPosition) <
               std::tuple(o.claim, -o.run, o.offCentre, o.upperPosition, o.lowerPosition);
    }
};

class Aligner
{
public:
    Aligner(const Elements& elements, const Ranking& ranking)
        : m_elements(elements), m_ranking(ranking), m_longest(static_cast<std::size_t>(ranking.componentCount()), 0),
          m_offCentre(elements.segments.size(), 0), m_runStart(elements.kind.size()), m_run(elements.kind.size(), 1)
    {
        for (Index node = 0; node < elements.nodeCount; ++node) {
            Index& longest = m_longest[ranking.component[node]];
            longest = std::max(longest, ranking.above[node] + ranking.below[node]);
        }
        for (Index e = 0; e < elements.count(); ++e) {
            m_runStart[e] = e;
            measureSpread(elements.down[e], &Segment::lower);
            measureSpread(elements.up[e], &Segment::upper);
        }
    }

    Blocks run()
    {
        for (Index l = 0; l + 1 < m_elements.layerCount(); ++l) {
            alignLayer(l);
        }
        return collectBlocks();
    }

private:
    /// How far each of the segments is from the middle one, among those that end in boxes.
    void measureSpread(std::span<const Index> segments, Index Segment::*end)
    {
        m_spread.clear();
        for (const Index segment : segments) {
            const Index far = m_elements.segments[segment].*end;
            if (segments.size() > 1 && m_elements.kind[far] == ElementKind::Node) {
                m_spread.push_back({m_elements.position[far], segment});
            }
        }
        std::sort(m_spread.begin(), m_spread.end());
        const auto last = static_cast<Index>(m_spread.size()) - 1;
        for (Index i = 0; i <= last; ++i) {
            m_offCentre[m_spread[i].second] += std::abs(2 * i - last);
        }
    }

    void alignLayer(Index l)
    {
        m_candidates.clear();
        for (const Index e : m_elements.layers[l]) {
            for (const Index segment : m_elements.down[e]) {
                const Index lower = m_elements.segments[segment].lower;
                m_candidates.push_back({claimOf(segment), m_run[e], m_offCentre[segment], m_elements.position[e],
                                        m_elements.position[lower], segment});
            }
        }
        std::sort(m_candidates.begin(), m_candidates.end());
        m_chosen.clear();
        for (const Candidate& candidate : m_candidates) {
            if (choose(candidate)) {
                const auto [upper, lower] = m_elements.segments[candidate.segment];
                m_runStart[lower] = m_runStart[upper];
                m_run[lower] = m_run[upper] + 1;
            }
        }
    }

    [[nodiscard]] Claim claimOf(Index segment) const
    {
        const auto [upper, lower] = m_elements.segments[segment];
        const ElementKind kind = m_elements.kind[upper];
        if (kind != m_elements.kind[lower]) {
            return Claim::Rest;
        }
        if (kind != ElementKind::Node) {
            return kind == ElementKind::Border ? Claim::Frame : Claim::Lane;
        }
        const Index above = m_ranking.above[upper];
        const Index below = m_ranking.below[lower];
        if (above + 1 + below == m_longest[m_ranking.component[upper]]) {
            return Claim::Trunk;
        }
        return m_ranking.above[lower] == above + 1 && m_ranking.below[upper] == below + 1 ? Claim::Branch : Claim::Rest;
    }

    /// Takes the candidate if it neither shares an end with a chosen one nor crosses one.
    bool choose(const Candidate& candidate)
    {
        const std::pair ends(candidate.upperPosition, candidate.lowerPosition);
        const auto next = std::lower_bound(m_chosen.begin(), m_chosen.end(), std::pair(ends.first, kNone));
        const bool fitsRight = next == m_chosen.end() || (next->first > ends.first && next->second > ends.second);
        const bool fitsLeft = next == m_chosen.begin() || std::prev(next)->second < ends.second;
        if (fitsRight && fitsLeft) {
            m_chosen.insert(next, ends);
        }
        return fitsRight && fitsLeft;
    }

    Blocks collectBlocks() const
    {
        Blocks out;
        out.block.assign(m_elements.kind.size(), kNone);
        Index blocks = 0;
        for (const Index e : m_elements.layers.items) {
            out.block[e] = m_runStart[e] == e ? blocks++ : out.block[m_runStart[e]];
        }
        const std::vector<Index>& inLayers = m_elements.layers.items;
        out.members =
            groupBy(static_cast<Index>(inLayers.size()), blocks, [&](Index i) { return out.block[inLayers[i]]; });
        for (Index& member : out.members.items) {
            member = inLayers[member];
        }
        return out;
    }

    const Elements& m_elements;
    const Ranking& m_ranking;
    std::vector<Index> m_longest;   // per component
    std::vector<Index> m_offCentre; // per segment
    std::vector<Index> m_runStart;  // per element: top of its run
    std::vector<Index> m_run;       // per element: length of its run down to it
    std::vector<std::pair<Index, Index>> m_spread;
    std::vector<Candidate> m_candidates;
    std::vector<std::pair<Index, Index>> m_chosen; // positions in both layers, both ascending
};

/// Chooses which segments are drawn vertical. Where two would cross or share an end, the first of this list wins: sides
/// of a frame, a longest path of the component (its trunk), the longest way on from and to both ends (trunks of
/// branches), lanes, the rest; then the longer run, then the middle one of several readers.
Blocks alignElements(const Elements& elements, const Ranking& ranking) { return Aligner(elements, ranking).run(); }

constexpr int kDriftRounds = 6;
constexpr int kSettleRounds = 4;

/// "At least `distance` from `block`", for the block that owns the list.
struct Distance
{
    Index block = kNone;
    double distance = 0.0;
};

/// Lists of one value type per block, flat.
template <class T>
struct PerBlock
{
    std::vector<Index> offsets{0};
    std::vector<T> items;

    [[nodiscard]] std::span<const T> operator[](Index block) const
    {
        return std::span(items).subspan(static_cast<std::size_t>(offsets[block]),
                                        static_cast<std::size_t>(offsets[block + 1] - offsets[block]));
    }
    void closeList() { offsets.push_back(static_cast<Index>(items.size())); }
};

/// Least distance of the centres of two elements that stand side by side, in whole units.
double separation(const Elements& elements, const LayoutOptions& options, Index left, Index right)
{
    const auto has = [&](ElementKind kind) { return elements.kind[left] == kind || elements.kind[right] == kind; };
    double gap = options.nodeGap;
    if (has(ElementKind::Border)) {
        gap = options.groupPadding;
    } else if (has(ElementKind::Lane)) {
        gap = options.laneGap;
    }
    return std::ceil((elements.width[left] + elements.width[right]) / 2 + gap);
}

/// Horizontal places of blocks: distances must hold, connected blocks want to be above each other.
class Placer
{
public:
    Placer(const Elements& elements, const Blocks& blocks, const LayoutOptions& options)
        : m_elements(elements), m_blocks(blocks), m_options(options),
          m_x(static_cast<std::size_t>(blocks.count()), 0.0), m_wish(m_x.size(), 0.0), m_leftmost(m_x.size(), 0.0)
    {
        collectDistances();
        collectNeighbours();
        sortLeftToRight();
    }

    /// x per block. Drifting moves whole crowds towards their wishes: the mean of "push everything to the right until
    /// wishes are met" and the same to the left keeps all distances, because both do. Settling then closes the slack
    /// that the mean leaves.
    std::vector<double> run(const std::stop_token& stop)
    {
        for (const Index block : m_order) {
            m_x[block] = lowBound(m_x, block, 0.0);
        }
        for (int i = 0; i < kDriftRounds && !stop.stop_requested(); ++i) {
            drift();
        }
        for (int i = 0; i < kSettleRounds && !stop.stop_requested(); ++i) {
            settle();
        }
        tightenFrames();
        for (double& x : m_x) {
            x = std::floor(x); // distances are whole numbers, so they survive
        }
        return std::move(m_x);
    }

private:
    void addDistance(PerBlock<Distance>& list, Index element, double distance)
    {
        const Index block = m_blocks.block[element];
        const auto first = static_cast<std::size_t>(list.offsets.back());
        if (list.items.size() > first && list.items.back().block == block) {
            list.items.back().distance = std::max(list.items.back().distance, distance);
        } else {
            list.items.push_back({block, distance});
        }
    }

    void collectDistances()
    {
        for (Index block = 0; block < m_blocks.count(); ++block) {
            for (const Index e : m_blocks.members[block]) {
                const auto layer = m_elements.layers[m_elements.layer[e]];
                const Index position = m_elements.position[e];
                if (position > 0) {
                    const Index other = layer[static_cast<std::size_t>(position) - 1];
                    addDistance(m_left, other, separation(m_elements, m_options, other, e));
                }
                if (position + 1 < static_cast<Index>(layer.size())) {
                    const Index other = layer[static_cast<std::size_t>(position) + 1];
                    addDistance(m_right, other, separation(m_elements, m_options, e, other));
                }
            }
            m_left.closeList();
            m_right.closeList();
        }
    }

    void addNeighbours(Index block, std::span<const Index> segments, Index Segment::*end)
    {
        for (const Index segment : segments) {
            const Index other = m_blocks.block[m_elements.segments[segment].*end];
            if (other != block) {
                m_neighbours.items.push_back(other);
            }
        }
    }

    void collectNeighbours()
    {
        for (Index block = 0; block < m_blocks.count(); ++block) {
            for (const Index e : m_blocks.members[block]) {
                addNeighbours(block, m_elements.up[e], &Segment::upper);
                addNeighbours(block, m_elements.down[e], &Segment::lower);
            }
            m_neighbours.closeList();
        }
    }

    /// Topological order of "left of".
    void sortLeftToRight()
    {
        std::vector<Index> waiting(m_x.size(), 0);
        for (const Distance& d : m_right.items) {
            ++waiting[d.block];
        }
        for (Index block = 0; block < m_blocks.count(); ++block) {
            if (waiting[block] == 0) {
                m_order.push_back(block);
            }
        }
        for (std::size_t i = 0; i < m_order.size(); ++i) {
            for (const Distance& d : m_right[m_order[i]]) {
                if (--waiting[d.block] == 0) {
                    m_order.push_back(d.block);
                }
            }
        }
    }

    [[nodiscard]] double lowBound(const std::vector<double>& x, Index block, double start) const
    {
        for (const Distance& d : m_left[block]) {
            start = std::max(start, x[d.block] + d.distance);
        }
        return start;
    }

    [[nodiscard]] double highBound(const std::vector<double>& x, Index block, double start) const
    {
        for (const Distance& d : m_right[block]) {
            start = std::min(start, x[d.block] - d.distance);
        }
        return start;
    }

    /// The place with the shortest connections: the median of the neighbours; between the two middle ones, the nearest
    /// to now.
    [[nodiscard]] double wish(Index block)
    {
        const auto neighbours = m_neighbours[block];
        if (neighbours.empty()) {
            return isBorder(block) ? tightest(block) : m_x[block];
        }
        m_scratch.clear();
        for (const Index other : neighbours) {
            m_scratch.push_back(m_x[other]);
        }
        const auto middle = m_scratch.begin() + static_cast<std::ptrdiff_t>(m_scratch.size() / 2);
        std::nth_element(m_scratch.begin(), middle, m_scratch.end());
        if (m_scratch.size() % 2 == 1) {
            return *middle;
        }
        return std::clamp(m_x[block], *std::max_element(m_scratch.begin(), middle), *middle);
    }

    [[nodiscard]] bool isBorder(Index block) const
    {
        return m_elements.kind[m_blocks.members[block].front()] == ElementKind::Border;
    }

    /// Where the side of a frame touches what it holds.
    [[nodiscard]] double tightest(Index border) const
    {
        const Index element = m_blocks.members[border].front();
        const GroupBorders& borders = m_elements.borders[m_elements.group[element]];
        return element < borders.firstRight ? highBound(m_x, border, std::numeric_limits<double>::infinity())
                                            : lowBound(m_x, border, -std::numeric_limits<double>::infinity());
    }

    /// Frames follow their content inwards. Inner frames come before outer ones in both directions.
    void tightenFrames()
    {
        const auto tighten = [this](Index block) {
            if (isBorder(block)) {
                m_x[block] = tightest(block);
            }
        };
        std::for_each(m_order.rbegin(), m_order.rend(), tighten);
        std::for_each(m_order.begin(), m_order.end(), tighten);
    }

    void drift()
    {
        for (Index block = 0; block < m_blocks.count(); ++block) {
            m_wish[block] = (m_x[block] + wish(block)) / 2; // half way, or two blocks would swap places for ever
        }
        for (const Index block : m_order) {
            m_leftmost[block] = lowBound(m_leftmost, block, m_wish[block]);
        }
        for (std::size_t i = m_order.size(); i-- > 0;) {
            m_wish[m_order[i]] = highBound(m_wish, m_order[i], m_wish[m_order[i]]);
        }
        for (std::size_t i = 0; i < m_x.size(); ++i) {
            m_x[i] = (m_leftmost[i] + m_wish[i]) / 2;
        }
    }

    void settleOne(Index block)
    {
        const double low = lowBound(m_x, block, -std::numeric_limits<double>::infinity());
        const double high = highBound(m_x, block, std::numeric_limits<double>::infinity());
        m_x[block] = std::max(low, std::min(wish(block), high));
    }

    void settle()
    {
        std::for_each(m_order.rbegin(), m_order.rend(), [this](Index block) { settleOne(block); });
        std::for_each(m_order.begin(), m_order.end(), [this](Index block) { settleOne(block); });
    }

    const Elements& m_elements;
    const Blocks& m_blocks;
    const LayoutOptions& m_options;
    PerBlock<Distance> m_left;
    PerBlock<Distance> m_right;
    PerBlock<Index> m_neighbours;
    std::vector<Index> m_order;
    std::vector<double> m_x;
    std::vector<double> m_wish;
    std::vector<double> m_leftmost;
    std::vector<double> m_scratch;
};

} // namespace

std::vector<double> placeElements(const Elements& elements, const Ranking& ranking, const LayoutOptions& options,
                                  const std::stop_token& stop)
{
    const Blocks blocks = alignElements(elements, ranking);
    const std::vector<double> blockX = Placer(elements, blocks, options).run(stop);
    std::vector<double> x(elements.kind.size(), 0.0);
    for (Index e = 0; e < elements.count(); ++e) {
        x[e] = blocks.block[e] == kNone ? 0.0 : blockX[blocks.block[e]];
    }
    placeSideLanes(elements, options, x);
    return x;
}

} // namespace retro::layout
