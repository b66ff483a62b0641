// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lrp/rules/rule.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace retro::diagnosis
{

/// A number of three digits for a sentence: "0.416", "13.3", "17240", "1.2e+07".
[[nodiscard]] std::string numberText(double number);
/// A share as a percentage: 0.796 gives "80 %", 0.0134 "1.34 %".
[[nodiscard]] std::string percentText(double share);
/// "[3, 0, 0, 0]".
[[nodiscard]] std::string indexText(const std::vector<std::int64_t>& index);
/// "3×3".
[[nodiscard]] std::string extentsText(const std::vector<std::int64_t>& extents);
/// `--rule name:/dw/Conv=epsilon`: a rule for one node before the composite. `parameters` as composite files have them.
[[nodiscard]] std::string ruleOption(const std::string& node, std::string_view rule,
                                     const lrp::RuleParameters& parameters = {});

} // namespace retro::diagnosis
