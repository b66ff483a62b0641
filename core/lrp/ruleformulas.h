// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace retro::lrp
{

/// What a rule does in one line, for people: "D = xW + b; R_in = x·(s·Wᵀ)" with s = R / stab(D), as docs/composites.md
/// has it. `ruleText` is Rule::text() or a rule's name; empty for a rule that is not known.
[[nodiscard]] std::string_view formulaOf(std::string_view ruleText);

} // namespace retro::lrp
