// SPDX-License-Identifier: Apache-2.0
#include "app/common/decodepicture.h"

#include "core/engine/input/picturedecode.h"
#include "views/common/paint/picture.h"

namespace retro::app
{

namespace
{

/// Files that are built into the program have paths that start so; the file system does not know them.
constexpr const char* kBuiltIn = ":/";

} // namespace

base::Result<engine::PixelArray> decodePicture(const std::filesystem::path& path, bool asStored)
{
    if (!path.string().starts_with(kBuiltIn)) {
        return engine::decodePicture(path, asStored);
    }
    const QImage image(QString::fromStdString(path.string()));
    if (image.isNull()) {
        return base::inputError("the program has no such picture built in", path.string());
    }
    views::RgbPicture picture = views::toPicture(image);
    return engine::PixelArray{picture.width, picture.height, std::move(picture.rgb)};
}

QImage pictureOfInput(const tensor::Tensor& input, const engine::PictureOptions& options)
{
    return views::pictureOfTensor(input, options.low, options.high, options.mean, options.deviation,
                                  options.layout == "NHWC", options.channels == "BGR");
}

} // namespace retro::app
