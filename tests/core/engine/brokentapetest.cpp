// SPDX-License-Identifier: Apache-2.0
// Properties of a tape and of the passes over it: a tape that was taken apart violates its property, and the smallest
// case is named.
#include "core/engine/verify/tapechecks.h"
#include "core/engine/verify/wiringchecks.h"
#include "core/ops/algebra.h"
#include "tests/core/engine/smalltape.h"

#include <QtTest>

using namespace retro;
using namespace retro::enginetest;
using tape::Bundle;
using tape::Id;
using tape::ModelTape;
using tensor::Tensor;

namespace
{

using Cells = std::vector<tape::Cell<Bundle>>;

/// A tape whose cells `change` has seen.
ModelTape changed(ModelTape made, const std::function<void(Cells&)>& change)
{
    Cells cells;
    for (Id id = 0; id < made.tape.size(); ++id) {
        cells.push_back(made.tape.cell(id));
    }
    change(cells);
    made.tape = tape::Tape<Bundle>(std::move(cells), made.tape.leafCount(), made.tape.payload());
    return made;
}

/// y = first · second of x split into three, whose third nobody reads: four cells for one node.
std::shared_ptr<const execute::BoundModel> splitModel()
{
    return modelOf([](graph::GraphBuilder& builder, base::ValueId x) {
        const std::vector<std::int64_t> ones{1, 1, 1};
        const base::ValueId sizes = builder.addConstant("sizes", Tensor::of<std::int64_t>({3}, ones));
        const base::ValueId first = builder.addResult("first");
        const base::ValueId second = builder.addResult("second");
        const base::ValueId third = builder.addResult("third");
        builder.addNode({"Split", "", "split", "", 17, {x, sizes}, {first, second, third}, {}});
        return addNode(builder, "Mul", "times", {first, second}, "y");
    });
}

engine::PropertyResults checked(const ModelTape& made)
{
    const tensor::Shape& shape = made.tape.cell(static_cast<Id>(made.tape.size() - 1)).value.only().shape();
    const Tensor ones = Tensor::full(tensor::DType::Float64, shape, 1);
    auto results = engine::checkTape(made, static_cast<Id>(made.valueOf.size() - 1), ones, {});
    return results.ok() ? std::move(*results) : engine::PropertyResults();
}

const engine::PropertyResult& firstViolated(const engine::PropertyResults& results)
{
    return *std::ranges::find(results, engine::PropertyState::Violated, &engine::PropertyResult::state);
}

} // namespace

class BrokenTapeTest : public QObject
{
    Q_OBJECT

private slots:
    void aWholeTapeHoldsEveryProperty()
    {
        for (const auto& model : {smallModel(), forkedModel(), splitModel()}) {
            const ModelTape made = tapeOf(model);
            const engine::PropertyResults results = checked(made);
            QCOMPARE(results.size(), std::size_t{7});
            for (const engine::PropertyResult& one : results) {
                QVERIFY2(one.state == engine::PropertyState::Held, (one.id + ": " + one.detail).c_str());
            }
            QCOMPARE(violatedOf(engine::checkWiring(made, static_cast<Id>(made.tape.size() - 1), 7)), std::string());
        }
    }

    void aCellTooManyViolatesP1()
    {
        const ModelTape made = changed(tapeOf(smallModel()), [](Cells& cells) {
            cells.push_back(cells.back());
            cells.back().node.name = "stray";
        });
        const engine::PropertyResults results = checked(made);
        QCOMPARE(violatedOf(results), std::string("P1"));
        QCOMPARE(firstViolated(results).detail,
                 std::string("5 cells of 4; smallest case: 'stray' (id 4) alone, which the graph does not have"));
    }

    void aCellTooFewViolatesP1()
    {
        const ModelTape made = changed(tapeOf(smallModel()), [](Cells& cells) { cells.pop_back(); });
        const engine::PropertyResults results = checked(made);
        QCOMPARE(violatedOf(results), std::string("P1"));
        QCOMPARE(firstViolated(results).detail, std::string("3 cells of 4; smallest case: y alone, which has no cell"));
        QCOMPARE(firstViolated(results).node, std::string("plus"));
    }

    void aNodeWithTwoCellsForOneResultViolatesP1()
    {
        ModelTape made = changed(tapeOf(smallModel()), [](Cells& cells) { cells.push_back(cells[2]); });
        made.valueOf.push_back(made.valueOf[2]);
        made.nodeOf.push_back(made.nodeOf[2]);
        const engine::PropertyResults results = checked(made);
        QCOMPARE(violatedOf(results), std::string("P1"));
        QCOMPARE(firstViolated(results).detail, std::string("smallest case: bend alone, with 2 cells for 1"));
    }

    /// A result that is made of another result, not of the cell that holds all of its node: the same nodes are reached.
    void aResultOfAResultViolatesP14()
    {
        const ModelTape made = changed(tapeOf(splitModel()), [](Cells& cells) { cells[5].node.parents = {3}; });
        const engine::PropertyResults results = engine::checkWiring(made, idOf(made, "third"), 7);
        QCOMPARE(QString::fromStdString(violatedOf(results)), QStringLiteral("P14"));
        const QString ways = QStringLiteral("1 ways by the tape, 0 by the graph, from first");
        QCOMPARE(QString::fromStdString(find(results, "P14")->detail),
                 ways + "; smallest case: from third = f(first) on the tape and f(split) in the graph, " + ways);
    }

