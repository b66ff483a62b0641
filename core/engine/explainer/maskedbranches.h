// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/boundmodel.h"

#include <vector>

namespace retro::engine
{

/// Forward values that may be NaN or infinite in a branch which a choice behind it (Where, Imputer) replaces: what a
/// logarithm, a root, a power, a quotient or an exponential made, and what is made of it up to the choice. No relevance
/// arrives where such a value is replaced, and 0·NaN must not become some.
class MaskedBranches
{
public:
    explicit MaskedBranches(const execute::BoundModel& model);

    /// A value that may be one of those.
    [[nodiscard]] bool contains(graph::ValueId value) const
    {
        return m_mayBeWrong[value.index()] && m_isReplaced[value.index()];
    }

private:
    std::vector<bool> m_mayBeWrong; ///< by value
    std::vector<bool> m_isReplaced; ///< by value: somewhere behind it
};

/// Whether each element of what a node hands on is made of the elements at its place alone, broadcast or not.
[[nodiscard]] bool isOfPlaces(const execute::BoundModel& model, base::NodeId node);

} // namespace retro::engine
