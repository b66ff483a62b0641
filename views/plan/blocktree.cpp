// SPDX-License-Identifier: Apache-2.0
#include "views/plan/blocktree.h"

#include "core/schedule/cutchain.h"

#include <QCoreApplication>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

using schedule::Interval;
using schedule::kNone;

/// Most blocks that the graph's own cuts give.
constexpr std::size_t kMostCuts = 8;

QString treeText(const char* text) { return QCoreApplication::translate("retro::views::BlockTree", text); }

/// Puts intervals of blocks into boxes of rows.
class Boxes
{
public:
    Boxes(const ScheduleMatrix& matrix, const std::vector<std::uint32_t>& ends, const std::vector<Interval>& intervals)
        : m_matrix(matrix), m_ends(ends), m_intervals(intervals)
    {}

    /// One interval and what is below it; blocks themselves stand in the level behind the last split.
    void add(std::uint32_t at, std::uint32_t level)
    {
        if (at >= m_intervals.size() || level > kMaxTreeLevels) {
            return;
        }
        const Interval& one = m_intervals[at];
        addBox(one.low, one.high, level);
        if (one.left == kNone && one.right == kNone && one.high > one.low + 1) {
            addBlocks(one.low, one.high, level + 1);
        }
        // Only forwards: a damaged file cannot make it go round.
        for (const std::uint32_t child : {one.left, one.right}) {
            if (child != kNone && child > at) {
                add(child, level + 1);
            }
        }
    }

    void addBlocks(std::uint32_t low, std::uint32_t high, std::uint32_t level)
    {
        for (std::uint32_t block = low; level <= kMaxTreeLevels && block < high; ++block) {
            addBox(block, block + 1, level);
        }
    }

    /// Blocks that no interval below the root holds: a node with many children is told without them.
    void addUncovered(std::uint32_t count)
    {
        const auto rows = m_matrix.rowsOfPosition();
        for (std::uint32_t block = 0; block < count; ++block) {
            const std::uint32_t start = block == 0 ? 0 : m_ends[block - 1];
            if (start < rows.size() && tree.boxAt(rows[start]) <= 0) {
                addBox(block, block + 1, 1);
            }
        }
    }

    void addBox(std::uint32_t low, std::uint32_t high, std::uint32_t level)
    {
        const auto rows = m_matrix.rowsOfPosition();
        if (low >= high || high > m_ends.size() || m_ends[high - 1] >= rows.size()) {
            return;
        }
        const std::uint32_t from = rows[low == 0 ? 0 : m_ends[low - 1]];
        const std::uint32_t until = rows[m_ends[high - 1]];
        if (from < until) {
            const QString label = level == 0        ? treeText("%1 operators").arg(m_ends[high - 1])
                                  : high == low + 1 ? treeText("block %1").arg(high)
                                                    : treeText("blocks %1–%2").arg(low + 1).arg(high);
            tree.boxes.push_back({level, from, until, label});
            tree.levels = std::max(tree.levels, level + 1);
        }
    }

    BlockTree tree;

private:
    const ScheduleMatrix& m_matrix;
    const std::vector<std::uint32_t>& m_ends;
    const std::vector<Interval>& m_intervals;
};

std::vector<std::uint32_t> cutsOf(const analysis::JointGraph& joint)
{
    const schedule::Halves halves = schedule::halvesOf(joint.graph, schedule::storeAllSequence(joint.graph));
    const auto few = static_cast<std::size_t>(std::sqrt(static_cast<double>(halves.forward.size())));
    return halves.forward.empty()
               ? std::vector<std::uint32_t>()
               : schedule::narrowEnds(joint.graph, halves.forward, std::clamp(few, std::size_t{1}, kMostCuts));
}

} // namespace

int BlockTree::boxAt(std::uint32_t row) const
{
    int best = -1;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        const bool isInside = boxes[i].from <= row && row < boxes[i].until;
        if (isInside && (best < 0 || boxes[i].level >= boxes[static_cast<std::size_t>(best)].level)) {
            best = static_cast<int>(i);
        }
    }
    return best;
}

BlockTree blockTree(const analysis::JointGraph& joint, const schedule::Plan& plan, const ScheduleMatrix& matrix)
{
    const bool isOfPlan = !plan.annotations.blocks.empty();
    const std::vector<std::uint32_t> ends = isOfPlan ? plan.annotations.blocks : cutsOf(joint);
    const auto count = static_cast<std::uint32_t>(ends.size());
    const bool hasTree = isOfPlan && !plan.annotations.intervals.empty();
    std::vector<Interval> intervals = hasTree ? plan.annotations.intervals : std::vector<Interval>();
    if (!isOfPlan && count > 0) {
        intervals = schedule::bottomUpTree(count);
    }
    Boxes boxes(matrix, ends, intervals);
    if (!intervals.empty()) {
        boxes.add(0, 0);
        boxes.addUncovered(count);
    } else if (count > 0) {
        boxes.addBox(0, count, 0);
        boxes.addBlocks(0, count, 1);
    }
    boxes.tree.isOfPlan = isOfPlan;
    return std::move(boxes.tree);
}

} // namespace retro::views
