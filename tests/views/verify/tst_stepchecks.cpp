// SPDX-License-Identifier: Apache-2.0
// What must hold at every step: recorded passes keep it, and a broken stream of events is found at its step.
#include <QtTest>

#include "core/engine/explain/explain.h"
#include "core/trace/gradientrun.h"
#include "tests/core/engine/loopmodel.h"
#include "tests/core/engine/samplequestion.h"
#include "views/verify/stepchecks.h"

#include <functional>

using namespace retro;
using namespace retro::views;
using event::EventKind;
using rewrite::testing::ValueId;
using rewrite::testing::Writer;

namespace
{

/// x is read twice by a square and once by a product, and a Concat reads the square twice.
engine::LoadedModel fanModel()
{
    Writer w;
    const ValueId x = w.input("x", {2, 3});
    const ValueId s = w.node("Mul", "s", {x, x});
    const ValueId c = w.node("Concat", "c", {s, x, s}, {{"axis", std::int64_t{0}}});
    w.output(w.node("ReduceSum", "score", {w.node("Tanh", "t", {c})}));
    return tests::modelOf(w.finish());
}

trace::Run recorded(const engine::LoadedModel& model, std::vector<tensor::Tensor> inputs, const char* composite)
{
    engine::ExplainRequest request;
    request.inputs = std::move(inputs);
    request.composite = composite;
    request.record = true;
    request.target.kind = engine::TargetRequest::Kind::Value;
    request.target.value = model.graph()->value(model.graph()->outputs().front()).name;
    const auto result = engine::explain(model, request);
    if (!result.ok()) {
        qWarning("%s", result.error().text().c_str());
        return {};
    }
    return *result->run;
}

trace::Run fanRun(const char* composite)
{
    return recorded(fanModel(), {rewrite::testing::randomTensor({2, 3}, 1)}, composite);
}

/// The invariants that a run breaks, by their numbers.
QString broken(const trace::Run& run)
{
    QStringList list;
    const StepChecks checks(run);
    for (std::size_t i = 0; i < kInvariants; ++i) {
        if (checks.firstBreach(static_cast<Invariant>(i), run.events.size()) != nullptr) {
            list << QString::number(i);
        }
    }
    return list.join(QLatin1Char(' '));
}

/// The `skip`-th event of that kind that fits.
trace::Event& eventOf(trace::Run& run, EventKind kind, const std::function<bool(const trace::Event&)>& fits)
{
    return *std::ranges::find_if(run.events, [&](const trace::Event& e) { return e.kind == kind && fits(e); });
}

bool isSent(const trace::Event& e) { return e.other != base::NodeId::kInvalid; }
bool isAny(const trace::Event&) { return true; }

using Change = void (*)(trace::Run&);
struct Case
{
    const char* name;
    Invariant invariant;
    Change change;
};

const std::vector<Case>& cases()
{
    static const std::vector<Case> list{
        {"earlier", Invariant::Earlier,
         [](trace::Run& run) {
             trace::Event& e = eventOf(run, EventKind::Land, isSent);
             e.other = e.node;
         }},
        {"declared", Invariant::Declared,
         [](trace::Run& run) {
             trace::Event& e = eventOf(run, EventKind::Land, [](const trace::Event& one) { return one.other == 1; });
             e.other = 3; // the score does not read what the Concat reads
         }},
        {"leaves", Invariant::Leaves,
         [](trace::Run& run) {
             eventOf(run, EventKind::Land, isSent).other = static_cast<std::uint32_t>(run.graph->nodeCount());
         }},
        {"shapes of parts", Invariant::Shapes,
         [](trace::Run& run) { run.handles[eventOf(run, EventKind::Land, isSent).handle].shape = {7}; }},
        {"shapes of sums", Invariant::Shapes,
         [](trace::Run& run) {
             trace::Event& e = eventOf(run, EventKind::Relevance, isAny);
             run.handles.push_back(run.handles[e.handle]);
             run.handles.back().shape = {1, 1, 1};
             e.handle = static_cast<std::uint32_t>(run.handles.size() - 1);
         }},
        {"places", Invariant::Places,
         [](trace::Run& run) {
             trace::Event& e = eventOf(run, EventKind::Land, [](const trace::Event& one) { return one.slot == 1; });
             e.extra += 1;
         }},
        {"a slot beyond the places", Invariant::Places,
         [](trace::Run& run) { eventOf(run, EventKind::Land, isSent).slot = 9; }},
        {"once per place", Invariant::OncePerPlace,
         [](trace::Run& run) {
             eventOf(run, EventKind::Land, [](const trace::Event& one) { return one.slot == 1; }).slot = 0;
         }},
        {"joined", Invariant::Joined,
         [](trace::Run& run) {
             eventOf(run, EventKind::Land, [](const trace::Event& one) { return one.flag == 1; }).flag = 0;
         }},
        {"joined that is not", Invariant::Joined,
         [](trace::Run& run) {
             eventOf(run, EventKind::Land, [](const trace::Event& one) { return isSent(one) && one.flag == 0; }).flag =
                 1;
         }},
        {"final", Invariant::Final,
         [](trace::Run& run) {
             const trace::Event& e =
                 eventOf(run, EventKind::Land, [](const trace::Event& one) { return one.node < 3; });
             run.events.push_back(e);
         }},
        {"untracked", Invariant::Untracked,
         [](trace::Run& run) {
             run.rules[eventOf(run, EventKind::Land, [](const trace::Event& one) { return one.node < 3; }).node].rule =
                 "";
         }},
        {"writes", Invariant::Writes,
         [](trace::Run& run) {
             const trace::Event taken = eventOf(run, EventKind::Take, isSent);
             trace::Event again = taken;
             again.kind = EventKind::Land;
             run.events.push_back(again);
         }},
        {"one rule", Invariant::OneRule,
         [](trace::Run& run) { run.events.push_back(eventOf(run, EventKind::Rule, isAny)); }},
        {"known once", Invariant::KnownOnce,
         [](trace::Run& run) { run.events.push_back(eventOf(run, EventKind::Relevance, isAny)); }},
        {"zeros", Invariant::ZeroKept,
         [](trace::Run& run) {
             run.ledger.front().magnitude = 0;
             run.ledger.front().handedOn = 1;
         }},
    };
    return list;
}

} // namespace

