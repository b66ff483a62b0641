// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/npy.h"

#include "core/base/file.h"
#include "core/tensor/checkedshape.h"
#include "core/tensor/npyheader.h"

#include <fmt/format.h>

#include <algorithm>
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

/// Where the header's text and the elements lie.
struct Sections
{
    std::string_view header;
    std::span<const std::byte> elements;
};

Result<Sections> split(std::span<const std::byte> data)
{
    const std::string_view text(reinterpret_cast<const char*>(data.data()), data.size());
    if (!text.starts_with(kMagic)) {
        return inputError("this is not a NumPy array: it does not start with NumPy's mark; save one with numpy.save");
    }
    if (data.size() < kVersionEnd) {
        return inputError(fmt::format("the file ends at byte {}, inside its version", data.size()));
    }
    const auto major = std::to_integer<unsigned>(data[6]);
    if (major < 1 || major > 3) {
        return inputError(fmt::format("version {} of the format is not known; versions 1 to 3 are read", major));
    }
    const std::size_t width = major == 1 ? 2 : 4;
    const std::size_t begin = kVersionEnd + width;
    if (data.size() < begin) {
        return inputError(fmt::format("the file ends at byte {}, inside the length of its header", data.size()));
    }
    std::uint32_t length = 0;
    std::memcpy(&length, data.data() + kVersionEnd, width);
    if (length > kMaxHeader) {
        return inputError(fmt::format("the header says that it has {} bytes; at most {} are read", length, kMaxHeader));
    }
    if (data.size() - begin < length) {
        return inputError(fmt::format("the file ends at byte {}, inside its header of {} bytes", data.size(), length));
    }
    return Sections{text.substr(begin, length), data.subspan(begin + length)};
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

Result<Tensor> parse(std::span<const std::byte> data)
{
    RETRO_TRY(const Sections sections, split(data));
    Result<NpyHeader> parsed = parseNpyHeader(sections.header);
    if (!parsed) {
        return base::within(std::move(parsed).error(), "header");
    }
    const NpyHeader& header = *parsed;
    Result<std::uint64_t> bytes = checkedBytes(header.shape, header.dtype, kMaxNpyBytes);
    if (!bytes) {
        return base::within(std::move(bytes).error(), "field 'shape'");
    }
    RETRO_CHECK(checkLength(*bytes, sections.elements.size(), header));
    Shape shape = header.shape;
    if (header.isFortranOrder) {
        std::reverse(shape.begin(), shape.end());
    }
    TensorBuffer buffer(header.dtype, std::move(shape));
    std::copy(sections.elements.begin(), sections.elements.end(), buffer.rawData());
    Tensor tensor = std::move(buffer).freeze();
    return header.isFortranOrder ? fromFortran(tensor) : std::move(tensor);
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

} // namespace

Result<Tensor> parseNpy(std::span<const std::byte> data, const std::string& where)
{
    Result<Tensor> tensor = parse(data);
    return tensor.ok() ? std::move(tensor) : base::within(std::move(tensor).error(), where);
}

Result<Tensor> readNpy(const std::filesystem::path& path)
{
    RETRO_TRY(const std::vector<std::byte> data, base::readFile(path, kMaxNpyBytes));
    return parseNpy(data, path.string());
}

namespace
{

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
