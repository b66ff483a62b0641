// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/rewrite/body/bodybuilder.h"

namespace retro::rewrite
{

/// softmax(scale·q·kᵀ + masks)·v that a body writes out; q, k and v of rank 4: batch × heads × tokens × width.
struct DotProduct
{
    ValueId q;
    ValueId k;
    ValueId v;
    Shape qShape;
    Shape kShape; ///< past keys included
    Shape vShape;
    double scale = 1;
    double softcap = 0; ///< 0: none
    ValueId bias = {};  ///< added to the logits; may be invalid
    ValueId keep = {};  ///< bool: logits that stay; may be invalid
    bool isCausal = false;
    std::int64_t past = 0; ///< keys in front of the first query's own
};

/// What was written.
struct DotProductValues
{
    ValueId raw;
    ValueId capped;
    ValueId biased;
    ValueId probabilities;
    ValueId y; ///< batch × heads × queries × value width
};

/// Writes it. Keys and values of fewer heads are repeated, each for as many heads of the queries in a row.
[[nodiscard]] DotProductValues write(BodyBuilder& body, const DotProduct& product);

/// batch × tokens × heads·width as batch × heads × tokens × width, and back.
[[nodiscard]] ValueId writeSplitHeads(BodyBuilder& body, const std::string& name, ValueId x, const Shape& shape,
                                      std::int64_t heads);
[[nodiscard]] ValueId writeJoinHeads(BodyBuilder& body, const std::string& name, ValueId x, const Shape& shape);

} // namespace retro::rewrite
