// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace retro::base
{

/// Files that are built into the program have paths that begin so; the file system does not know them.
inline constexpr std::string_view kBuiltIn = ":/";
/// The bytes of such a file; nothing for a path that is none of them.
using BuiltInFiles = std::function<std::optional<std::vector<std::byte>>(const std::filesystem::path&)>;
/// Says where they are. To be called before files are read; FileReader (file.h) then reads them like all others.
void setBuiltInFiles(BuiltInFiles files);

} // namespace retro::base
