// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/boundoperator.h"

#include <cstdint>
#include <span>

namespace retro::ops
{

/// An operator whose reverse rule reads less for some of its operands than savedForGradient() names for all.
class ReadsBySlot
{
public:
    virtual ~ReadsBySlot() = default;
    /// What the parts of these operand slots read (1 = this one).
    [[nodiscard]] virtual Reads readsFor(std::span<const std::uint8_t> slots) const = 0;
};

/// Of a product of operands 0 and 1 to which a third may be added: each factor reads the other.
[[nodiscard]] inline Reads readsOfProduct(std::span<const std::uint8_t> slots)
{
    Reads reads;
    reads.operands |= slots[0] != 0 ? Reads::bit(1) : 0;
    reads.operands |= slots[1] != 0 ? Reads::bit(0) : 0;
    return reads;
}

} // namespace retro::ops
