// SPDX-License-Identifier: Apache-2.0
#include "core/formats/cardfields.h"

#include "core/base/jsontext.h"
#include "core/formats/insidefolder.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::formats
{

using base::Error;
using base::inputError;
using base::Result;
using nlohmann::json;

namespace
{

constexpr int kMaxPixels = 65536;

} // namespace

Result<json> parseCardJson(const std::string& text, const std::string& where)
{
    Result<base::JsonText> parsed = base::JsonText::parse(text, where, {kMaxCardBytes, kMaxCardDepth});
    return parsed ? Result<json>(parsed->root()) : std::move(parsed).error();
}

std::string CardFields::pathOf(std::string_view name) const
{
    return m_path.empty() ? std::string(name) : m_path + "." + std::string(name);
}

Error CardFields::error(std::string_view name, std::string message) const
{
    return inputError(std::move(message), "field '" + pathOf(name) + "'");
}

const json* CardFields::find(std::string_view name) const
{
    const auto at = m_object.find(name);
    return at == m_object.end() || at->is_null() ? nullptr : &*at;
}

Result<void> CardFields::text(std::string_view name, std::string& target) const
{
    const json* field = find(name);
    if (field != nullptr && !field->is_string()) {
        return error(name, "it must be a text");
    }
    if (field != nullptr) {
        target = field->get<std::string>();
    }
    return {};
}

Result<void> CardFields::word(std::string_view name, std::span<const std::string_view> allowed,
                              std::string& target) const
{
    RETRO_CHECK(text(name, target));
    if (std::find(allowed.begin(), allowed.end(), target) != allowed.end()) {
        return {};
    }
    std::string words;
    for (const std::string_view word : allowed) {
        words += (words.empty() ? "" : ", ") + std::string(word);
    }
    return error(name, fmt::format("'{}' is not one of: {}", target, words));
}

Result<void> CardFields::relativePath(std::string_view name, std::string& target) const
{
    RETRO_CHECK(text(name, target));
    if (std::filesystem::path(target).is_absolute()) {
        return error(name, fmt::format("'{}' is an absolute path; paths are relative to the card", target));
    }
    if (leavesFolder(target)) {
        return error(name, fmt::format("the path '{}' is not inside the card's folder; only files beside or below the "
                                       "card are read",
                                       target));
    }
    return {};
}

Result<void> CardFields::texts(std::string_view name, std::vector<std::string>& target) const
{
    RETRO_TRY(const json* items, list(name));
    if (items == nullptr) {
        return {};
    }
    if (!std::all_of(items->begin(), items->end(), [](const json& item) { return item.is_string(); })) {
        return error(name, "it must be a list of texts");
    }
    target = items->get<std::vector<std::string>>();
    return {};
}

Result<void> CardFields::flag(std::string_view name, bool& target) const
{
    const json* value = find(name);
    if (value == nullptr) {
        return {};
    }
    if (!value->is_boolean()) {
        return error(name, "it must be true or false");
    }
    target = value->get<bool>();
    return {};
}

Result<void> CardFields::numbers(std::string_view name, std::vector<double>& target) const
{
    RETRO_TRY(const json* items, list(name));
    if (items == nullptr) {
        return {};
    }
    if (!std::all_of(items->begin(), items->end(), [](const json& item) { return item.is_number(); })) {
        return error(name, "it must be a list of numbers");
    }
    target = items->get<std::vector<double>>();
    return {};
}

Result<void> CardFields::numbers(std::string_view name, std::span<double> target) const
{
    std::vector<double> read(target.begin(), target.end());
    RETRO_CHECK(numbers(name, read));
    if (read.size() != target.size()) {
        return error(name, fmt::format("it must have {} numbers but has {}", target.size(), read.size()));
    }
    std::copy(read.begin(), read.end(), target.begin());
    return {};
}

Result<void> CardFields::pixels(std::string_view name, std::span<int> target) const
{
    std::vector<double> read(target.begin(), target.end());
    RETRO_CHECK(numbers(name, std::span(read)));
    for (std::size_t i = 0; i < read.size(); ++i) {
        const bool isPixel = read[i] >= 0 && read[i] <= kMaxPixels;
        const int whole = isPixel ? static_cast<int>(read[i]) : -1;
        if (whole < 0 || static_cast<double>(whole) != read[i]) {
            return error(name, fmt::format("{} is not a whole number of pixels from 0 to {}", read[i], kMaxPixels));
        }
        target[i] = whole;
    }
    return {};
}

Result<const json*> CardFields::object(std::string_view name) const
{
    const json* field = find(name);
    if (field != nullptr && !field->is_object()) {
        return error(name, "it must be an object in braces");
    }
    return field;
}

Result<const json*> CardFields::list(std::string_view name) const
{
    const json* field = find(name);
    if (field != nullptr && !field->is_array()) {
        return error(name, "it must be a list in brackets");
    }
    return field;
}

} // namespace retro::formats
