// SPDX-License-Identifier: Apache-2.0
#include "core/tape/loops.h"
#include "core/tape/recursion.h"
#include "tests/core/tape/arrayoperators.h"
#include "tests/core/tape/machine.h"

#include <QtTest>

using namespace retro;
using namespace retro::tape;

namespace
{

using V = Array<double>;

Node<V> node(const std::string& op, std::vector<Id> parents, std::string name = {})
{
    const std::size_t count = parents.size();
    return {*makeArrayOperator<double>({op}, count), std::move(parents), std::move(name)};
}

V scalar(double value) { return scalarArray(value); }

/// A rule that answers with whatever it is given.
Node<V> ruled(std::vector<Id> parents, FunctionOperator<V>::Reverse reverse)
{
    return {std::make_shared<FunctionOperator<V>>(
                [](Operands<V> x, const Payload<V>&) -> base::Result<V> { return *x.front(); }, std::move(reverse)),
            std::move(parents), "odd"};
}

} // namespace

Q_DECLARE_METATYPE(FunctionOperator<V>::Reverse)

class TapeTest : public QObject
{
    Q_OBJECT

private slots:
    void seedsAreKeptAndPartsAreAddedOnTheRight()
    {
        const auto tape = compile<V>({node("mul", {0, 0}), node("add", {1, 0})}, {scalar(3)});
        const auto accumulated = denseLoop<V>(*tape, {scalar(10), scalar(0), scalar(1)});
        QCOMPARE((*accumulated)[0].data.front(), 17.0);
    }

    void anUntrackedCellTakesNothingAndItsRuleNeverRuns()
    {
        auto made = compile<V>(
            {ruled({0},
                   [](const Site<V>&, const V&) -> base::Result<Parts<V>> { return base::inputError("must not run"); }),
             node("mul", {1, 0})},
            {scalar(3)});
        Tape<V> tape = std::move(made).value();
        tape.setTracked(1, false);
        const auto accumulated = denseLoop<V>(tape, {scalar(0), scalar(0), scalar(1)});
        QVERIFY(accumulated.ok());
        QCOMPARE((*accumulated)[1].data.front(), 0.0);
        QCOMPARE((*accumulated)[0].data.front(), 3.0);
    }

    void theSkippingLoopLeavesOutWhatNothingReaches()
    {
        const auto tape = compile<V>({node("inv", {0}), node("mul", {1, 1})}, {scalar(0), scalar(2)});
        Slots<V> seed(4);
        seed[3] = scalar(1);
        const auto skipped = skippingLoop<V>(*tape, seed);
        QVERIFY(!(*skipped)[0].has_value());
        const auto dense = denseLoop<V>(*tape, oneSeed<V>(*tape, 3, scalar(1)));
        QVERIFY(std::isnan((*dense)[0].data.front()));
        QVERIFY(!*preservesZero(*tape, 2));
        QVERIFY(*preservesZero(*tape, 3));
    }

    void slotsThatNobodyKeepsAreEmptied()
    {
        const auto tape = compile<V>({node("mul", {0, 0}), node("mul", {1, 1})}, {scalar(2)});
        Slots<V> seed(3);
        seed[2] = scalar(1);
        const auto accumulated = skippingLoop<V>(*tape, seed, nullptr, {1, 0, 0});
        QCOMPARE((*accumulated)[0]->data.front(), 32.0);
        QVERIFY(!(*accumulated)[1].has_value() && !(*accumulated)[2].has_value());
    }

    void aLaterOperandNamesItsNode()
    {
        const NodeList<V> nodes{node("mul", {0, 0}, "square"), node("add", {1, 3}, "early"), node("sum", {2}, "total")};
        const QString expected = "'early' (id 2): operand 3 is not earlier than the node; list the nodes so that each "
                                 "reads only what was made before it";
        const auto tape = compile<V>(nodes, {scalar(1)});
        QVERIFY(!tape.ok() && tape.error().kind == FaultKind::LaterParent);
        QCOMPARE(tape.error().id, Id{2});
        QCOMPARE(QString::fromStdString(tape.error().message), expected);
        const auto values = evaluate<V>(nodes, {scalar(1)}, {});
        QVERIFY(!values.ok() && values.error().kind == FaultKind::LaterParent);
        QCOMPARE(QString::fromStdString(values.error().message), expected);
    }

