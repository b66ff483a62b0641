// SPDX-License-Identifier: Apache-2.0
#include "core/tape/array/operators.h"
#include "core/tape/loops.h"
#include "core/tape/scalar/machine.h"

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

Fault faultOf(const Node<V>& last)
{
    const auto tape = compile<V>({last}, {scalar(2)});
    const auto accumulated = denseLoop<V>(*tape, {scalar(0), scalar(1)});
    return accumulated.ok() ? Fault{} : accumulated.error();
}

} // namespace

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

    void whatARuleDoesWrongNamesItsNode()
    {
        using Result = base::Result<Parts<V>>;
        const Fault count = faultOf(ruled({0}, [](const Site<V>&, const V&) -> Result { return Parts<V>(); }));
        QVERIFY(count.kind == FaultKind::ContributionCount);
        const Fault shape = faultOf(
            ruled({0}, [](const Site<V>&, const V&) -> Result { return Parts<V>{constantArray<double>({2}, 1)}; }));
        QVERIFY(shape.kind == FaultKind::ContributionShape && shape.isShape());
        const Fault failed = faultOf(
            ruled({0}, [](const Site<V>&, const V&) -> Result { return base::inputError("no derivative here"); }));
        QVERIFY(failed.kind == FaultKind::RuleFailed);
        for (const Fault& fault : {count, shape, failed}) {
            QVERIFY2(fault.message.find("'odd' (id 1)") != std::string::npos, fault.message.c_str());
        }
    }

    void seedsThatDoNotFitAreRefused()
    {
        const auto tape = compile<V>({node("sum", {0}, "total")}, {constantArray<double>({2}, 1)});
        const auto few = denseLoop<V>(*tape, {scalar(1)});
        QVERIFY(few.error().kind == FaultKind::SeedCount);
        const auto odd = denseLoop<V>(*tape, {constantArray<double>({2}, 0), constantArray<double>({1}, 1)});
        QVERIFY(odd.error().kind == FaultKind::SeedShape);
        QVERIFY(odd.error().message.find("'total' (id 1)") != std::string::npos);
        Slots<V> accumulated(2);
        accumulated[1] = constantArray<double>({1}, 1);
        QVERIFY(skippingLoop<V>(*tape, accumulated).error().kind == FaultKind::UpstreamShape);
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
