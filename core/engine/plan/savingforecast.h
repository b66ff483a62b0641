// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/plan/passsubject.h"
#include "core/runtime/jointprogram.h"
#include "core/schedule/plan.h"
#include "core/trace/run.h"
#include "core/trace/runplan.h"

#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

namespace retro::engine
{

/// What a traversal under a plan keeps, drops and brings back.
struct SavingForecast
{
    std::size_t kept = 0; ///< forward values
    std::uint64_t keptBytes = 0;
    std::size_t dropped = 0;    ///< forward values
    std::size_t byPromise = 0;  ///< dropped values that promises bring
    std::size_t recomputed = 0; ///< dropped values that rules compute again
    std::uint32_t promises = 0;
    std::uint32_t visits = 0; ///< of the traversal
    std::uint64_t peak = 0;   ///< most bytes of the frontier of its recorded run (PlanSaving::peak)
    bool operator==(const SavingForecast&) const = default;
};

/// The two counts of dropped values, from what was booked.
void countReturns(const std::vector<trace::DroppedValue>& dropped, SavingForecast& counts);

/// Most bytes of the frontier of a run (trace::FrontierBytes). Errors: as trace::Timeline::open().
[[nodiscard]] base::Result<std::uint64_t> frontierPeak(const std::shared_ptr<const trace::Run>& run,
                                                       const std::stop_token& stop = {});

/// The traversal of a relevance pass with what a plan keeps, over no values: the counts of the pass that computes.
/// `program` is that of the subject; `followsDocument` as in ExplainRequest. Errors: Cancelled; as Traversal::step().
[[nodiscard]] base::Result<SavingForecast> forecastSaving(const PassSubject& subject,
                                                          const runtime::JointProgram& program,
                                                          const schedule::Plan& plan, bool followsDocument = false,
                                                          const std::stop_token& stop = {});

} // namespace retro::engine
