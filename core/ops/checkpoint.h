// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/structure.h"

namespace retro::ops
{

/// Marks the identity that asks for a snapshot of the relevance of its result (ai.retrograde::Checkpoint).
class CheckpointMark
{
public:
    virtual ~CheckpointMark() = default;
};

/// True for an operator that is an LRP checkpoint.
[[nodiscard]] inline bool isCheckpoint(const Structure& structure)
{
    return dynamic_cast<const CheckpointMark*>(&structure) != nullptr;
}

} // namespace retro::ops
