// SPDX-License-Identifier: Apache-2.0
// The text of a layer on the command line of retrograde-lut-train.
#include "app/luttrain/trainoptions.h"

#include <QtTest>

using namespace retro;

class TrainOptionsTest : public QObject
{
    Q_OBJECT

private slots:
    void layersAreRead()
    {
        RETRO_MADE(plain, app::parseLayer("64x6"));
        QCOMPARE(plain->tables, 64U);
        QCOMPARE(plain->comparisons, 6U);
        QCOMPARE(plain->outputs, 0U);
        QCOMPARE(plain->rateFactor, 1.0F);
        QVERIFY(!plain->isSequence && !plain->isResidual);

        RETRO_MADE(full, app::parseLayer("seq:16x4x1:+@0.25"));
        QCOMPARE(full->tables, 16U);
        QCOMPARE(full->comparisons, 4U);
        QCOMPARE(full->codeBits, 1U);
        QCOMPARE(full->rateFactor, 0.25F);
        QVERIFY(full->isSequence && full->isResidual);

        RETRO_MADE(frozen, app::parseLayer("8x3:5@0"));
        QCOMPARE(frozen->outputs, 5U);
        QCOMPARE(frozen->rateFactor, 0.0F);
        QCOMPARE(app::parseLayer("8x3@1e-2")->rateFactor, 0.01F);
        QVERIFY(frozen->groups.empty());

        RETRO_MADE(sparse, app::parseLayer("seq:8x3x2%0.5@0.25%0.1:5@0.75"));
        QCOMPARE(sparse->codeBits, 2U);
        QCOMPARE(sparse->outputs, 5U);
        QCOMPARE(sparse->rateFactor, 0.75F);
        QCOMPARE(sparse->groups.size(), std::size_t{2});
        QCOMPARE(sparse->groups[0].share, 0.5F);
        QCOMPARE(sparse->groups[0].rate, 0.25F);
        QCOMPARE(sparse->groups[1].share, 0.1F);
        QCOMPARE(sparse->groups[1].rate, 1.0F);
        const auto brief = app::parseLayer("8x3%1@0.5");
        QVERIFY(brief.ok() && brief->groups[0].rate == 0.5F && brief->rateFactor == 1);
    }

    void whatIsNoLayerIsRefused_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("message");
        for (const char* text : {"", "64", "64x", "x6", "64x6x1", "seq:16x4x1x2", "64x6:", "64x6:0", "64x6:-1", "-4x6",
                                 "64x6+", "99999999999x6", "@0.5"}) {
            QTest::newRow(text) << text << "is no layer";
        }
        for (const char* text : {"64x6@", "64x6@1.5", "64x6@-0.1", "64x6@nan", "64x6@x", "64x6@0.5:4", "64x6@0.5@0.5",
                                 "64x6@1e99", "64x6%0.5@2", "64x6%0.5:4@2", "64x6%0.5:4@0.5@0.5"}) {
            QTest::newRow(text) << text << "a number from 0 to 1 must follow the @";
        }
    }

    void sharesAreRefused()
    {
        for (const char* text : {"8x3%", "8x3%0", "8x3%1.5", "8x3%x", "8x3%%0.5", "8x3%0.5%"}) {
            const auto layer = app::parseLayer(text);
            QVERIFY2(!layer.ok() && layer.error().text().find("must follow the %") != std::string::npos, text);
        }
    }

    void whatIsNoLayerIsRefused()
    {
        QFETCH(QString, text);
        QFETCH(QString, message);
        RETRO_REFUSED(app::parseLayer(text.toStdString()), base::ErrorCode::Usage, message, text);
    }
};

QTEST_GUILESS_MAIN(TrainOptionsTest)
#include "trainoptionstest.moc"
