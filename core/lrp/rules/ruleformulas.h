// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace retro::lrp
{

/// What a rule does at a node, in one line for people: "D = xW + b; R_in = x·(s·Wᵀ), s = R/stab(D)".
/// `ruleText` is Rule::text() or a rule's name: rules whose parameters make them compute
/// something else have another formula. `structure` is ops::nameOf() of the node's structure; empty when it is not
/// known, then the formula is that of the structure that the rule is mostly for. Empty for a rule that is not known.
[[nodiscard]] std::string formulaOf(std::string_view ruleText, std::string_view structure = {});

/// What the registry knows of a rule; docs/composites.md lists it.
struct RuleEntry
{
    std::string_view name;
    std::string_view use;    ///< "linear map, bilinear"
    std::string_view source; ///< "Bach et al. 2015"; empty where nobody published it
    std::string parameters;  ///< "linear, `form` (`split`, `raw`)", as its reader takes them
    std::string formula;     ///< of the rule without parameters
};
/// All rules, in the order of the registry.
[[nodiscard]] std::vector<RuleEntry> ruleEntries();

} // namespace retro::lrp
