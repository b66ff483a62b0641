// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace retro::formats
{

/// What an ONNX file says of itself: its metadata_props, by key. Reads nothing else of the file, whatever its size.
/// Empty where there is none, and where the file cannot be read or is none of binary ONNX.
[[nodiscard]] std::map<std::string, std::string> onnxMetadata(const std::filesystem::path& path);

/// One sentence on a file that is itself an explanation (docs/relevancegraph.md): composite, target, start, version.
/// Empty for any other file.
[[nodiscard]] std::string explanationText(const std::filesystem::path& path);

} // namespace retro::formats
