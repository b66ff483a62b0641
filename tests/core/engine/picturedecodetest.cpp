// SPDX-License-Identifier: Apache-2.0
// Pictures of every kind that is read: the same pixels whatever the kind, and what is refused.
#include "core/engine/input/picturedecode.h"
#include "core/formats/picturefile.h"

#include <QDir>
#include <QTemporaryDir>
#include <QtTest>

#include <random>

using namespace retro;

namespace
{

const QString kFolder = QStringLiteral(RETRO_SOURCE_DIR "/tests/data/pictures/");

std::string fileOf(const char* name) { return kFolder.toStdString() + name; }

/// The colours of the blocks' middles, in reading order, as "c82850".
QStringList coloursOf(const engine::PixelArray& picture)
{
    QStringList found;
    for (int y = 4; y < picture.height; y += 8) {
        for (int x = 4; x < picture.width; x += 8) {
            const auto at = static_cast<qsizetype>(3 * (y * picture.width + x));
            const QByteArray rgb(reinterpret_cast<const char*>(picture.rgb.data()) + at, 3);
            found << QString::fromLatin1(rgb.toHex());
        }
    }
    return found;
}

const QStringList kSolid{"000000", "c82850", "505050", "787878", "a0a0a0", "c8c8c8"};
const QStringList kClear{"ffffff", "c82850", "505050", "787878", "a0a0a0", "e3e3e3"};
const QStringList kTurned{"505050", "c8c8c8", "c82850", "a0a0a0", "000000", "787878"};
const QStringList kBits{"000000", "000000", "000000", "000000", "ffffff", "ffffff"};

} // namespace

class PictureDecodeTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase()
    {
        if (const auto tried = engine::decodePicture(fileOf("solid.bmp")); !tried.ok()) {
            RETRO_SAYS(tried.error().text(), "install the package liblept5");
            QSKIP("Leptonica is not installed");
        }
    }

    void everyKindShowsTheSame_data()
    {
        QTest::addColumn<QStringList>("seen");
        QTest::addColumn<QStringList>("stored");
        for (const char* name : {"solid.png", "solid.bmp", "solid32.bmp", "solid.gif", "solid.tif", "solid.webp",
                                 "first.gif", "print.jpg"}) {
            QTest::newRow(name) << kSolid << kSolid;
        }
        for (const char* name : {"clear.png", "clear.webp"}) {
            QTest::newRow(name) << kClear << kSolid;
        }
        QStringList oneClear = kClear; // a colour is there or not
        oneClear.back() = kSolid.back();
        QTest::newRow("clear.gif") << oneClear << kSolid;
        for (const char* name : {"turned.tif", "turned.webp"}) {
            QTest::newRow(name) << kTurned << kSolid;
        }
        for (const char* name : {"bits.bmp", "group4.tif"}) {
            QTest::newRow(name) << kBits << kBits;
        }
    }

    void everyKindShowsTheSame()
    {
        QFETCH(const QStringList, seen);
        QFETCH(const QStringList, stored);
        RETRO_MADE(picture, engine::decodePicture(fileOf(QTest::currentDataTag())));
        QCOMPARE(coloursOf(*picture), seen);
        RETRO_MADE(plain, engine::decodePicture(fileOf(QTest::currentDataTag()), true));
        QCOMPARE(plain->width, 24);
        QCOMPARE(coloursOf(*plain), stored);
    }

    void aTiffKeepsNoColourUnderTransparency()
    {
        RETRO_MADE(picture, engine::decodePicture(fileOf("clear.tif")));
        QCOMPARE(coloursOf(*picture), kClear);
        RETRO_REFUSED(engine::decodePicture(fileOf("clear.tif"), true), "save it as PNG");
    }

    void whatIsNotReadIsRefusedByItsKind()
    {
        RETRO_REFUSED(engine::decodePicture(fileOf("animated.webp")), "this WebP is damaged, or of a kind");
        RETRO_REFUSED(engine::decodePicture(fileOf("fractions.tif")), "this TIFF is damaged, or of a kind");
        RETRO_REFUSED(engine::decodePicture(fileOf("cube.gif")), "more than 64 million pixels");
        RETRO_REFUSED(engine::decodePicture(fileOf("make_pictures.py")), "this is not a picture that can be read");
        RETRO_REFUSED(engine::decodePicture(fileOf("none.webp")), "none.webp");
    }

    /// Cut off anywhere, a file is refused; with changed bytes, nothing falls over.
    void damagedFilesAreRefused()
    {
        QTemporaryDir folder;
        const QString file = folder.filePath("damaged");
        const auto decode = [&file](const QByteArray& bytes) {
            QFile out(file);
            out.open(QIODevice::WriteOnly);
            out.write(bytes);
            out.close();
            const auto picture = engine::decodePicture(file.toStdString());
            return picture.ok() ? picture->rgb.size() : 0;
        };
        std::mt19937 random(7); // NOLINT(cert-msc51-cpp): the same in every run
        for (const QString& name : QDir(kFolder).entryList({"*.bmp", "*.gif", "*.tif", "*.webp", "*.png", "*.jpg"})) {
            const QByteArray whole = tests::bytesIn(kFolder + name);
            for (int i = 0; i < 40; ++i) {
                const qsizetype kept = i * whole.size() / 40;
                // Of an animation the first picture may be whole.
                QVERIFY2(decode(whole.left(kept)) == 0 || name == QLatin1String("first.gif"), qPrintable(name));
            }
            for (int i = 0; i < 200; ++i) {
                QByteArray changed = whole;
                for (int k = 0; k <= i % 4; ++k) {
                    changed[static_cast<qsizetype>(random() % static_cast<unsigned>(whole.size()))] =
                        static_cast<char>(random());
                }
                QVERIFY(decode(changed) <= std::size_t{3} * formats::kMaxPicturePixels);
            }
        }
    }
};

QTEST_GUILESS_MAIN(PictureDecodeTest)
#include "picturedecodetest.moc"
