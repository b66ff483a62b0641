// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/tensor/tensor.h"

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

namespace retro::tensor
{

/// Largest .npy file that is read.
inline constexpr std::uint64_t kMaxNpyBytes = 8ULL << 30;

/// Reads NumPy's .npy format, versions 1 to 3, little endian, C or Fortran order (the result has the logical shape and
/// is row-major). Errors (Input) name the file and the field: bad magic, header, type, rank, truncated data.
[[nodiscard]] base::Result<Tensor> readNpy(const std::filesystem::path& path);
/// As readNpy, from memory; `where` is used in messages.
[[nodiscard]] base::Result<Tensor> parseNpy(std::span<const std::byte> data, const std::string& where);

/// The .npy bytes (version 1.0, C order, logical order of the elements whatever the strides). NumPy has no bfloat16: it
/// is written as float32, which holds every such value.
[[nodiscard]] std::vector<std::byte> toNpy(const Tensor& tensor);
/// Writes a .npy file through a temporary name. Errors: Output.
[[nodiscard]] base::Result<void> writeNpy(const std::filesystem::path& path, const Tensor& tensor);

} // namespace retro::tensor
