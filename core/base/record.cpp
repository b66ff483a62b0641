// SPDX-License-Identifier: Apache-2.0
#include "core/base/record.h"

#include "core/base/csvfield.h"

#include <fmt/format.h>

namespace retro::base
{

using nlohmann::ordered_json;

namespace
{

/// "{:>13}" of "{:>13.6g}": side and width alone.
std::string widthOf(std::string_view form)
{
    const std::size_t end = form.find_first_not_of(":<>0123456789", form.find('{') + 1);
    return std::string(form.substr(0, end)) + '}';
}

} // namespace

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
