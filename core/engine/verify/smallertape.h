// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/verify/property.h"
#include "core/tape/model/modeltape.h"

#include <functional>

namespace retro::engine
{

/// What is wrong with a tape that is started at one cell with a value of that cell's shape.
using DiffersFrom =
    std::function<base::Result<Counterexample>(const tape::ModelTape&, tape::Id, const tensor::Tensor&)>;

/// A counterexample on the whole tape, started at `target`, with the shortest tape found that shows one, too: cut
/// behind an earlier cell and started by ones there. Readers of the slot that `found` names are tried first, then cells
/// from the first on, a few dozen in all.
[[nodiscard]] Counterexample withSmallest(const tape::ModelTape& made, tape::Id target, Counterexample found,
                                          const DiffersFrom& differs);

} // namespace retro::engine
