// SPDX-License-Identifier: Apache-2.0
#include "core/layout/placement.h"

#include "core/layout/alignment.h"
#include "core/layout/sidelanes.h"

#include <cmath>
#include <limits>

namespace retro::layout
{

namespace
{

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
