// SPDX-License-Identifier: Apache-2.0
#include "core/layout/alignment.h"

#include <tuple>

namespace retro::layout
{

namespace
{

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

} // namespace

Blocks alignElements(const Elements& elements, const Ranking& ranking) { return Aligner(elements, ranking).run(); }

} // namespace retro::layout
