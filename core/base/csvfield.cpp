// SPDX-License-Identifier: Apache-2.0
#include "core/base/csvfield.h"

#include "core/base/visibletext.h"

namespace retro::base
{

std::string csvField(std::string_view raw)
{
    const std::string text = visibleText(raw, LineEnds::Kept);
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
        return text;
    }
    std::string field = "\"";
    for (const char c : text) {
        field.append(c == '"' ? 2 : 1, c);
    }
    return field + '"';
}

std::vector<std::string> csvFields(std::string_view line)
{
    while (line.ends_with('\r') || line.ends_with('\n')) {
        line.remove_suffix(1);
    }
    std::vector<std::string> fields(1);
    bool isQuoted = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const bool isDouble = isQuoted && line.substr(i, 2) == "\"\"";
        if (isDouble || (line[i] != '"' && (line[i] != ',' || isQuoted))) {
            fields.back() += line[i];
            i += isDouble ? 1 : 0;
        } else if (line[i] == '"') {
            isQuoted = !isQuoted;
        } else {
            fields.emplace_back();
        }
    }
    return fields;
}

} // namespace retro::base
