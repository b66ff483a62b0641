// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/schedule/replay.h"

namespace retro::schedule
{

/// A joint graph as a chain: its forward operators cut into stages where little crosses, its gradient operators given
/// to the stages whose values they read.
class CutChain
{
public:
    /// Stages end behind `ends` (ascending positions in the forward order, exclusive; the last is its length).
    CutChain(const OpGraph& graph, Halves halves, std::vector<std::uint32_t> ends);

    [[nodiscard]] std::size_t size() const { return m_ends.size(); }
    [[nodiscard]] const std::vector<std::uint32_t>& ends() const { return m_ends; }
    /// Forward operators of a stage, in order.
    [[nodiscard]] std::span<const OpId> forward(std::size_t stage) const;
    /// Gradient operators of a stage, in order.
    [[nodiscard]] std::span<const OpId> gradient(std::size_t stage) const;
    /// Values made in stages up to `stage` that a forward operator of a later stage reads.
    [[nodiscard]] const std::vector<OpValueId>& crossing(std::size_t stage) const { return m_crossing[stage]; }
    [[nodiscard]] std::uint64_t crossingBytes(std::size_t stage) const { return m_crossingBytes[stage]; }
    [[nodiscard]] const OpGraph& graph() const { return m_graph; }
    /// Stage of the forward operator that makes a value; kNone for gradients and given values.
    [[nodiscard]] std::uint32_t stageOf(OpValueId value) const { return m_stageOfValue[value]; }

private:
    void findCrossing();
    void giveGradients();

    const OpGraph& m_graph;
    Halves m_halves;
    std::vector<std::uint32_t> m_ends;
    std::vector<std::uint32_t> m_stageOfValue;
    std::vector<std::vector<OpValueId>> m_crossing;
    std::vector<std::uint64_t> m_crossingBytes;
    std::vector<std::size_t> m_gradientEnd; ///< per stage: gradients of it and of later stages
};

/// Ends of about `most` stages (at most a third more): the narrowest boundaries near equal numbers of operators.
[[nodiscard]] std::vector<std::uint32_t> narrowEnds(const OpGraph& graph, const std::vector<OpId>& forward,
                                                    std::size_t most);
/// Every `size` operators.
[[nodiscard]] std::vector<std::uint32_t> regularEnds(std::size_t length, std::size_t size);

/// How an interval of stages is replayed.
struct Split
{
    std::vector<std::uint32_t> cuts; ///< stages at which later children begin; empty = a leaf
    std::vector<int> states;         ///< per child, handed on to its own split
    bool keepsInside = true;         ///< leaf: what is rebuilt stays until the leaf ends, else until its stage does
};

/// Decides how stages low … high − 1 are replayed.
class Splitter
{
public:
    virtual ~Splitter() = default;
    /// Where the interval is cut when `states` more states may be held; low < high.
    [[nodiscard]] virtual Split split(std::uint32_t low, std::uint32_t high, int states) const = 0;
};

/// A sequence with the tree that it was made by.
struct IntervalReplay
{
    std::vector<OpId> sequence;
    std::vector<Interval> tree; ///< in stages; children of a node with more than two are not in it
};
/// Interval replay (docs/planning.md, `interval`): a node runs forward to its last cut, holding what crosses its cuts,
/// replays its children from right to left, and drops what crossed. A leaf runs the gradients of its stages, rebuilding
/// what they read. None when something had to run twice that may not.
[[nodiscard]] std::optional<IntervalReplay> replayIntervals(const CutChain& chain, const Splitter& splitter,
                                                            int states);

/// Halves intervals of more than `leaf` stages.
class MidpointSplitter : public Splitter
{
public:
    explicit MidpointSplitter(std::uint32_t leaf) : m_leaf(leaf) {}
    [[nodiscard]] Split split(std::uint32_t low, std::uint32_t high, int states) const override;

private:
    std::uint32_t m_leaf;
};

/// One level: every stage is a leaf.
class FlatSplitter : public Splitter
{
public:
    [[nodiscard]] Split split(std::uint32_t low, std::uint32_t high, int states) const override;
};

/// Pairs consecutive leaves bottom up, an odd one is carried up; half-open intervals of leaf positions, root first.
[[nodiscard]] std::vector<Interval> bottomUpTree(std::uint32_t leaves);

} // namespace retro::schedule
