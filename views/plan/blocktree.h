// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/plan/schedulematrix.h"

#include <QString>

#include <vector>

namespace retro::views
{

/// A box of the interval tree: rows from … until, the last excluded.
struct TreeBox
{
    std::uint32_t level = 0; ///< 0 = the whole graph
    std::uint32_t from = 0;
    std::uint32_t until = 0;
    QString label;
};

/// Intervals of operators beside the matrix: those by which the plan was made, or, where values are chosen one by one,
/// those between the narrowest cuts of the graph.
struct BlockTree
{
    std::vector<TreeBox> boxes; ///< parents before their children
    std::uint32_t levels = 0;
    bool isOfPlan = false; ///< the plan's own; else the graph's

    /// The deepest box around a row; −1 when there is none.
    [[nodiscard]] int boxAt(std::uint32_t row) const;
};

/// Most levels that are drawn.
inline constexpr std::uint32_t kMaxTreeLevels = 4;

[[nodiscard]] BlockTree blockTree(const analysis::JointGraph& joint, const schedule::Plan& plan,
                                  const ScheduleMatrix& matrix);

} // namespace retro::views
