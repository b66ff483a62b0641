// SPDX-License-Identifier: Apache-2.0
// What a run file says of its input: every fact comes back, and rows that no writer writes are refused.
#include "core/trace/file/inputrows.h"

#include <QtTest>

#include <random>

using namespace retro::trace;
using namespace retro::trace::file;

namespace
{

InputFacts fullFacts()
{
    InputFacts facts;
    facts.kind = "image";
    facts.file = "jug é.png";
    facts.layout = "NHWC";
    facts.channels = "BGR";
    facts.scale = {-1, 1.0 / 3};
    facts.mean = {0.1, -2.5e-300, 0};
    facts.deviation = {0.25, 1e300, 1};
    facts.words = {"", "a", "zwei Wörter", "a"};
    facts.trueClass = "jug";
    facts.tag = {1, 2, 3, 65'536};
    return facts;
}

InputFacts readBack(const InputFacts& facts)
{
    InputFacts read;
    for (const InputRow& row : inputRows(facts)) {
        if (!setInputRow(read, row.item, row.text)) {
            qFatal("%s: %s", std::string(row.item).c_str(), row.text.c_str());
        }
    }
    return read;
}

} // namespace

class InputRowsTest : public QObject
{
    Q_OBJECT

private slots:
    void everyFactComesBack()
    {
        QVERIFY(readBack(fullFacts()) == fullFacts());
        QVERIFY(readBack({}) == InputFacts());
        QVERIFY(areReadable(fullFacts()));
    }

    void whatNoWriterWritesIsRefused_data()
    {
        QTest::addColumn<QByteArray>("item");
        QTest::addColumn<QByteArray>("text");
        QTest::newRow("no such item") << QByteArray("size") << QByteArray("1");
        QTest::newRow("no item") << QByteArray() << QByteArray("1");
        QTest::newRow("kind") << QByteArray("kind") << QByteArray("sound");
        QTest::newRow("layout") << QByteArray("layout") << QByteArray("NCWH");
        QTest::newRow("channels") << QByteArray("channels") << QByteArray();
        QTest::newRow("number") << QByteArray("low") << QByteArray("1 ");
        QTest::newRow("infinity") << QByteArray("high") << QByteArray("inf");
        QTest::newRow("no number") << QByteArray("mean") << QByteArray("nan");
        QTest::newRow("deviation") << QByteArray("std") << QByteArray("0");
        QTest::newRow("outside") << QByteArray("tag_x") << QByteArray("-1");
        QTest::newRow("too large") << QByteArray("tag_width") << QByteArray("65537");
        QTest::newRow("long name") << QByteArray("file") << QByteArray(InputFacts::kMostBytes + 1, 'x');
        QTest::newRow("long word") << QByteArray("word") << QByteArray(InputFacts::kMostBytes + 1, 'x');
    }

    void whatNoWriterWritesIsRefused()
    {
        QFETCH(const QByteArray, item);
        QFETCH(const QByteArray, text);
        InputFacts facts;
        QVERIFY(!setInputRow(facts, item.toStdString(), text.toStdString()));
    }

    void listsHaveLimits()
    {
        InputFacts facts;
        facts.words.resize(InputFacts::kMostWords);
        facts.mean.resize(InputFacts::kMostChannels);
        QVERIFY(areReadable(facts));
        QVERIFY(!setInputRow(facts, "word", "one more"));
        QVERIFY(!setInputRow(facts, "mean", "1"));
        QCOMPARE(facts.words.size(), InputFacts::kMostWords);
        QCOMPARE(facts.mean.size(), InputFacts::kMostChannels);
        facts.words.emplace_back();
        QVERIFY(!areReadable(facts));
    }

    /// Rows of random items and texts: refused, or facts that can be written again.
    void randomRowsNeverCrash()
    {
        std::mt19937 random(24);
        const std::vector<InputRow> rows = inputRows(fullFacts());
        int taken = 0;
        for (int i = 0; i < 20'000; ++i) {
            InputFacts facts;
            std::string text = rows[random() % rows.size()].text;
            for (std::size_t flips = random() % 3; flips > 0 && !text.empty(); --flips) {
                text[random() % text.size()] = static_cast<char>(random());
            }
            if (setInputRow(facts, rows[random() % rows.size()].item, text)) {
                QVERIFY2(areReadable(facts), text.c_str());
                ++taken;
            }
        }
        QVERIFY(taken > 1000);
    }
};

QTEST_GUILESS_MAIN(InputRowsTest)
#include "inputrowstest.moc"
