// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace retro::lrp
{

/// What a rule does at a node, in one line for people: "D = xW + b; R_in = x·(s·Wᵀ), s = R/stab(D)", as
/// docs/composites.md has it. `ruleText` is Rule::text() or a rule's name: rules whose parameters make them compute
/// something else have another formula. `structure` is ops::nameOf() of the node's structure; empty when it is not
/// known, then the formula is that of the structure that the rule is mostly for. Empty for a rule that is not known.
[[nodiscard]] std::string formulaOf(std::string_view ruleText, std::string_view structure = {});

} // namespace retro::lrp
