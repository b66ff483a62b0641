// SPDX-License-Identifier: Apache-2.0
#include "core/program/compile.h"
#include "core/program/key.h"
#include "core/program/listing.h"
#include "tests/core/lrp/goldencase.h"
#include "tests/core/lrp/programrun.h"
#include "tests/core/lrp/randomgraph.h"

#include <QTest>

using namespace retro::lrptest;
using namespace retro;

namespace
{

SpecNode leaf(std::string id, tensor::Shape shape)
{
    SpecNode made;
    made.id = std::move(id);
    made.op = "leaf";
    made.shape = std::move(shape);
    for (std::int64_t i = 0; i < tensor::elementCount(made.shape); ++i) {
        made.values.push_back(0.5 + 0.25 * static_cast<double>(i));
    }
    return made;
}

SpecNode node(std::string id, std::string op, std::vector<SpecOperand> operands)
{
    SpecNode made;
    made.id = std::move(id);
    made.op = std::move(op);
    made.operands = std::move(operands);
    return made;
}

// t = (relu x)ᵀ, y = t + relu t: a residual whose trunk is crossed by the search (docs/traversal.md, section 5.3).
SpecGraph residual()
{
    return SpecGraph({leaf("x", {2, 2}), node("q", "relu", {{0, 0}}), node("t", "t", {{1, 0}}),
                      node("r", "relu", {{2, 0}}), node("y", "add", {{2, 0}, {3, 0}})});
}

QStringList linesOf(const program::Program& program, const graph::Graph& graph)
{
    QStringList lines;
    for (const program::ListedInstruction& line : program::listing(program, graph)) {
        QString text = QString::fromStdString(line.text);
        if (!line.promise.empty()) {
            text += " for " + QString::fromStdString(line.promise);
        }
        for (const program::BufferId last : line.lastUses) {
            text += " -" + QString::fromStdString(program::nameOf(last));
        }
        lines += text;
    }
    return lines;
}

struct Made
{
    TensorCase tensorCase;
    TensorRun run;
};

Made firstPassOf(const SpecGraph& spec)
{
    TensorCase made = tensorCaseOf(spec, {}).value();
    TensorRun run = runTensors(made, execute::SavePolicy::Autograd).value();
    return {std::move(made), std::move(run)};
}

program::KeyFacts factsOf(const TensorCase& made, const std::vector<tensor::Shape>& shapes,
                          const std::vector<std::string>& rules, const std::vector<base::ValueId>& targets)
{
    return {made.model->graph(), shapes, rules, "autograd", targets};
}

} // namespace

class ProgramTest : public QObject
{
    Q_OBJECT

private slots:
    void flattensAResidual()
    {
        const Made made = firstPassOf(residual());
        RETRO_MADE(program, programOf(made.tensorCase, made.run));
        const QStringList expected{"b0 ← fetch q for P1.0",
                                   "b1 ← carry t (b0) for P1.0 -b0",
                                   "b2 ← fetch r for P0.1",
                                   "b3 ← start y",
                                   "b4, b5 ← rule y (b3; b1, b2) for P0 -b1 -b2",
                                   "b6 ← rule r (b5)",
                                   "b7 ← sum t (b4 + b6) -b4 -b6",
                                   "b8 ← rule t (b7)",
                                   "b9 ← rule q (b8)"};
        QCOMPARE(linesOf(*program, made.tensorCase.model->graph()), expected);
        QCOMPARE(program->argsEnd, 3U);
        QCOMPARE(program->nodes, 5U);
        QCOMPARE(program->promises, 2U);
        QCOMPARE(faultOfEngines(residual()), std::string());
    }

    void valuesOfSeveralPromisesAreMadeOnce()
    {
        // s1 = h + u and s2 = h + w ask for the same h (scenario s08).
        const SpecGraph spec({leaf("a", {2}), leaf("u", {2}), leaf("w", {2}), node("h", "relu", {{0, 0}}),
                              node("s1", "add", {{3, 0}, {1, 0}}), node("s2", "add", {{3, 0}, {2, 0}}),
                              node("y", "mul", {{4, 0}, {5, 0}})});
        const Made made = firstPassOf(spec);
        RETRO_MADE(program, programOf(made.tensorCase, made.run));
        int fetches = 0;
        for (const program::ListedInstruction& line : program::listing(*program, made.tensorCase.model->graph())) {
            fetches += line.text.ends_with("fetch h") ? 1 : 0;
        }
        QCOMPARE(fetches, 1);
        QCOMPARE(faultOfEngines(spec), std::string());
    }