    void whatARuleDoesWrongNamesItsNode_data()
    {
        using Result = base::Result<Parts<V>>;
        QTest::addColumn<FunctionOperator<V>::Reverse>("rule");
        QTest::addColumn<int>("kind");
        QTest::addColumn<QString>("message");
        QTest::newRow("part count") << FunctionOperator<V>::Reverse([](const Site<V>&, const V&) -> Result {
            return Parts<V>();
        }) << static_cast<int>(FaultKind::ContributionCount)
                                    << "'odd' (id 2): its reverse rule gave 0 parts for 1 operands";
        QTest::newRow("part shape") << FunctionOperator<V>::Reverse([](const Site<V>&, const V&) -> Result {
            return Parts<V>{constantArray<double>({2}, 1)};
        }) << static_cast<int>(FaultKind::ContributionShape)
                                    << "'odd' (id 2): its reverse rule gave operand 'square' (id 1) a part of shape 2 "
                                       "for a value of shape scalar";
        QTest::newRow("failed rule") << FunctionOperator<V>::Reverse([](const Site<V>&, const V&) -> Result {
            return base::inputError("no derivative here");
        }) << static_cast<int>(FaultKind::RuleFailed)
                                     << "'odd' (id 2): no derivative here";
    }

    /// The loops and the recursion refuse the same.
    void whatARuleDoesWrongNamesItsNode()
    {
        QFETCH(FunctionOperator<V>::Reverse, rule);
        QFETCH(int, kind);
        QFETCH(QString, message);
        const NodeList<V> nodes{node("mul", {0, 0}, "square"), ruled({1}, rule)};
        const auto tape = compile<V>(nodes, {scalar(2)});
        const std::vector<V> seed{scalar(0), scalar(0), scalar(1)};
        Slots<V> reached(3);
        reached[2] = scalar(1);
        const std::vector<V> context{scalar(2), scalar(4), scalar(4)};
        const Payload<V> none;
        const Fault dense = denseLoop<V>(*tape, seed).error();
        const Fault skipping = skippingLoop<V>(*tape, reached).error();
        const Fault recursive = recursion<V>(nodes, {context, none}, seed).error();
        for (const Fault& fault : {dense, skipping, recursive}) {
            QCOMPARE(static_cast<int>(fault.kind), kind);
            QCOMPARE(fault.id, Id{2});
        }
        QCOMPARE(dense.isShape(), kind == static_cast<int>(FaultKind::ContributionShape));
        QCOMPARE(QString::fromStdString(dense.message), message);
        QCOMPARE(QString::fromStdString(skipping.message), message);
        // It knows no names but those of its nodes from the last on.
        QCOMPARE(QString::fromStdString(recursive.message), message.replace("'square' (id 1)", "id 1"));
        QCOMPARE(QString::fromStdString(dense.asError().message), QString::fromStdString(dense.message));
    }

    void aSeedOfAnotherCountNamesTheCell_data()
    {
        QTest::addColumn<int>("count");
        QTest::addColumn<QString>("place");
        QTest::newRow("none") << 0 << QStringLiteral("the first without one is id 0");
        QTest::newRow("too few") << 1 << QStringLiteral("the first without one is 'square' (id 1)");
        QTest::newRow("one too few") << 2 << QStringLiteral("the first without one is 'total' (id 2)");
        QTest::newRow("too many") << 5 << QStringLiteral("the last is 'total' (id 2)");
    }

    /// Both loops and the recursion.
    void aSeedOfAnotherCountNamesTheCell()
    {
        QFETCH(int, count);
        QFETCH(QString, place);
        const NodeList<V> nodes{node("mul", {0, 0}, "square"), node("sum", {1}, "total")};
        const auto tape = compile<V>(nodes, {scalar(1)});
        const auto given = static_cast<std::size_t>(count);
        const std::vector<V> context(3, scalar(1));
        const Payload<V> none;
        const std::vector<V> seed(given, scalar(1));
        const QString expected =
            QStringLiteral("the seed has %1 values for 3 ids; %2; give one per id, zeros where nothing starts")
                .arg(QString::number(count), place);
        const Fault dense = denseLoop<V>(*tape, seed).error();
        const Fault skipping = skippingLoop<V>(*tape, Slots<V>(given)).error();
        const Fault recursive = recursion<V>(nodes, {context, none}, seed).error();
        for (const Fault& fault : {dense, skipping, recursive}) {
            QVERIFY(fault.kind == FaultKind::SeedCount);
            QCOMPARE(fault.id, Id{3});
            QCOMPARE(QString::fromStdString(fault.message), expected);
        }
    }

