// SPDX-License-Identifier: Apache-2.0
// Sizes as people write them, shares, and sizes for people.
#include "core/base/bytesize.h"

#include <QtTest>

#include <tuple>

using namespace retro::base;

class ByteSizeTest : public QObject
{
    Q_OBJECT

private slots:
    void readsSizes_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addColumn<quint64>("bytes");
        QTest::newRow("none") << "0" << quint64{0};
        QTest::newRow("bytes") << "4096" << quint64{4096};
        QTest::newRow("exact beyond 53 bits") << "9007199254740993" << quint64{9007199254740993};
        QTest::newRow("most") << "9223372036854775807" << quint64{9223372036854775807ULL};
        QTest::newRow("exponent") << "1e9" << quint64{1000000000};
        QTest::newRow("fraction and exponent") << "1.5e3" << quint64{1500};
        QTest::newRow("B") << "12B" << quint64{12};
        QTest::newRow("kB") << "2kB" << quint64{2000};
        QTest::newRow("MB") << "3MB" << quint64{3000000};
        QTest::newRow("GB") << "8GB" << quint64{8000000000};
        QTest::newRow("small letters") << "8gb" << quint64{8000000000};
        QTest::newRow("TB") << "1TB" << quint64{1000000000000};
        QTest::newRow("PB") << "1PB" << quint64{1000000000000000};
        QTest::newRow("KiB") << "2KiB" << quint64{2048};
        QTest::newRow("MiB") << "0.5MiB" << quint64{524288};
        QTest::newRow("GiB") << "1.5GiB" << quint64{1610612736};
        QTest::newRow("KB is kB") << "2KB" << quint64{2000};
        QTest::newRow("space") << " 8 GB " << quint64{8000000000};
        QTest::newRow("part of a byte") << "1.9" << quint64{1};
    }

    void readsSizes()
    {
        QFETCH(const QString, text);
        QFETCH(const quint64, bytes);
        const auto parsed = parseBytes(text.toStdString());
        QVERIFY2(parsed.ok(), qPrintable(text));
        QCOMPARE(quint64{*parsed}, bytes);
        QCOMPARE(quint64{parseBytesOrShare(text.toStdString(), 7).value()}, bytes);
    }

    void refusesWhatIsNoSize_data()
    {
        QTest::addColumn<QString>("text");
        for (const char* text : {"", " ", "GB", "-1", "-1GB", "8 potatoes", "8GBs", "8iB", "8XB", "1e400", "nan", "inf",
                                 "1,5GB", "0x10", "9223372036854775808", "1e19", "10000000PB", "50%"}) {
            QTest::newRow(text) << text;
        }
    }

    void refusesWhatIsNoSize()
    {
        QFETCH(const QString, text);
        RETRO_REFUSED(parseBytes(text.toStdString()), ErrorCode::Usage);
    }

    /// Powers of 1000 or of 1024? The message names both.
    void aLetterAloneIsRefused()
    {
        for (const auto& [text, decimal, binary] :
             {std::tuple{"8G", "8GB", "8GiB"}, {"1.5 k", "1.5kB", "1.5KiB"}, {"2T", "2TB", "2TiB"}}) {
            const auto parsed = parseBytes(text);
            QVERIFY(!parsed.ok() && parsed.error().code == ErrorCode::Usage);
            RETRO_SAYS(parsed.error().message, decimal, binary);
        }
    }

    void readsShares()
    {
        QCOMPARE(quint64{parseBytesOrShare("70%", 1000).value()}, quint64{700});
        QCOMPARE(quint64{parseBytesOrShare("12.5 %", 1000).value()}, quint64{125});
        QCOMPARE(quint64{parseBytesOrShare("150%", 1000).value()}, quint64{1500});
        for (const char* text : {"%", "0%", "-5%", "x%", "1e7%", "5%%", "5GB%"}) {
            QVERIFY2(!parseBytesOrShare(text, 1000).ok(), text);
        }
    }

    void writesSizes()
    {
        QCOMPARE(bytesText(0), std::string("0 B"));
        QCOMPARE(bytesText(999), std::string("999 B"));
        QCOMPARE(bytesText(1536), std::string("1.5 kB"));
        QCOMPARE(bytesText(64ULL << 30U), std::string("68.7 GB"));
        QCOMPARE(bothBytesText(8'000'000'000), std::string("8.00 GB (7.45 GiB)"));
        QCOMPARE(bothBytesText(999), std::string("999 B"));
    }
};

QTEST_GUILESS_MAIN(ByteSizeTest)
#include "bytesizetest.moc"
