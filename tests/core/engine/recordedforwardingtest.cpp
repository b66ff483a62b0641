// SPDX-License-Identifier: Apache-2.0
// Recorded passes whose forward values come to the rules in chosen forms: the bits of a pass that stores them all, what
// became of each value, and every operator that is computed again as an event.
#include "core/engine/forwarding/forwardedgradient.h"
#include "core/event/planevent.h"
#include "core/trace/describe.h"
#include "core/trace/runfile.h"
#include "core/trace/timeline.h"
#include "tests/core/engine/loopmodel.h"
#include "tests/core/engine/samerelevance.h"
#include "tests/core/engine/samplequestion.h"

#include <QTemporaryDir>
#include <QtTest>

#include <algorithm>

using namespace retro::rewrite::testing;
using namespace retro;
using engine::ForwardForm;
using engine::ForwardStrategy;
using event::EventKind;

namespace
{

using Question = tests::SampleQuestion<engine::ExplainRequest>;
using Ints = std::vector<std::int64_t>;

Question sampleQuestion(const char* sample, const char* composite)
{
    Question question = tests::questionOf<engine::ExplainRequest>(sample);
    question.request.composite = composite;
    if (std::string(composite) == "gradient") {
        question.request.start.kind = engine::StartKind::One;
    }
    return question;
}

engine::ForwardingOptions wishOf(ForwardStrategy strategy)
{
    engine::ForwardingOptions wish;
    wish.strategy = strategy;
    return wish;
}

std::size_t countOf(const trace::Run& run, EventKind kind)
{
    return static_cast<std::size_t>(std::ranges::count(run.events, kind, &event::Event::kind));
}

/// "relu1_out store, pool1_out rebuild", in the order of the values.
std::string formsOf(const engine::ForwardingPlan& plan, const graph::Graph& graph)
{
    std::string text;
    for (const engine::ForwardDecision& one : plan.decisions) {
        text += graph.value(one.value).name + " " + std::string(engine::nameOf(one.form)) +
                (one.isFallback ? " (" + one.reason + "), " : ", ");
    }
    return text;
}

/// y = (r·r)·w with r a view of exp(x), and a ReLU: an alias, a fallback and something to compress.
engine::LoadedModel smallModel()
{
    Writer w;
    const ValueId x = w.input("x", {2, 64});
    const ValueId e = w.node("Exp", "e", {x});
    const ValueId r = w.node("Reshape", "r", {e, w.constant("to", Tensor::of<std::int64_t>({2}, Ints{4, 32}))});
    const ValueId squared = w.node("Mul", "squared", {r, r});
    const ValueId bent =
        w.node("Relu", "bent", {w.node("Sub", "less", {squared, w.constant("c", randomTensor({32}, 4))})});
    w.output(w.node("MatMul", "scores", {bent, w.constant("w", randomTensor({32, 3}, 5))}));
    return tests::modelOf(w.finish());
}

engine::ExplainRequest smallRequest()
{
    engine::ExplainRequest request;
    request.inputs = {randomTensor({2, 64}, 1)};
    request.composite = "gradient";
    request.start.kind = engine::StartKind::One;
    request.record = request.keepValues = true;
    return request;
}

const trace::ForwardedValue* factOf(const trace::Run& run, const std::string& name)
{
    const auto value = run.graph->findValue(name);
    const auto at = std::ranges::find_if(
        run.facts.forwarded, [&](const trace::ForwardedValue& one) { return value && one.value == *value; });
    return at == run.facts.forwarded.end() ? nullptr : &*at;
}

} // namespace

