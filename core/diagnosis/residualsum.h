// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/modelfacts.h"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace retro::diagnosis
{

/// A value times lone numbers: what they make together, and the node of the first that is not 1.
struct Scaled
{
    ValueId value;
    ValueId operand{}; ///< with the factors
    double factor = 1;
    NodeId node{};
};

/// A sum of a value and of what a branch makes of that value.
struct ResidualSum
{
    NodeId node;
    Scaled skip;
    Scaled branch;

    [[nodiscard]] std::string factors() const { return fmt::format("{:.6g} {:.6g}", skip.factor, branch.factor); }
};

/// All of a model, in the order of its graph: two computed operands, one of which leads to the other. Masks of a
/// softmax (factors below −1000) are none.
[[nodiscard]] std::vector<ResidualSum> residualSumsIn(const ModelFacts& model);

} // namespace retro::diagnosis
