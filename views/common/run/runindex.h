// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace retro::views
{

/// When the relevance of which value was known in full. Positions are numbers of events applied. Immutable.
class RunIndex
{
public:
    RunIndex() = default;
    explicit RunIndex(const trace::Run& run);

    /// Position after which the relevance of a node's output is known; none when it never is.
    [[nodiscard]] std::optional<std::uint64_t> relevanceStep(base::NodeId node, std::uint32_t output) const;
    /// The value whose relevance was known last at a position, of those that have elements; invalid before the first.
    [[nodiscard]] base::ValueId lastArrived(std::uint64_t position) const;

private:
    // (node << 32 | output, position), sorted
    std::vector<std::pair<std::uint64_t, std::uint64_t>> m_relevanceSteps;
    // (position, value) by position
    std::vector<std::pair<std::uint64_t, base::ValueId>> m_arrivals;
};

} // namespace retro::views
