// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <string>

namespace retro::text
{

/// An expression of a tokenizer.json, which is one of Oniguruma with the syntax of Ruby, in the words of ICU, to be
/// used with UREGEX_MULTILINE and UREGEX_UNIX_LINES. What ICU finds wrong with it is left in it. Errors (Input): what
/// has no counterpart, by its name.
[[nodiscard]] base::Result<std::string> icuExpression(const std::string& expression);

} // namespace retro::text
