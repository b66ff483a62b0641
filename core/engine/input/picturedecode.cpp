// SPDX-License-Identifier: Apache-2.0
// libpng and TurboJPEG are linked. Leptonica comes with a dozen libraries, one of them under the GPL, so it is loaded
// when a picture of another kind is asked for.
#include "core/engine/input/picturedecode.h"

#include "core/base/file.h"
#include "core/base/memoryend.h"
#include "core/formats/picturefile.h"

#include <fmt/format.h>

#include <png.h>
#include <turbojpeg.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <dlfcn.h>
#include <memory>
#include <optional>
#include <span>

namespace retro::engine
{

namespace
{

using base::Result;
using formats::PictureFile;
using Bytes = std::span<const std::byte>;

constexpr std::size_t kColours = 4; ///< red, green, blue, alpha
constexpr std::uint8_t kOpaque = 255;

/// Rows from the top without gaps.
struct Pixels
{
    int width = 0;
    int height = 0;
    std::vector<std::uint8_t> rgba;

    void resize(int newWidth, int newHeight)
    {
        width = newWidth;
        height = newHeight;
        rgba.resize(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * kColours);
    }
    [[nodiscard]] std::size_t pitch() const { return static_cast<std::size_t>(width) * kColours; }
};

base::Error damaged(const std::string& why) { return base::inputError("the picture is damaged: " + why); }

struct PngReader
{
    explicit PngReader(Bytes left) : data(left) {}
    PngReader(const PngReader&) = delete;
    PngReader& operator=(const PngReader&) = delete;
    ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }

    Bytes data; ///< not read yet
    std::string why;
    std::vector<png_bytep> rows;
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, failed, [](png_structp, png_const_charp) {});
    png_infop info = png != nullptr ? png_create_info_struct(png) : nullptr;

    [[noreturn]] static void failed(png_structp png, png_const_charp message)
    {
        static_cast<PngReader*>(png_get_error_ptr(png))->why = message;
        png_longjmp(png, 1);
    }
    static void read(png_structp png, png_bytep to, std::size_t count)
    {
        Bytes& left = static_cast<PngReader*>(png_get_io_ptr(png))->data;
        if (count > left.size()) {
            png_error(png, "it ends too early; get the whole file");
        }
        std::memcpy(to, left.data(), count);
        left = left.subspan(count);
    }
};

/// False where the file breaks off. No object with a destructor may be made in here: libpng jumps out.
bool readPng(PngReader& reader, Pixels& pixels)
{
    if (reader.info == nullptr || setjmp(png_jmpbuf(reader.png)) != 0) {
        return false;
    }
    png_set_read_fn(reader.png, &reader, PngReader::read);
    png_set_user_limits(
        reader.png, static_cast<png_uint_32>(formats::kMaxPicturePixels),
        static_cast<png_uint_32>(formats::kMaxPicturePixels)); // of a side; their product is looked at before
    png_read_info(reader.png, reader.info);
    png_set_expand(reader.png);
    png_set_scale_16(reader.png);
    png_set_gray_to_rgb(reader.png);
    png_set_add_alpha(reader.png, kOpaque, PNG_FILLER_AFTER);
    png_set_interlace_handling(reader.png);
    png_read_update_info(reader.png, reader.info);
    pixels.resize(static_cast<int>(png_get_image_width(reader.png, reader.info)),
                  static_cast<int>(png_get_image_height(reader.png, reader.info)));
    if (png_get_rowbytes(reader.png, reader.info) != pixels.pitch()) {
        return false;
    }
    reader.rows.resize(static_cast<std::size_t>(pixels.height));
    for (std::size_t y = 0; y < reader.rows.size(); ++y) {
        reader.rows[y] = pixels.rgba.data() + y * pixels.pitch();
    }
    png_read_image(reader.png, reader.rows.data());
    png_read_end(reader.png, nullptr);
    return true;
}

Result<Pixels> decodePng(Bytes bytes)
{
    PngReader reader(bytes);
    Pixels pixels;
    return readPng(reader, pixels) ? Result<Pixels>(std::move(pixels)) : damaged(reader.why);
}

/// Print colours, stored inverted as every writer does it.
void fromPrintColours(Pixels& pixels)
{
    for (std::size_t i = 0; i < pixels.rgba.size(); i += kColours) {
        const int black = pixels.rgba[i + 3];
        for (std::size_t c = 0; c < 3; ++c) {
            pixels.rgba[i + c] = static_cast<std::uint8_t>((pixels.rgba[i + c] * black + kOpaque / 2) / kOpaque);
        }
        pixels.rgba[i + 3] = kOpaque;
    }
}

