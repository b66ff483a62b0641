// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lrp/rules/ruleparameters.h"

#include <string>
#include <string_view>

namespace retro::lrp
{

/// Parameters as they are written on the command line: "key=value,key=value", a value being a number, true or false, a
/// list of numbers with `/` between, or a text. Errors (Usage, place `where`): no key, a key given twice.
[[nodiscard]] base::Result<RuleParameters> parseParameters(std::string_view text, const std::string& where);
/// What parseParameters() reads back.
[[nodiscard]] std::string textOf(const RuleParameters& parameters);

} // namespace retro::lrp
