// SPDX-License-Identifier: Apache-2.0
// Texts from files as they are shown and written.
#include "core/base/visibletext.h"
#include "core/base/csvfield.h"
#include "core/base/jsonout.h"

#include <QtTest>

using namespace retro::base;

class VisibleTextTest : public QObject
{
    Q_OBJECT

private slots:
    void shown_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QByteArray>("shown");
        const auto row = [](const char* name, const QByteArray& text, const QByteArray& shown) {
            QTest::newRow(name) << text << shown;
        };
        row("plain", "conv/1 (a)", "conv/1 (a)");
        row("letters of all kinds", "\u00e4 \u03a3 \u6f22 \U0001F642", "\u00e4 \u03a3 \u6f22 \U0001F642");
        row("title of a terminal", "\x1b]0;owned\x07", "\\x1b]0;owned\\x07");
        row("null", QByteArray("a\0b", 3), "a\\x00b");
        row("line ends", "a\r\nb\tc", "a\\x0d\\x0ab\\x09c");
        row("delete", "\x7f", "\\x7f");
        row("control beyond ASCII", "\xc2\x9b 2J", "\\x9b 2J");
        row("direction", "a\u202ecod.exe", "a\\u202ecod.exe");
        row("isolate", "\u2066x\u2069", "\\u2066x\\u2069");
        row("no character", "\uffff", "\\uffff");
        row("Latin-1", "m\xff.onnx", "m\\xff.onnx");
        row("cut off", "\xe6\xbc", "\\xe6\\xbc");
        row("too long a form", "\xc0\x80", "\\xc0\\x80");
        row("surrogate", "\xed\xa0\x80", "\\xed\\xa0\\x80");
        row("beyond Unicode", "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80");
    }
    void shown()
    {
        QFETCH(QByteArray, text);
        QFETCH(QByteArray, shown);
        QCOMPARE(QByteArray::fromStdString(visibleText(text.toStdString())), shown);
    }

    void linesAreKeptWhereAsked() { QCOMPARE(visibleText("a\n\tb\x1b", LineEnds::Kept), std::string("a\n\tb\\x1b")); }

    void fieldsOfTables()
    {
        QCOMPARE(csvField("a,\x1b[2J"), std::string("\"a,\\x1b[2J\""));
        QCOMPARE(csvField("two\nlines"), std::string("\"two\nlines\""));
    }

    void jsonIsValidUtf8AndReadsBack()
    {
        const nlohmann::json json{{"name", "a\xff"}, {"control", "\x1b \xc2\x9b \u202e"}};
        const std::string text = jsonOut(json, 2);
        QVERIFY(text.find('\x1b') == std::string::npos && text.find("\xc2\x9b") == std::string::npos);
        const auto back = nlohmann::json::parse(text);
        QCOMPARE(back["control"].get<std::string>(), json["control"].get<std::string>());
        QCOMPARE(back["name"].get<std::string>(), std::string("a\xef\xbf\xbd"));
    }

    void longTextsAreShortened()
    {
        QCOMPARE(shortened("short", 10), std::string("short"));
        const std::string text = shortened(std::string(500'000, 'k'), 200);
        QVERIFY(text.size() < 240);
        QVERIFY(text.find("(500000 bytes)") != std::string::npos);
        const std::string umlauts = shortened(QString(1000, QChar(0xe4)).toStdString(), 99);
        QVERIFY(visibleText(umlauts).find("\\x") == std::string::npos); // no half characters
    }
};

QTEST_GUILESS_MAIN(VisibleTextTest)
#include "visibletexttest.moc"
