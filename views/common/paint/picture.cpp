// SPDX-License-Identifier: Apache-2.0
#include "views/common/paint/picture.h"

#include "core/base/file.h"
#include "core/base/memoryend.h"

#include <QBuffer>
#include <QImageWriter>
#include <QPainter>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <span>
#include <utility>

namespace retro::views
{

namespace
{

QString pathText(const std::filesystem::path& path) { return QString::fromStdString(path.string()); }

/// Qt says by an empty picture that it got no memory for one.
QImage allocated(QImage image)
{
    if (image.isNull()) {
        throw std::bad_alloc();
    }
    return image;
}

QImage flattened(const QImage& image)
{
    if (image.isNull()) {
        return image;
    }
    if (!image.hasAlphaChannel()) {
        return allocated(image.convertToFormat(QImage::Format_RGB888));
    }
    QImage ground = allocated(QImage(image.size(), QImage::Format_RGB888));
    ground.fill(Qt::white);
    QPainter painter(&ground);
    painter.drawImage(0, 0, image);
    return ground;
}

const char* formatOf(const std::filesystem::path& path)
{
    const QString ending = pathText(path.extension()).toLower();
    if (ending == QLatin1String(".png")) {
        return "png";
    }
    return ending == QLatin1String(".jpg") || ending == QLatin1String(".jpeg") ? "jpg" : nullptr;
}

double channelOr(const std::vector<double>& values, std::size_t channel, double fallback)
{
    if (values.empty()) {
        return fallback;
    }
    return values[std::min(channel, values.size() - 1)];
}

// Index arithmetic of an image tensor with or without a batch axis.
struct ImageLayout
{
    std::int64_t channels = 0;
    std::int64_t height = 0;
    std::int64_t width = 0;
    bool isChannelsLast = false;
    std::int64_t first = 0;

    [[nodiscard]] std::int64_t index(std::int64_t c, std::int64_t y, std::int64_t x) const
    {
        return first + (isChannelsLast ? (y * width + x) * channels + c : (c * height + y) * width + x);
    }
};

bool readLayout(const tensor::Shape& shape, bool isChannelsLast, std::int64_t sample, ImageLayout& layout)
{
    if (shape.size() != 3 && shape.size() != 4) {
        return false;
    }
    const std::size_t at = shape.size() - 3;
    layout.isChannelsLast = isChannelsLast;
    layout.channels = shape[isChannelsLast ? at + 2 : at];
    layout.height = shape[isChannelsLast ? at : at + 1];
    layout.width = shape[isChannelsLast ? at + 1 : at + 2];
    const std::int64_t samples = shape.size() == 4 ? shape[0] : 1;
    layout.first = sample * layout.channels * layout.height * layout.width;
    const bool isPicture = layout.channels == 1 || layout.channels == 3;
    return isPicture && layout.height > 0 && layout.width > 0 && sample >= 0 && sample < samples;
}

// Takes the model's scaling back, pixel by pixel.
struct PixelReader
{
    std::span<const double> values;
    const ImageLayout& layout;
    double low;
    double high;
    const std::vector<double>& mean;
    const std::vector<double>& deviation;
    bool isBgr;

    [[nodiscard]] uchar byteAt(std::int64_t shown, std::int64_t y, std::int64_t x) const
    {
        std::int64_t channel = layout.channels == 1 ? 0 : shown;
        if (isBgr && layout.channels == 3) {
            channel = 2 - channel;
        }
        const auto c = static_cast<std::size_t>(channel);
        const double stored = values[static_cast<std::size_t>(layout.index(channel, y, x))];
        const double t = (stored * channelOr(deviation, c, 1) + channelOr(mean, c, 0) - low) / (high - low);
        return std::isnan(t) ? uchar{0} : static_cast<uchar>(std::lround(255 * std::clamp(t, 0.0, 1.0)));
    }
};

} // namespace

RgbPicture resized(const RgbPicture& picture, int width, int height)
{
    if (picture.width == width && picture.height == height) {
        return picture;
    }
    const QImage scaled = toImage(picture).scaled(width, height, Qt::IgnoreAspectRatio, Qt::SmoothTransformation);
    return toPicture(width > 0 && height > 0 && picture.width > 0 ? allocated(scaled) : scaled);
}

QImage toImage(const RgbPicture& picture)
{
    QImage image(picture.width, picture.height, QImage::Format_RGB888);
    if (picture.width > 0 && picture.height > 0) {
        image = allocated(std::move(image));
    }
    const std::size_t row = static_cast<std::size_t>(picture.width) * 3;
    for (int y = 0; y < picture.height; ++y) {
        std::memcpy(image.scanLine(y), picture.rgb.data() + static_cast<std::size_t>(y) * row, row);
    }
    return image;
}

RgbPicture toPicture(const QImage& image)
{
    const QImage plain = flattened(image);
    RgbPicture picture{plain.width(), plain.height(), {}};
    const std::size_t row = static_cast<std::size_t>(plain.width()) * 3;
    picture.rgb.resize(row * static_cast<std::size_t>(plain.height()));
    for (int y = 0; y < plain.height(); ++y) {
        std::memcpy(picture.rgb.data() + static_cast<std::size_t>(y) * row, plain.constScanLine(y), row);
    }
    return picture;
}

base::Result<void> writePicture(const std::filesystem::path& path, const QImage& image, const PictureTexts& texts)
{
    const char* format = formatOf(path);
    if (format == nullptr) {
        return base::usageError("a picture is written as .png or .jpg", path.string());
    }
    QImage labelled = image;
    for (const auto& [key, text] : texts) {
        labelled.setText(QString::fromStdString(key), QString::fromStdString(text));
    }
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    QImageWriter writer(&buffer, format);
    const base::MemoryWatch memory;
    const bool isEncoded = writer.write(labelled);
    RETRO_CHECK(memory.check(path.string()));
    if (!isEncoded) {
        return base::outputError("the picture could not be encoded: " + writer.errorString().toStdString(),
                                 path.string());
    }
    return base::writeFile(path, std::as_bytes(std::span(bytes.constData(), static_cast<std::size_t>(bytes.size()))));
}

QImage pictureOfTensor(const tensor::Tensor& input, double low, double high, const std::vector<double>& mean,
                       const std::vector<double>& deviation, bool isChannelsLast, bool isBgr, std::int64_t sample)
{
    ImageLayout layout;
    if (!input.isValid() || !readLayout(input.shape(), isChannelsLast, sample, layout) || high == low) {
        return {};
    }
    const tensor::Tensor plain = input.to(tensor::DType::Float64).contiguous();
    const PixelReader reader{plain.span<double>(), layout, low, high, mean, deviation, isBgr};
    QImage image =
        allocated(QImage(static_cast<int>(layout.width), static_cast<int>(layout.height), QImage::Format_RGB888));
    for (std::int64_t y = 0; y < layout.height; ++y) {
        uchar* out = image.scanLine(static_cast<int>(y));
        for (std::int64_t i = 0; i < 3 * layout.width; ++i) {
            out[i] = reader.byteAt(i % 3, y, i / 3);
        }
    }
    return image;
}

} // namespace retro::views
