// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/jsontext.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace retro::formats
{

/// The members of one JSON object, read with checks; errors (Input) name line and field. A missing or null member gives
/// nothing. Lifetime: no longer than the text.
class JsonFields
{
public:
    /// `path` is "" for the root. Errors: `object` is no object.
    [[nodiscard]] static base::Result<JsonFields> of(const base::JsonText& text, const nlohmann::json& object,
                                                     std::string path);

    /// Null when missing.
    [[nodiscard]] const nlohmann::json* find(const char* name) const;
    [[nodiscard]] base::Result<std::string> text(const char* name) const;
    [[nodiscard]] base::Result<std::optional<std::int64_t>>
    whole(const char* name, std::int64_t least, std::int64_t most = std::numeric_limits<std::int64_t>::max()) const;
    /// A finite number; missing = none.
    [[nodiscard]] base::Result<std::optional<double>> number(const char* name) const;
    /// True or false; missing = `fallback`.
    [[nodiscard]] base::Result<bool> flag(const char* name, bool fallback) const;
    /// The items of a list; nullptr when missing.
    [[nodiscard]] base::Result<const nlohmann::json*> list(const char* name) const;
    /// Names of values, in which null stands for "none" where `allowsNone`.
    [[nodiscard]] base::Result<std::vector<std::string>> names(const char* name, bool allowsNone) const;
    /// Positions; missing = none.
    [[nodiscard]] base::Result<std::optional<std::vector<std::uint32_t>>> positions(const char* name) const;

    /// Where a member lies, as errors say it: "nodes[3].op".
    [[nodiscard]] std::string pathOf(const std::string& name) const;
    /// An error (Input) at the line of that member.
    [[nodiscard]] base::Error error(const std::string& name, std::string message) const;
    [[nodiscard]] const nlohmann::json& object() const { return *m_object; }
    [[nodiscard]] const base::JsonText& source() const { return *m_text; }

private:
    JsonFields(const base::JsonText& text, const nlohmann::json& object, std::string path)
        : m_text(&text), m_object(&object), m_path(std::move(path))
    {}

    const base::JsonText* m_text;
    const nlohmann::json* m_object;
    std::string m_path;
};

} // namespace retro::formats
