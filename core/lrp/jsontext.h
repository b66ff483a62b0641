// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <nlohmann/json.hpp>

#include <map>
#include <string>

namespace retro::lrp
{

/// Largest composite text, and deepest nesting in it, that is read.
inline constexpr std::size_t kMaxCompositeBytes = 1U << 20;
inline constexpr std::size_t kMaxCompositeDepth = 16;

/// JSON that remembers the line of each field, so that messages can name it.
class JsonText
{
public:
    /// Errors (Input): not JSON (with the line), too large, nested too deep, a key that stands twice in one object.
    [[nodiscard]] static base::Result<JsonText> parse(const std::string& text, const std::string& where);

    [[nodiscard]] const nlohmann::json& root() const { return m_root; }
    /// An Input error at a field, "entries[2].rule.name" ("" = the whole text).
    [[nodiscard]] base::Error error(const std::string& field, std::string message) const;

private:
    class Builder;

    std::string m_where;
    nlohmann::json m_root;
    std::map<std::string, std::size_t> m_lines; // by field; fields that hold single values in lists are left out
};

} // namespace retro::lrp
