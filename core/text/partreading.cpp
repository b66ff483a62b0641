// SPDX-License-Identifier: Apache-2.0
#include "core/text/partreading.h"

#include <fmt/format.h>

namespace retro::text
{

using base::JsonFields;
using base::Result;

base::Error notSupported(const JsonFields& fields, const std::string& part, const std::string& type)
{
    return fields.error("type", type.empty()
                                    ? fmt::format("the {} has no \"type\"", part)
                                    : fmt::format("the {} '{}' is not supported (docs/language.md has the list); make "
                                                  "the ids with the tokenizer's own library and give --ids",
                                                  part, type));
}

Result<Pattern> readPattern(const JsonFields& fields)
{
    RETRO_TRY(const auto pattern, fields.object("pattern"));
    if (pattern && pattern->has("String")) {
        RETRO_TRY(std::string text, pattern->text("String"));
        return Pattern::ofText(std::move(text));
    }
    if (!pattern || !pattern->has("Regex")) {
        return fields.error("pattern", "a pattern is {\"String\": …} or {\"Regex\": …}");
    }
    RETRO_TRY(const std::string expression, pattern->text("Regex"));
    Result<Pattern> made = Pattern::ofExpression(expression);
    return made.ok() ? std::move(made) : fields.error("pattern", made.error().message);
}

Result<char32_t> readCharacter(const JsonFields& fields, const std::string& name, const std::string& usual)
{
    RETRO_TRY(const std::string text, fields.text(name, usual));
    if (invalidUtf8(text) || characterCount(text) != 1) {
        return fields.error(name, fmt::format("\"{}\" is one character", name));
    }
    return characterAt(text, 0).code;
}

} // namespace retro::text
