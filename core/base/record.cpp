// SPDX-License-Identifier: Apache-2.0
#include "core/base/record.h"

#include "core/base/csvfield.h"

#include <fmt/format.h>

namespace retro::base
{

using nlohmann::ordered_json;

namespace
{

/// "{:>13}" of "{:>13.6g}", side and width alone; a form of texts, "{:<32.32}", as it is.
std::string widthOf(std::string_view form)
{
    const bool isOfNumbers = std::string_view("gfed").find(form[form.find('}') - 1]) != std::string_view::npos;
    const std::size_t end =
        form.find_first_not_of(isOfNumbers ? ":<>0123456789" : ":<>.0123456789", form.find('{') + 1);
    return std::string(form.substr(0, end)) + '}';
}

} // namespace

void add(ordered_json& json, std::initializer_list<Said> fields)
{
    for (const Said& field : fields) {
        if (!field.value.is_discarded()) {
            json[std::string(field.name)] = field.value;
        }
    }
}

ordered_json objectOf(std::initializer_list<Said> fields)
{
    ordered_json json = ordered_json::object();
    add(json, fields);
    return json;
}

std::string csvText(const ordered_json& value)
{
    if (value.is_null() || value.is_discarded()) {
        return {};
    }
    if (value.is_number_float()) {
        return fmt::format("{}", value.get<double>());
    }
    if (value.is_array()) {
        std::string list;
        for (const ordered_json& item : value) {
            list += (list.empty() ? "" : " ") + csvText(item);
        }
        return csvField(list);
    }
    return value.is_string() ? csvField(value.get<std::string>()) : value.dump();
}

std::string cellText(std::string_view form, const ordered_json& value)
{
    if (value.is_number_float()) {
        return fmt::format(fmt::runtime(form), value.get<double>());
    }
    if (value.is_number_unsigned()) {
        return fmt::format(fmt::runtime(form), value.get<std::uint64_t>());
    }
    if (value.is_number()) {
        return fmt::format(fmt::runtime(form), value.get<std::int64_t>());
    }
    return headText(form, value.is_string() ? value.get<std::string>() : std::string());
}

std::string headText(std::string_view form, std::string_view head)
{
    return fmt::format(fmt::runtime(widthOf(form)), head);
}

} // namespace retro::base
