// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/input/pictureinput.h"

#include <QImage>

namespace retro::app
{

/// The picture that an input tensor stands for, first sample; null when it has no picture's shape.
[[nodiscard]] QImage pictureOfInput(const tensor::Tensor& input, const engine::PictureOptions& options);

} // namespace retro::app
