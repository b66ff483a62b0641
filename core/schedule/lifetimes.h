// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/analysis/opgraph.h"

namespace retro::schedule
{

using analysis::kNone;
using analysis::OpGraph;
using analysis::OpId;
using analysis::OpValueId;

/// One stay of a value in memory: from the computation that makes it to its last reader before it is made again.
struct Instance
{
    OpValueId value = 0;
    std::uint32_t start = 0;
    std::uint32_t end = 0; ///< inclusive; `start` when nobody reads it; the last position for what must stay
    bool isLast = true;    ///< no later instance of the value
};

/// All stays of a sequence of computations, by start. Pinned values are left out.
[[nodiscard]] std::vector<Instance> instancesOf(const OpGraph& graph, const std::vector<OpId>& sequence);
/// Bytes in memory while each computation runs (transient), workspace included.
[[nodiscard]] std::vector<std::uint64_t> memoryOf(const OpGraph& graph, const std::vector<OpId>& sequence);
/// The same with the stays of the sequence, where they are known.
[[nodiscard]] std::vector<std::uint64_t> memoryOf(const OpGraph& graph, const std::vector<OpId>& sequence,
                                                  const std::vector<Instance>& instances);
/// Largest of memoryOf(); 0 for no computation.
[[nodiscard]] std::uint64_t peakOf(const OpGraph& graph, const std::vector<OpId>& sequence);
/// Sum of the costs of the computations.
[[nodiscard]] double costOf(const OpGraph& graph, const std::vector<OpId>& sequence);

} // namespace retro::schedule
