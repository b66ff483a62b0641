// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/schedule/simulator.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace retro::schedule
{

/// Something that is in memory while a plan is at its peak.
struct PeakTensor
{
    std::string name;
    std::uint64_t bytes = 0;
    std::uint32_t born = 0; ///< step of the plan that made it (or fetched it)
    std::uint32_t dies = 0; ///< step at which it goes; the number of steps when it stays
    std::string why;        ///< "result of conv1", "operand of conv1", "read by d:conv1", "required at the end", …
};

/// Everything in memory at a step of a plan, largest first, then by name; workspace of the operator at work included.
/// The bytes add up to the step's transient. `run` is what the simulator says of the plan.
[[nodiscard]] std::vector<PeakTensor> tensorsAt(const OpGraph& graph, const Plan& plan, const Simulation& run,
                                                std::size_t step);
/// The same at the first step that reaches the peak; none for a plan without steps.
[[nodiscard]] std::vector<PeakTensor> peakTensors(const OpGraph& graph, const Plan& plan, const Simulation& run);
/// The same when nothing is computed twice, in the order of the ids.
[[nodiscard]] std::vector<PeakTensor> storeAllPeakTensors(const OpGraph& graph);
/// What is in memory at a peak, as answers say it: name, bytes, born, dies, why.
[[nodiscard]] nlohmann::ordered_json peakTensorsJson(const std::vector<PeakTensor>& tensors);

} // namespace retro::schedule