class RecordedForwardingTest : public QObject
{
    Q_OBJECT

private slots:
    void theRunHasTheBitsOfOneThatStoresAll_data()
    {
        QTest::addColumn<QString>("sample");
        QTest::addColumn<QString>("composite");
        for (const char* sample :
             {"clever-hans/clever-hans", "one-segment/one-segment", "silent-groups/silent-groups"}) {
            for (const char* composite : {"gradient", "auto", "epsilon_alpha2_beta1", "guided_backprop"}) {
                QTest::addRow("%s %s", sample, composite) << QString(sample) << QString(composite);
            }
        }
    }
    void theRunHasTheBitsOfOneThatStoresAll()
    {
        QFETCH(QString, sample);
        QFETCH(QString, composite);
        Question question = sampleQuestion(qPrintable(sample), qPrintable(composite));
        QVERIFY(question.model);
        question.request.record = true;
        RETRO_MADE(plain, engine::explain(*question.model, question.request));
        for (const auto strategy : {ForwardStrategy::Store, ForwardStrategy::Rebuild, ForwardStrategy::Compress}) {
            question.request.forwarding = wishOf(strategy);
            RETRO_MADE(made, engine::explain(*question.model, question.request));
            QCOMPARE(tests::differenceOf(*plain, *made), std::string());
            QCOMPARE(made->counts.promises, 0U);
            QVERIFY(made->forwarding);
            QCOMPARE(countOf(*made->run, EventKind::Recompute), made->forwarding->rebuilds());
            QCOMPARE(made->forwarding->rebuilds() > 0, strategy == ForwardStrategy::Rebuild);
            QCOMPARE(made->forwarding->keptBytes == 0, strategy == ForwardStrategy::Rebuild);
            QCOMPARE(countOf(*made->run, EventKind::Land), countOf(*plain->run, EventKind::Land));
            QCOMPARE(made->run->facts.save, std::string("forwarded"));
            RETRO_MADE(timeline, trace::Timeline::open(made->run));
        }
    }

    void aGradientIsForwardedAsWithoutARun_data()
    {
        QTest::addColumn<QString>("sample");
        for (const char* sample : {"clever-hans/clever-hans", "one-segment/one-segment", "silent-groups/silent-groups",
                                   "marked-step/marked-step"}) {
            QTest::newRow(sample) << QString(sample);
        }
    }
    void aGradientIsForwardedAsWithoutARun()
    {
        QFETCH(QString, sample);
        Question question = sampleQuestion(qPrintable(sample), "gradient");
        QVERIFY(question.model);
        for (const auto strategy : {ForwardStrategy::Store, ForwardStrategy::Rebuild, ForwardStrategy::Compress}) {
            question.request.forwarding = wishOf(strategy);
            const auto run = engine::explain(*question.model, question.request);
            const auto pass = engine::forwardedGradient(
                *question.model, {question.request.inputs, {}, execute::Precision::Float}, wishOf(strategy));
            QVERIFY2(run.ok() && pass.ok(), run.ok() ? "" : run.error().text().c_str());
            const graph::Graph& graph = pass->gradient.model->graph();
            QCOMPARE(formsOf(run->forwarding->plan, run->model->graph()), formsOf(pass->plan, graph));
            QCOMPARE(run->forwarding->keptBytes, pass->keptBytes);
            QCOMPARE(run->forwarding->rebuilds(), pass->rebuilds());
        }
    }

    void theRunSaysWhatBecameOfEachValue()
    {
        engine::ExplainRequest request = smallRequest();
        request.forwarding = wishOf(ForwardStrategy::Compress);
        request.forwarding->choices["e_out"] = ForwardForm::Rebuild;
        RETRO_MADE(made, engine::explain(smallModel(), request));
        const trace::Run& run = *made->run;
        const trace::ForwardedValue* bent = factOf(run, "bent_out");
        QVERIFY(bent != nullptr && bent->form == trace::ForwardedForm::Compress && !bent->isFallback);
        QVERIFY(bent->kept < bent->bytes / 8);
        const trace::ForwardedValue* chosen = factOf(run, "e_out");
        QVERIFY(chosen != nullptr && chosen->form == trace::ForwardedForm::Rebuild && chosen->kept == 0);
        const trace::ForwardedValue* whole = factOf(run, "r_out");
        QVERIFY(whole != nullptr && whole->form == trace::ForwardedForm::Store && whole->isFallback);
        QCOMPARE(whole->reason, std::string("stored: the reverse rule of Mul squared reads all of it"));
        QVERIFY(factOf(run, "less_out") == nullptr);
        // The operator that is computed again is an event, in the visit of the node whose rule asks for its result.
        const auto again = std::ranges::find(run.events, EventKind::Recompute, &event::Event::kind);
        QVERIFY(again != run.events.end());
        QCOMPARE(run.graph->node(base::NodeId(again->node)).name, std::string("e"));
        const auto step = static_cast<std::uint64_t>(again - run.events.begin());
        QCOMPARE(trace::describe(run, step), std::string("Exp e: e_out is computed again, to be freed after use"));
        const std::uint64_t at = run.visitStart[again->visit];
        QCOMPARE(run.graph->node(base::NodeId(run.events[at].node)).name, std::string("e"));
    }

