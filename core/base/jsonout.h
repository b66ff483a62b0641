// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/visibletext.h"

#include <nlohmann/json.hpp>

#include <string>

namespace retro::base
{

/// JSON as text, for files and for standard output; with an indent of at least 0, in lines. Bytes of a text that are
/// not UTF-8, as names of files may have, become U+FFFD: JSON has no other way to say them. The only way JSON leaves
/// the program.
template <class Json>
[[nodiscard]] std::string jsonOut(const Json& json, int indent = -1)
{
    return escapedInJson(json.dump(indent, ' ', false, Json::error_handler_t::replace));
}

} // namespace retro::base
