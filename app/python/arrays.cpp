// SPDX-License-Identifier: Apache-2.0
#include "app/python/arrays.h"

#include "app/python/errors.h"
#include "core/formats/picturefile.h"

#include <fmt/format.h>

#include <png.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

namespace retro::python
{

namespace nb = nanobind;
using tensor::DType;
using tensor::Tensor;

namespace
{

struct TypePair
{
    DType ours;
    nb::dlpack::dtype theirs;
};

constexpr nb::dlpack::dtype theirType(nb::dlpack::dtype_code code, std::uint8_t bits)
{
    return {static_cast<std::uint8_t>(code), bits, 1};
}

/// Types that both sides have.
const std::array<TypePair, 13>& typePairs()
{
    using enum nb::dlpack::dtype_code;
    static const std::array<TypePair, 13> kPairs{{{DType::Float32, theirType(Float, 32)},
                                                  {DType::Float64, theirType(Float, 64)},
                                                  {DType::Float16, theirType(Float, 16)},
                                                  {DType::BFloat16, theirType(Bfloat, 16)},
                                                  {DType::Int8, theirType(Int, 8)},
                                                  {DType::UInt8, theirType(UInt, 8)},
                                                  {DType::Int16, theirType(Int, 16)},
                                                  {DType::UInt16, theirType(UInt, 16)},
                                                  {DType::Int32, theirType(Int, 32)},
                                                  {DType::UInt32, theirType(UInt, 32)},
                                                  {DType::Int64, theirType(Int, 64)},
                                                  {DType::UInt64, theirType(UInt, 64)},
                                                  {DType::Bool, theirType(Bool, 8)}}};
    return kPairs;
}

std::optional<DType> ourType(nb::dlpack::dtype type)
{
    const auto& pairs = typePairs();
    const auto* const found = std::ranges::find_if(pairs, [&](const TypePair& pair) { return pair.theirs == type; });
    return found == pairs.end() ? std::nullopt : std::optional(found->ours);
}

std::optional<nb::dlpack::dtype> theirTypeOf(DType type)
{
    const auto& pairs = typePairs();
    const auto* const found = std::ranges::find_if(pairs, [&](const TypePair& pair) { return pair.ours == type; });
    const bool isThere = found != pairs.end() && type != DType::BFloat16; // numpy does not have it
    return isThere ? std::optional(found->theirs) : std::nullopt;
}

/// Lets an array go: whoever has the tensor last may not hold the lock of the interpreter.
struct ArrayHolder
{
    explicit ArrayHolder(AnyArray held) : array(std::move(held)) {}
    ~ArrayHolder()
    {
        const nb::gil_scoped_acquire lock;
        array = AnyArray();
    }
    ArrayHolder(const ArrayHolder&) = delete;
    ArrayHolder& operator=(const ArrayHolder&) = delete;
    AnyArray array;
};

/// The same elements in memory of their own, row-major.
Tensor copied(const Tensor& view)
{
    const Tensor row = view.contiguous();
    if (row.storage() != view.storage()) {
        return row;
    }
    tensor::TensorBuffer buffer(row.dtype(), row.shape());
    if (row.bytes() > 0) {
        std::memcpy(buffer.rawData(), row.rawData(), static_cast<std::size_t>(row.bytes()));
    }
    return std::move(buffer).freeze();
}

struct PngReader
{
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
    png_infop info = png != nullptr ? png_create_info_struct(png) : nullptr;
    std::FILE* file = nullptr;

