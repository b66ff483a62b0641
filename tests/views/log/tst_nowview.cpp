// SPDX-License-Identifier: Apache-2.0
// What happens now: events around the cursor, where relevance is, the rule with its numbers.
#include <QtTest>

#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/log/nowfacts.h"
#include "views/log/nowpane.h"
#include "views/log/nowview.h"

#include <cmath>

using namespace retro;
using namespace retro::views;

namespace
{

double sumOfKinds(const NowRelevance& now, std::initializer_list<NowAmount::Kind> kinds)
{
    double sum = 0;
    for (const NowAmount& amount : now.amounts) {
        const bool isWanted = std::ranges::find(kinds, amount.kind) != kinds.end();
        sum += isWanted ? amount.sum.value_or(0) : 0;
    }
    return sum;
}

bool isNear(double a, double b) { return std::abs(a - b) <= 1e-6 * (1 + std::abs(a) + std::abs(b)); }

} // namespace

class NowViewTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void threeEventsBeforeAndTwoBehind()
    {
        tests::TinyContext context;
        const std::uint64_t end = context.cursor.end();
        for (std::uint64_t position = 0; position <= end; ++position) {
            context.cursor.moveTo(position);
            const std::vector<NowEvent> events = eventsAround(context.model);
            const std::uint64_t before = std::min<std::uint64_t>(position, 4);
            const std::uint64_t behind = std::min<std::uint64_t>(end - position, 2);
            QCOMPARE(events.size(), before + behind);
            for (const NowEvent& event : events) {
                QCOMPARE(event.when == NowEvent::When::Now, event.step + 1 == position);
                QCOMPARE(event.when == NowEvent::When::Next, event.step >= position);
                QVERIFY(!event.kind.isEmpty() && !event.what.isEmpty());
            }
        }
    }

    /// What arrived, was handed on and absorbed is what the books of the run say; nothing is known ahead of its event.
    void amountsAreThoseOfTheBooks()
    {
        tests::TinyContext context;
        const auto motion = context.model.derived<trace::Motion>();
        const trace::Run& run = context.model.run();
        int booked = 0;
        for (std::uint64_t position = 1; position <= context.cursor.end(); ++position) {
            context.cursor.moveTo(position);
            const NowRelevance now = relevanceNow(context.model, *motion);
            const event::Event& last = run.events[position - 1];
            QCOMPARE(now.node, context.model.state().current);
            if (last.kind != event::EventKind::Rule || last.node != now.node.value) {
                continue;
            }
            const event::LedgerEntry& entry = run.ledger[static_cast<std::size_t>(last.extra)];
            using Kind = NowAmount::Kind;
            QVERIFY2(isNear(sumOfKinds(now, {Kind::HandedOn, Kind::Waits, Kind::OnItsWay}), entry.handedOn),
                     qPrintable(now.name));
            double causes = 0;
            for (const double amount : entry.causes) {
                causes += amount;
            }
            QVERIFY(isNear(sumOfKinds(now, {Kind::Absorbed}), causes));
            QVERIFY2(now.formula.contains(
                         amountNowText(entry.handedOn, std::max(std::abs(entry.arrived), std::abs(entry.handedOn)))) &&
                         now.formula.endsWith(QStringLiteral("arrived")),
                     qPrintable(now.formula));
            ++booked;
        }
        QVERIFY(booked >= 6);
    }

    void aPartThatIsMissingIsNamed()
    {
        tests::TinyContext context;
        const auto motion = context.model.derived<trace::Motion>();
        bool isAsked = false;
        bool isEarly = false;
        for (std::uint64_t position = 1; position <= context.cursor.end(); ++position) {
            context.cursor.moveTo(position);
            const NowRelevance now = relevanceNow(context.model, *motion);
            for (const NowAmount& amount : now.amounts) {
                isAsked = isAsked || (amount.kind == NowAmount::Kind::Asked && !amount.sum);
            }
            isEarly = isEarly || now.formula == QStringLiteral("It has not been applied yet.");
        }
        QVERIFY(isAsked && isEarly);
    }

    void theTextDependsOnThePositionAlone()
    {
        tests::TinyContext context;
        NowView view(context.model, context.cursor, context.selection);
        view.resize(360, 420);
        view.show();
        QStringList forward;
        for (std::uint64_t position = 0; position <= context.cursor.end(); ++position) {
            context.cursor.moveTo(position);
            view.flush();
            forward.append(view.pane().text());
        }
        QVERIFY(forward.front() != forward.back());
        for (std::uint64_t position = context.cursor.end() + 1; position-- > 0;) {
            context.cursor.moveTo(position);
            view.flush();
            QCOMPARE(view.pane().text(), forward[static_cast<qsizetype>(position)]);
        }
    }

    void fastPlayIsAddedUp()
    {
        tests::TinyContext context;
        NowView view(context.model, context.cursor, context.selection);
        tests::showAt(view, 360, 420);
        QVERIFY(!view.pane().span());
        context.cursor.setSpeed(1000);
        view.flush();
        QVERIFY(view.pane().span());
        QCOMPARE(view.pane().span()->visits, std::int64_t{tests::kTinyVisits});
        QCOMPARE(view.pane().span()->opened, view.pane().span()->fulfilled);
        QVERIFY(view.pane().span()->nodes < view.pane().span()->visits + 1);
        const auto motion = context.model.derived<trace::Motion>();
        QCOMPARE(spanNow(context.model, *motion, 8).visits, std::int64_t{2}); // a quarter of a second of it
        context.cursor.setSpeed(0);
        view.flush();
        QVERIFY(!view.pane().span());
    }

    void keysAndMouseGoThroughTheEvents()
    {
        tests::TinyContext context;
        NowView view(context.model, context.cursor, context.selection);
        view.resize(360, 420);
        view.show();
        context.cursor.moveTo(10);
        view.flush();
        QTest::keyClick(&view.pane(), Qt::Key_Down);
        QCOMPARE(context.cursor.position(), std::uint64_t{11});
        QTest::keyClick(&view.pane(), Qt::Key_Up);
        QTest::keyClick(&view.pane(), Qt::Key_Up);
        QCOMPARE(context.cursor.position(), std::uint64_t{9});
        view.flush();
        const int row = view.pane().height() > 0 ? 24 : 0;
        QTest::mouseClick(&view.pane(), Qt::LeftButton, {}, QPoint(40, row + row / 2)); // three before
        QCOMPARE(context.cursor.position(), std::uint64_t{9});
        QVERIFY(context.selection.node().has_value());
        QTest::mouseDClick(&view.pane(), Qt::LeftButton, {}, QPoint(40, row + row / 2));
        QCOMPARE(context.cursor.position(), std::uint64_t{6});
        context.cursor.moveTo(0);
        QTest::keyClick(&view.pane(), Qt::Key_Up);
        QCOMPARE(context.cursor.position(), std::uint64_t{0});
        QVERIFY(view.pane().accessibleDescription() == view.pane().text());
    }

    void bothThemesAndNoRun()
    {
        tests::ViewContext context;
        NowView view(context.model, context.cursor, context.selection);
        tests::showAt(view, 360, 420);
        context.showTinyRun();
        for (const ThemeChoice choice : {ThemeChoice::Light, ThemeChoice::Dark}) {
            ThemeHub::instance().setChoice(choice);
            view.flush();
            QVERIFY(!view.grab().isNull());
        }
        ThemeHub::instance().setChoice(ThemeChoice::Light);
    }
};

QTEST_MAIN(NowViewTest)
#include "tst_nowview.moc"
