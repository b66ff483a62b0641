// SPDX-License-Identifier: Apache-2.0
#include "core/engine/input/pictureinput.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace retro::engine
{

namespace
{

using base::inputError;
using base::Result;

/// Positions of the axes of an image tensor.
struct ImageAxes
{
    std::size_t channel = 1;
    std::size_t row = 2;
    std::size_t column = 3;
};

ImageAxes axesOf(const PictureOptions& options)
{
    return options.layout == "NHWC" ? ImageAxes{3, 1, 2} : ImageAxes{1, 2, 3};
}

double parameter(const std::vector<double>& values, std::size_t channel, double fallback)
{
    if (values.empty()) {
        return fallback;
    }
    return values[std::min(channel, values.size() - 1)];
}

/// Sample of a model channel: RGB order, reversed for BGR, luma for GRAY.
double sample(const std::uint8_t* rgb, std::size_t channel, const PictureOptions& options, std::int64_t channels)
{
    if (channels == 1) {
        return 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2];
    }
    return options.channels == "BGR" ? rgb[2 - channel] : rgb[channel];
}

std::uint8_t averageOver(const PixelArray& from, double x0, double x1, double y0, double y1, std::size_t channel)
{
    double total = 0;
    double weight = 0;
    for (int y = static_cast<int>(y0); y < std::min<double>(from.height, std::ceil(y1)); ++y) {
        const double wy = std::min<double>(y + 1, y1) - std::max<double>(y, y0);
        for (int x = static_cast<int>(x0); x < std::min<double>(from.width, std::ceil(x1)); ++x) {
            const double w = wy * (std::min<double>(x + 1, x1) - std::max<double>(x, x0));
            const auto at =
                (static_cast<std::size_t>(y) * static_cast<std::size_t>(from.width) + static_cast<std::size_t>(x)) * 3;
            total += w * from.rgb[at + channel];
            weight += w;
        }
    }
    return static_cast<std::uint8_t>(std::lround(weight > 0 ? total / weight : 0));
}

struct ImageExtents
{
    std::int64_t channels = 3;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
};

Result<ImageExtents> extentsOf(const graph::Value& input, const PixelArray& picture, const PictureOptions& options)
{
    if (!input.shape || input.shape->size() != 4) {
        return inputError(
            "a picture needs an input with four axes (batch, channels, rows, columns); give an .npy file instead",
            "input '" + input.name + "'");
    }
    const ImageAxes axes = axesOf(options);
    ImageExtents extents;
    extents.channels = (*input.shape)[axes.channel].extent.value_or(3);
    extents.rows = (*input.shape)[axes.row].extent.value_or(picture.height);
    extents.columns = (*input.shape)[axes.column].extent.value_or(picture.width);
    if (extents.channels != 1 && extents.channels != 3) {
        return inputError(
            fmt::format("a picture has 1 or 3 channels, but the input wants {} in layout {}; check --layout, or give "
                        "an .npy file",
                        extents.channels, options.layout),
            "input '" + input.name + "'");
    }
    if (extents.rows < 1 || extents.columns < 1 || extents.rows > 32768 || extents.columns > 32768) {
        return inputError("the input's rows and columns are out of range for a picture", "input '" + input.name + "'");
    }
    return extents;
}

} // namespace

PixelArray PixelArray::resized(int newWidth, int newHeight) const
{
    return framed(newWidth, newHeight, std::string(formats::kStretch));
}

