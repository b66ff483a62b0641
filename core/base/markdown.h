// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace retro::base
{

/// An answer as one page of Markdown, for people and for search by line: a list of what is said once, a heading for
/// each part, and a table for each list of records, a row per record. What lies inside a record stands in columns
/// called `part.field`; what is longer stands in its cell. Numbers have six digits. Nested deeper than 32 times: as
/// JSON.
[[nodiscard]] std::string markdownOf(const nlohmann::ordered_json& answer, const std::string& title);

} // namespace retro::base
