// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lrp/composite/composite.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retro::lrp
{

/// A composite as it is named, and the rules that a person put before its entries:
/// `epsilon_plus | op:Conv=gamma:gamma=0.5 | name:"/head/Gemm"=stop`.
struct Specification
{
    std::string base;                   ///< built-in name with parameters, or a file
    std::vector<std::string> overrides; ///< `MATCHER=RULE:params` each; the first that matches wins
    bool operator==(const Specification&) const = default;
};

/// Largest number of rules that can be put before a composite.
inline constexpr std::size_t kMostOverrides = 1000;

/// Parts of a specification; `|` inside double quotes does not part them.
[[nodiscard]] Specification splitSpecification(std::string_view text);
/// What splitSpecification() takes apart again.
[[nodiscard]] std::string joinSpecification(const Specification& specification);

/// `MATCHER=RULE` or `MATCHER=RULE:key=value,…`. MATCHER: `name:GLOB`, `op:TYPE,TYPE`, `structure:KIND`, `scope:S`,
/// `from:TYPE,TYPE`, `operand:N`, `first`, joined with `&`; a value may stand in double quotes (\" and \\ inside).
/// Errors (Usage): what is wrong and what is known, with the text.
[[nodiscard]] base::Result<CompositeEntry> parseOverride(const std::string& text);
/// What parseOverride() reads back.
[[nodiscard]] std::string overrideText(const Matcher& matcher, std::string_view rule, const RuleParameters& parameters);

/// Puts the overrides before the composite's entries; its name gets them, too. Errors: Usage.
[[nodiscard]] base::Result<Composite> withOverrides(Composite composite, std::span<const std::string> overrides);

} // namespace retro::lrp
