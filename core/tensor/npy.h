// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/tensor/npyheader.h"
#include "core/tensor/tensor.h"

#include <cstddef>
#include <filesystem>
#include <functional>
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

/// What its header says, without its elements. Errors as those of readNpy.
[[nodiscard]] base::Result<NpyHeader> readNpyHeader(const std::filesystem::path& path);

/// Fills a piece of memory with the bytes that come next.
using NextBytes = std::function<base::Result<void>(std::span<std::byte>)>;

/// An array that is read in two steps, so that its header can be looked at before there is memory for its elements.
class NpyReader
{
public:
    /// Reads the header. `size` is the number of bytes in all. Errors as those of readNpy, without the file; those of
    /// `next`.
    [[nodiscard]] static base::Result<NpyReader> open(NextBytes next, std::uint64_t size);

    [[nodiscard]] const NpyHeader& header() const { return m_header; }
    /// Bytes of the elements.
    [[nodiscard]] std::uint64_t bytes() const { return m_bytes; }
    /// Reads the elements into a tensor. Once. Errors: those of `next`.
    [[nodiscard]] base::Result<Tensor> elements();

private:
    NpyReader(NextBytes next, NpyHeader header, std::uint64_t bytes)
        : m_next(std::move(next)), m_header(std::move(header)), m_bytes(bytes)
    {}

    NextBytes m_next;
    NpyHeader m_header;
    std::uint64_t m_bytes = 0;
};

/// The .npy bytes (version 1.0, C order, logical order of the elements whatever the strides). NumPy has no bfloat16: it
/// is written as float32, which holds every such value.
[[nodiscard]] std::vector<std::byte> toNpy(const Tensor& tensor);
/// Writes a .npy file through a temporary name. Errors: Output.
[[nodiscard]] base::Result<void> writeNpy(const std::filesystem::path& path, const Tensor& tensor);

} // namespace retro::tensor
