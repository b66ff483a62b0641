// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/model/loadmodel.h"
#include "core/execute/boundmodel.h"
#include "core/execute/forward.h"

#include <string>
#include <vector>

namespace retro::engine
{

/// The precision in which a model is computed unless somebody asks for another: float64 where it has float64 values,
/// else float32; narrower types of the model are rounded to in either.
[[nodiscard]] execute::Precision precisionOf(const LoadedModel& model);

/// The element types of a model that results are rounded to in a run of this precision, since it stores them wider: by
/// name, without repeats.
[[nodiscard]] std::vector<std::string> roundedTypes(const graph::Graph& graph, execute::Precision precision);

/// For people: what values are stored in, and what is rounded.
[[nodiscard]] std::string precisionText(const graph::Graph& graph, execute::Precision precision);

/// What a person should know of a value that its type in the model could not hold; empty when there is none.
[[nodiscard]] std::string overflowWarning(const graph::Graph& graph,
                                          const std::optional<execute::OverflowedValue>& overflow);

} // namespace retro::engine
