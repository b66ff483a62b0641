// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"
#include "core/engine/lut/lutrun.h"

namespace retro::engine
{

/// Runs a LUT case once more as a model of its one layer and records it: the launches of the forward and of the
/// backward pass are events of the run, like those of every model. The layer `lut` is followed by `weigh` (·
/// grad_output) and `total` (the sum of all), whose gradient by `x` is then backward.dx of the case. Errors: Usage (a
/// case without grad_output), Input and Engine as of explain().
[[nodiscard]] base::Result<ExplainResult> recordLutCase(const formats::LutCase& given, const LutRunOptions& options);

} // namespace retro::engine
