// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/tensor/npyheader.h"
#include "core/tensor/tensor.h"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace retro::tensor
{

/// Arrays by name.
using NamedTensors = std::map<std::string, Tensor, std::less<>>;

/// Most bytes that the arrays which are read from one archive may have together.
inline constexpr std::uint64_t kMaxNpzBytes = 8ULL << 30;

/// Whether an array takes part, decided by its name and header before it is unpacked: nothing when it does, else the
/// reason why not, under which it is listed; an empty reason is not listed.
using NpzChoice = std::function<std::optional<std::string>(const std::string& name, const NpyHeader& header)>;

/// Reads NumPy's .npz (numpy.savez, numpy.savez_compressed): each file NAME.npy of the archive is the array NAME; other
/// files are passed over, and so are arrays that `choice` does not take. Errors (Input) name the file and what is wrong
/// with it; limits as in zip.h and npy.h.
[[nodiscard]] base::Result<NamedTensors> readNpz(const std::filesystem::path& path, const NpzChoice& choice = {});
/// As readNpz, from memory; `where` is used in messages.
[[nodiscard]] base::Result<NamedTensors> parseNpz(std::span<const std::byte> data, const std::string& where,
                                                  const NpzChoice& choice = {});

/// What an archive holds, whatever lies beside the numbers.
struct NpzContents
{
    NamedTensors tensors;             ///< the arrays of numbers; may be empty
    std::vector<std::string> skipped; ///< files that are none or were not chosen, each with the reason: "notes.npy: …"
};

/// As readNpz, but what is no array of numbers (texts, objects, files of another kind) is listed and passed over.
/// Damaged files remain an error.
[[nodiscard]] base::Result<NpzContents> readNpzNumbers(const std::filesystem::path& path, const NpzChoice& choice = {});
/// As readNpzNumbers, from memory; `where` is used in messages.
[[nodiscard]] base::Result<NpzContents> parseNpzNumbers(std::span<const std::byte> data, const std::string& where,
                                                        const NpzChoice& choice = {});

} // namespace retro::tensor
