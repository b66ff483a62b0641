// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/rewrite/pattern.h"

namespace retro::rewrite
{

/// The factor of a scaled dot product, gathered from where exporters put it: constants on the scores, on queries, on
/// keys, and roots of the width of a head that is read from a shape.
class ScoreScale
{
public:
    /// Takes factors off a value that is read once; what is left.
    ValueId takeFrom(Pattern& pattern, ValueId value);
    /// Looks what the computed factors are, now that the queries are known: nothing, or 1/√width as a whole. Their
    /// nodes become members. False: neither.
    [[nodiscard]] bool resolve(Pattern& pattern, ValueId q);
    /// False when factors are computed, which resolve() must look at.
    [[nodiscard]] bool isConstant() const { return m_computed.empty(); }
    /// The factor is 1/√width, the default of Attention.
    [[nodiscard]] bool isByWidth() const { return m_isByWidth; }
    [[nodiscard]] double factor() const { return m_factor; }

private:
    double m_factor = 1;
    std::vector<Power> m_computed; ///< factors that are no constants
    bool m_isByWidth = false;
};

} // namespace retro::rewrite