    PngReader() = default;
    PngReader(const PngReader&) = delete;
    PngReader& operator=(const PngReader&) = delete;
    ~PngReader()
    {
        png_destroy_read_struct(&png, &info, nullptr);
        if (file != nullptr) {
            std::fclose(file);
        }
    }
};

/// False where the file is no PNG, or breaks off. No object with a destructor may be made in here: libpng jumps out.
bool decodePng(PngReader& reader, bool asStored, std::vector<std::uint8_t>& rgb, std::vector<png_bytep>& rows,
               int& width, int& height)
{
    if (setjmp(png_jmpbuf(reader.png)) != 0) {
        return false;
    }
    png_init_io(reader.png, reader.file);
    png_set_user_limits(reader.png, 1U << 15U, 1U << 15U);
    png_read_info(reader.png, reader.info);
    png_set_expand(reader.png);
    png_set_strip_16(reader.png);
    png_set_gray_to_rgb(reader.png);
    const bool isSeeThrough = (png_get_color_type(reader.png, reader.info) & PNG_COLOR_MASK_ALPHA) != 0 ||
                              png_get_valid(reader.png, reader.info, PNG_INFO_tRNS) != 0;
    if (isSeeThrough && asStored) {
        png_set_strip_alpha(reader.png);
    } else if (isSeeThrough) { // as the window shows it: on white
        png_color_16 white{0, 255, 255, 255, 255};
        png_set_background(reader.png, &white, PNG_BACKGROUND_GAMMA_SCREEN, 0, 1.0);
    }
    png_set_interlace_handling(reader.png);
    png_read_update_info(reader.png, reader.info);
    width = static_cast<int>(png_get_image_width(reader.png, reader.info));
    height = static_cast<int>(png_get_image_height(reader.png, reader.info));
    if (png_get_rowbytes(reader.png, reader.info) != static_cast<std::size_t>(width) * 3) {
        return false;
    }
    rgb.resize(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3);
    rows.resize(static_cast<std::size_t>(height));
    for (std::size_t y = 0; y < rows.size(); ++y) {
        rows[y] = rgb.data() + y * static_cast<std::size_t>(width) * 3;
    }
    png_read_image(reader.png, rows.data());
    return true;
}

} // namespace

Tensor tensorOf(const AnyArray& array, bool copies)
{
    const std::optional<DType> type = ourType(array.dtype());
    if (!type) {
        throw Refused(base::inputError("arrays of this element type are not taken; convert it to float32, float64, or "
                                       "the type that the model declares"));
    }
    tensor::Shape shape;
    tensor::Shape strides;
    std::int64_t reach = 1;
    bool isEmpty = false;
    for (std::size_t axis = 0; axis < array.ndim(); ++axis) {
        const auto extent = static_cast<std::int64_t>(array.shape(axis));
        const std::int64_t stride = extent > 1 ? array.stride(axis) : 1;
        if (stride < 0) {
            throw Refused(base::inputError("an array that runs backwards cannot be read in place; copy it first"));
        }
        shape.push_back(extent);
        strides.push_back(stride);
        reach += (std::max<std::int64_t>(extent, 1) - 1) * stride;
        isEmpty = isEmpty || extent == 0;
    }
    if (isEmpty) {
        return Tensor::zeros(*type, std::move(shape));
    }
    const auto bytes = static_cast<std::size_t>(reach) * tensor::sizeOf(*type);
    const std::span<const std::byte> data(static_cast<const std::byte*>(array.data()), bytes);
    const bool isAligned = reinterpret_cast<std::uintptr_t>(data.data()) % tensor::sizeOf(*type) == 0;
    if (!isAligned) {
        throw Refused(
            base::inputError("the elements of this array do not lie where their type may lie; copy it first"));
    }
    const std::shared_ptr<const void> owner = std::make_shared<ArrayHolder>(array);
    const Tensor view(*type, std::move(shape), std::move(strides), 0,
                      std::make_shared<const tensor::Storage>(owner, data));
    return copies ? copied(view) : view;
}

nb::object arrayOf(const Tensor& tensor)
{
    const std::optional<nb::dlpack::dtype> type = theirTypeOf(tensor.dtype());
    auto held = std::make_unique<Tensor>(type ? tensor : tensor.to(DType::Float32));
    std::vector<std::size_t> shape(held->shape().begin(), held->shape().end());
    const std::vector<std::int64_t> strides = held->strides();
    const std::byte* const data = held->rawData();
    const nb::capsule owner(held.get(), [](void* kept) noexcept { delete static_cast<Tensor*>(kept); });
    const std::size_t rank = held->rank();
    static_cast<void>(held.release());
    return nb::cast(nb::ndarray<nb::numpy, nb::ro>(data, rank, shape.data(), owner, strides.data(),
                                                   type.value_or(*theirTypeOf(DType::Float32))));
}

base::Result<engine::PixelArray> readPng(const std::filesystem::path& path, bool asStored)
{
    PngReader reader;
    reader.file = std::fopen(path.c_str(), "rb");
    if (reader.file == nullptr) {
        return base::inputError("there is no such file; check the path", path.string());
    }
    if (path.extension() != ".png" && path.extension() != ".PNG") {
        return base::inputError("in Python only .png is read; open the picture with another library and give its "
                                "pixels: model.picture(array)",
                                path.string());
    }
    engine::PixelArray picture;
    std::vector<png_bytep> rows;
    png_set_error_fn(
        reader.png, nullptr, [](png_structp png, png_const_charp) { png_longjmp(png, 1); },
        [](png_structp, png_const_charp) {});
    if (!decodePng(reader, asStored, picture.rgb, rows, picture.width, picture.height)) {
        return base::inputError("the file is no PNG picture, or breaks off", path.string());
    }
    const auto facts = formats::pictureFile(path);
    if (!asStored && facts && facts->orientation > 1) {
        return picture.turned(facts->orientation);
    }
    return picture;
}

} // namespace retro::python