    void anAliasNamesWhoseMemoryItIs()
    {
        engine::ExplainRequest request = smallRequest();
        request.forwarding = wishOf(ForwardStrategy::Store);
        RETRO_MADE(made, engine::explain(smallModel(), request));
        const trace::ForwardedValue* alias = factOf(*made->run, "r_out");
        QVERIFY(alias != nullptr && alias->form == trace::ForwardedForm::Alias);
        QCOMPARE(alias->reason, std::string("e_out"));
        QCOMPARE(alias->kept, 0);
        QVERIFY(made->run->values[made->run->graph->findValue("e_out")->index()].isValid()); // for inspection
    }

    void itsFileKeepsIt()
    {
        engine::ExplainRequest request = smallRequest();
        request.forwarding = wishOf(ForwardStrategy::Compress);
        RETRO_MADE(made, engine::explain(smallModel(), request));
        const QTemporaryDir folder;
        const std::string file = folder.filePath("run.retro").toStdString();
        QVERIFY(trace::writeRun(file, *made->run).ok());
        RETRO_MADE(read, trace::readRun(file));
        QVERIFY(!(*read)->facts.forwarded.empty());
        QVERIFY((*read)->facts.forwarded == made->run->facts.forwarded);
        QCOMPARE((*read)->facts.numbers.at("forward_kept_bytes"), static_cast<double>(made->forwarding->keptBytes));
    }

    void anIntermediateTargetHasItsScore()
    {
        engine::ExplainRequest request = smallRequest();
        request.target = {engine::TargetRequest::Kind::Value, 0, "squared_out", {1, 2}};
        request.forwarding = wishOf(ForwardStrategy::Rebuild);
        RETRO_MADE(made, engine::explain(smallModel(), request));
        request.forwarding.reset();
        RETRO_MADE(plain, engine::explain(smallModel(), request));
        QCOMPARE(made->target.logit, plain->target.logit);
        QCOMPARE(tests::differenceOf(*plain, *made), std::string());
    }

    void withoutARunValuesAreLetGo()
    {
        constexpr int kLength = 24;
        Writer w;
        ValueId value = w.input("x", {64, 64});
        for (int i = 0; i < kLength; ++i) {
            value = w.node("Tanh", "bend" + std::to_string(i), {value}); // its rule reads its result
        }
        w.output(value);
        const engine::LoadedModel model = tests::modelOf(w.finish());
        engine::ExplainRequest request = smallRequest();
        request.inputs = {randomTensor({64, 64}, 1)};
        request.target = {engine::TargetRequest::Kind::Value, 0, "bend23_out", {}};
        request.record = false;
        request.forwarding = wishOf(ForwardStrategy::Store);
        const auto peakOf = [&](bool keepsValues) {
            request.keepValues = keepsValues;
            const auto made = engine::explain(model, request);
            return made.ok() ? made->peakBytes : 0;
        };
        constexpr std::int64_t kBytes = 64 * 64 * 4;
        const std::int64_t kept = peakOf(true);
        const std::int64_t letGo = peakOf(false);
        QVERIFY(letGo > 0);
        QVERIFY2(kept - letGo > (kLength / 2) * kBytes, qPrintable(QStringLiteral("%1 and %2").arg(kept).arg(letGo)));
    }

