// SPDX-License-Identifier: Apache-2.0
#include "views/common/paint/colormap.h"

#include <QTest>

#include <cmath>
#include <limits>

using retro::views::ColorMap;
using retro::views::toOklab;

class ColorMapTest : public QObject
{
    Q_OBJECT

private slots:
    void zeroIsNeutral()
    {
        const ColorMap map;
        const QRgb zero = map.at(0);
        QCOMPARE(qRed(zero), qGreen(zero));
        QCOMPARE(qGreen(zero), qBlue(zero));
        QVERIFY(std::abs(toOklab(zero).lightness - 0.965) < 0.003);
        QCOMPARE(map.at(std::numeric_limits<double>::quiet_NaN()), zero);
    }

    void lightnessIsSymmetricAndFalls()
    {
        const ColorMap map;
        double last = 2;
        for (int i = 0; i <= 20; ++i) {
            const double v = i / 20.0;
            const double red = toOklab(map.at(v)).lightness;
            const double blue = toOklab(map.at(-v)).lightness;
            QVERIFY2(std::abs(red - blue) < 0.006, qPrintable(QString::number(v)));
            QVERIFY2(std::abs(red - (0.965 - 0.515 * v)) < 0.006, qPrintable(QString::number(v)));
            QVERIFY(red < last);
            last = red;
        }
    }

    void positiveIsRedNegativeIsBlue()
    {
        const ColorMap map;
        QVERIFY(qRed(map.at(1)) > 2 * qBlue(map.at(1)));
        QVERIFY(qBlue(map.at(-1)) > 2 * qRed(map.at(-1)));
        QCOMPARE(map.at(7), map.at(1));
        QCOMPARE(map.at(-7), map.at(-1));
    }

    void oklabThereAndBack()
    {
        for (const QRgb color : {qRgb(255, 255, 255), qRgb(12, 200, 99), qRgb(0, 0, 0), qRgb(188, 3, 250)}) {
            QCOMPARE(retro::views::fromOklab(toOklab(color)), color);
        }
        // Known point: pure red.
        const auto red = toOklab(qRgb(255, 0, 0));
        QVERIFY(std::abs(red.lightness - 0.62796) < 1e-4);
        QVERIFY(std::abs(red.a - 0.22486) < 1e-4);
        QVERIFY(std::abs(red.b - 0.12585) < 1e-4);
    }

    void namedPalettes()
    {
        RETRO_MADE(bwr, ColorMap::find(QStringLiteral("bwr")));
        QCOMPARE(bwr->at(-1), qRgb(0, 0, 255));
        QCOMPARE(bwr->at(1), qRgb(255, 0, 0));
        QCOMPARE(bwr->table().size(), std::size_t{256});
        QCOMPARE(bwr->table()[128], qRgb(255, 255, 255));
        QCOMPARE(bwr->table()[64], qRgb(127, 127, 255));
        QCOMPARE(bwr->at(0), bwr->table()[127]);
        const auto cold = ColorMap::find(QStringLiteral("coldnhot"));
        QCOMPARE(cold->table()[0], qRgb(0, 255, 255));
        QCOMPARE(cold->table()[64], qRgb(0, 0, 255));
        QCOMPARE(cold->table()[128], qRgb(0, 0, 0));
        QCOMPARE(cold->table()[255], qRgb(255, 255, 255));
        const auto gray = ColorMap::find(QStringLiteral("gray"));
        QVERIFY(gray->isSequential());
        QCOMPARE(gray->at(0), qRgb(0, 0, 0));
        QCOMPARE(gray->at(-1), qRgb(255, 255, 255));
        for (const QString& name : ColorMap::names()) {
            QVERIFY2(ColorMap::find(name).ok(), qPrintable(name));
        }
    }

    void stopsOfTheUser()
    {
        RETRO_MADE(map, ColorMap::find(QStringLiteral("000, 40:f00, ffffff")));
        QCOMPARE(map->table()[0], qRgb(0, 0, 0));
        QCOMPARE(map->table()[0x40], qRgb(255, 0, 0));
        QCOMPARE(map->table()[255], qRgb(255, 255, 255));
        QCOMPARE(map->name(), QStringLiteral("000, 40:f00, ffffff"));
    }

    void wrongNamesAreRefused_data()
    {
        QTest::addColumn<QString>("text");
        QTest::newRow("no such name") << QStringLiteral("rainbow");
        QTest::newRow("empty") << QString();
        QTest::newRow("one stop") << QStringLiteral("fff");
        QTest::newRow("four digits") << QStringLiteral("ffff,000");
        QTest::newRow("index too large") << QStringLiteral("000,100:fff,f00");
        QTest::newRow("indices not rising") << QStringLiteral("000,80:fff,40:f00,00f");
        QTest::newRow("no colour") << QStringLiteral("000,80:,f00");
    }

    void wrongNamesAreRefused()
    {
        QFETCH(QString, text);
        const auto map = ColorMap::find(text);
        RETRO_REFUSED(map, retro::base::ErrorCode::Usage);
        QVERIFY(map.error().message.find("seismic") != std::string::npos);
    }
};

QTEST_APPLESS_MAIN(ColorMapTest)
#include "tst_colormap.moc"
