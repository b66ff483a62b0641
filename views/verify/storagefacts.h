// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"

#include <QString>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <vector>

namespace retro::views
{

/// Bytes in memory per step, forward then backward, and what rebuilding costs.
struct StorageTrack
{
    std::vector<std::int64_t> bytes; ///< per step
    std::size_t forwardSteps = 0;
    std::int64_t peak = 0;
    double extraCost = 0;

    /// The first step that holds the peak.
    [[nodiscard]] std::size_t peakStep() const;
};

/// A tensor that a gradient reads: stored until then, or rebuilt there.
struct StorageTensor
{
    std::uint32_t id = 0; ///< for follow()
    QString name;
    base::NodeId node;   ///< that makes it, of the run's graph; may be invalid
    base::ValueId value; ///< of the run's graph
    std::int64_t bytes = 0;
    double cost = 0; ///< of computing it once
};

/// How a forward value got to the rules that read it, in the run on screen.
struct ForwardedTensor
{
    trace::ForwardedValue what;
    QString name;
    base::NodeId node; ///< that makes it
};

/// A forward and a gradient pass of the model on screen as memory sees it. Immutable; made by the window.
struct StorageFacts
{
    std::vector<StorageTensor> tensors; ///< ascending by id
    QString costUnit;                   ///< "FLOP"
    /// The curve when these tensors are rebuilt and all others stored. Any thread.
    std::function<StorageTrack(const std::set<std::uint32_t>& rebuilt)> follow;
};

using StorageFactsPointer = std::shared_ptr<const StorageFacts>;

} // namespace retro::views
