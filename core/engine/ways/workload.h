// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

namespace retro::engine
{

/// What an explanation will take: memory worked out from the shapes of the bound model, time from some nodes of each
/// kind that are run and timed (sampledTime()).
struct PassEstimate
{
    std::uint64_t weightBytes = 0;  ///< of all constants, each once: pages of mapped files count as they are read
    std::uint64_t keptBytes = 0;    ///< forward values that are kept for the rules
    std::uint64_t stepBytes = 0;    ///< that the largest step takes beside them
    std::uint64_t tensorBytes = 0;  ///< the most that tensors take together: what --memory bounds
    std::uint64_t processBytes = 0; ///< the most that the process has in memory, weights included
    double flops = 0;               ///< of forward and relevance pass, multiply-add counted as two
    double secondsOpening = 0;      ///< what opening the model and binding it took
    double secondsForward = 0;      ///< on the threads at hand
    double secondsRelevance = 0;    ///< the same, with what is computed again
    double seconds = 0;             ///< of all three, by a clock
    double processorSeconds = 0;    ///< of all threads, and of all that the process has done before
    bool isTimed = false;           ///< false: it does not fit into memory, and nothing was run

    /// The estimate in words.
    [[nodiscard]] std::vector<std::string> lines() const;
};

/// Seconds that nodes are timed for, where somebody waits for the estimate alone.
inline constexpr double kMostSampling = 5;

/// Binds the model for the request's inputs and works out what it takes. Of a transformer that takes about as long as
/// three of its layers; beside binding at most some `sampling` seconds, after which kinds of nodes count by their
/// operations. Errors: as explain(), for what does not bind or does not run.
[[nodiscard]] base::Result<PassEstimate> estimate(const LoadedModel& model, const ExplainRequest& request,
                                                  const std::stop_token& stop = {}, double sampling = kMostSampling);

/// Refuses (Memory) what takes more than base::MemoryLimit allows, or more than the machine has free.
[[nodiscard]] base::Result<void> checkEstimate(const PassEstimate& estimate);

} // namespace retro::engine
