// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/structure.h"

namespace retro::ops
{

/// A shape map that may be an embedding: whole slices of a constant table, picked by computed indices. Integers carry
/// no relevance, but these stand for the slices that they picked: carryBack() of the slot kIndices gives each index the
/// sum of what its slices got (docs/composites.md, "Tokens").
class Lookup : public ShapeMap
{
public:
    /// Operand slot of the indices.
    static constexpr std::size_t kIndices = 1;
    /// True when the table is constant and the indices are not.
    [[nodiscard]] virtual bool isEmbedding() const = 0;
};

/// Marks shape maps that may stand between tokens and their embedding: operand 0 is moved as a whole, and carryBack()
/// takes relevance of any floating type although the elements are integers.
class TokenMap
{
public:
    virtual ~TokenMap() = default;
};

/// True for the slot of the indices of an embedding.
[[nodiscard]] inline bool isTokenSlot(const Structure& structure, std::size_t slot)
{
    const auto* lookup = slot == Lookup::kIndices ? dynamic_cast<const Lookup*>(&structure) : nullptr;
    return lookup != nullptr && lookup->isEmbedding();
}

} // namespace retro::ops
