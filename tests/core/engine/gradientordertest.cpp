// SPDX-License-Identifier: Apache-2.0
// A gradient pass that is run like any other adds as the tape does: seed first, readers from the last to the first,
// the uses of one value by one reader joined (docs/tape.md, "The loops"). So it has the bits of the tape.
#include "core/engine/explain/explain.h"
#include "core/engine/gradient/gradient.h"
#include "core/engine/gradient/writegradientgraph.h"
#include "core/engine/results/runfacts.h"
#include "core/engine/ways/plannedrelevance.h"
#include "core/event/partevent.h"
#include "core/ops/algebra.h"
#include "core/trace/describe.h"
#include "core/trace/gradientrun.h"
#include "core/trace/runfile.h"
#include "tests/core/engine/loopmodel.h"
#include "tests/core/engine/randomgraph.h"

#include <QTemporaryDir>
#include <QtTest>

#include <map>
#include <string>

using namespace retro;
using namespace retro::rewrite::testing;

namespace
{

/// x has six readers, one of which takes it twice, and s is squared as well.
engine::LoadedModel fanModel()
{
    Writer w;
    const ValueId x = w.input("x", {4, 16});
    const ValueId a = w.node("Tanh", "a", {x});
    const ValueId b = w.node("Sigmoid", "b", {x});
    const ValueId s = w.node("Mul", "s", {x, x});
    const ValueId d = w.node("Erf", "d", {x});
    const ValueId cube = w.node("Mul", "cube", {s, x});
    const ValueId fourth = w.node("Mul", "fourth", {s, s});
    const ValueId t1 = w.node("Add", "t1", {a, b});
    const ValueId t2 = w.node("Add", "t2", {t1, d});
    const ValueId t3 = w.node("Add", "t3", {fourth, cube});
    const ValueId t4 = w.node("Mul", "t4", {t3, x});
    w.output(w.node("Add", "score", {t4, t2}));
    return tests::modelOf(w.finish());
}

/// The same kind of fan of products, sums and signs alone.
engine::LoadedModel plainFanModel()
{
    Writer w;
    const ValueId x = w.input("x", {4, 16});
    const ValueId minus = w.node("Neg", "minus", {x});
    const ValueId s = w.node("Mul", "s", {x, x});
    const ValueId cube = w.node("Mul", "cube", {s, x});
    const ValueId twice = w.node("Add", "twice", {x, x});
    const ValueId fourth = w.node("Mul", "fourth", {s, s});
    const ValueId less = w.node("Sub", "less", {cube, x});
    const ValueId product = w.node("Mul", "product", {less, twice});
    const ValueId sum = w.node("Add", "sum", {w.node("Add", "even", {fourth, minus}), product});
    w.output(w.node("Mul", "score", {sum, x}));
    return tests::modelOf(w.finish());
}

engine::ExplainRequest questionOf(std::vector<Tensor> inputs)
{
    engine::ExplainRequest question;
    question.inputs = std::move(inputs);
    question.target.kind = engine::TargetRequest::Kind::Value;
    question.target.value = "score_out";
    question.start.kind = engine::StartKind::One;
    question.composite = "gradient";
    return question;
}

/// The name of the first input whose gradient has other bits; empty when there is none.
QString otherBits(const engine::GradientResult& tape, const engine::ExplainResult& run)
{
    const graph::Graph& graph = run.model->graph();
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
        const Tensor& relevance = run.relevance[graph.inputs()[i].index()];
        const bool isSame = relevance.isValid() ? relevance.bitEqual(tape.gradients[i])
                                                : ops::algebra::sumAbsolute(tape.gradients[i]) == 0;
        if (!isSame) {
            return QString::fromStdString(graph.value(graph.inputs()[i]).name);
        }
    }
    return {};
}

/// Every engine and a recorded run against the tape; what is wrong, or nothing.
QString checkAgainstTape(const engine::LoadedModel& model, const std::vector<Tensor>& inputs)
{
    engine::ExplainRequest question = questionOf(inputs);
    engine::GradientRequest request;
    request.inputs = inputs;
    request.target = question.target;
    const auto tape = engine::gradient(model, request);
    if (!tape.ok()) {
        return QString::fromStdString(tape.error().text());
    }
    for (const auto kind : {engine::EngineKind::Oracle, engine::EngineKind::Promise, engine::EngineKind::Compiled}) {
        question.engine = kind;
        question.record = kind == engine::EngineKind::Promise;
        const auto run = engine::explain(model, question);
        if (!run.ok()) {
            return QString::fromStdString(run.error().text());
        }
        if (const QString other = otherBits(*tape, *run); !other.isEmpty()) {
            return QStringLiteral("engine %1: %2").arg(static_cast<int>(kind)).arg(other);
        }
    }
    return {};
}

