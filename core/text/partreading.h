// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/jsonfields.h"
#include "core/base/result.h"
#include "core/text/pattern.h"

#include <string>
#include <vector>

namespace retro::text
{

/// An error (Input): this reader does not know the part of that type, and what to do.
[[nodiscard]] base::Error notSupported(const base::JsonFields& fields, const std::string& part,
                                       const std::string& type);

/// The member "pattern": {"String": …} or {"Regex": …}.
[[nodiscard]] base::Result<Pattern> readPattern(const base::JsonFields& fields);

/// The member `name`, one character. Errors (Input): none, or several.
[[nodiscard]] base::Result<char32_t> readCharacter(const base::JsonFields& fields, const std::string& name,
                                                   const std::string& usual);

/// The parts of a sequence.
template <class Part>
base::Result<std::vector<Part>> readParts(const base::JsonFields& fields, const std::string& list,
                                          base::Result<Part> (*read)(const base::JsonFields&))
{
    RETRO_TRY(const nlohmann::json* const items, fields.list(list));
    std::vector<Part> parts;
    for (std::size_t i = 0; items != nullptr && i < items->size(); ++i) {
        RETRO_TRY(const base::JsonFields item, fields.item(list, i));
        RETRO_TRY(Part part, read(item));
        parts.push_back(std::move(part));
    }
    return parts;
}

} // namespace retro::text
