// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/npy.h"

#include "core/base/file.h"
#include "core/tensor/checkedshape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <string_view>

namespace retro::tensor
{

using base::inputError;
using base::Result;

namespace
{

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kVersionEnd = 8;      // magic and two bytes of version
constexpr std::size_t kMaxHeader = 1 << 20; // NumPy's own headers have about a hundred bytes

/// The text of a header, and the bytes behind it.
struct HeaderText
{
    std::string text;
    std::uint64_t left = 0;
};

/// Bytes one after the other of which there are `left`.
struct Left
{
    const NextBytes& next;
    std::uint64_t left;

    Result<void> take(std::span<std::byte> target, const char* what)
    {
        if (target.size() > left) {
            return inputError(fmt::format("the file ends inside {}", what));
        }
        left -= target.size();
        return next(target);
    }
};

Result<HeaderText> takeHeader(const NextBytes& next, std::uint64_t size)
{
    Left bytes{next, size};
    std::array<std::byte, kVersionEnd> start{};
    const bool hasStart = size >= start.size();
    if (hasStart) {
        RETRO_CHECK(bytes.take(start, "its version"));
    }
    const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
    if (!hasStart || !text.starts_with(kMagic)) {
        return inputError("this is not a NumPy array: it does not start with NumPy's mark; save one with numpy.save");
    }
    const auto major = std::to_integer<unsigned>(start[6]);
    if (major < 1 || major > 3) {
        return inputError(fmt::format("version {} of the format is not known; versions 1 to 3 are read", major));
    }
    std::uint32_t length = 0;
    const std::size_t width = major == 1 ? 2 : 4;
    RETRO_CHECK(bytes.take(std::as_writable_bytes(std::span(&length, 1)).first(width), "the length of its header"));
    if (length > kMaxHeader) {
        return inputError(fmt::format("the header says that it has {} bytes; at most {} are read", length, kMaxHeader));
    }
    if (length > bytes.left) {
        return inputError(fmt::format("the file ends at byte {}, inside its header of {} bytes", size, length));
    }
    HeaderText header{std::string(length, '\0'), 0};
    RETRO_CHECK(bytes.take(std::as_writable_bytes(std::span(header.text.data(), length)), "its header"));
    header.left = bytes.left;
    return header;
}

Result<void> checkLength(std::uint64_t expected, std::uint64_t actual, const NpyHeader& header)
{
    if (expected == actual) {
        return {};
    }
    return inputError(fmt::format("the shape {} of {} needs {} bytes of elements but the file has {}{}",
                                  toText(header.shape), nameOf(header.dtype), expected, actual,
                                  actual < expected ? "; the file was probably cut off: save it again" : ""),
                      "field 'shape'");
}

/// Fortran order is row-major over the reversed axes.
Tensor fromFortran(const Tensor& reversed)
{
    Shape axes(reversed.rank());
    std::iota(axes.rbegin(), axes.rend(), std::int64_t{0});
    return reversed.permuted(axes).contiguous();
}

std::string headerText(const Tensor& tensor)
{
    std::string extents;
    for (const std::int64_t extent : tensor.shape()) {
        extents += fmt::format("{}{}", extents.empty() ? "" : " ", extent) + ",";
    }
    if (tensor.rank() > 1) {
        extents.pop_back(); // only a tuple of one needs its comma
    }
    std::string text =
        fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", npyTypeCode(tensor.dtype()), extents);
    const std::size_t used = kVersionEnd + 2 + text.size() + 1;
    text.append((64 - used % 64) % 64, ' '); // elements start at a multiple of 64 bytes
    text += '\n';
    return text;
}

/// The bytes of a file from its beginning. Borrows it.
NextBytes bytesOf(const base::FileReader& file)
{
    return [&file, at = std::uint64_t{0}](std::span<std::byte> target) mutable -> Result<void> {
        const std::uint64_t begin = at;
        at += target.size();
        Result<void> read = file.read(begin, target);
        return read ? std::move(read) : base::inputError(std::move(read).error().message); // the file is named anyway
    };
}

/// Arrays of NumPy alone have no bfloat16 and no narrow types: a type that holds the same numbers.
DType typeInNpy(DType type)
{
    switch (type) {
    case DType::Int4:
    case DType::Int2:
        return DType::Int8;
    case DType::UInt4:
    case DType::UInt2:
        return DType::UInt8;
    default:
        return type == DType::BFloat16 || isNarrow(type) ? DType::Float32 : type;
    }
}

} // namespace

Result<NpyReader> NpyReader::open(NextBytes next, std::uint64_t size)
{
    RETRO_TRY(const HeaderText text, takeHeader(next, size));
    RETRO_TRY(auto header, base::within(parseNpyHeader(text.text), "header"));
    RETRO_TRY(auto bytes, base::within(checkedBytes(header.shape, header.dtype, kMaxNpyBytes), "field 'shape'"));
    RETRO_CHECK(checkLength(bytes, text.left, header));
    return NpyReader(std::move(next), std::move(header), bytes);
}

Result<Tensor> NpyReader::elements()
{
    Shape shape = m_header.shape;
    if (m_header.isFortranOrder) {
        std::reverse(shape.begin(), shape.end());
    }
    TensorBuffer buffer(m_header.dtype, std::move(shape));
    RETRO_CHECK(m_next(std::span(buffer.rawData(), static_cast<std::size_t>(m_bytes))));
    Tensor tensor = std::move(buffer).freeze();
    return m_header.isFortranOrder ? fromFortran(tensor) : std::move(tensor);
}

Result<Tensor> parseNpy(std::span<const std::byte> data, const std::string& where)
{
    const auto next = [rest = data](std::span<std::byte> target) mutable -> Result<void> {
        std::copy_n(rest.begin(), target.size(), target.begin());
        rest = rest.subspan(target.size());
        return {};
    };
    Result<NpyReader> reader = NpyReader::open(next, data.size());
    Result<Tensor> tensor = reader ? reader->elements() : Result<Tensor>(std::move(reader).error());
    return tensor.ok() ? std::move(tensor) : base::within(std::move(tensor).error(), where);
}

Result<Tensor> readNpy(const std::filesystem::path& path)
{
    RETRO_TRY(const base::FileReader file, base::FileReader::open(path, kMaxNpyBytes));
    Result<NpyReader> reader = NpyReader::open(bytesOf(file), file.size());
    Result<Tensor> tensor = reader ? reader->elements() : Result<Tensor>(std::move(reader).error());
    return tensor.ok() ? std::move(tensor) : base::within(std::move(tensor).error(), path.string());
}

Result<NpyHeader> readNpyHeader(const std::filesystem::path& path)
{
    RETRO_TRY(const base::FileReader file, base::FileReader::open(path, kMaxNpyBytes));
    Result<NpyReader> reader = NpyReader::open(bytesOf(file), file.size());
    return reader ? Result<NpyHeader>(reader->header()) : base::within(std::move(reader).error(), path.string());
}

std::vector<std::byte> toNpy(const Tensor& tensor)
{
    const Tensor plain = tensor.to(typeInNpy(tensor.dtype())).contiguous();
    const std::string header = headerText(plain);
    std::string start(kMagic);
    start += '\1'; // version 1.0
    start += '\0';
    start += static_cast<char>(header.size() & 0xffU);
    start += static_cast<char>(header.size() >> 8);
    start += header;
    std::vector<std::byte> data(start.size() + static_cast<std::size_t>(plain.bytes()));
    std::memcpy(data.data(), start.data(), start.size());
    std::memcpy(data.data() + start.size(), plain.rawData(), static_cast<std::size_t>(plain.bytes()));
    return data;
}

Result<void> writeNpy(const std::filesystem::path& path, const Tensor& tensor)
{
    return base::writeFile(path, toNpy(tensor));
}

} // namespace retro::tensor