Result<Pixels> decodeJpeg(Bytes bytes)
{
    const std::unique_ptr<void, int (*)(tjhandle)> reader(tjInitDecompress(), tjDestroy);
    const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
    int width = 0;
    int height = 0;
    int sampling = 0;
    int colours = 0;
    if (!reader || tjDecompressHeader3(reader.get(), data, bytes.size(), &width, &height, &sampling, &colours) != 0) {
        return damaged(tjGetErrorStr2(reader.get()));
    }
    const bool isPrint = colours == TJCS_CMYK || colours == TJCS_YCCK;
    Pixels pixels;
    pixels.resize(width, height);
    if (tjDecompress2(reader.get(), data, bytes.size(), pixels.rgba.data(), width, static_cast<int>(pixels.pitch()),
                      height, isPrint ? TJPF_CMYK : TJPF_RGBA, 0) != 0) {
        const std::string why = tjGetErrorStr2(reader.get());
        const bool isCut = why.find("remature end") != std::string::npos;
        if (isCut || tjGetErrorCode(reader.get()) != TJERR_WARNING) {
            return damaged(isCut ? "it ends too early; get the whole file" : why);
        }
    }
    if (isPrint) {
        fromPrintColours(pixels);
    }
    return pixels;
}

/// A BMP of 32 bits, whose colours Leptonica takes for red, green, blue; none where it is another one. What lies beside
/// the colours is not shown, as browsers do it.
std::optional<Pixels> bmpOf32Bits(const PictureFile& file, Bytes bytes)
{
    const auto number = [&bytes](std::size_t at) {
        std::uint32_t found = 0;
        std::memcpy(&found, bytes.data() + at, sizeof(found));
        return found;
    };
    constexpr std::size_t kHead = 54;
    constexpr std::uint32_t kOneLayer32 = 32U << 16U | 1U;
    const bool isPlain = bytes.size() >= kHead + 12 && number(14) >= 40 && number(26) == kOneLayer32 &&
                         (number(30) == 0 || (number(30) == 3 && number(54) == 0xFF0000 && number(62) == 0xFF));
    if (!isPlain) {
        return std::nullopt;
    }
    Pixels pixels;
    pixels.resize(file.width, file.height);
    const bool isFromTop = static_cast<std::int32_t>(number(22)) < 0;
    for (std::size_t i = 0; i < pixels.rgba.size(); i += kColours) {
        const std::size_t row = i / pixels.pitch();
        const std::size_t from = isFromTop ? row : static_cast<std::size_t>(file.height) - 1 - row;
        const std::uint32_t pixel = number(number(10) + from * pixels.pitch() + i % pixels.pitch());
        pixels.rgba[i] = static_cast<std::uint8_t>(pixel >> 16U);
        pixels.rgba[i + 1] = static_cast<std::uint8_t>(pixel >> 8U);
        pixels.rgba[i + 2] = static_cast<std::uint8_t>(pixel);
        pixels.rgba[i + 3] = kOpaque;
    }
    return pixels;
}

/// What is used of Leptonica, by its own names: https://tpgit.github.io/Leptonica.
struct Leptonica
{
    struct Pix;
    struct Colormap;
    using Reader = Pix* (*)(const std::uint8_t* data, std::size_t size);

    int (*setMsgSeverity)(int) = nullptr;
    void (*leptSetStderrHandler)(void (*)(const char*)) = nullptr;
    Reader pixReadMemBmp = nullptr;
    Reader pixReadMemGif = nullptr;
    Reader pixReadMemWebP = nullptr;
    Pix* (*pixReadMemTiff)(const std::uint8_t* data, std::size_t size, int page) = nullptr;
    Colormap* (*pixGetColormap)(Pix*) = nullptr;
    int (*pixcmapSetAlpha)(Colormap*, int index, int alpha) = nullptr;
    Pix* (*pixRemoveColormap)(Pix*, int how) = nullptr;
    Pix* (*pixConvertTo32)(Pix*) = nullptr;
    int (*pixGetWidth)(const Pix*) = nullptr;
    int (*pixGetHeight)(const Pix*) = nullptr;
    int (*pixGetSpp)(const Pix*) = nullptr;
    int (*pixGetWpl)(const Pix*) = nullptr;
    std::uint32_t* (*pixGetData)(Pix*) = nullptr;
    void (*pixDestroy)(Pix**) = nullptr;

    /// The library, loaded once; null where it is not installed.
    static const Leptonica* library();

private:
    bool load(void* handle);
};

