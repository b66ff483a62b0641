// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/facts.h"

#include <cstdint>
#include <optional>

namespace retro::diagnosis
{

/// True for graph inputs that can take relevance: floats, and tokens of an embedding.
[[nodiscard]] bool carriesRelevance(const Facts& facts, ValueId input);

/// Why no relevance reaches an input though it leads to the target (section 4.6, flow.cut), in this order.
enum class CutKind : std::uint8_t {
    EmptyInput,     ///< it is 0 everywhere
    ZeroFactor,     ///< a product with a constant 0
    AllZero,        ///< the first value on its way that is 0 everywhere
    LeftOut,        ///< a Slice, Gather or Split that does not read what comes from it
    NothingHandedOn ///< the first node whose result has relevance while its operand on the way has none
};

struct Cut
{
    CutKind kind = CutKind::NothingHandedOn;
    NodeId node;   ///< of the pass; of EmptyInput the input's
    ValueId value; ///< the constant of ZeroFactor, the value of AllZero; else invalid
};

/// Where the way of an input without relevance is cut; nothing where nobody can tell.
[[nodiscard]] std::optional<Cut> cutOf(const Facts& facts, ValueId input);

} // namespace retro::diagnosis
