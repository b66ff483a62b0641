// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/runnode.h"

#include <optional>

namespace retro::execute
{

/// The first value of a forward pass that its type in the model could not hold.
struct OverflowedValue
{
    NodeId node;
    ValueId value;
    tensor::DType type = tensor::DType::Float16; ///< of the value in the model
    std::int64_t count = 0;                      ///< finite elements beyond its largest number; they are infinite now
};

/// What a node's run() says of its results; nothing when they held.
[[nodiscard]] std::optional<OverflowedValue> overflowOf(const BoundModel& model, NodeId node,
                                                        const ops::Overflow& overflow);

/// The same of a whole pass whose values `valueOf` has: runs a node again where its result is infinite.
[[nodiscard]] std::optional<OverflowedValue> firstOverflow(const BoundModel& model, const ValueSource& valueOf);

} // namespace retro::execute
