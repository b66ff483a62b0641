// SPDX-License-Identifier: Apache-2.0
#include "core/base/jsonfields.h"

#include "core/base/editdistance.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace retro::base
{

using nlohmann::json;

namespace
{

/// A whole number that fits 64 bits with a sign.
std::optional<std::int64_t> wholeOf(const json& value)
{
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<std::uint64_t>() > kMost)) {
        return std::nullopt;
    }
    return value.get<std::int64_t>();
}

} // namespace

Result<JsonFields> JsonFields::of(const JsonText& text, const json& object, std::string path)
{
    if (!object.is_object()) {
        return text.error(path, "it must be an object in braces");
    }
    return JsonFields(text, object, std::move(path));
}

std::string JsonFields::pathOf(std::string_view name) const
{
    return m_path.empty() ? std::string(name) : fmt::format("{}.{}", m_path, name);
}

Error JsonFields::error(std::string_view name, std::string message) const
{
    const bool isThere = m_object->contains(name) || m_object->contains(name.substr(0, name.find('[')));
    return m_text->error(isThere || m_path.empty() ? pathOf(name) : m_path, std::move(message));
}

const json* JsonFields::find(std::string_view name) const
{
    const auto at = m_object->find(name);
    return at == m_object->end() || at->is_null() ? nullptr : &*at;
}

Result<void> JsonFields::onlyKnown(std::initializer_list<std::string_view> names) const
{
    for (const auto& [name, value] : m_object->items()) {
        if (std::find(names.begin(), names.end(), name) == names.end()) {
            return error(name, fmt::format("there is no such field; known are {}{}", fmt::join(names, ", "),
                                           guessText(name, names)));
        }
        if (value.is_null()) {
            return error(name, "it is null; give it a value or leave it out");
        }
    }
    return {};
}

Result<std::string> JsonFields::text(std::string_view name, std::string fallback) const
{
    const json* field = find(name);
    if (field != nullptr && !field->is_string()) {
        return error(name, "it must be a text");
    }
    return field == nullptr ? std::move(fallback) : field->get<std::string>();
}

Result<std::string> JsonFields::word(std::string_view name, std::span<const std::string_view> allowed,
                                     std::string fallback) const
{
    RETRO_TRY(std::string word, text(name, std::move(fallback)));
    if (std::find(allowed.begin(), allowed.end(), word) == allowed.end()) {
        return error(name, fmt::format("'{}' is not one of: {}", word, fmt::join(allowed, ", ")));
    }
    return word;
}

Result<std::vector<std::string>> JsonFields::texts(std::string_view name, std::vector<std::string> fallback) const
{
    RETRO_TRY(const json* items, list(name));
    if (items == nullptr) {
        return fallback;
    }
    if (!std::all_of(items->begin(), items->end(), [](const json& item) { return item.is_string(); })) {
        return error(name, "it must be a list of texts");
    }
    return items->get<std::vector<std::string>>();
}

Result<std::optional<std::int64_t>> JsonFields::whole(std::string_view name, std::int64_t least,
                                                      std::int64_t most) const
{
    const json* field = find(name);
    if (field == nullptr) {
        return std::optional<std::int64_t>();
    }
    const std::optional<std::int64_t> value = wholeOf(*field);
    if (!value || *value < least || *value > most) {
        return error(name, fmt::format("it must be a whole number from {} to {}", least, most));
    }
    return value;
}

Result<std::optional<double>> JsonFields::number(std::string_view name) const
{
    const json* field = find(name);
    if (field == nullptr) {
        return std::optional<double>();
    }
    if (!field->is_number() || field->get<double>() < 0) {
        return error(name, "it must be a number of at least 0");
    }
    return std::optional(field->get<double>());
}

Result<std::vector<double>> JsonFields::numbers(std::string_view name, std::vector<double> fallback) const
{
    RETRO_TRY(const json* items, list(name));
    if (items == nullptr) {
        return fallback;
    }
    if (!std::all_of(items->begin(), items->end(), [](const json& item) { return item.is_number(); })) {
        return error(name, "it must be a list of numbers");
    }
    return items->get<std::vector<double>>();
}

Result<bool> JsonFields::flag(std::string_view name, bool fallback) const
{
    const json* field = find(name);
    if (field != nullptr && !field->is_boolean()) {
        return error(name, "it must be true or false");
    }
    return field == nullptr ? fallback : field->get<bool>();
}

Result<const json*> JsonFields::list(std::string_view name, std::size_t most) const
{
    const json* field = find(name);
    if (field != nullptr && !field->is_array()) {
        return error(name, "it must be a list in brackets");
    }
    if (field != nullptr && field->size() > most) {
        return error(name, fmt::format("it must be a list of at most {} items", most));
    }
    return field;
}

Result<std::optional<JsonFields>> JsonFields::object(std::string_view name) const
{
    const json* field = find(name);
    if (field == nullptr) {
        return std::optional<JsonFields>();
    }
    RETRO_TRY(JsonFields fields, of(*m_text, *field, pathOf(name)));
    return std::optional(std::move(fields));
}

Result<JsonFields> JsonFields::item(std::string_view list, std::size_t index) const
{
    return of(*m_text, m_object->find(list)->at(index), pathOf(fmt::format("{}[{}]", list, index)));
}

Result<std::vector<std::string>> JsonFields::names(std::string_view name, bool allowsNone) const
{
    RETRO_TRY(const json* items, list(name));
    std::vector<std::string> names;
    for (std::size_t i = 0; items != nullptr && i < items->size(); ++i) {
        const json& item = (*items)[i];
        const bool isNone = allowsNone && item.is_null();
        if (!isNone && (!item.is_string() || item.get_ref<const std::string&>().empty())) {
            return error(fmt::format("{}[{}]", name, i), "it must be the name of a value");
        }
        names.push_back(isNone ? std::string() : item.get<std::string>());
    }
    return names;
}

Result<std::optional<std::vector<std::uint32_t>>> JsonFields::positions(std::string_view name) const
{
    RETRO_TRY(const json* items, list(name));
    if (items == nullptr) {
        return std::optional<std::vector<std::uint32_t>>();
    }
    std::vector<std::uint32_t> positions;
    for (const json& item : *items) {
        const std::optional<std::int64_t> value = wholeOf(item);
        if (!value || *value < 0 || *value > std::numeric_limits<std::uint32_t>::max()) {
            return error(name, "it must be a list of positions: whole numbers from 0");
        }
        positions.push_back(static_cast<std::uint32_t>(*value));
    }
    return std::optional(std::move(positions));
}

} // namespace retro::base