    void aSeedOfAnotherShapeNamesTheCell_data()
    {
        QTest::addColumn<int>("at");
        QTest::addColumn<int>("extent");
        QTest::addColumn<QString>("message");
        const auto row = [](const char* name, int at, int extent, const char* cell, const char* shape) {
            QTest::newRow(name) << at << extent
                                << QStringLiteral("the seed of %1 has shape %2, its value has %3")
                                       .arg(QLatin1String(cell), QString::number(extent), QLatin1String(shape));
        };
        row("shorter leaf", 0, 1, "id 0", "4");
        row("longer leaf", 0, 7, "id 0", "4");
        row("leaf that nothing reaches", 1, 7, "id 1", "4");
        row("longer node between", 2, 700, "'square' (id 2)", "4");
        row("empty node between", 2, 0, "'square' (id 2)", "4");
        row("last node", 3, 1, "'total' (id 3)", "scalar");
    }

    /// Both loops and the recursion, whether a part arrives before the rule of the cell runs, or no rule runs at all.
    void aSeedOfAnotherShapeNamesTheCell()
    {
        QFETCH(int, at);
        QFETCH(int, extent);
        QFETCH(QString, message);
        const V four = constantArray<double>({4}, 1);
        const NodeList<V> nodes{node("mul", {0, 0}, "square"), node("sum", {2}, "total")};
        const auto tape = compile<V>(nodes, {four, four});
        const auto place = static_cast<std::size_t>(at);
        Slots<V> given(4);
        given[3] = scalar(1);
        given[place] = constantArray<double>({extent}, 1);
        std::vector<V> seed{four, four, four, scalar(1)};
        seed[place] = *given[place];
        const std::vector<V> context{four, four, four, scalar(4)};
        const Payload<V> none;
        const Fault dense = denseLoop<V>(*tape, seed).error();
        const Fault skipping = skippingLoop<V>(*tape, given).error();
        const Fault recursive = recursion<V>(nodes, {context, none}, seed).error();
        for (const Fault& fault : {dense, skipping, recursive}) {
            QVERIFY(fault.kind == FaultKind::SeedShape && fault.isShape());
            QCOMPARE(fault.id, static_cast<Id>(at));
            QCOMPARE(QString::fromStdString(fault.message), message);
        }
    }

    /// What arrives at a rule that is asked by itself.
    void anUpstreamOfAnotherShapeNamesTheNode()
    {
        const auto tape = compile<V>({node("sum", {0}, "total")}, {constantArray<double>({2}, 1)});
        const auto parts = contributionsOf<V>(*tape, 1, constantArray<double>({1}, 1));
        QVERIFY(!parts.ok() && parts.error().kind == FaultKind::UpstreamShape);
        QCOMPARE(QString::fromStdString(parts.error().message),
                 QStringLiteral("'total' (id 1): what arrived has shape 1, its value has scalar"));
    }

    void theRecursionRefusesALaterOperand()
    {
        const NodeList<V> nodes{node("mul", {0, 2}, "early"), node("sum", {1}, "total")};
        const std::vector<V> context(3, scalar(1));
        const Payload<V> none;
        const auto recursed = recursion<V>(nodes, {context, none}, context);
        QVERIFY(!recursed.ok() && recursed.error().kind == FaultKind::LaterParent);
        QCOMPARE(recursed.error().id, Id{1});
    }

    void operandsThatDoNotFitNameTheNode()
    {
        const auto tape = compile<V>({node("add", {0, 1}, "both")}, {scalar(1), constantArray<double>({2}, 1)});
        QVERIFY(tape.error().kind == FaultKind::ForwardFailed);
        QVERIFY2(tape.error().message.find("'both' (id 2)") != std::string::npos, tape.error().message.c_str());
    }

    void scalarsThatLackAnOperationAreRefused()
    {
        QVERIFY(!makeArrayOperator<std::int64_t>({"exp"}, 1).ok());
        QVERIFY(!makeArrayOperator<double>({"sym"}, 1).ok());
        QVERIFY(!makeArrayOperator<double>({"add"}, 1).ok());
        QVERIFY(!makeArrayOperator<double>({"nothing"}, 1).ok());
    }

    void aChainOfAHundredThousandCellsIsLinearWork()
    {
        NodeList<V> nodes;
        const auto op = *makeArrayOperator<double>({"scale", 1.0}, 1);
        for (Id id = 0; id < 100'000; ++id) {
            nodes.push_back({op, {id}});
        }
        const auto tape = compile<V>(nodes, {scalar(1)});
        Slots<V> seed(tape->size());
        seed.back() = scalar(1);
        const auto accumulated = skippingLoop<V>(*tape, std::move(seed));
        QCOMPARE((*accumulated)[0]->data.front(), 1.0);
    }
};

QTEST_APPLESS_MAIN(TapeTest)
#include "tapetest.moc"
