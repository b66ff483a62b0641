// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/paint/theme.h"
#include "views/common/run/verification.h"

namespace retro::views
{

/// What a property says, in plain words: "The loop equals the recursion, bit for bit". Its statement for one that is
/// not known here.
[[nodiscard]] QString plainWords(const CheckedProperty& property);
/// "held", "violated", "not applicable".
[[nodiscard]] QString wordOf(Verdict verdict);
/// ✓, ✕ or –: what tells verdicts apart without colour.
[[nodiscard]] QString signOf(Verdict verdict);
/// Colour of the word.
[[nodiscard]] Role roleOf(Verdict verdict);

} // namespace retro::views
