// SPDX-License-Identifier: Apache-2.0
#include "core/layout/exchange.h"

#include <QtTest>

#include <algorithm>

using namespace retro::layout;

namespace
{

const LayoutInput kInput{{{40, 10}, {40, 10}, {40, 10}}, {{0, 1}, {0, 2}, {1, 2}}, {kNone, 0, 0}, {kNone}};

/// A whole answer to kInput.
std::string answer()
{
    return "retrograde-layout 1\nnode 0 20 5\nnode 1 0 35\nnode 2 30 65\nedge 0 2 20 10 0 30\n"
           "edge 1 3 20 10 50 40 30 60\nedge 2 2 0 40 30 60\ngroup 0 -30 20 90 60\nend\n";
}

std::string replaced(std::string_view what, std::string_view by)
{
    std::string text = answer();
    text.replace(text.find(what), what.size(), by);
    return text;
}

} // namespace

class ExchangeTest : public QObject
{
    Q_OBJECT

private slots:
    void asksInNumbersOnly()
    {
        const std::string question = writeQuestion(kInput, {});
        QVERIFY(question.find("subgraph cluster_0 {") != std::string::npos);
        QVERIFY(question.find("0 -> 2 [id=\"1\"];") != std::string::npos);
        QVERIFY(question.find("2 [width=0.5556, height=0.1389];") != std::string::npos);
        QCOMPARE(std::count(question.begin(), question.end(), '{'), std::count(question.begin(), question.end(), '}'));

        QVERIFY(writeQuestion({}, {}).starts_with("digraph {"));
    }

    void readsLayersFromLeftToRight()
    {
        RETRO_MADE(layout, readAnswer(answer(), kInput));
        QCOMPARE(layout->layers.size(), std::size_t{3});
        QCOMPARE(layout->nodeLayers, (std::vector<Index>{0, 1, 2}));
        QCOMPARE(layout->bounds, (Rect{0, 0, 90, 80})); // the frame is the widest and lowest thing
        QCOMPARE(layout->groups[0], (Rect{0, 20, 90, 60}));
        QCOMPARE(layout->nodes[0], (Rect{30, 0, 40, 10}));
        QCOMPARE(layout->edge(1).size(), std::size_t{3});
        QCOMPARE(layout->edge(0).back(), (Point{30, 30}));
        QCOMPARE(layout->nodeAt({31, 31}), Index{1});
        std::vector<Index> edges;
        layout->edgesIn({0, 45, 90, 5}, edges);
        QCOMPARE(edges.size(), std::size_t{2});
        QVERIFY(readAnswer("retrograde-layout 1\nend\n", {}).ok());
    }

    void mistakesAreNamed_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("reason");
        const auto add = [](const char* name, const std::string& text, const char* reason) {
            QTest::newRow(name) << QString::fromStdString(text) << QString::fromUtf8(reason);
        };
        add("empty", "", "the answer ends too early");
        add("another format", "digraph {\n", "line 1 of the answer is not understood");
        add("cut off", answer().substr(0, 60), "line 5 of the answer is not understood");
        add("no end", replaced("end\n", ""), "the answer ends too early");
        add("no node", replaced("node 1 0 35\n", ""), "the answer has no place for node 1");
        add("node twice", replaced("node 1 0 35", "node 0 0 35"), "line 3 of the answer is not understood");
        add("node of another graph", replaced("node 1", "node 7"), "line 3 of the answer is not understood");
        add("negative id", replaced("node 1", "node -1"), "line 3 of the answer is not understood");
        add("no number", replaced("0 35", "0 nan"), "line 3 of the answer is not understood");
        add("infinite", replaced("0 35", "0 1e999"), "line 3 of the answer is not understood");
        add("no edge", replaced("edge 2 2 0 40 30 60\n", ""), "the answer has no way for edge 2");
        add("too few points", replaced("edge 1 3", "edge 1 4"), "line 6 of the answer is not understood");
        add("too many points", replaced("edge 1 3", "edge 1 999999999"), "line 6 of the answer is not understood");
        add("too much", replaced("0 35", "0 35 1"), "line 3 of the answer is not understood");
        add("ranks overlap", replaced("0 35", "0 8"), "two ranks of the answer overlap");
        add("boxes overlap", replaced("0 35", "10 5"), "two boxes of the answer overlap");
        add("unknown item", replaced("group", "label"), "line 8 of the answer is not understood");
    }
    void mistakesAreNamed()
    {
        QFETCH(QString, text);
        QFETCH(QString, reason);
        const auto layout = readAnswer(text.toStdString(), kInput);
        QVERIFY(!layout.ok());
        QCOMPARE(QString::fromStdString(layout.error().message), reason);
    }
};

QTEST_APPLESS_MAIN(ExchangeTest)
#include "exchangetest.moc"
