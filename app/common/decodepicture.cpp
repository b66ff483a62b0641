// SPDX-License-Identifier: Apache-2.0
#include "app/common/decodepicture.h"

#include "views/common/picture.h"

namespace retro::app
{

base::Result<engine::PixelArray> decodePicture(const std::filesystem::path& path)
{
    RETRO_TRY(views::RgbPicture picture, views::decodePicture(path));
    return engine::PixelArray{picture.width, picture.height, std::move(picture.rgb)};
}

QImage pictureOfInput(const tensor::Tensor& input, const engine::PictureOptions& options)
{
    return views::pictureOfTensor(input, options.low, options.high, options.mean, options.deviation,
                                  options.layout == "NHWC", options.channels == "BGR");
}

} // namespace retro::app
