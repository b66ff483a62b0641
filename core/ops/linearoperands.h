// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/structure.h"

#include <cstddef>

namespace retro::ops
{

/// A function whose reverse rule is all that its structure tells, but which is linear in some operands, the others
/// held: CumSum, Resize, Einsum. Its derivative in the direction of such an operand is the function itself, of that
/// direction.
class LinearOperands
{
public:
    virtual ~LinearOperands() = default;
    /// True when the result is linear in operand `slot`.
    [[nodiscard]] virtual bool isLinearIn(std::size_t slot) const = 0;
};

/// True when `structure` is known to be linear in operand `slot`.
[[nodiscard]] inline bool isLinearIn(const Structure& structure, std::size_t slot)
{
    const auto* linear = dynamic_cast<const LinearOperands*>(&structure);
    return linear != nullptr && linear->isLinearIn(slot);
}

} // namespace retro::ops
