// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"
#include "core/engine/forwarding/forwardedstore.h"
#include "core/engine/model/programcache.h"
#include "core/execute/forward.h"

#include <memory>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

namespace retro::engine
{

/// What a recorded run says was saved, of a pass whose forward values came in chosen forms.
inline constexpr std::string_view kForwardedSaving = "forwarded";

/// Where the forward values of a pass from `targets` on will lie, in the forms that are wished for; `alsoKept` are kept
/// as they are, for inspection. Errors: as chooseForwarding().
[[nodiscard]] base::Result<std::shared_ptr<ForwardedStore>>
forwardedStore(const LoadedModel& model, const Prepared& prepared, const lrp::TraversalGraph& graph,
               const ForwardingOptions& wish, const std::vector<base::ValueId>& targets,
               std::span<const base::ValueId> alsoKept);

/// The forward pass into such a store, or one that hands all on to it. Errors: as execute::forward().
[[nodiscard]] base::Result<execute::ForwardResult>
forwardInForms(std::shared_ptr<execute::ValueStore> store, const std::shared_ptr<const execute::BoundModel>& model,
               std::span<const tensor::Tensor> inputs, const std::stop_token& stop, const execute::Progress& progress);

/// What became of the values, after the pass; tells it to whoever watches (event::PerformanceObserver).
[[nodiscard]] ForwardingDone forwardingDone(const ForwardedStore& store);

} // namespace retro::engine
