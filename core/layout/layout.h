// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/layout/layeredlayout.h"
#include "core/layout/layoutinput.h"

#include <stop_token>

namespace retro::layout
{

/// Draws a directed graph without cycles in layers, sources on top. The same input gives the same picture, bit for bit.
/// Method: longest-path layers, long edges cut into lanes, barycentre sweeps, then vertical runs chosen by importance
/// (trunk first) and moved as wholes, so that chains and residual lanes are straight lines. Near-linear in nodes +
/// edges. Errors (Input): a cycle, an index out of range, a size that is negative or not finite, a broken group tree.
/// Cancelled: stopped.
[[nodiscard]] base::Result<LayeredLayout> computeLayout(const LayoutInput& input, const LayoutOptions& options = {},
                                                        const std::stop_token& stop = {});

} // namespace retro::layout
