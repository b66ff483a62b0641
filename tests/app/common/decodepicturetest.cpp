// SPDX-License-Identifier: Apache-2.0
// Files of pictures: turned by EXIF, transparent, cut off, with scans without end.
#include <QtTest>

#include "core/base/builtinfiles.h"
#include "core/engine/input/picturedecode.h"
#include "core/formats/picturefile.h"

#include <QBuffer>
#include <QFile>
#include <QImage>
#include <QImageWriter>
#include <QTemporaryDir>

#include <array>

using namespace retro;

namespace
{

QByteArray encoded(const QImage& image, const char* format)
{
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    QImageWriter writer(&buffer, format);
    writer.setQuality(100);
    return writer.write(image) ? bytes : QByteArray();
}

/// 3 columns × 2 rows of blocks of 8 × 8, each of its own grey: 0, 40, 80 and 120, 160, 200.
QImage blocks()
{
    QImage image(24, 16, QImage::Format_RGB888);
    for (int y = 0; y < image.height(); ++y) {
        for (int x = 0; x < image.width(); ++x) {
            const int grey = 40 * (x / 8 + 3 * (y / 8));
            image.setPixel(x, y, qRgb(grey, grey, grey));
        }
    }
    return image;
}

QByteArray tiff(int orientation, bool isLittle)
{
    QByteArray bytes = isLittle ? QByteArray("II\x2a\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0", 18)
                                : QByteArray("MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01", 18);
    bytes += isLittle ? QByteArray(1, static_cast<char>(orientation)) + QByteArray(3, '\0')
                      : QByteArray(1, '\0') + QByteArray(1, static_cast<char>(orientation)) + QByteArray(2, '\0');
    return bytes + QByteArray(4, '\0');
}

QByteArray jpegTurned(int orientation, bool isLittle)
{
    const QByteArray exif = QByteArray("Exif\0\0", 6) + tiff(orientation, isLittle);
    QByteArray segment("\xff\xe1\0", 3);
    segment += static_cast<char>(exif.size() + 2);
    QByteArray bytes = encoded(blocks(), "jpg");
    return bytes.insert(2, segment + exif);
}

QByteArray pngTurned(int orientation)
{
    const QByteArray data = tiff(orientation, false);
    QByteArray chunk(3, '\0');
    chunk += static_cast<char>(data.size());
    const auto checksum = [](const QByteArray& of) {
        quint32 value = 0xffffffffU;
        for (const char one : of) {
            value ^= static_cast<quint8>(one);
            for (int bit = 0; bit < 8; ++bit) {
                value = (value & 1U) != 0 ? (value >> 1U) ^ 0xedb88320U : value >> 1U;
            }
        }
        value = ~value;
        QByteArray four;
        for (int shift = 24; shift >= 0; shift -= 8) {
            four += static_cast<char>((value >> static_cast<unsigned>(shift)) & 0xffU);
        }
        return four;
    };
    chunk += "eXIf" + data + checksum("eXIf" + data);
    QByteArray bytes = encoded(blocks(), "png");
    return bytes.insert(8 + 25, chunk); // behind IHDR
}

class Files
{
public:
    std::string put(const QString& name, const QByteArray& bytes)
    {
        QFile file(m_folder.filePath(name));
        file.open(QIODevice::WriteOnly);
        file.write(bytes);
        return file.fileName().toStdString();
    }

private:
    QTemporaryDir m_folder;
};

/// Greys of the blocks in their order, rounded to those of blocks().
std::vector<int> greys(const engine::PixelArray& picture)
{
    std::vector<int> found;
    for (int y = 4; y < picture.height; y += 8) {
        for (int x = 4; x < picture.width; x += 8) {
            found.push_back((picture.rgb[static_cast<std::size_t>(3 * (y * picture.width + x))] + 20) / 40);
        }
    }
    return found;
}

/// The first sentence of a refusal; empty where it was none.
std::string refusalOf(const std::string& file)
{
    const auto picture = engine::decodePicture(file);
    return picture.ok() ? std::string() : picture.error().text();
}

} // namespace

