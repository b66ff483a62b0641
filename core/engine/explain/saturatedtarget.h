// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/target.h"
#include "core/execute/forward.h"

#include <optional>

namespace retro::engine
{

/// A target that a quantiser made alone, whose relevance ends there: what arrives at a saturated element goes nowhere.
struct SaturatedTarget
{
    base::NodeId quantiser;
    base::ValueId before; ///< what it reads, of the shape of the target
};

/// The quantiser that a value is the result of, through nodes that hand elements on, where it can saturate; else
/// invalid.
[[nodiscard]] base::NodeId quantiserOf(const execute::BoundModel& model, base::ValueId value);

/// The quantiser that a target is the result of, through nodes that hand elements on, where all that starts in some
/// sample ends at it. None where nothing does, and where the forward pass did not keep what the quantiser reads.
[[nodiscard]] std::optional<SaturatedTarget>
saturatedTarget(const execute::BoundModel& model, const ResolvedTarget& target, const execute::ForwardResult& forward);

} // namespace retro::engine
