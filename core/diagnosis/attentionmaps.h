// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/facts.h"

#include <string>
#include <vector>

namespace retro::diagnosis
{

/// A square softmax over keys, on the way to the target.
struct AttentionMap
{
    std::string name; ///< of the softmax, or of the operator that it is inside of
    NodeId node;      ///< of the pass
    tensor::Shape shape;
    double largestAbove = 0;      ///< weight above the diagonal
    double shareAbove = 0;        ///< of all weight
    std::size_t rows = 0;         ///< with several keys that no mask hides
    std::size_t rowsOfOneKey = 0; ///< of those: one key has nearly all weight
    std::vector<double> mean;     ///< of all heads and samples, row by row

    /// Keys that no query of any head and sample gives any weight: what a mask hides.
    [[nodiscard]] std::vector<bool> hiddenKeys() const;
};

/// All of a pass, in its order, those inside of an operator too. Asked for through Facts::attentionMaps().
[[nodiscard]] std::vector<AttentionMap> attentionMapsOf(const Facts& facts);

/// Those of one shape whose names differ in nothing but numbers: the layers of one stack, each of at least one.
[[nodiscard]] std::vector<std::vector<AttentionMap>> attentionStacks(const Facts& facts);

} // namespace retro::diagnosis