class DecodePictureTest : public QObject
{
    Q_OBJECT

private slots:
    void exifTurnsAPicture()
    {
        // As every browser shows them (EXIF 2.32, 4.6.4).
        const std::array<std::vector<int>, 8> seen{{{0, 1, 2, 3, 4, 5},
                                                    {2, 1, 0, 5, 4, 3},
                                                    {5, 4, 3, 2, 1, 0},
                                                    {3, 4, 5, 0, 1, 2},
                                                    {0, 3, 1, 4, 2, 5},
                                                    {3, 0, 4, 1, 5, 2},
                                                    {5, 2, 4, 1, 3, 0},
                                                    {2, 5, 1, 4, 0, 3}}};
        Files files;
        for (int orientation = 1; orientation <= 8; ++orientation) {
            const std::string jpeg = files.put(QStringLiteral("a.jpg"), jpegTurned(orientation, orientation % 2 == 0));
            const std::string png = files.put(QStringLiteral("a.png"), pngTurned(orientation));
            for (const std::string& file : {jpeg, png}) {
                RETRO_MADE(shown, engine::decodePicture(file));
                QCOMPARE(shown->width, orientation < 5 ? 24 : 16);
                QCOMPARE(greys(*shown), seen[static_cast<std::size_t>(orientation - 1)]);
                const auto stored = engine::decodePicture(file, true);
                QCOMPARE(greys(*stored), seen[0]);
                QCOMPARE(formats::pictureFile(std::filesystem::path(file))->orientation, orientation);
            }
        }
    }

    /// What is built into the program is read like a file.
    void aBuiltInPictureIsReadLikeAFile()
    {
        const QByteArray picture = encoded(blocks(), "png");
        base::setBuiltInFiles([&picture](const std::filesystem::path& path) {
            const auto bytes = std::as_bytes(std::span(picture.constData(), static_cast<std::size_t>(picture.size())));
            return path == ":/here.png" ? std::optional(std::vector<std::byte>(bytes.begin(), bytes.end()))
                                        : std::nullopt;
        });
        RETRO_MADE(shown, engine::decodePicture(":/here.png"));
        QCOMPARE(greys(*shown), (std::vector<int>{0, 1, 2, 3, 4, 5}));
        RETRO_REFUSED(engine::decodePicture(":/gone.png"), "has no such file built in");
        base::setBuiltInFiles({});
        RETRO_REFUSED(engine::decodePicture(":/here.png"), "there is no such file");
    }

    void transparencyLiesOnWhite()
    {
        QImage clear(8, 8, QImage::Format_ARGB32);
        clear.fill(qRgba(200, 100, 0, 0));
        QImage palette(8, 8, QImage::Format_Indexed8);
        palette.setColorTable({qRgba(200, 100, 0, 0)});
        palette.fill(0);
        Files files;
        for (const QImage& image : {clear, palette, clear.convertToFormat(QImage::Format_RGBA64)}) {
            const std::string file = files.put(QStringLiteral("clear.png"), encoded(image, "png"));
            QVERIFY(formats::pictureFile(std::filesystem::path(file))->hasTransparency);
            QCOMPARE(engine::decodePicture(file)->rgb[0], std::uint8_t{255});
            const auto stored = engine::decodePicture(file, true);
            QCOMPARE((std::vector<int>{stored->rgb[0], stored->rgb[1], stored->rgb[2]}),
                     (std::vector<int>{200, 100, 0}));
        }
        QImage grey(8, 8, QImage::Format_Grayscale16);
        grey.fill(Qt::white);
        const std::string file = files.put(QStringLiteral("grey.png"), encoded(grey, "png"));
        QVERIFY(!formats::pictureFile(std::filesystem::path(file))->hasTransparency);
        QCOMPARE(engine::decodePicture(file)->rgb[5], std::uint8_t{255});
    }

    void whatIsCutOffIsRefused()
    {
        Files files;
        for (const char* format : {"jpg", "png"}) {
            const QByteArray whole = encoded(blocks(), format);
            for (const qsizetype length : {whole.size() / 2, whole.size() - 2}) {
                const std::string file = files.put(QStringLiteral("cut.") + QLatin1String(format), whole.left(length));
                const std::string refusal = refusalOf(file);
                RETRO_SAYS(refusal, "the picture is damaged: it ends too early");
                QVERIFY(refusal.find(file) != std::string::npos);
            }
        }
        // Data that breaks off in front of a mark of the end; the reader's own message is not printed.
        QByteArray hollow = encoded(blocks(), "jpg");
        hollow = hollow.left(hollow.size() / 2 + 40) + QByteArray("\xff\xd9", 2);
        const std::string refusal = refusalOf(files.put(QStringLiteral("hollow.jpg"), hollow));
        QVERIFY2(refusal.find("ends too early") != std::string::npos, refusal.c_str());
    }

    void scansWithoutEndAreRefused()
    {
        QByteArray bytes = encoded(blocks(), "jpg");
        const QByteArray end = bytes.right(2);
        bytes.chop(2);
        for (int i = 0; i <= formats::kMostScans; ++i) {
            bytes += QByteArray("\xff\xda\0\x08\x01\x01\0\0\x3f\0", 10);
        }
        Files files;
        const std::string refusal = refusalOf(files.put(QStringLiteral("scans.jpg"), bytes + end));
        QVERIFY2(refusal.find("goes over its 24 × 16 pixels") != std::string::npos, refusal.c_str());
    }
};

QTEST_MAIN(DecodePictureTest)
#include "decodepicturetest.moc"
