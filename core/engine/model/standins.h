// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/model/loadmodel.h"

#include <memory>
#include <stop_token>

namespace retro::engine
{

/// The same values and nodes by the same ids, with zeros for every constant that has no data: what is asked of shapes
/// and operators alone needs none. The graph itself where it lacks nothing. Errors (Input): a constant without data and
/// shape; Cancelled.
[[nodiscard]] base::Result<std::shared_ptr<const graph::Graph>>
withAllConstants(const std::shared_ptr<const graph::Graph>& graph, const std::stop_token& stop = {});

/// The model with such a graph, its rewrites as they are.
[[nodiscard]] base::Result<LoadedModel> withAllConstants(const LoadedModel& model, const std::stop_token& stop = {});

} // namespace retro::engine