PixelArray PixelArray::framed(int newWidth, int newHeight, const std::string& frame) const
{
    if (newWidth == width && newHeight == height && formats::croppedPart(frame).value_or(1) == 1) {
        return *this;
    }
    // Of the picture one pixel of the new one takes a part of these sides; what it takes beyond its edge is black.
    double stepX = static_cast<double>(width) / newWidth;
    double stepY = static_cast<double>(height) / newHeight;
    double left = 0;
    double top = 0;
    if (const auto part = formats::croppedPart(frame)) {
        stepX = stepY = std::min(stepX, stepY) * *part;
    } else if (frame == formats::kLetterbox) {
        stepX = stepY = std::max(stepX, stepY);
    }
    if (frame != formats::kStretch) {
        left = (width - stepX * newWidth) / 2;
        top = (height - stepY * newHeight) / 2;
    }
    PixelArray out{newWidth, newHeight, {}};
    out.rgb.resize(static_cast<std::size_t>(newWidth) * static_cast<std::size_t>(newHeight) * 3);
    std::size_t at = 0;
    for (int y = 0; y < newHeight; ++y) {
        for (int x = 0; x < newWidth; ++x) {
            for (std::size_t channel = 0; channel < 3; ++channel) {
                out.rgb[at++] = averageOver(*this, std::max(0.0, left + x * stepX), left + (x + 1) * stepX,
                                            std::max(0.0, top + y * stepY), top + (y + 1) * stepY, channel);
            }
        }
    }
    return out;
}

PixelArray PixelArray::turned(int orientation) const
{
    if (orientation <= 1) {
        return *this;
    }
    // Where the row and the column of a pixel come from: 5 … 8 change places, the others count from another end.
    const bool isSwapped = orientation >= 5;
    const bool isRowReversed = orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
    const bool isColumnReversed = orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
    PixelArray out{isSwapped ? height : width, isSwapped ? width : height, {}};
    out.rgb.reserve(rgb.size());
    for (int y = 0; y < out.height; ++y) {
        for (int x = 0; x < out.width; ++x) {
            const int down = isRowReversed ? out.height - 1 - y : y;
            const int across = isColumnReversed ? out.width - 1 - x : x;
            const auto row = static_cast<std::size_t>(isSwapped ? across : down);
            const auto column = static_cast<std::size_t>(isSwapped ? down : across);
            const std::uint8_t* pixel = rgb.data() + (row * static_cast<std::size_t>(width) + column) * 3;
            out.rgb.insert(out.rgb.end(), pixel, pixel + 3);
        }
    }
    return out;
}

PictureOptions pictureOptions(const formats::ModelCard* card)
{
    PictureOptions options;
    if (card != nullptr) {
        const bool isKnown = card->describesInput && card->inputKind == "image";
        options.origin = isKnown ? PictureOrigin::Card : PictureOrigin::Usual;
        options.layout = card->layout;
        options.channels = card->channels;
        options.frame = card->frame;
        options.low = card->scale[0];
        options.high = card->scale[1];
        options.mean = card->mean;
        options.deviation = card->deviation;
    }
    return options;
}

Result<tensor::Tensor> pictureToInput(const PixelArray& picture, const graph::Value& input,
                                      const PictureOptions& options)
{
    RETRO_TRY(const ImageExtents extents, extentsOf(input, picture, options));
    const PixelArray fitted =
        picture.framed(static_cast<int>(extents.columns), static_cast<int>(extents.rows), options.frame);
    const ImageAxes axes = axesOf(options);
    tensor::Shape shape(4, 1);
    shape[axes.channel] = extents.channels;
    shape[axes.row] = extents.rows;
    shape[axes.column] = extents.columns;
    const tensor::Shape strides = tensor::rowMajorStrides(shape);
    tensor::TensorBuffer buffer(tensor::DType::Float32, shape);
    float* out = buffer.data<float>();
    for (std::int64_t y = 0; y < extents.rows; ++y) {
        for (std::int64_t x = 0; x < extents.columns; ++x) {
            const std::uint8_t* rgb = fitted.rgb.data() + (y * extents.columns + x) * 3;
            for (std::int64_t c = 0; c < extents.channels; ++c) {
                const auto channel = static_cast<std::size_t>(c);
                const double value = options.low + sample(rgb, channel, options, extents.channels) / 255.0 *
                                                       (options.high - options.low);
                const double normal =
                    (value - parameter(options.mean, channel, 0)) / parameter(options.deviation, channel, 1);
                out[c * strides[axes.channel] + y * strides[axes.row] + x * strides[axes.column]] =
                    static_cast<float>(normal);
            }
        }
    }
    return std::move(buffer).freeze();
}

} // namespace retro::engine