    /// The values are those of the graph, but the tape hands another one to a node.
    void anotherOperandViolatesP2()
    {
        const ModelTape made = changed(tapeOf(smallModel()), [](Cells& cells) {
            cells[3].node.parents = {2, 1};
        }); // y = bent + square
        const engine::PropertyResults results = checked(made);
        QCOMPARE(violatedOf(results), std::string("P2"));
        QCOMPARE(firstViolated(results).detail,
                 std::string("operand 1 of plus is square on the tape and x in the graph, and differs in 2 of 3 "
                             "elements; smallest case: operand 1 of plus alone, at [0]: 0.25 on the tape, 0.5 in a "
                             "forward pass"));
        QCOMPARE(firstViolated(results).node, std::string("plus"));
    }

    void anotherValueViolatesP3()
    {
        const ModelTape made = changed(tapeOf(smallModel()), [](Cells& cells) {
            const std::vector<double> factors{1, 3, 3};
            const Tensor factor = Tensor::of<double>({3}, factors);
            cells[3].value = Bundle(ops::algebra::multiply(cells[3].value.only(), factor));
        });
        const engine::PropertyResults results = checked(made);
        QCOMPARE(violatedOf(results), std::string("P3"));
        const std::string& detail = firstViolated(results).detail;
        QVERIFY2(detail.starts_with("y differs in 2 of 3 elements; smallest case: plus alone, whose operands agree, at "
                                    "[1]: "),
                 detail.c_str());
        QCOMPARE(firstViolated(results).node, std::string("plus"));
    }

    void aLaterOperandViolatesP4()
    {
        const ModelTape made =
            changed(tapeOf(smallModel()), [](Cells& cells) { cells[2].node.parents = {3}; }); // bent = tanh(y)
        const engine::PropertyResults results = checked(made);
        QCOMPARE(violatedOf(results), std::string("P4"));
        QCOMPARE(firstViolated(results).detail,
                 std::string("bent (id 2) reads y (id 3), which is not earlier; smallest case: bent = f(y)"));
        QCOMPARE(firstViolated(results).node, std::string("bend"));
    }

    /// A rule that gives more each time it is asked.
    void aRuleThatRemembersViolatesP5P6AndP9()
    {
        const auto model = forkedModel();
        auto calls = std::make_shared<int>(0);
        const ModelTape made =
            tapeOf(model, spoilt(model, "port", [calls](const Tensor& t) { return ops::algebra::scale(t, ++*calls); }));
        const engine::PropertyResults results = checked(made);
        QCOMPARE(violatedOf(results), std::string("P5 P6 P9"));
        for (const char* id : {"P5", "P6", "P9"}) {
            const std::string& detail = find(results, id)->detail;
            RETRO_SAYS(detail, "; smallest case: from ones at left, the slot of x");
        }
    }

    /// Through the model: cells are called what its nodes and inputs are called.
    void whatIsRefusedNamesTheNodeOfTheModel()
    {
        const auto model = smallModel();
        const auto failing = tapeOf(model, [](const tape::ModelSite&) -> base::Result<std::vector<Tensor>> {
            return base::inputError("no rule today");
        });
        const Tensor ones = Tensor::full(tensor::DType::Float64, {3}, 1);
        const auto failed = engine::checkTape(failing, 3, ones, {});
        QVERIFY(!failed.ok());
        QCOMPARE(QString::fromStdString(failed.error().message), QStringLiteral("'plus' (id 3): no rule today"));
        const auto narrow = [](const Tensor&) { return Tensor::full(tensor::DType::Float64, {2}, 1); };
        const auto odd = engine::checkTape(tapeOf(model, spoilt(model, "times", narrow)), 3, ones, {});
        QVERIFY(!odd.ok());
        QCOMPARE(
            QString::fromStdString(odd.error().message),
            QStringLiteral("'times' (id 1): its reverse rule gave operand 'x' (id 0) a part of shape 2 for a value "
                           "of shape 3"));
    }

    /// Two nodes and their readers: what is not reached is found, and at the node that reads the wrong thing alone.
    void aNodeThatReadsAnotherValueViolatesP13()
    {
        const ModelTape made = changed(tapeOf(forkedModel()), [](Cells& cells) { cells[3].node.parents = {1, 1}; });
        const engine::PropertyResults results = engine::checkWiring(made, idOf(made, "z"), 7);
        QCOMPARE(violatedOf(results), std::string("P13 P14"));
        QCOMPARE(find(results, "P13")->detail,
                 std::string("only the graph reaches starboard; smallest case: from y = f(left, left) on the tape and "
                             "f(left, right) in the graph, only the graph reaches starboard"));
        QCOMPARE(find(results, "P13")->node, std::string("plus"));
    }

    /// y = bent + bent in the place of bent + x reaches all that it should, x by another number of ways.
    void aNodeThatReadsAValueTwiceViolatesP14()
    {
        const ModelTape made = changed(tapeOf(smallModel()), [](Cells& cells) { cells[3].node.parents = {2, 2}; });
        const engine::PropertyResults results = engine::checkWiring(made, idOf(made, "y"), 7);
        QCOMPARE(violatedOf(results), std::string("P14"));
        QCOMPARE(find(results, "P14")->detail,
                 std::string("2 ways by the tape, 1 by the graph, from bent; smallest case: from y = f(bent, bent) on "
                             "the tape and f(bent, x) in the graph, 2 ways by the tape, 1 by the graph, from bent"));
        QCOMPARE(find(results, "P14")->node, std::string("plus"));
    }
};

QTEST_APPLESS_MAIN(BrokenTapeTest)
#include "brokentapetest.moc"
