// SPDX-License-Identifier: Apache-2.0
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/history/historyrows.h"
#include "views/history/historyview.h"

#include <QFile>
#include <QSignalSpy>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTest>

using namespace retro;
using namespace retro::views;

namespace
{

/// The class, one value inside, and a pixel, by hand.
HistoryPointer madeHistory(const RunModel& model)
{
    const graph::Graph& graph = model.graph();
    auto facts = std::make_shared<HistoryFacts>();
    facts->run = model.sharedRun();
    facts->value = graph.inputs().front();
    facts->index = {0, -1, 2, 3};
    facts->relevance = 0.5;
    facts->start = 2;
    const auto layer = [&](base::NodeId node, base::ValueId value) {
        HistoryLayer one;
        one.value = value;
        one.node = node;
        one.sum = 0.5;
        one.elements = 3;
        one.rule = QStringLiteral("epsilon 1e-06");
        one.formula = QStringLiteral("R_in = x·(s·Wᵀ)");
        one.position = model.relevanceStep(node);
        one.largest = {{{0, 1}, 1.0, 0.4, 0.4}, {{0, 2}, 0.5, 0.1, 0.05}};
        one.channels = {{1, 0.4}, {2, 0.05}};
        return one;
    };
    const base::NodeId fc(std::uint32_t{tests::kFc});
    const base::NodeId conv(std::uint32_t{tests::kConv1});
    facts->layers = {layer(fc, graph.outputsOf(fc)[0]), layer(conv, graph.outputsOf(conv)[0]),
                     layer(graph.nodeOf(facts->value), facts->value)};
    facts->layers[1].isWhole = false;
    facts->layers[1].where = {2, 2, {0.1, 0, 0.3, 0}};
    facts->last = {{conv,
                    {0, 1, 2, 2},
                    QStringLiteral("epsilon 1e-06"),
                    QStringLiteral("R_in = x·(s·Wᵀ)"),
                    {{QStringLiteral("x"), 0.25}},
                    0.4,
                    0.5}};
    return facts;
}

} // namespace

class HistoryViewTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void aRowTakesTheCursorToItsEvent()
    {
        tests::TinyContext context;
        HistoryView view(context.model, context.cursor, context.selection);
        tests::showAt(view, 320, 600);
        const HistoryPointer history = madeHistory(context.model);
        view.setHistory(history);
        QCOMPARE(view.chosenRow(), 2); // the element itself
        QVERIFY(view.detailText().contains(QStringLiteral("x = 0.25")));
        context.cursor.moveTo(0);
        auto* rows = view.findChild<HistoryRows*>();
        QTest::mouseClick(rows, Qt::LeftButton, {}, QPoint(20, HistoryRows::rowHeight() + 5));
        QCOMPARE(view.chosenRow(), 1);
        QCOMPARE(context.cursor.position(), *history->layers[1].position);
        QCOMPARE(context.selection.value(), std::optional(history->layers[1].value));
        QVERIFY(view.detailText().contains(QStringLiteral("goes round")));
        auto* parts = view.findChild<QTableWidget*>();
        QCOMPARE(parts->rowCount(), 3);
        QCOMPARE(parts->item(0, 0)->text(), QStringLiteral("0,1"));
        QCOMPARE(parts->item(2, 1)->text(), QStringLiteral("0.05000")); // others: 0.5 − 0.4 − 0.05
        QTest::keyClick(rows, Qt::Key_Up);
        QCOMPARE(view.chosenRow(), 0);
        // A part is asked about in its turn.
        const QSignalSpy typed(&view, &HistoryView::placeTyped);
        emit parts->cellDoubleClicked(0, 0);
        QCOMPARE(typed.count(), 1);
        QVERIFY(typed.front().front().toString().endsWith(QStringLiteral(":0,1")));
        // The run goes: so does its history.
        context.model.clear();
        context.showTinyRun();
        view.flush();
        QVERIFY(!view.history());
    }

    void itIsLaidOutWhileItIsAsked()
    {
        tests::TinyContext context;
        HistoryView view(context.model, context.cursor, context.selection);
        tests::showAt(view, 320, 600);
        auto* parts = view.findChild<QTableWidget*>();
        QVERIFY(!parts->isVisible());
        view.setAsked(QStringLiteral("x:0,1"));
        QVERIFY(parts->isVisible());
        QCOMPARE(parts->rowCount(), 0);
        view.setHistory(madeHistory(context.model));
        QVERIFY(parts->rowCount() > 0);
        view.clear();
        QVERIFY(!parts->isVisible());
        view.setAsked(QStringLiteral("x:0,0")); // nothing of the answer that is gone
        QVERIFY(parts->isVisible());
        QCOMPARE(parts->rowCount(), 0);
        QCOMPARE(view.detailText().trimmed(), QString());
        view.setRefusal(QStringLiteral("no such element"));
        QVERIFY(!parts->isVisible());
    }

    void partsOfRowsDoNotOverlap()
    {
        for (const double width : {260.0, 420.0, 900.0}) {
            const HistoryRowLayout layout = layoutHistoryRow(QRectF(0, 0, width, HistoryRows::rowHeight()));
            QVERIFY(!layout.picture.intersects(layout.bar));
            QVERIFY(!layout.name.intersects(layout.sum));
            QVERIFY(layout.bar.right() <= width && layout.sum.right() <= width);
            QVERIFY(layout.bar.width() > width / 3);
        }
    }

    void whatIsShownIsWritten()
    {
        tests::TinyContext context;
        HistoryView view(context.model, context.cursor, context.selection);
        const QTemporaryDir folder;
        QFile file(folder.filePath(QStringLiteral("h.csv")));
        QVERIFY(!view.exportTo(file.fileName().toStdString()).ok()); // nothing was asked
        view.flush();
        view.setHistory(madeHistory(context.model));
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            QVERIFY(tests::colorCount(tests::grab(view, {330, 640}, kind, QStringLiteral("history"))) > 10);
        }
        QVERIFY(view.exportTo(file.fileName().toStdString()).ok());
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QByteArray text = file.readAll();
        QVERIFY(text.startsWith("value,node,event,sum,elements,element,way,relevance,part,rule\n"));
        QCOMPARE(text.count('\n'), 7);
        QVERIFY(view.exportTo(folder.filePath(QStringLiteral("h.svg")).toStdString()).ok());
    }
};

QTEST_MAIN(HistoryViewTest)
#include "tst_historyview.moc"
