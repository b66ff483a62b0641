// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/boundoperator.h"

namespace retro::ops
{

/// Marks operators that round, and whose reverse rule passes by the rounding as if it were not there: their slope is
/// zero or does not exist.
class StraightThrough
{
public:
    virtual ~StraightThrough() = default;
    /// True where elements are held within the range of a quantised type: relevance that arrives at one that was beyond
    /// it goes nowhere.
    [[nodiscard]] virtual bool saturates() const { return false; }
};

/// How far beyond the range of whole numbers from `least` to `most` lies what has saturated: at least half a step, and
/// so large a part of the range.
[[nodiscard]] double saturationMargin(double least, double most);

/// True for operators that round.
[[nodiscard]] inline bool isStraightThrough(const BoundOperator& op)
{
    return dynamic_cast<const StraightThrough*>(&op) != nullptr;
}
/// True for operators whose elements can saturate.
[[nodiscard]] inline bool isSaturating(const BoundOperator& op)
{
    const auto* rounding = dynamic_cast<const StraightThrough*>(&op);
    return rounding != nullptr && rounding->saturates();
}

} // namespace retro::ops
