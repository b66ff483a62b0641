// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"

#include <string>
#include <string_view>
#include <vector>

namespace retro::trace::file
{

/// A row `input` of the table of facts: which of InputFacts, and its value as text.
struct InputRow
{
    std::string_view item;
    std::string text;
};

/// The facts as rows; there is at least one.
[[nodiscard]] std::vector<InputRow> inputRows(const InputFacts& facts);

/// Puts one row into the facts; false when there is no such item, its value is none that a writer writes, or a list
/// would become longer than its limit.
[[nodiscard]] bool setInputRow(InputFacts& facts, std::string_view item, const std::string& text);

/// Whether a file with these facts could be read again.
[[nodiscard]] bool areReadable(const InputFacts& facts);

} // namespace retro::trace::file
