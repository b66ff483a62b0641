// SPDX-License-Identifier: Apache-2.0
#include "app/common/decodepicture.h"

#include "views/common/paint/picture.h"

namespace retro::app
{

namespace
{

/// Files that are built into the program have paths that start so; the file system does not know them.
constexpr const char* kBuiltIn = ":/";

base::Result<views::RgbPicture> decode(const std::filesystem::path& path, bool asStored)
{
    if (!path.string().starts_with(kBuiltIn)) {
        return views::decodePicture(path, asStored);
    }
    const QImage image(QString::fromStdString(path.string()));
    if (image.isNull()) {
        return base::inputError("the program has no such picture built in", path.string());
    }
    return views::toPicture(image);
}

} // namespace

base::Result<engine::PixelArray> decodePicture(const std::filesystem::path& path, bool asStored)
{
    RETRO_TRY(views::RgbPicture picture, decode(path, asStored));
    engine::PixelArray pixels{picture.width, picture.height, std::move(picture.rgb)};
    if (!asStored && picture.orientation > 1) {
        return pixels.turned(picture.orientation);
    }
    return pixels;
}

QImage pictureOfInput(const tensor::Tensor& input, const engine::PictureOptions& options)
{
    return views::pictureOfTensor(input, options.low, options.high, options.mean, options.deviation,
                                  options.layout == "NHWC", options.channels == "BGR");
}

} // namespace retro::app
