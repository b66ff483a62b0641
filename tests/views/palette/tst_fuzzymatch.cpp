// SPDX-License-Identifier: Apache-2.0
#include <QtTest>

#include "views/palette/fuzzymatch.h"

#include <random>
#include <string>

using retro::views::fuzzyMatch;
using retro::views::fuzzyScore;

namespace
{

/// The text with the places in brackets, as a message that explains itself.
QString marked(const QString& pattern, const QString& text)
{
    const auto match = fuzzyMatch(pattern.toStdU16String(), text.toStdU16String());
    if (!match) {
        return QStringLiteral("no");
    }
    QString shown;
    for (int i = 0; i < text.size(); ++i) {
        const bool isTyped = std::find(match->places.begin(), match->places.end(), i) != match->places.end();
        shown += isTyped ? QLatin1Char('[') + text.mid(i, 1) + QLatin1Char(']') : text.mid(i, 1);
    }
    return shown;
}

int score(const std::string& pattern, const std::string& text) { return fuzzyScore(pattern, text).value_or(-1); }

} // namespace

class FuzzyMatchTest : public QObject
{
    Q_OBJECT
private slots:
    void placesLetters_data()
    {
        QTest::addColumn<QString>("pattern");
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("expected");
        QTest::newRow("starts of words") << "rl"
                                         << "Reset layout"
                                         << "[R]eset [l]ayout";
        QTest::newRow("start before inside") << "b"
                                             << "Zebra back"
                                             << "Zebra [b]ack";
        QTest::newRow("letters side by side") << "step"
                                              << "Sit to step"
                                              << "Sit to [s][t][e][p]";
        QTest::newRow("capitals start words") << "mm"
                                              << "layer/MatMul"
                                              << "layer/[M]at[M]ul";
        QTest::newRow("digits start words") << "c2"
                                            << "block2/conv2"
                                            << "block2/[c]onv[2]";
        QTest::newRow("after a separator") << "q"
                                           << "seq.attn.Q"
                                           << "seq.attn.[Q]";
        QTest::newRow("order matters") << "ab"
                                       << "ba"
                                       << "no";
        QTest::newRow("longer than the text") << "abc"
                                              << "ab"
                                              << "no";
        QTest::newRow("nothing typed") << ""
                                       << "Open"
                                       << "Open";
        QTest::newRow("nothing to find") << "a"
                                         << ""
                                         << "no";
        QTest::newRow("whole text") << "open"
                                    << "Open"
                                    << "[O][p][e][n]";
    }

    void placesLetters()
    {
        QFETCH(QString, pattern);
        QFETCH(QString, text);
        QTEST(marked(pattern, text), "expected");
    }

    void ordersTexts()
    {
        QVERIFY(score("fit", "Fit") > score("fit", "Find it"));
        QVERIFY(score("rl", "Reset layout") > score("rl", "Runforward lately") - 1);
        QVERIFY(score("conv", "conv1") > score("conv", "block/first/long/name/of/conv1/weights/quantised"));
        QVERIFY(score("so", "Step over") > score("so", "Also"));
        QVERIFY(score("x", "") < 0);
    }

    /// The two forms agree, and places are letters of the pattern in ascending order.
    void holdsForAnyText()
    {
        std::mt19937 random(7);
        const QString letters = QStringLiteral("abAB1/ .");
        const auto word = [&](int size) {
            QString made;
            for (int i = 0; i < size; ++i) {
                made += letters[static_cast<qsizetype>(random() % static_cast<unsigned>(letters.size()))];
            }
            return made;
        };
        for (int round = 0; round < 5000; ++round) {
            const QString pattern = word(static_cast<int>(random() % 5));
            const QString text = word(static_cast<int>(random() % 14));
            const auto match = fuzzyMatch(pattern.toStdU16String(), text.toStdU16String());
            const auto plain = fuzzyScore(pattern.toStdString(), text.toStdString());
            QCOMPARE(match.has_value(), plain.has_value());
            if (!match) {
                continue;
            }
            QCOMPARE(match->score, *plain);
            QCOMPARE(match->places.size(), static_cast<std::size_t>(pattern.size()));
            for (std::size_t i = 0; i < match->places.size(); ++i) {
                QVERIFY(i == 0 || match->places[i] > match->places[i - 1]);
                QCOMPARE(text[match->places[i]].toLower(), pattern[static_cast<qsizetype>(i)].toLower());
            }
        }
    }
};

QTEST_GUILESS_MAIN(FuzzyMatchTest)
#include "tst_fuzzymatch.moc"