class StepChecksTest : public QObject
{
    Q_OBJECT

private slots:
    void recordedPassesKeepThem_data()
    {
        QTest::addColumn<QString>("sample");
        QTest::addColumn<QString>("composite");
        for (const char* sample : {"clever-hans/clever-hans", "marked-step/marked-step", "one-segment/one-segment",
                                   "planted-word/planted-word", "silent-groups/silent-groups"}) {
            for (const char* composite : {"gradient", "auto", "guided_backprop"}) {
                QTest::addRow("%s %s", sample, composite) << QString(sample) << QString(composite);
            }
        }
    }
    void recordedPassesKeepThem()
    {
        QFETCH(QString, sample);
        QFETCH(QString, composite);
        const auto question = tests::questionOf<engine::ExplainRequest>(qPrintable(sample));
        QVERIFY(question.model);
        std::vector<tensor::Tensor> inputs = question.request.inputs;
        if (sample.startsWith(QLatin1String("planted-word"))) { // tokens are not drawn by chance
            RETRO_MADE(words, engine::resolveInputs({std::string(RETRO_SOURCE_DIR) + "/samples/planted-word/good.npy"},
                                                    *question.model->graph(), {}));
            inputs = *words;
        }
        const trace::Run run = recorded(*question.model, std::move(inputs), qPrintable(composite));
        QVERIFY(!run.events.empty());
        const StepChecks checks(run);
        QCOMPARE(broken(run), QString());
        QVERIFY(checks.checked(Invariant::Shapes, run.events.size()) > 5);
        QVERIFY(checks.isKnown(Invariant::Joined) || composite != QLatin1String("gradient"));
        QVERIFY(!checks.isKnown(Invariant::Joined) || composite != QLatin1String("auto"));
        QVERIFY(checks.isKnown(Invariant::Untracked) && checks.isKnown(Invariant::ZeroKept));
        QVERIFY(checks.mostWrites(0) == nullptr && checks.mostWrites(run.events.size()) != nullptr);
    }

    void repeatedUsesAndLoopsKeepThem()
    {
        for (const char* composite : {"gradient", "epsilon"}) {
            const trace::Run run = fanRun(composite);
            QVERIFY(!run.events.empty());
            QCOMPARE(broken(run), QString());
            const StepChecks checks(run);
            const StepChecks::Most* most = checks.mostWrites(run.events.size());
            QCOMPARE(most->count, 3U); // x: by the Concat, and twice by the square
            const trace::Run loop = recorded(
                tests::loopModel(5, true),
                {rewrite::testing::randomTensor({1, 4}, 1), rewrite::testing::randomTensor({5, 1, 4}, 2)}, composite);
            QVERIFY(!loop.events.empty());
            QCOMPARE(broken(loop), QString());
        }
    }

    void aBrokenStreamIsFound_data()
    {
        QTest::addColumn<int>("index");
        for (std::size_t i = 0; i < cases().size(); ++i) {
            QTest::newRow(cases()[i].name) << static_cast<int>(i);
        }
    }
    void aBrokenStreamIsFound()
    {
        QFETCH(int, index);
        const Case& one = cases()[static_cast<std::size_t>(index)];
        trace::Run run = fanRun("gradient");
        QVERIFY(!run.events.empty());
        one.change(run);
        const StepChecks checks(run);
        const StepChecks::Breach* breach = checks.firstBreach(one.invariant, run.events.size());
        QVERIFY(breach != nullptr);
        QVERIFY(checks.firstBreach(one.invariant, breach->step) == nullptr);
    }

    /// Files of before do not say what is joined, nor whether it is a gradient.
    void olderGradientsHaveNothingToJoin()
    {
        trace::Run run = fanRun("gradient");
        for (trace::Event& e : run.events) {
            e.flag = e.kind == EventKind::Land || e.kind == EventKind::Take ? 0 : e.flag;
        }
        run.facts.numbers.erase(trace::kGradientNumber);
        QVERIFY(!StepChecks(run).isKnown(Invariant::Joined));
        QCOMPARE(broken(run), QString());
    }
};

QTEST_GUILESS_MAIN(StepChecksTest)
#include "tst_stepchecks.moc"
