// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/forwarding/forwarding.h"
#include "core/engine/gradient/gradient.h"

#include <cstdint>
#include <map>
#include <memory>

namespace retro::engine
{

/// A gradient pass whose forward values came to the reverse rules as a plan says.
struct ForwardedGradient
{
    GradientResult gradient;      ///< bit for bit that of engine::gradient(); `cells` counts nodes, `visited` rules
    ForwardingPlan plan;          ///< with what was kept; an alias names whose memory it is
    std::int64_t storedBytes = 0; ///< that storing every value by itself would have kept
    std::int64_t keptBytes = 0;   ///< that were kept between forward and reverse
    std::map<base::NodeId, std::size_t> rebuilt; ///< nodes that were computed again: how often

    /// Computations of nodes beyond those of the forward pass.
    [[nodiscard]] std::size_t rebuilds() const { return forwarding().rebuilds(); }
    /// What became of the forward values, as relevance passes say it.
    [[nodiscard]] ForwardingDone forwarding() const { return {plan, storedBytes, keptBytes, rebuilt}; }
};

/// As gradient(): the same rules, the same sums in the same order, other memory. An event::PerformanceObserver of this
/// thread is told of every computation, and at the end of every value's form. Errors: as gradient(),
/// chooseForwarding().
[[nodiscard]] base::Result<ForwardedGradient> forwardedGradient(std::shared_ptr<const execute::BoundModel> model,
                                                                const GradientRequest& request,
                                                                const ForwardingOptions& wish,
                                                                const std::stop_token& stop = {});
/// The same over a model that is not bound yet.
[[nodiscard]] base::Result<ForwardedGradient> forwardedGradient(const LoadedModel& model,
                                                                const GradientRequest& request,
                                                                const ForwardingOptions& wish,
                                                                const std::stop_token& stop = {});

} // namespace retro::engine