    void everyScenarioOfTheSpecification()
    {
        RETRO_MADE(cases, readGoldenCases(goldenFolder("traversal")));
        QVERIFY(!cases->empty());
        for (const GoldenCase& golden : *cases) {
            const std::string fault = faultOfEngines(SpecGraph(golden.nodes));
            QVERIFY2(fault.empty(), (golden.name + ": " + fault).c_str());
        }
    }

    void randomGraphs()
    {
        const auto check = [](const SpecGraph& spec, std::uint64_t) { return faultOfEngines(spec); };
        const std::string fault = firstFailure(7'000, 200, 60, check);
        QVERIFY2(fault.empty(), fault.c_str());
    }

    void anUnfinishedPassHasNoProgram()
    {
        Made made = firstPassOf(residual());
        made.run.events.pop_back();
        const auto program = programOf(made.tensorCase, made.run);
        QVERIFY(!program.ok());
        QVERIFY(program.error().message.find("did not end") != std::string::npos);
    }

    // Every event of a whole pass changed in every field that a program reads: an error, or a program that is in order.
    void damagedEventsAreRefusedOrHarmless()
    {
        const Made made = firstPassOf(residual());
        const auto damage = [&](std::size_t at, auto change) {
            TensorRun damaged = made.run;
            change(damaged.events[at]);
            const auto program = programOf(made.tensorCase, damaged);
            return program.ok() ? disorder(*program) : std::string();
        };
        for (std::size_t i = 0; i < made.run.events.size(); ++i) {
            for (const std::uint32_t value : {0U, 1U, 2U, 4U, 77U, 0xffffffffU}) {
                QCOMPARE(damage(i, [&](event::Event& event) { event.node = value; }), std::string());
                QCOMPARE(damage(i, [&](event::Event& event) { event.slot = value; }), std::string());
                QCOMPARE(damage(i, [&](event::Event& event) { event.promise = value; }), std::string());
                QCOMPARE(damage(i, [&](event::Event& event) { event.branch = value; }), std::string());
                QCOMPARE(damage(i, [&](event::Event& event) { event.other = value; }), std::string());
                QCOMPARE(damage(i, [&](event::Event& event) { event.branch2 = value; }), std::string());
                QCOMPARE(damage(i, [&](event::Event& event) { event.extra = value; }), std::string());
            }
        }
    }

    void recordingsWithoutOperandSlotsAreRefused()
    {
        Made made = firstPassOf(residual());
        for (event::Event& event : made.run.events) {
            event.branch2 = event.kind == event::EventKind::Land ? 0 : event.branch2;
        }
        const auto program = programOf(made.tensorCase, made.run);
        QVERIFY(!program.ok());
        QVERIFY(program.error().message.find("record it again") != std::string::npos);
    }

    void keyIsOfTheCourseAlone()
    {
        const Made made = firstPassOf(residual());
        const std::vector<tensor::Shape> shapes{{2, 2}, {2, 2}};
        const std::vector<std::string> rules{"epsilon", "pass"};
        const std::vector<base::ValueId> targets{base::ValueId(1U)};
        const base::Hash128 key = program::programKey(factsOf(made.tensorCase, shapes, rules, targets));
        QCOMPARE(program::programKey(factsOf(made.tensorCase, shapes, rules, targets)), key);
        QVERIFY(program::programKey(factsOf(made.tensorCase, {{4, 2}, {2, 2}}, rules, targets)) != key);
        QVERIFY(program::programKey(factsOf(made.tensorCase, shapes, {"gamma", "pass"}, targets)) != key);
        QVERIFY(program::programKey(factsOf(made.tensorCase, shapes, rules, {base::ValueId(2U)})) != key);
        program::KeyFacts other = factsOf(made.tensorCase, shapes, rules, targets);
        other.save = "all";
        QVERIFY(program::programKey(other) != key);
        program::KeyFacts stopping = factsOf(made.tensorCase, shapes, rules, targets);
        stopping.checkpoints = targets;
        const base::Hash128 withCheckpoints = program::programKey(stopping);
        QVERIFY(withCheckpoints != key);
        stopping.stopsAtCheckpoints = true;
        QVERIFY(program::programKey(stopping) != withCheckpoints);
    }
};

QTEST_APPLESS_MAIN(ProgramTest)
#include "programtest.moc"
