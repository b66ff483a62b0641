// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/language/languagereport.h"

#include <string>
#include <string_view>

namespace retro::engine
{

/// A text as it may stand in an element or an attribute of XML: every character that XML takes apart is written by its
/// name, and what no XML may hold becomes visible (base::visibleText).
[[nodiscard]] std::string xmlText(std::string_view text);

/// A page of HTML that refers to nothing outside and is well-formed XML: the words, tinted by their relevance (positive
/// and negative have different lines below them as well), buttons for the steps of a generation and the sides of a
/// contrast, the matrix of tokens and layers, light and dark.
[[nodiscard]] std::string languagePage(const LanguageReport& report);

} // namespace retro::engine
