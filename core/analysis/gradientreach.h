// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/analysis/opgraph.h"

#include <vector>

namespace retro::analysis
{

/// Which gradient operators follow which, and what must wait while one runs.
class GradientReach
{
public:
    /// Empty when there are more than `most` gradient operators. O(operators² / 64) words and O(operators²) time.
    GradientReach(const OpGraph& joint, std::size_t most);

    /// The gradient operators, ascending; empty when there were too many.
    [[nodiscard]] const std::vector<OpId>& gradients() const { return m_gradients; }
    /// Bytes of gradients that are made before `op` (a gradient operator) and read after it in every order, without
    /// those that it reads itself.
    [[nodiscard]] std::uint64_t waitingBytes(OpId op) const { return m_waiting[m_rank[op]]; }

private:
    using Row = std::vector<std::uint64_t>;

    void findReach(const OpGraph& joint);
    void findBefore(const OpGraph& joint, OpId op);
    void addWaiting(const OpGraph& joint, OpValueId value);

    std::vector<OpId> m_gradients;
    std::vector<std::uint32_t> m_rank; ///< position in m_gradients, per operator
    std::vector<Row> m_before;         ///< ancestors, per gradient operator
    std::vector<Row> m_after;          ///< descendants
    std::vector<std::uint64_t> m_waiting;
};

} // namespace retro::analysis
