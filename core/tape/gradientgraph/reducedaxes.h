// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tape/gradientgraph/emitrule.h"

#include <cstdint>
#include <vector>

namespace retro::tape
{

/// The axes that a reduction or a global pool makes one result of, and values of that result beside its operand. Right
/// for free extents as well.
class ReducedAxes
{
public:
    explicit ReducedAxes(EmitSite& site);

    /// Counted from the front, ascending.
    [[nodiscard]] const std::vector<std::int64_t>& axes() const { return m_axes; }
    [[nodiscard]] bool keepsAxes() const { return m_keepsAxes; }
    /// A value of the result's shape, in one that broadcasts against the operand.
    [[nodiscard]] ValueId widened(ValueId value) const;
    /// Repeated to the operand's shape.
    [[nodiscard]] ValueId spread(ValueId value) const;
    /// Divided by how many elements one result is made of.
    [[nodiscard]] ValueId perElement(ValueId value) const;
    /// What arrived, all of it to the first of the elements that `choose` (ArgMax, ArgMin) names.
    [[nodiscard]] ValueId toWinners(std::string_view choose) const;

private:
    EmitSite& m_site;
    std::vector<std::int64_t> m_axes;
    bool m_keepsAxes;
};

} // namespace retro::tape
