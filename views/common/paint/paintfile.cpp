// SPDX-License-Identifier: Apache-2.0
#include "views/common/paint/paintfile.h"

#include "core/base/file.h"
#include "core/base/memoryend.h"
#include "core/base/visibletext.h"
#include "views/common/paint/svgdrawing.h"

#include <QBuffer>
#include <QPageSize>
#include <QPainter>
#include <QPdfWriter>
#include <QSvgGenerator>

#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>

namespace retro::views
{

namespace
{

constexpr int kPointsPerInch = 72;
constexpr double kScreenDpi = 96;

QString visible(const QString& text) { return QString::fromStdString(base::visibleText(text.toStdString())); }

QString joined(const PictureTexts& texts)
{
    QStringList lines;
    for (const auto& [key, text] : texts) {
        lines.append(QString::fromStdString(key) + QStringLiteral(": ") + QString::fromStdString(text));
    }
    return visible(lines.join(QStringLiteral("; ")));
}

base::Result<void> writePixels(const std::filesystem::path& path, const QSizeF& size,
                               const std::function<void(QPainter&)>& paint, const PictureTexts& texts, double scale)
{
    const double width = std::ceil(size.width() * scale);
    const double height = std::ceil(size.height() * scale);
    if (width > kMaxPngSide || height > kMaxPngSide || width * height > double(kMaxPngPixels)) {
        return base::usageError("the picture would be too large; write .svg or .pdf, or a smaller part", path.string());
    }
    const base::MemoryWatch memory;
    QImage image(static_cast<int>(width), static_cast<int>(height), QImage::Format_ARGB32_Premultiplied);
    image.fill(Qt::transparent);
    image.setDevicePixelRatio(scale);
    {
        QPainter painter(&image);
        paint(painter);
    }
    image.setDevicePixelRatio(1);
    RETRO_CHECK(memory.check(path.string()));
    return writePicture(path, image.convertToFormat(QImage::Format_RGB888), texts);
}

/// What a PDF says of itself (XMP, ISO 16684-1): title, the texts as its description, and who made it.
QByteArray xmpBytes(const QString& title, const PictureTexts& texts)
{
    const auto alternative = [](const QString& name, const QString& text) {
        return QStringLiteral("<dc:%1><rdf:Alt><rdf:li xml:lang=\"x-default\">%2</rdf:li></rdf:Alt></dc:%1>")
            .arg(name, text.toHtmlEscaped());
    };
    const QString packet =
        QStringLiteral("<?xpacket begin=\"\uFEFF\" id=\"W5M0MpCehiHzreSzNTczkc9d\"?>"
                       "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\">"
                       "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\">"
                       "<rdf:Description rdf:about=\"\" xmlns:dc=\"http://purl.org/dc/elements/1.1/\" "
                       "xmlns:xmp=\"http://ns.adobe.com/xap/1.0/\">%1%2"
                       "<xmp:CreatorTool>Retrograde</xmp:CreatorTool>"
                       "</rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end=\"w\"?>");
    return packet
        .arg(alternative(QStringLiteral("title"), visible(title)),
             alternative(QStringLiteral("description"), joined(texts)))
        .toUtf8();
}

QByteArray pdfBytes(const QSizeF& size, const std::function<void(QPainter&)>& paint, const QString& title,
                    const PictureTexts& texts)
{
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    QPdfWriter writer(&buffer);
    const double toPoints = kPointsPerInch / kScreenDpi;
    writer.setPageSize(QPageSize(size * toPoints, QPageSize::Point));
    writer.setPageMargins(QMarginsF());
    writer.setResolution(static_cast<int>(kScreenDpi));
    writer.setTitle(title);
    writer.setCreator(QStringLiteral("Retrograde"));
    if (!texts.empty()) {
        writer.setDocumentXmpMetadata(xmpBytes(title, texts));
    }
    QPainter painter(&writer);
    paint(painter);
    painter.end();
    return bytes;
}

/// Writes what `draw` gives.
base::Result<void> writeDrawn(const std::filesystem::path& path, const std::function<QByteArray()>& draw)
{
    const base::MemoryWatch memory;
    const QByteArray bytes = draw();
    RETRO_CHECK(memory.check(path.string()));
    if (bytes.isEmpty()) {
        return base::outputError("nothing could be drawn into the file", path.string());
    }
    return base::writeFile(path, std::as_bytes(std::span(bytes.constData(), static_cast<std::size_t>(bytes.size()))));
}

} // namespace

QByteArray svgDrawing(const QSizeF& size, const std::function<void(QPainter&)>& paint, const QString& title,
                      const PictureTexts& texts)
{
    QByteArray bytes;
    QBuffer buffer(&bytes);
    QSvgGenerator generator;
    generator.setOutputDevice(&buffer);
    generator.setResolution(static_cast<int>(kScreenDpi));
    generator.setSize(size.toSize());
    generator.setViewBox(QRectF(QPointF(), size));
    generator.setTitle(title.toHtmlEscaped());
    generator.setDescription(joined(texts).toHtmlEscaped());
    QPainter painter(&generator);
    paint(painter);
    painter.end();
    const std::string_view text(bytes.constData(), static_cast<std::size_t>(bytes.size()));
    return QByteArray::fromStdString(base::visibleText(text, base::LineEnds::Kept)); // XML holds no control characters
}

base::Result<void> paintToFile(const std::filesystem::path& path, const QSizeF& size,
                               const std::function<void(QPainter&)>& paint, const QString& title,
                               const PictureTexts& texts, double pngScale)
{
    const QString ending = QString::fromStdString(path.extension().string()).toLower();
    if (ending == QLatin1String(".png") || ending == QLatin1String(".jpg")) {
        return writePixels(path, size, paint, texts, pngScale);
    }
    if (ending == QLatin1String(".svg")) {
        return writeDrawn(path, [&] { return svgDrawing(size, paint, title, texts); });
    }
    if (ending == QLatin1String(".pdf")) {
        return writeDrawn(path, [&] { return pdfBytes(size, paint, title, texts); });
    }
    return base::usageError("drawings are written as .png, .jpg, .svg or .pdf", path.string());
}

} // namespace retro::views
