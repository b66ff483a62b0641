// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/hash128.h"
#include "core/base/result.h"
#include "core/layout/layeredlayout.h"
#include "core/layout/layoutinput.h"
#include "core/layout/layoutmemo.h"

#include <stop_token>
#include <vector>

namespace retro::layout
{

/// As computeLayout(), but a group that is repeated (`isRepeated`, per group) is a picture of its own, which is made
/// once and stamped wherever a group is built alike: same boxes in the same order, same sizes, same edges, and the same
/// members read outside. What lies inside two such groups is equal up to a shift. Pictures that `memo` holds are not
/// made again. Layers of neighbours may overlap in y when what stands beside a group is not built like it. Errors as
/// computeLayout().
[[nodiscard]] base::Result<LayeredLayout> stampLayout(const LayoutInput& input, const std::vector<bool>& isRepeated,
                                                      const LayoutOptions& options, LayoutMemo& memo,
                                                      const std::stop_token& stop = {});

/// As layoutKey(), of what stampLayout() makes.
[[nodiscard]] base::Hash128 stampKey(const LayoutInput& input, const std::vector<bool>& isRepeated,
                                     const LayoutOptions& options);

} // namespace retro::layout