struct Landing
{
    std::string sender;
    bool isJoined = false;
    bool operator==(const Landing&) const = default;
};

/// Who sent what lands at a node, by in-edge.
std::vector<Landing> landingsAt(const trace::Run& run, const std::string& value)
{
    std::map<std::uint32_t, Landing> bySlot;
    const base::NodeId node = run.graph->nodeOf(*run.graph->findValue(value));
    for (const event::Event& event : run.events) {
        if (event.kind == event::EventKind::Land && event.node == node.value) {
            const bool isStart = event.other == base::NodeId::kInvalid;
            bySlot[event.slot] = {isStart ? "start" : run.graph->labelOf(base::NodeId(event.other)),
                                  event::isJoined(event)};
        }
    }
    std::vector<Landing> list;
    for (const auto& [slot, landing] : bySlot) {
        list.push_back(landing);
    }
    return list;
}

} // namespace

class GradientOrderTest : public QObject
{
    Q_OBJECT

private slots:
    void aFanHasTheBitsOfTheTape()
    {
        const engine::LoadedModel model = fanModel();
        for (unsigned seed = 1; seed <= 8; ++seed) {
            const QString wrong = checkAgainstTape(model, {randomTensor({4, 16}, seed)});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
    }

    void theEventsTellTheOrderOfTheTape()
    {
        engine::ExplainRequest question = questionOf({randomTensor({4, 16}, 1)});
        question.record = true;
        RETRO_MADE(run, engine::explain(fanModel(), question));
        const std::vector<Landing> wanted{{"t4", false}, {"cube", false}, {"d", false}, {"s", false},
                                          {"s", true},   {"b", false},    {"a", false}};
        QVERIFY(landingsAt(*run->run, "x") == wanted);
        const std::vector<Landing> squared{{"fourth", false}, {"fourth", true}, {"cube", false}};
        QVERIFY(landingsAt(*run->run, "s_out") == squared);
        const auto joined = std::ranges::find_if(run->run->events, event::isJoined);
        const std::string text =
            trace::describe(*run->run, static_cast<std::uint64_t>(joined - run->run->events.begin()));
        QVERIFY2(text.find("first added to") != std::string::npos, text.c_str());
    }

    /// A graph of element-wise operators has no linear map to tell by.
    void aFanIsAGradientThatIsNotConserved()
    {
        engine::ExplainRequest question = questionOf({randomTensor({4, 16}, 1)});
        question.record = true;
        const engine::LoadedModel model = fanModel();
        for (const char* composite : {"gradient", "gradient_x_input", "guided_backprop", "epsilon"}) {
            question.composite = composite;
            RETRO_MADE(result, engine::explain(model, question));
            const bool isGradient = composite != std::string("epsilon");
            QCOMPARE(engine::carriesGradient(*result), isGradient);
            QCOMPARE(result->run->facts.numbers.at(trace::kGradientNumber), isGradient ? 1.0 : 0.0);
            QTemporaryDir folder;
            const std::string file = folder.filePath("fan.retro").toStdString();
            QVERIFY(trace::writeRun(file, *result->run).ok());
            RETRO_MADE(again, trace::readRun(file));
            QCOMPARE(trace::carriesGradient(**again), isGradient);
            trace::Run older = **again;
            older.facts.numbers.erase(trace::kGradientNumber);
            QCOMPARE(trace::carriesGradient(older), isGradient);
        }
    }

    /// Another rule on one node makes it a relevance pass, in the order of the walk.
    void relevanceKeepsItsOrder()
    {
        engine::ExplainRequest question = questionOf({randomTensor({4, 16}, 1)});
        question.record = true;
        question.composite = "epsilon";
        RETRO_MADE(run, engine::explain(fanModel(), question));
        std::vector<std::string> senders;
        for (const Landing& landing : landingsAt(*run->run, "x")) {
            senders.push_back(landing.sender);
            QVERIFY(!landing.isJoined);
        }
        const std::vector<std::string> wanted{"s", "s", "cube", "t4", "a", "b", "d"};
        QVERIFY(senders == wanted);
    }

    /// What rests of a pass in memory was added in the order of that pass.
    void aRuleThatChangesChangesTheOrder()
    {
        engine::ExplainRequest question = questionOf({randomTensor({4, 16}, 3)});
        question.keepsPass = true;
        const engine::LoadedModel model = fanModel();
        engine::Explainer explainer(std::make_shared<const engine::LoadedModel>(model));
        for (const char* composite : {"gradient", "gradient_x_input", "epsilon", "gradient"}) {
            question.composite = composite;
            RETRO_MADE(again, explainer.explain(question));
            engine::ExplainRequest fresh = question;
            fresh.keepsPass = false;
            RETRO_MADE(whole, engine::explain(model, fresh));
            const std::size_t x = model.graph()->inputs().front().index();
            QVERIFY2(again->relevance[x].bitEqual(whole->relevance[x]), composite);
        }
    }

    /// By a program that was made ahead of the pass.
    void theInputsAloneHaveTheBitsOfTheTape()
    {
        const engine::LoadedModel model = fanModel();
        engine::Explainer explainer(std::make_shared<const engine::LoadedModel>(model));
        for (unsigned seed = 1; seed <= 3; ++seed) {
            engine::ExplainRequest question = questionOf({randomTensor({4, 16}, seed)});
            question.inputsOnly = true;
            engine::GradientRequest request;
            request.inputs = question.inputs;
            request.target = question.target;
            RETRO_MADE(tape, engine::gradient(model, request));
            RETRO_MADE(run, explainer.explain(question));
            QCOMPARE(otherBits(*tape, *run), QString());
        }
    }

    void randomGraphsHaveTheBitsOfTheTape()
    {
        for (unsigned seed = 1; seed <= 24; ++seed) {
            const engine::LoadedModel model = tests::modelOf(tests::RandomGraph(seed).make());
            const QString wrong =
                checkAgainstTape(model, {randomTensor({2, 3, 4}, seed), randomTensor({2, 3, 4}, seed + 100)});
            QVERIFY2(wrong.isEmpty(), qPrintable(QStringLiteral("seed %1, %2").arg(seed).arg(wrong)));
        }
    }

    void loopsHaveTheBitsOfTheTape_data()
    {
        QTest::addColumn<int>("count");
        QTest::newRow("5 iterations") << 5;
        QTest::newRow("40 iterations") << 40;
    }
    void loopsHaveTheBitsOfTheTape()
    {
        QFETCH(int, count);
        const QString wrong =
            checkAgainstTape(tests::loopModel(count, true), {randomTensor({1, 4}, 1), randomTensor({count, 1, 4}, 2)});
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }

    /// Written as nodes, a gradient of operators whose rules are the same products and sums has the same bits.
    void aGradientGraphHasTheBitsOfTheTape()
    {
        const auto model = std::make_shared<const engine::LoadedModel>(plainFanModel());
        for (unsigned seed = 1; seed <= 8; ++seed) {
            engine::GradientRequest request;
            request.inputs = {randomTensor({4, 16}, seed)};
            RETRO_MADE(tape, engine::gradient(*model, request));
            RETRO_MADE(written, engine::gradientGraph(model, request, true));
            const std::vector<Tensor> given{request.inputs.front(), tape->target.start};
            std::vector<ops::TensorType> types;
            for (const Tensor& one : given) {
                types.push_back({one.dtype(), one.shape()});
            }
            RETRO_MADE(bound, execute::BoundModel::bind(written->graph, types, Precision::Float, given));
            RETRO_MADE(run, execute::forward(*bound, given, execute::SavePolicy::Nothing));
            QVERIFY(run->outputs.back().bitEqual(tape->gradients.front()));
        }
    }

    /// Every recorded run of a gradient has the same bits, whoever carries it out.
    void aPlanHasTheBitsOfTheTape()
    {
        const engine::LoadedModel model = fanModel();
        engine::ExplainRequest question = questionOf({randomTensor({4, 16}, 5)});
        engine::GradientRequest request;
        request.inputs = question.inputs;
        request.target = question.target;
        RETRO_MADE(tape, engine::gradient(model, request));
        question.engine = engine::EngineKind::Oracle;
        RETRO_MADE(planned, engine::plannedRelevance(model, question, {}));
        QCOMPARE(otherBits(*tape, *planned), QString());
    }
};

QTEST_GUILESS_MAIN(GradientOrderTest)
#include "gradientordertest.moc"
