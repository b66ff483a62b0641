// SPDX-License-Identifier: Apache-2.0
#include "core/base/csvfield.h"

namespace retro::base
{

std::string csvField(std::string_view text)
{
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
        return std::string(text);
    }
    std::string field = "\"";
    for (const char c : text) {
        field.append(c == '"' ? 2 : 1, c);
    }
    return field + '"';
}

} // namespace retro::base
