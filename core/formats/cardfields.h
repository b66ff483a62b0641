// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retro::formats
{

/// Largest card, and deepest nesting in it, that is read.
inline constexpr std::uint64_t kMaxCardBytes = 4ULL << 20;
inline constexpr int kMaxCardDepth = 16;

/// Parses JSON with the limits above. Errors (Input) with `where` and line: not JSON, nested too deep, a field that
/// stands twice.
[[nodiscard]] base::Result<nlohmann::json> parseCardJson(const std::string& text, const std::string& where);

/// The members of one JSON object, read with checks. A missing member leaves the target as it is; a wrong type is an
/// Input error whose place names the member with its path ("field 'input.mean'").
class CardFields
{
public:
    /// `object` must outlive this; `path` is "" for the card itself.
    CardFields(const nlohmann::json& object, std::string path) : m_object(object), m_path(std::move(path)) {}

    /// A text.
    [[nodiscard]] base::Result<void> text(std::string_view name, std::string& target) const;
    /// One of a few words.
    [[nodiscard]] base::Result<void> word(std::string_view name, std::span<const std::string_view> allowed,
                                          std::string& target) const;
    /// A path that does not leave the card's folder: not absolute, without "..".
    [[nodiscard]] base::Result<void> relativePath(std::string_view name, std::string& target) const;
    /// A list of texts.
    [[nodiscard]] base::Result<void> texts(std::string_view name, std::vector<std::string>& target) const;
    /// True or false.
    [[nodiscard]] base::Result<void> flag(std::string_view name, bool& target) const;
    /// A list of numbers.
    [[nodiscard]] base::Result<void> numbers(std::string_view name, std::vector<double>& target) const;
    /// Exactly `target.size()` numbers.
    [[nodiscard]] base::Result<void> numbers(std::string_view name, std::span<double> target) const;
    /// Exactly `target.size()` whole numbers from 0 to 65536.
    [[nodiscard]] base::Result<void> pixels(std::string_view name, std::span<int> target) const;
    /// The members of an object; nullptr when missing.
    [[nodiscard]] base::Result<const nlohmann::json*> object(std::string_view name) const;
    /// The items of a list; nullptr when missing.
    [[nodiscard]] base::Result<const nlohmann::json*> list(std::string_view name) const;
    /// True when the member is there and not null.
    [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
    /// "input.mean".
    [[nodiscard]] std::string pathOf(std::string_view name) const;
    /// An error at a member.
    [[nodiscard]] base::Error error(std::string_view name, std::string message) const;

private:
    [[nodiscard]] const nlohmann::json* find(std::string_view name) const;

    const nlohmann::json& m_object;
    std::string m_path;
};

} // namespace retro::formats