bool Leptonica::load(void* handle)
{
    bool areAll = true;
    const auto take = [&](auto& function, const char* name) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
        areAll = areAll && function != nullptr;
    };
    take(setMsgSeverity, "setMsgSeverity");
    take(leptSetStderrHandler, "leptSetStderrHandler");
    take(pixReadMemBmp, "pixReadMemBmp");
    take(pixReadMemGif, "pixReadMemGif");
    take(pixReadMemWebP, "pixReadMemWebP");
    take(pixReadMemTiff, "pixReadMemTiff");
    take(pixGetColormap, "pixGetColormap");
    take(pixcmapSetAlpha, "pixcmapSetAlpha");
    take(pixRemoveColormap, "pixRemoveColormap");
    take(pixConvertTo32, "pixConvertTo32");
    take(pixGetWidth, "pixGetWidth");
    take(pixGetHeight, "pixGetHeight");
    take(pixGetSpp, "pixGetSpp");
    take(pixGetWpl, "pixGetWpl");
    take(pixGetData, "pixGetData");
    take(pixDestroy, "pixDestroy");
    // Errors are said by us, also those of the library for TIFF.
    for (const char* name : {"TIFFSetErrorHandler", "TIFFSetWarningHandler"}) {
        if (void* const set = ::dlsym(handle, name); set != nullptr) {
            reinterpret_cast<void* (*)(void*)>(set)(nullptr);
        }
    }
    constexpr int kNoMessages = 6;
    if (areAll) {
        setMsgSeverity(kNoMessages);
        leptSetStderrHandler([](const char*) {});
    }
    return areAll;
}

const Leptonica* Leptonica::library()
{
    static Leptonica loaded;
    static const bool isThere = [] {
        void* handle = nullptr;
        for (const char* name : {"liblept.so.5", "libleptonica.so.6"}) {
            handle = handle == nullptr ? ::dlopen(name, RTLD_NOW | RTLD_LOCAL) : handle;
        }
        return handle != nullptr && loaded.load(handle);
    }();
    return isThere ? &loaded : nullptr;
}

class LeptonicaPicture
{
public:
    using Pix = Leptonica::Pix;

    LeptonicaPicture(const Leptonica& library, const PictureFile& file, Bytes bytes) : m_library(library)
    {
        const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
        using enum PictureFile::Format;
        switch (file.format) {
        case Bmp:
            m_pix = library.pixReadMemBmp(data, bytes.size());
            break;
        case Gif:
            m_pix = library.pixReadMemGif(data, bytes.size());
            break;
        case Tiff:
            m_pix = library.pixReadMemTiff(data, bytes.size(), 0);
            break;
        default:
            m_pix = library.pixReadMemWebP(data, bytes.size());
        }
        expand(file.clearColour);
    }
    ~LeptonicaPicture() { m_library.pixDestroy(&m_pix); }
    LeptonicaPicture(const LeptonicaPicture&) = delete;
    LeptonicaPicture& operator=(const LeptonicaPicture&) = delete;

    [[nodiscard]] bool isRead() const { return m_pix != nullptr; }
    [[nodiscard]] Pixels pixels() const
    {
        Pixels pixels;
        pixels.resize(m_library.pixGetWidth(m_pix), m_library.pixGetHeight(m_pix));
        const bool isOpaque = m_library.pixGetSpp(m_pix) != static_cast<int>(kColours);
        const auto gap = static_cast<std::size_t>(m_library.pixGetWpl(m_pix) - pixels.width);
        const std::uint32_t* word = m_library.pixGetData(m_pix);
        for (std::size_t i = 0; i < pixels.rgba.size(); i += kColours) {
            word += i > 0 && i % pixels.pitch() == 0 ? gap : 0;
            for (std::size_t c = 0; c < kColours; ++c) {
                pixels.rgba[i + c] = static_cast<std::uint8_t>(*word >> (24U - 8U * c));
            }
            pixels.rgba[i + 3] = isOpaque ? kOpaque : pixels.rgba[i + 3];
            ++word;
        }
        return pixels;
    }

private:
    /// To 32 bits a pixel; what has no colour table stays as it is.
    void expand(int clearColour)
    {
        constexpr int kWithAlpha = 3;
        constexpr int kByColours = 4;
        Leptonica::Colormap* const colours = isRead() ? m_library.pixGetColormap(m_pix) : nullptr;
        if (colours != nullptr) {
            const bool isClear = clearColour >= 0 && m_library.pixcmapSetAlpha(colours, clearColour, 0) == 0;
            replace(m_library.pixRemoveColormap(m_pix, isClear ? kWithAlpha : kByColours));
        }
        if (isRead()) {
            replace(m_library.pixConvertTo32(m_pix));
        }
    }
    void replace(Pix* pix)
    {
        m_library.pixDestroy(&m_pix);
        m_pix = pix;
    }

