// SPDX-License-Identifier: Apache-2.0
#include "core/formats/jsonfields.h"

#include <fmt/format.h>

namespace retro::formats
{

using base::Result;
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

Result<JsonFields> JsonFields::of(const base::JsonText& text, const json& object, std::string path)
{
    if (!object.is_object()) {
        return text.error(path, "it must be an object in braces");
    }
    return JsonFields(text, object, std::move(path));
}

std::string JsonFields::pathOf(const std::string& name) const { return m_path.empty() ? name : m_path + "." + name; }

base::Error JsonFields::error(const std::string& name, std::string message) const
{
    const bool isThere = m_object->contains(name.substr(0, name.find('[')));
    return m_text->error(isThere || m_path.empty() ? pathOf(name) : m_path, std::move(message));
}

const json* JsonFields::find(const char* name) const
{
    const auto at = m_object->find(name);
    return at == m_object->end() || at->is_null() ? nullptr : &*at;
}

Result<std::string> JsonFields::text(const char* name) const
{
    const json* field = find(name);
    if (field == nullptr) {
        return std::string();
    }
    if (!field->is_string()) {
        return error(name, "it must be a text");
    }
    return field->get<std::string>();
}

Result<std::optional<std::int64_t>> JsonFields::whole(const char* name, std::int64_t least, std::int64_t most) const
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

Result<std::optional<double>> JsonFields::number(const char* name) const
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

Result<bool> JsonFields::flag(const char* name, bool fallback) const
{
    const json* field = find(name);
    if (field != nullptr && !field->is_boolean()) {
        return error(name, "it must be true or false");
    }
    return field == nullptr ? fallback : field->get<bool>();
}

Result<const json*> JsonFields::list(const char* name) const
{
    const json* field = find(name);
    if (field != nullptr && !field->is_array()) {
        return error(name, "it must be a list in brackets");
    }
    return field;
}

Result<std::vector<std::string>> JsonFields::names(const char* name, bool allowsNone) const
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

Result<std::optional<std::vector<std::uint32_t>>> JsonFields::positions(const char* name) const
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

} // namespace retro::formats