    void relevanceRulesReadWholeValues()
    {
        engine::ExplainRequest request = smallRequest();
        request.composite = "epsilon";
        request.forwarding = wishOf(ForwardStrategy::Compress);
        RETRO_MADE(made, engine::explain(smallModel(), request));
        const trace::ForwardedValue* bent = factOf(*made->run, "bent_out"); // the operand of a linear map
        QVERIFY(bent != nullptr && bent->form == trace::ForwardedForm::Store && bent->isFallback);
        QVERIFY2(bent->reason.find("MatMul scores") != std::string::npos, bent->reason.c_str());
    }

    void whatDoesNotGoTogetherIsRefused()
    {
        const engine::LoadedModel model = smallModel();
        const auto codeOf = [&](const engine::ExplainRequest& request) {
            const auto made = engine::explain(model, request);
            return made.ok() ? std::string("done") : made.error().text();
        };
        engine::ExplainRequest request = smallRequest();
        request.record = request.keepValues = false;
        request.forwarding = wishOf(ForwardStrategy::Rebuild);
        engine::ExplainRequest other = request;
        other.engine = engine::EngineKind::Oracle;
        QVERIFY(codeOf(other).find("engine promise") != std::string::npos);
        other = request;
        other.save = execute::SavePolicy::All;
        QVERIFY(codeOf(other).find("--save") != std::string::npos);
        other = request;
        other.inputsOnly = true;
        QVERIFY(codeOf(other).find("--inputs-only") != std::string::npos);
        other = request;
        other.forwarding->choices["less_out"] = ForwardForm::Rebuild;
        QVERIFY(codeOf(other).find("no reverse rule reads") != std::string::npos);
        other = request;
        other.forwarding = wishOf(ForwardStrategy::Optimal);
        other.forwarding->budget = 1 << 20;
        other.alsoTargets.push_back({engine::TargetRequest::Kind::Value, 0, "squared_out", {}});
        QVERIFY(codeOf(other).find("starts at one value") != std::string::npos);
        other.alsoTargets.clear();
        QCOMPARE(codeOf(other), std::string("done"));
    }

    void anOptionalOperandThatIsAbsentIsPassedOver()
    {
        Writer w;
        const ValueId x = w.input("x", {2, 4});
        w.output(w.node(
            "Clip", "y",
            {w.node("Exp", "e", {x}), ValueId(), w.constant("most", Tensor::of<float>({}, std::vector<float>{2}))}));
        engine::GradientRequest request;
        request.inputs = {randomTensor({2, 4}, 1)};
        const auto made =
            engine::forwardedGradient(tests::modelOf(w.finish()), request, wishOf(ForwardStrategy::Rebuild));
        RETRO_OK(made);
        QCOMPARE(made->gradient.gradients.size(), std::size_t{1});
    }

    void loopsComeFromTheirCheckpoints()
    {
        const engine::LoadedModel model = tests::loopModel(20, false);
        engine::ExplainRequest request = smallRequest();
        request.inputs = {randomTensor({1, 4}, 2), randomTensor({20, 1, 4}, 3)};
        RETRO_MADE(plain, engine::explain(model, request));
        request.forwarding = wishOf(ForwardStrategy::Store);
        request.forwarding->checkpointEvery = 5;
        RETRO_MADE(made, engine::explain(model, request));
        QCOMPARE(tests::differenceOf(*plain, *made), std::string());
        QCOMPARE(made->forwarding->plan.segments.loops().size(), std::size_t{1});
        QVERIFY(made->forwarding->rebuilds() > 0);
        QCOMPARE(countOf(*made->run, EventKind::Recompute), made->forwarding->rebuilds());
        const bool isCheckpoint = std::ranges::any_of(made->run->facts.forwarded, [](const trace::ForwardedValue& one) {
            return one.reason.starts_with("checkpoint before iteration");
        });
        QVERIFY(isCheckpoint);
    }
};

QTEST_GUILESS_MAIN(RecordedForwardingTest)
#include "recordedforwardingtest.moc"
