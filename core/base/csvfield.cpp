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

} // namespace retro::base
