// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retro::diagnosis
{

/// Rules that are tried before those of a composite under which relevance explodes (section 4.7).
struct CandidateRules
{
    std::vector<std::string> overrides; ///< as lrp::parseOverride() reads them
    std::string_view why;               ///< what they do; a sentence or two

    /// "--rule 'op:Conv=z-plus'", for each.
    [[nodiscard]] std::string options() const;
};

/// All of them, cheapest first.
[[nodiscard]] std::span<const CandidateRules> candidateRules();

/// How many decades such rules have to save to be taken (section 4.7, rule.better: ≥ 1).
inline constexpr double kLeastDecadesSaved = 1;

} // namespace retro::diagnosis
