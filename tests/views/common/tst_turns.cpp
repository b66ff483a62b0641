// SPDX-License-Identifier: Apache-2.0
// Views that need long share the turns of the event loop when another run comes.
#include "core/graph/graphbuilder.h"
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/common/run/turns.h"
#include "views/common/view.h"

#include <QElapsedTimer>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>

#include <fmt/format.h>

using namespace retro;
using namespace retro::views;

namespace
{

/// Keeps the thread busy for longer than a turn has.
void spendATurn()
{
    QElapsedTimer timer;
    timer.start();
    while (timer.elapsed() <= Turns::kBudget) {
    }
}

/// Needs a turn for itself at every refresh.
class SlowView final : public View
{
public:
    explicit SlowView(tests::ViewContext& context) : View(context.model, context.cursor, context.selection)
    {
        button = new QPushButton(QStringLiteral("body"), this);
        setBody(button);
    }
    [[nodiscard]] QString title() const override { return QStringLiteral("Slow"); }
    [[nodiscard]] bool canShow(const SelectedThing&) const override { return true; }
    QPushButton* button = nullptr;
    int refreshes = 0;

protected:
    void refresh(Changes) override
    {
        ++refreshes;
        spendATurn();
    }
};

/// A run of so many nodes that views do not show it at once, and of no events.
views::RunHandle makeLongRun()
{
    constexpr int kNodes = 6000;
    graph::GraphBuilder builder("long");
    base::ValueId last = builder.addInput("x", tensor::DType::Float32, tensor::Shape{1});
    for (int i = 0; i < kNodes; ++i) {
        graph::Node node;
        node.op = "Relu";
        node.name = fmt::format("relu{}", i);
        node.inputs = {last};
        last = builder.addResult(fmt::format("y{}", i));
        node.outputs = {last};
        builder.addNode(std::move(node));
    }
    builder.addOutput(last);
    auto graph = std::move(builder).build();
    auto run = std::make_shared<trace::Run>();
    run->graph = std::make_shared<const graph::Graph>(std::move(graph).value());
    run->values.resize(run->graph->valueCount());
    run->shapes.resize(run->graph->valueCount());
    run->rules.resize(run->graph->nodeCount());
    auto timeline = trace::Timeline::open(run);
    return {run, std::make_shared<trace::Timeline>(std::move(timeline).value())};
}

} // namespace

class TurnsTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void quickWorkIsDoneAtOnce()
    {
        Turns turns;
        QWidget first;
        QWidget second;
        int done = 0;
        QVERIFY(turns.add(first, [&] { ++done; }));
        QVERIFY(turns.add(second, [&] { ++done; }));
        QCOMPARE(done, 2);
    }

    void longWorkIsSpreadInOrder()
    {
        Turns turns;
        QWidget widgets[3];
        QList<int> done;
        for (int i = 0; i < 3; ++i) {
            const bool isDone = turns.add(widgets[i], [&done, i] {
                done.append(i);
                spendATurn();
            });
            QCOMPARE(isDone, i == 0);
            QCOMPARE(turns.waits(widgets[i]), i != 0);
        }
        QCoreApplication::processEvents();
        QTRY_COMPARE_WITH_TIMEOUT(done, (QList{0, 1, 2}), 30'000);
    }

    void aWidgetWaitsOnceAndNotWhenItIsGone()
    {
        Turns turns;
        QWidget first;
        QWidget second;
        auto third = std::make_unique<QWidget>();
        QStringList done;
        turns.add(first, &spendATurn);
        turns.add(second, [&] { done << QStringLiteral("old"); });
        turns.add(*third, [&] { done << QStringLiteral("gone"); });
        turns.add(second, [&] { done << QStringLiteral("new"); });
        third.reset();
        QTRY_VERIFY_WITH_TIMEOUT(!turns.waits(second), 30'000);
        QCOMPARE(done, QStringList{QStringLiteral("new")});
    }

    void viewsShareTurnsAndShowNothingStale()
    {
        tests::ViewContext context;
        SlowView first(context);
        SlowView second(context);
        first.show();
        second.show();
        context.model.setRun(makeLongRun());
        QCOMPARE(first.refreshes, 1);
        QCOMPARE(second.refreshes, 0);
        QVERIFY(!second.button->updatesEnabled()); // what it holds is of the run before
        QTRY_COMPARE_WITH_TIMEOUT(second.refreshes, 1, 30'000);
        QVERIFY(second.button->updatesEnabled());
        context.showTinyRun(); // a short run is there at once
        QCOMPARE(first.refreshes, 2);
        QCOMPARE(second.refreshes, 2);
    }

    void aPressBringsItsViewUpToDateFirst()
    {
        tests::ViewContext context;
        SlowView first(context);
        SlowView second(context);
        first.show();
        second.show();
        int refreshesWhenPressed = -1;
        connect(second.button, &QPushButton::pressed, this, [&] { refreshesWhenPressed = second.refreshes; });
        context.model.setRun(makeLongRun());
        QCOMPARE(second.refreshes, 0);
        QMouseEvent press(QEvent::MouseButtonPress, QPointF(3, 3), QPointF(3, 3), Qt::LeftButton, Qt::LeftButton,
                          Qt::NoModifier);
        QCoreApplication::sendEvent(second.button, &press);
        QCOMPARE(refreshesWhenPressed, 1);
        QVERIFY(second.button->updatesEnabled());
    }

    void stepsInALongRunWaitTooAndStayUsable()
    {
        tests::ViewContext context;
        SlowView first(context);
        SlowView second(context);
        first.show();
        second.show();
        context.model.setRun(makeLongRun());
        QTRY_COMPARE_WITH_TIMEOUT(second.refreshes, 1, 30'000);
        QSignalSpy pressed(second.button, &QPushButton::pressed);
        QMouseEvent press(QEvent::MouseButtonPress, QPointF(3, 3), QPointF(3, 3), Qt::LeftButton, Qt::LeftButton,
                          Qt::NoModifier);
        context.model.turns().add(
            first, [] {}, Turns::Waiting::Usable);
        bool isDone = false;
        context.model.turns().add(first, &spendATurn, Turns::Waiting::Usable);
        context.model.turns().add(
            second, [&] { isDone = true; }, Turns::Waiting::Usable);
        QVERIFY(!isDone);
        QCoreApplication::sendEvent(second.button, &press);
        QCOMPARE(pressed.count(), 1);
        QVERIFY(!isDone); // it is of the same run: nothing is in the way of the press
        QTRY_VERIFY_WITH_TIMEOUT(isDone, 30'000);
    }

    void flushAndHidingEndTheWait()
    {
        tests::ViewContext context;
        SlowView first(context);
        SlowView second(context);
        SlowView third(context);
        for (SlowView* view : {&first, &second, &third}) {
            view->show();
        }
        context.model.setRun(makeLongRun());
        second.flush();
        QCOMPARE(second.refreshes, 1);
        third.hide();
        QTRY_VERIFY_WITH_TIMEOUT(!context.model.turns().waits(third), 30'000);
        QCOMPARE(third.refreshes, 0); // nobody looks at it
        third.show();
        QTRY_COMPARE_WITH_TIMEOUT(third.refreshes, 1, 30'000);
        QVERIFY(third.button->updatesEnabled());
        QCOMPARE(second.refreshes, 1);
    }
};

QTEST_MAIN(TurnsTest)
#include "tst_turns.moc"
