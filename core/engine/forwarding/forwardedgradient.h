// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"
#include "core/engine/gradient/gradient.h"

#include <memory>

namespace retro::engine
{

/// A gradient pass whose forward values came to the reverse rules as a plan says.
struct ForwardedGradient : ForwardingDone
{
    GradientResult gradient; ///< bit for bit that of engine::gradient(); `cells` counts nodes, `visited` rules
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
