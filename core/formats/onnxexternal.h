// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace retro::onnxschema
{
class TensorProto;
} // namespace retro::onnxschema

namespace retro::formats
{

/// Where the elements of a tensor lie in another file.
struct ExternalData
{
    std::filesystem::path file;
    std::uint64_t offset = 0;
};

/// Finds the file that a tensor of `bytes` bytes names and checks that it holds them. Errors (Input) name the field or
/// the file: no or an absolute path, a path that leaves `folder` (by ".." or through a link), a missing or short file,
/// an offset or length that is no number or does not fit the shape.
[[nodiscard]] base::Result<ExternalData> findExternalData(const onnxschema::TensorProto& proto,
                                                          const std::filesystem::path& folder, std::uint64_t bytes);

/// True when a tensor's file would be read, if it were there whole: its place is inside `folder`, but nothing lies
/// there, or less than `bytes` bytes behind the offset.
[[nodiscard]] bool lacksExternalData(const onnxschema::TensorProto& proto, const std::filesystem::path& folder,
                                     std::uint64_t bytes);

/// Reads `target.size()` bytes from there. Errors (Input): the file cannot be read.
[[nodiscard]] base::Result<void> readExternalData(const ExternalData& place, std::span<std::byte> target);

} // namespace retro::formats
