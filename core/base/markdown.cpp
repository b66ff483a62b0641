// SPDX-License-Identifier: Apache-2.0
#include "core/base/markdown.h"

#include "core/base/jsonout.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace retro::base
{

namespace
{

using nlohmann::ordered_json;

constexpr int kDeepest = 32;

bool isRecords(const ordered_json& json)
{
    return json.is_array() && !json.empty() &&
           std::ranges::all_of(json, [](const ordered_json& one) { return one.is_object(); });
}

/// A value in one line; a list with commas.
std::string cellText(const ordered_json& json)
{
    if (json.is_null()) {
        return {};
    }
    if (json.is_number_float()) {
        return fmt::format("{:.6g}", json.get<double>());
    }
    if (json.is_array() && std::ranges::none_of(json, [](const ordered_json& one) { return one.is_structured(); })) {
        std::string list;
        for (const ordered_json& one : json) {
            list += (list.empty() ? "" : ", ") + cellText(one);
        }
        return list;
    }
    std::string text = json.is_string() ? visibleText(json.get<std::string>()) : jsonOut(json);
    for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2)) {
        text.insert(at, "\\");
    }
    return text;
}

using Cells = std::vector<std::pair<std::string, std::string>>;

/// The fields of a record, those of the records inside it with their path.
void addCells(const ordered_json& record, const std::string& path, int depth, Cells& cells)
{
    for (const auto& [name, value] : record.items()) {
        if (value.is_object() && depth < kDeepest) {
            addCells(value, path + name + ".", depth + 1, cells);
        } else {
            cells.emplace_back(path + visibleText(name), cellText(value));
        }
    }
}

/// Columns that are empty in all rows are left out.
std::string tableOf(const ordered_json& records)
{
    std::vector<std::string> columns;
    std::vector<Cells> rows;
    for (const ordered_json& record : records) {
        addCells(record, {}, 0, rows.emplace_back());
        for (const auto& [name, text] : rows.back()) {
            if (!text.empty() && std::ranges::find(columns, name) == columns.end()) {
                columns.push_back(name);
            }
        }
    }
    std::string text = "|";
    std::string rule = "\n|";
    for (const std::string& column : columns) {
        text += ' ' + column + " |";
        rule += "---|";
    }
    text += rule + '\n';
    for (const Cells& row : rows) {
        text += '|';
        for (const std::string& column : columns) {
            const auto cell = std::ranges::find(row, column, &Cells::value_type::first);
            text += ' ' + (cell == row.end() ? std::string() : cell->second) + " |";
        }
        text += '\n';
    }
    return text;
}

void addPart(const ordered_json& part, const std::string& name, int depth, std::string& page);

/// What is said once, then the parts.
void addFields(const ordered_json& fields, const std::string& path, int depth, std::string& page)
{
    for (const auto& [name, value] : fields.items()) {
        if (!isRecords(value) && !value.is_object() && !cellText(value).empty()) {
            page += fmt::format("- {}: {}\n", visibleText(name), cellText(value));
        }
    }
    for (const auto& [name, value] : fields.items()) {
        if (isRecords(value) || (value.is_object() && !value.empty())) {
            addPart(value, path + visibleText(name), depth + 1, page);
        }
    }
}

void addPart(const ordered_json& part, const std::string& name, int depth, std::string& page)
{
    page += fmt::format("\n## {}\n\n", name);
    if (isRecords(part)) {
        page += tableOf(part);
    } else if (depth < kDeepest) {
        addFields(part, name + ".", depth, page);
    } else {
        page += cellText(part) + '\n';
    }
}

} // namespace

std::string markdownOf(const ordered_json& answer, const std::string& title)
{
    std::string page = fmt::format("# {}\n\n", visibleText(title));
    if (isRecords(answer)) {
        return page + tableOf(answer);
    }
    if (!answer.is_object()) {
        return page + cellText(answer) + '\n';
    }
    addFields(answer, {}, 0, page);
    return page;
}

} // namespace retro::base
