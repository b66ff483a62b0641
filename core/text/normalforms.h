// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/text/alignedtext.h"

namespace retro::text
{

/// Unicode's normal forms.
enum class NormalForm { C, D, Kc, Kd };

/// The changes that bring a text into a normal form: decomposed, marks in their order, composed for C and KC.
[[nodiscard]] std::vector<Change> changesTo(NormalForm form, std::string_view text);

} // namespace retro::text
