// SPDX-License-Identifier: Apache-2.0
// Films: what is written can be read again, and shows what was put in.
#include "app/common/animationfile.h"

#include "app/common/exportfilm.h"
#include "app/common/gifwriter.h"
#include "core/trace/pace.h"
#include "tests/views/graph/graphruns.h"

#include <QApplication>
#include <QDir>
#include <QImageReader>
#include <QPainter>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>

using namespace retro;
using namespace retro::app;

namespace
{

/// A square that moves over a few colours.
QImage pictureAt(int step)
{
    QImage picture(61, 37, QImage::Format_RGB32);
    picture.fill(QColor(250, 250, 252));
    QPainter painter(&picture);
    painter.fillRect(step * 7, 5, 12, 12, QColor(10 + step * 20, 90, 200));
    painter.fillRect(3, 24, 40, 6, QColor(200, 30, 20 + step));
    return picture;
}

/// Many more colours than a palette has.
QImage colourful()
{
    QImage picture(64, 64, QImage::Format_RGB32);
    for (int y = 0; y < 64; ++y) {
        for (int x = 0; x < 64; ++x) {
            picture.setPixel(x, y, qRgb(x * 4, y * 4, (x + y) * 2));
        }
    }
    return picture;
}

quint32 wordAt(const QByteArray& bytes, qsizetype at)
{
    quint32 word = 0;
    for (qsizetype i = at; i < at + 4; ++i) {
        word = word << 8U | static_cast<unsigned char>(bytes[i]);
    }
    return word;
}

} // namespace

class AnimationFileTest : public QObject
{
    Q_OBJECT

    QTemporaryDir m_folder;

    [[nodiscard]] std::filesystem::path path(const char* name) const { return m_folder.filePath(name).toStdString(); }

private slots:
    void gifShowsWhatWasPutIn()
    {
        RETRO_MADE(file, AnimationFile::open(path("a.gif"), 25));
        for (int i = 0; i < 5; ++i) {
            QVERIFY((*file)->add(pictureAt(i)).ok());
        }
        QVERIFY((*file)->add(pictureAt(4)).ok()); // nothing new
        QVERIFY((*file)->finish().ok());
        QImageReader reader(m_folder.filePath("a.gif"));
        for (int i = 0; i < 6; ++i) {
            QCOMPARE(reader.nextImageDelay() >= 0, true);
            QCOMPARE(reader.read().convertToFormat(QImage::Format_RGB32), pictureAt(std::min(i, 4)));
        }
        QVERIFY(!reader.canRead() || reader.read().isNull());
    }

    /// Long enough that the table of codes fills up and starts again.
    void gifOfManyColoursIsNear()
    {
        QImage large = colourful().scaled(320, 320);
        GifWriter writer(4);
        writer.add(large);
        const QByteArray bytes = QByteArray::fromStdString(writer.take());
        const QImage read = QImage::fromData(bytes, "GIF").convertToFormat(QImage::Format_RGB32);
        QCOMPARE(read.size(), large.size());
        int worst = 0;
        for (int y = 0; y < large.height(); y += 3) {
            for (int x = 0; x < large.width(); x += 3) {
                const QRgb a = large.pixel(x, y);
                const QRgb b = read.pixel(x, y);
                worst = std::max({worst, std::abs(qRed(a) - qRed(b)), std::abs(qGreen(a) - qGreen(b)),
                                  std::abs(qBlue(a) - qBlue(b))});
            }
        }
        QVERIFY2(worst < 40, qPrintable(QString::number(worst)));
    }

