// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

namespace retro::engine
{

/// What an explanation will take, worked out from the shapes of the bound model; nothing of it runs.
struct PassEstimate
{
    std::uint64_t weightBytes = 0;  ///< of all constants, each once: pages of mapped files count as they are read
    std::uint64_t keptBytes = 0;    ///< forward values that are kept for the rules
    std::uint64_t stepBytes = 0;    ///< that the largest step takes beside them
    std::uint64_t tensorBytes = 0;  ///< the most that tensors take together: what --memory bounds
    std::uint64_t processBytes = 0; ///< the most that the process has in memory, weights included
    double flops = 0;               ///< of forward and relevance pass, multiply-add counted as two
    double seconds = 0;             ///< on the threads at hand, from a product that is timed on the spot

    /// The estimate in words.
    [[nodiscard]] std::vector<std::string> lines() const;
};

/// Binds the model for the request's inputs and works out what it takes. Takes some 0.1 s beside binding. Errors: as
/// explain(), for what does not bind.
[[nodiscard]] base::Result<PassEstimate> estimate(const LoadedModel& model, const ExplainRequest& request,
                                                  const std::stop_token& stop = {});

/// Refuses (Memory) what takes more than base::MemoryLimit allows, or more than the machine has free.
[[nodiscard]] base::Result<void> checkEstimate(const PassEstimate& estimate);

} // namespace retro::engine
