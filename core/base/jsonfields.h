// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/jsontext.h"

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retro::base
{

/// The members of one JSON object, read with checks; the one way in which our formats read typed fields. Errors (Input)
/// name line and field. A missing or null member gives the fallback, or nothing. Lifetime: no longer than the text.
class JsonFields
{
public:
    /// `path` is "" for the root. Errors: `object` is no object.
    [[nodiscard]] static Result<JsonFields> of(const JsonText& text, const nlohmann::json& object, std::string path);

    /// Null when missing.
    [[nodiscard]] const nlohmann::json* find(std::string_view name) const;
    /// True when the member is there and not null.
    [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
    /// Errors: a member of another name, or one that is null.
    [[nodiscard]] Result<void> onlyKnown(std::initializer_list<std::string_view> names) const;

    /// A text.
    [[nodiscard]] Result<std::string> text(std::string_view name, std::string fallback = {}) const;
    /// One of a few words, to which the fallback belongs.
    [[nodiscard]] Result<std::string> word(std::string_view name, std::span<const std::string_view> allowed,
                                           std::string fallback) const;
    /// A list of texts.
    [[nodiscard]] Result<std::vector<std::string>> texts(std::string_view name,
                                                         std::vector<std::string> fallback = {}) const;
    /// A whole number.
    [[nodiscard]] Result<std::optional<std::int64_t>>
    whole(std::string_view name, std::int64_t least,
          std::int64_t most = std::numeric_limits<std::int64_t>::max()) const;
    /// A finite number of at least 0.
    [[nodiscard]] Result<std::optional<double>> number(std::string_view name) const;
    /// A list of numbers.
    [[nodiscard]] Result<std::vector<double>> numbers(std::string_view name, std::vector<double> fallback = {}) const;
    /// True or false.
    [[nodiscard]] Result<bool> flag(std::string_view name, bool fallback) const;
    /// Names of values, in which null stands for "none" where `allowsNone`.
    [[nodiscard]] Result<std::vector<std::string>> names(std::string_view name, bool allowsNone) const;
    /// Positions; missing = none.
    [[nodiscard]] Result<std::optional<std::vector<std::uint32_t>>> positions(std::string_view name) const;
    /// The items of a list of at most `most`; nullptr when missing.
    [[nodiscard]] Result<const nlohmann::json*> list(std::string_view name,
                                                     std::size_t most = std::numeric_limits<std::size_t>::max()) const;
    /// The members of an object; none when missing.
    [[nodiscard]] Result<std::optional<JsonFields>> object(std::string_view name) const;
    /// The members of item `index` of a list, which must be there and be an object.
    [[nodiscard]] Result<JsonFields> item(std::string_view list, std::size_t index) const;

    /// Where a member lies, as errors say it: "nodes[3].op".
    [[nodiscard]] std::string pathOf(std::string_view name) const;
    /// An error (Input) at the line of that member, or at that of the object where the member is missing.
    [[nodiscard]] Error error(std::string_view name, std::string message) const;
    [[nodiscard]] const nlohmann::json& members() const { return *m_object; }
    [[nodiscard]] const JsonText& source() const { return *m_text; }

private:
    JsonFields(const JsonText& text, const nlohmann::json& object, std::string path)
        : m_text(&text), m_object(&object), m_path(std::move(path))
    {}

    const JsonText* m_text;
    const nlohmann::json* m_object;
    std::string m_path;
};

} // namespace retro::base
