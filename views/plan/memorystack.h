// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace retro::views
{

struct ShownPlan;

/// What a tensor in memory is for.
enum class StackKind : std::uint8_t {
    Kept,     ///< a forward value, as the plan keeps it
    Rebuilt,  ///< a forward value that came back
    Relevance ///< relevance (gradient) that waits to be used, or workspace
};

/// A stay of a tensor in memory: columns from … until, the last excluded.
struct StackBand
{
    std::uint32_t row = 0; ///< of the forward value; kNone for relevance
    StackKind kind = StackKind::Kept;
    std::uint32_t from = 0;
    std::uint32_t until = 0;
    std::uint64_t bytes = 0;
    std::string name;
    std::string why; ///< "kept", "argument of P3", "waits at conv1"
};

/// Memory over the columns of a schedule, tensor by tensor.
struct MemoryStack
{
    std::vector<StackBand> bands;    ///< by start
    std::vector<std::uint64_t> sums; ///< bytes per column: the sum of its bands

    /// What is in memory at a column, largest first.
    [[nodiscard]] std::vector<const StackBand*> at(std::uint32_t column) const;
    /// Sorts the bands and sums them up over so many columns.
    void finish(std::size_t columns);
};

/// What the simulator has in memory at every column of a plan. Without bands where the plan has more stays than can be
/// told apart in a picture.
[[nodiscard]] MemoryStack stackOf(const ShownPlan& plan);

} // namespace retro::views