    /// The first picture is an ordinary PNG; chunks are numbered without a gap.
    void apngHasAllFrames()
    {
        RETRO_MADE(file, AnimationFile::open(path("a.apng"), 10));
        for (int i = 0; i < 4; ++i) {
            QVERIFY((*file)->add(pictureAt(i)).ok());
        }
        QVERIFY((*file)->finish().ok());
        const QByteArray bytes = tests::bytesIn(m_folder.filePath("a.apng"));
        QCOMPARE(QImage::fromData(bytes, "PNG").convertToFormat(QImage::Format_RGB32), pictureAt(0));
        quint32 next = 0;
        int frames = 0;
        for (qsizetype at = 8; at < bytes.size();) {
            const QByteArray kind = bytes.mid(at + 4, 4);
            if (kind == "acTL") {
                QCOMPARE(wordAt(bytes, at + 8), 4U);
            }
            if (kind == "fcTL" || kind == "fdAT") {
                QCOMPARE(wordAt(bytes, at + 8), next++);
            }
            frames += kind == "fcTL" ? 1 : 0;
            at += 12 + wordAt(bytes, at);
        }
        QCOMPARE(frames, 4);
    }

    void folderGetsNumberedPictures()
    {
        RETRO_MADE(file, AnimationFile::open(path("frames"), 25, "graph"));
        QVERIFY((*file)->add(pictureAt(0)).ok());
        QVERIFY((*file)->add(pictureAt(1)).ok());
        QVERIFY((*file)->finish().ok());
        QCOMPARE(QDir(m_folder.filePath("frames")).entryList(QDir::Files),
                 (QStringList{"graph-00001.png", "graph-00002.png"}));
    }

    void whatCannotBeIsRefused()
    {
        QVERIFY(!AnimationFile::open(path("a.avi"), 25).ok());
        auto file = AnimationFile::open(path("b.gif"), 25);
        QVERIFY(!(*file)->finish().ok()); // no picture
        QVERIFY((*file)->add(pictureAt(0)).ok());
        QVERIFY(!(*file)->add(colourful()).ok()); // another size
        if (QStandardPaths::findExecutable(QStringLiteral("ffmpeg")).isEmpty()) {
            const auto film = AnimationFile::open(path("c.mp4"), 25);
            QVERIFY(!film.ok());
            QVERIFY(film.error().message.find("ffmpeg") != std::string::npos);
            QVERIFY(!QFile::exists(m_folder.filePath("c.mp4")));
        }
    }

    void filmHasTheMomentsOfItsVisits()
    {
        const auto run = tests::makeTransformerRun(1).run;
        FilmRequest request;
        request.visits = std::pair(2U, 4U);
        request.framesPerSecond = 10;
        RETRO_MADE(moments, filmMoments(*run, request));
        QCOMPARE(moments->size(), std::size_t{31});
        QCOMPARE(moments->front(), static_cast<double>(run->visitStart[2]));
        QCOMPARE(moments->back(), static_cast<double>(run->endOfVisit(4)));
        QVERIFY(std::ranges::is_sorted(*moments));
        request.visits = std::pair(3U, run->visitCount());
        QVERIFY(!filmMoments(*run, request).ok());
        request.visits.reset();
        request.speed = 0.1;
        request.framesPerSecond = 60;
        const auto many = filmMoments(*run, request);
        QVERIFY(many.ok() || many.error().message.find("--speed") != std::string::npos);
    }

    void filmOfTheGraph()
    {
        const auto run = tests::makeTransformerRun(1).run;
        FilmRequest request;
        request.visits = std::pair(1U, 2U);
        request.framesPerSecond = 4;
        request.width = 600;
        request.height = 300;
        QVERIFY(exportFilm(run, path("film"), request).ok());
        const QStringList names = QDir(m_folder.filePath("film")).entryList(QDir::Files);
        QCOMPARE(names.size(), 9);
        QVERIFY(QImage(m_folder.filePath("film/" + names[3])) != QImage(m_folder.filePath("film/" + names[4])));
        QCOMPARE(QImage(m_folder.filePath("film/" + names[0])).size(), QSize(600, 300));
        int asked = 0;
        const auto stopped = exportFilm(run, path("stopped.gif"), request, [&asked](double) { return ++asked < 3; });
        RETRO_REFUSED(stopped, base::ErrorCode::Cancelled);
        QVERIFY(!QFile::exists(m_folder.filePath("stopped.gif")));
    }
};

QTEST_MAIN(AnimationFileTest)
#include "animationfiletest.moc"
