// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/bind/operatorbase.h"

namespace retro::ops
{

/// Binds retrograde.ElementwiseChain: functions of one operand behind each other. `operators`, `domains` and `opsets`
/// name them in order; attributes of the i-th one are `<i>.<name>`. It keeps its operand alone and works block by
/// block, so that what is between the functions never reaches memory. Errors: as those of its functions; one that is
/// not element by element.
[[nodiscard]] BoundResult bindElementwiseChain(const BindContext& context);

} // namespace retro::ops
