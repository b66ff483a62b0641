// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/structure.h"

namespace retro::ops
{

/// Marks shape maps in which a mask decides which elements come from elsewhere (Where, Trilu): relevance that arrives
/// at an element of no tracked operand was masked out.
class Masking
{
public:
    virtual ~Masking() = default;
};

/// True for shape maps with a mask.
[[nodiscard]] inline bool isMasking(const Structure& structure)
{
    return dynamic_cast<const Masking*>(&structure) != nullptr;
}

} // namespace retro::ops
