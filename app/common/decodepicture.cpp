// SPDX-License-Identifier: Apache-2.0
#include "app/common/decodepicture.h"

#include "views/common/paint/picture.h"

namespace retro::app
{

QImage pictureOfInput(const tensor::Tensor& input, const engine::PictureOptions& options)
{
    return views::pictureOfTensor(input, options.low, options.high, options.mean, options.deviation,
                                  options.layout == "NHWC", options.channels == "BGR");
}

} // namespace retro::app
