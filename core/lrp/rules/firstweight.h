// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/execute/boundmodel.h"

#include <string>
#include <vector>

namespace retro::lrp
{

/// Per node: true when it depends on the graph input `name`; on any, when `name` is empty. What the first layer of a
/// composite is looked for among (docs/composites.md, "The first layer"). Errors (Usage): the graph has no input of
/// that name; the message lists those it has.
[[nodiscard]] base::Result<std::vector<bool>> nodesBelowInput(const execute::BoundModel& model,
                                                              const std::string& name);

} // namespace retro::lrp
