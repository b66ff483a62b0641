// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>

namespace retro::base
{

/// Largest text, deepest nesting in it, and most memory for its values that are read. Two bytes of text are enough for
/// a value of 16 bytes, three for a list of 40.
struct JsonLimits
{
    std::size_t bytes = 1U << 20;
    std::size_t depth = 16;
    std::size_t memory = 384U << 20;
};

/// JSON whose messages name the line of a field. Lines are looked for in the text when a message needs one, so a text
/// without errors costs nothing beside its values.
class JsonText
{
public:
    /// Errors (Input): not JSON (with the line), beyond the limits, a key that stands twice in one object.
    [[nodiscard]] static Result<JsonText> parse(std::string text, const std::string& where, JsonLimits limits);

    [[nodiscard]] const nlohmann::json& root() const { return m_root; }
    /// Name of the file, as messages say it.
    [[nodiscard]] const std::string& where() const { return m_where; }
    /// An Input error at a field, "entries[2].rule.name" ("" = the whole text). O(length of the text).
    [[nodiscard]] Error error(const std::string& field, std::string message) const;

private:
    class Builder;

    std::string m_where;
    std::string m_text;
    JsonLimits m_limits;
    nlohmann::json m_root;
};

} // namespace retro::base
