// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/tensor/tensor.h"

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace retro::tensor
{

/// Arrays by name.
using NamedTensors = std::map<std::string, Tensor, std::less<>>;

/// Reads NumPy's .npz (numpy.savez, numpy.savez_compressed): each file NAME.npy of the archive is the array NAME; other
/// files are passed over. Errors (Input) name the file and what is wrong with it; limits as in zip.h and npy.h.
[[nodiscard]] base::Result<NamedTensors> readNpz(const std::filesystem::path& path);
/// As readNpz, from memory; `where` is used in messages.
[[nodiscard]] base::Result<NamedTensors> parseNpz(std::span<const std::byte> data, const std::string& where);

/// What an archive holds, whatever lies beside the numbers.
struct NpzContents
{
    NamedTensors tensors;             ///< the arrays of numbers; may be empty
    std::vector<std::string> skipped; ///< files that are none, each with the reason: "notes.npy: …"
};

/// As readNpz, but what is no array of numbers (texts, objects, files of another kind) is listed and passed over.
/// Damaged files remain an error.
[[nodiscard]] base::Result<NpzContents> readNpzNumbers(const std::filesystem::path& path);
/// As readNpzNumbers, from memory; `where` is used in messages.
[[nodiscard]] base::Result<NpzContents> parseNpzNumbers(std::span<const std::byte> data, const std::string& where);

} // namespace retro::tensor