    const Leptonica& m_library;
    Pix* m_pix = nullptr;
};

/// What is handed over in place of a file that the library would read otherwise: of an animation, all of whose pictures
/// it would unpack, the first one; a TIFF that is not turned, which it does wrongly in one of the eight ways. Empty:
/// the file itself.
std::vector<std::byte> partForLeptonica(const PictureFile& file, Bytes bytes)
{
    if (file.format == PictureFile::Format::Gif) {
        std::vector<std::byte> first(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(file.firstEnd));
        first.push_back(std::byte{';'});
        return first;
    }
    if (file.turnAt == 0) {
        return {};
    }
    std::vector<std::byte> unturned(bytes.begin(), bytes.end());
    const bool isLittle = bytes[0] == std::byte{'I'};
    unturned[file.turnAt] = std::byte{isLittle};
    unturned[file.turnAt + 1] = std::byte{!isLittle};
    return unturned;
}

Result<Pixels> decodeByLeptonica(const PictureFile& file, Bytes bytes)
{
    const Leptonica* const library = Leptonica::library();
    if (library == nullptr) {
        return base::inputError(
            fmt::format("{} is read by Leptonica, which is not installed; install the package liblept5 "
                        "(or libleptonica6), or save the picture as PNG",
                        formats::nameOf(file.format)));
    }
    const std::vector<std::byte> taken = partForLeptonica(file, bytes);
    if (!taken.empty()) {
        bytes = taken;
    }
    const LeptonicaPicture picture(*library, file, bytes);
    if (!picture.isRead()) {
        return base::inputError(
            fmt::format("this {} is damaged, or of a kind that Leptonica does not read (compressed BMP, "
                        "animated WebP, TIFF of fractions); save it as PNG",
                        formats::nameOf(file.format)));
    }
    return picture.pixels();
}

/// On white, or as its colours are stored; `isDimmed` where they are times alpha already.
PixelArray withoutAlpha(const Pixels& pixels, bool asStored, bool isDimmed)
{
    PixelArray plain{pixels.width, pixels.height, {}};
    plain.rgb.resize(pixels.rgba.size() / kColours * 3);
    auto to = plain.rgb.begin();
    for (std::size_t i = 0; i < pixels.rgba.size(); i += kColours) {
        const int alpha = asStored ? kOpaque : pixels.rgba[i + 3];
        for (std::size_t c = 0; c < 3; ++c) {
            const int lit = pixels.rgba[i + c] * (isDimmed ? kOpaque : alpha) + kOpaque * (kOpaque - alpha);
            *to++ = static_cast<std::uint8_t>(std::min((lit + kOpaque / 2) / kOpaque, int{kOpaque}));
        }
    }
    return plain;
}

Result<Pixels> decodeBytes(const PictureFile& file, Bytes bytes)
{
    using enum PictureFile::Format;
    switch (file.format) {
    case Other:
        return base::inputError("this is not a picture that can be read; use PNG, JPEG, BMP, GIF, TIFF or WebP");
    case Png:
        return decodePng(bytes);
    case Jpeg:
        return decodeJpeg(bytes);
    case Bmp:
        if (auto pixels = bmpOf32Bits(file, bytes)) {
            return std::move(*pixels);
        }
        [[fallthrough]];
    default:
        return decodeByLeptonica(file, bytes);
    }
}

} // namespace

Result<PixelArray> decodePicture(const std::filesystem::path& path, bool asStored)
{
    constexpr std::uint64_t kMostBytes = 512ULL << 20U;
    RETRO_TRY(const std::vector<std::byte> bytes, base::readFile(path, kMostBytes));
    const PictureFile file = formats::pictureFile(std::span(bytes));
    RETRO_CHECK(formats::checkPictureFile(file, path.string()));
    const base::MemoryWatch memory; // a picture is not damaged because there is no room for it
    auto pixels = decodeBytes(file, bytes);
    if (!pixels.ok()) {
        RETRO_CHECK(memory.check(path.string()));
        return base::within(std::move(pixels).error(), path.string());
    }
    const bool isTiff = file.format == PictureFile::Format::Tiff;
    if (isTiff && asStored && file.hasTransparency) {
        return base::inputError(
            "the colours under the transparent parts of a TIFF are not kept; save it as PNG to take "
            "them as they are stored",
            path.string());
    }
    const PixelArray picture = withoutAlpha(*pixels, asStored, isTiff);
    return asStored ? picture : picture.turned(file.orientation);
}

} // namespace retro::engine
