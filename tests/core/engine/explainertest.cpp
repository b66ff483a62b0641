// SPDX-License-Identifier: Apache-2.0
// The compiled program on the shipped samples: for every composite and several inputs it gives the bits of the promise
// engine and of the oracle; it is made once and reused for as long as the course stays the same.
#include <QtTest>

#include "core/engine/explain/explain.h"
#include "core/engine/input/inputs.h"
#include "core/graph/graphbuilder.h"
#include "core/lrp/composite/composite.h"
#include "core/ops/algebra.h"
#include "core/trace/runprogram.h"

#include <cstring>
#include <map>
#include <set>

using namespace retro;

namespace
{

const std::filesystem::path kSamples = RETRO_SOURCE_DIR "/samples";

struct Sample
{
    const char* model;
    std::vector<const char*> inputs;
};

const std::vector<Sample>& samples()
{
    static const std::vector<Sample> all{
        {"clever-hans/clever-hans.onnx", {"clever-hans/mug.png", "clever-hans/lamp-tagged.png"}},
        {"clever-hans/control.onnx", {"clever-hans/boat.png", "clever-hans/mug-tagged.png"}},
        {"one-segment/one-segment.onnx", {"one-segment/scene-1.png", "one-segment/scene-2.png"}},
        {"silent-groups/silent-groups.onnx", {"silent-groups/ring.png", "silent-groups/stripes.png"}},
        {"silent-groups/one-group.onnx", {"silent-groups/disc.png", "silent-groups/cross.png"}},
        {"planted-word/control.onnx", {"planted-word/bad.npy", "planted-word/bad-sponsored.npy"}},
        {"marked-step/marked-step.onnx", {"marked-step/early.npy", "marked-step/late.npy"}},
        {"planted-word/planted-word.onnx",
         {"planted-word/bad-sponsored.npy", "planted-word/good.npy", "planted-word/bad-sponsored.npy"}}};
    return all;
}

engine::LoadedModelPointer load(const char* name)
{
    auto model = engine::loadModel(kSamples / name);
    return model.ok() ? *model : nullptr;
}

std::vector<tensor::Tensor> inputsOf(const engine::LoadedModel& model, const char* file)
{
    auto inputs = engine::resolveInputs({(kSamples / file).string()}, *model.graph(),
                                        engine::pictureOptions(model.card ? &*model.card : nullptr));
    return inputs.ok() ? *inputs : std::vector<tensor::Tensor>();
}

QString difference(const engine::ExplainResult& a, const engine::ExplainResult& b)
{
    std::size_t compared = 0;
    for (std::size_t i = 0; i < a.relevance.size(); ++i) {
        const bool isSame = a.relevance[i].isValid() == b.relevance[i].isValid() &&
                            (!a.relevance[i].isValid() || a.relevance[i].bitEqual(b.relevance[i]));
        if (!isSame) {
            return QString::fromStdString(a.model->graph().value(base::ValueId(i)).name);
        }
        compared += a.relevance[i].isValid() ? 1 : 0;
    }
    return compared > 0 ? QString() : QStringLiteral("nothing was compared");
}

bool areEqual(const event::LedgerEntry& a, const event::LedgerEntry& b)
{
    return a.node == b.node && a.visit == b.visit && a.arrived == b.arrived && a.handedOn == b.handedOn &&
           a.magnitude == b.magnitude && a.causes == b.causes;
}

bool areSame(const event::Event& a, const event::Event& b) { return std::memcmp(&a, &b, sizeof(a)) == 0; }

bool areBitEqual(const tensor::Tensor& a, const tensor::Tensor& b) { return a.isValid() && a.bitEqual(b); }

/// What parts two runs in events, visits, tensors or ledger.
QString differenceOfRuns(const trace::Run& a, const trace::Run& b)
{
    if (!std::ranges::equal(a.events, b.events, areSame) || a.visitStart != b.visitStart) {
        return QStringLiteral("events");
    }
    const auto sumOf = [](const trace::HandleInfo& info) { return info.sum; };
    if (!std::ranges::equal(a.tensors, b.tensors, areBitEqual) ||
        !std::ranges::equal(a.handles, b.handles, {}, sumOf, sumOf)) {
        return QStringLiteral("tensors");
    }
    return std::ranges::equal(a.ledger, b.ledger, areEqual) ? QString() : QStringLiteral("ledger");
}

std::shared_ptr<const graph::Graph> finished(graph::GraphBuilder builder)
{
    return std::make_shared<const graph::Graph>(std::move(builder).build().value());
}

/// out = captured x, `op` constant 10.
graph::Subgraph branch(const char* op)
{
    graph::GraphBuilder builder("branch", 13);
    const base::ValueId x = builder.addInput("x", tensor::DType::Float32, std::nullopt);
    const base::ValueId ten = builder.addConstant("ten", tensor::Tensor::scalar(10.0F));
    const base::ValueId out = builder.addOp(op, "apply", {x, ten}, "out");
    builder.addOutput(out);
    return {finished(std::move(builder)), 1};
}

/// y = relu(c ? x + 10 : x · 10) + x.
engine::LoadedModelPointer twoWays()
{
    graph::GraphBuilder builder("gate", 13);
    const base::ValueId c = builder.addInput("c", tensor::DType::Bool, tensor::Shape{});
    const base::ValueId x = builder.addInput("x", tensor::DType::Float32, tensor::Shape{2});
    const base::ValueId chosen = builder.addResult("chosen");
    const base::ValueId kept = builder.addResult("kept");
    const base::ValueId y = builder.addResult("y");
    builder.addNode(
        {"If", "", "if", "", 13, {c, x}, {chosen}, {{"then_branch", branch("Add")}, {"else_branch", branch("Mul")}}});
    builder.addNode({"Relu", "", "relu", "", 13, {chosen}, {kept}, {}});
    builder.addNode({"Add", "", "add", "", 13, {kept, x}, {y}, {}});
    builder.addOutput(y);
    auto model = std::make_shared<engine::LoadedModel>();
    model->name = "gate";
    model->rewritten = rewrite::rewrite(finished(std::move(builder)), {}).value();
    return model;
}

/// The relevance of inputs alone has the bits and the losses of the whole pass, and nothing else is there.
void checkInputsOnly(const engine::LoadedModel& model, engine::ExplainRequest request,
                     const engine::ExplainResult& whole)
{
    request.engine = engine::EngineKind::Promise;
    request.inputsOnly = true;
    RETRO_MADE(alone, engine::explain(model, request));
    const graph::Graph& graph = whole.model->graph();
    for (std::size_t i = 0; i < whole.relevance.size(); ++i) {
        const tensor::Tensor& relevance = alone->relevance[i];
        if (graph.isInput(graph.nodeOf(base::ValueId(i)))) {
            QCOMPARE(relevance.isValid(), whole.relevance[i].isValid());
            QVERIFY(!relevance.isValid() || relevance.bitEqual(whole.relevance[i]));
        } else {
            QVERIFY(!relevance.isValid());
        }
    }
    QCOMPARE(alone->relevanceInputs, whole.relevanceInputs);
    QCOMPARE(alone->counts.visits, whole.counts.visits);
    QCOMPARE(alone->ledger.size(), whole.ledger.size());
}

} // namespace

class ExplainerTest : public QObject
{
    Q_OBJECT

private slots:
    // Forward values and relevance are let go after their last reader.
    void inputsAloneTakeLessMemory()
    {
        RETRO_MADE(model, load("clever-hans/clever-hans.onnx"));
        engine::ExplainRequest request;
        request.inputs = inputsOf(*model, "clever-hans/mug.png");
        QVERIFY(!request.inputs.empty());
        engine::Explainer explainer(model);
        QVERIFY(explainer.explain(request).ok()); // weights are prepared
        const auto whole = explainer.explain(request);
        request.inputsOnly = true;
        const auto alone = explainer.explain(request);
        QVERIFY(whole.ok() && alone.ok());
        QVERIFY2(alone->peakBytes < whole->peakBytes,
                 qPrintable(QStringLiteral("%1 and %2").arg(alone->peakBytes).arg(whole->peakBytes)));
    }

    // A program that was found ahead is not taken for one that was compared with a pass.
    void aCourseAheadIsNotChecked()
    {
        RETRO_MADE(model, load("clever-hans/clever-hans.onnx"));
        engine::ExplainRequest request;
        request.inputs = inputsOf(*model, "clever-hans/mug.png");
        request.inputsOnly = true;
        engine::Explainer explainer(model);
        QVERIFY(explainer.explain(request).ok());
        request.inputsOnly = false;
        const auto first = explainer.explain(request);
        QVERIFY(first.ok() && !first->programReused);
        const auto second = explainer.explain(request);
        QVERIFY(second.ok() && second->programReused);
        QCOMPARE(difference(*first, *second), QString());
    }

    void promiseProgramAndOracleAgree_data()
    {
        QTest::addColumn<int>("sample");
        QTest::addColumn<QString>("composite");
        for (int i = 0; i < static_cast<int>(samples().size()); ++i) {
            for (const std::string& name : lrp::builtinNames()) {
                QTest::addRow("%s %s", samples()[static_cast<std::size_t>(i)].model, name.c_str())
                    << i << QString::fromStdString(name);
            }
        }
    }

    void promiseProgramAndOracleAgree()
    {
        QFETCH(int, sample);
        QFETCH(QString, composite);
        const Sample& chosen = samples()[static_cast<std::size_t>(sample)];
        RETRO_MADE(model, load(chosen.model));
        engine::Explainer explainer(model);
        std::set<tensor::Shape> shapes; // a program is of a shape
        for (const char* file : chosen.inputs) {
            engine::ExplainRequest request;
            request.inputs = inputsOf(*model, file);
            request.composite = composite.toStdString();
            QVERIFY(!request.inputs.empty());
            const auto promise = engine::explain(*model, request);
            request.engine = engine::EngineKind::Compiled;
            const auto compiled = explainer.explain(request);
            if (!promise.ok()) {
                QVERIFY(!compiled.ok()); // a composite that does not fit the sample, refused by name
                QCOMPARE(compiled.error().text(), promise.error().text());
                return;
            }
            RETRO_OK(compiled);
            checkInputsOnly(*model, request, *promise);
            request.engine = engine::EngineKind::Oracle;
            RETRO_MADE(oracle, engine::explain(*model, request));
            QCOMPARE(difference(*compiled, *promise), QString());
            QCOMPARE(difference(*compiled, *oracle), QString());
            QCOMPARE(compiled->programReused, !shapes.insert(request.inputs[0].shape()).second);
            QCOMPARE(compiled->counts.visits, promise->counts.visits);
            QCOMPARE(compiled->counts.promises, promise->counts.promises);
            QCOMPARE(compiled->relevanceInputs, promise->relevanceInputs);
            const auto causes = engine::causeTotals(compiled->ledger);
            for (const auto& [cause, amount] : engine::causeTotals(promise->ledger)) {
                QVERIFY(causes.contains(cause));
                QVERIFY(std::abs(causes.at(cause) - amount) <= 1e-5 * (std::abs(amount) + 1));
            }
        }
    }

    void anotherClassIsTheSameProgram()
    {
        const auto model = load("clever-hans/clever-hans.onnx");
        engine::Explainer explainer(model);
        engine::ExplainRequest request;
        request.engine = engine::EngineKind::Compiled;
        request.inputs = inputsOf(*model, "clever-hans/mug.png");
        RETRO_MADE(first, explainer.explain(request));
        request.inputs = inputsOf(*model, "clever-hans/boat.png");
        const auto second = explainer.explain(request);
        QVERIFY(second.ok() && second->programReused);
        QVERIFY(first->target.index != second->target.index);
        QCOMPARE(second->program->key, first->program->key);
        request.engine = engine::EngineKind::Promise;
        const auto promise = engine::explain(*model, request);
        QCOMPARE(difference(*second, *promise), QString());
    }

    void whatChangesTheCourseMakesAnotherProgram()
    {
        const auto model = load("clever-hans/clever-hans.onnx");
        engine::Explainer explainer(model);
        engine::ExplainRequest request;
        request.inputs = inputsOf(*model, "clever-hans/mug.png");
        std::set<base::Hash128> keys;
        const auto isNew = [&] {
            const auto result = explainer.explain(request);
            return result.ok() && result->program && !result->programReused && keys.insert(result->program->key).second;
        };
        QVERIFY(isNew());
        request.composite = "gradient";
        QVERIFY(isNew());
        request.save = execute::SavePolicy::All;
        QVERIFY(isNew());
        request.target.kind = engine::TargetRequest::Kind::Value;
        request.target.value = model->graph()->value(model->graph()->node(base::NodeId(2U)).outputs[0]).name;
        QVERIFY(isNew());
        const tensor::Tensor one = request.inputs[0];
        const std::vector<tensor::Tensor> two{one, one};
        tensor::Shape shape = one.shape();
        shape[0] = 2;
        std::vector<float> pair;
        for (int i = 0; i < 2; ++i) {
            const tensor::Tensor plain = one.contiguous();
            pair.insert(pair.end(), plain.span<float>().begin(), plain.span<float>().end());
        }
        request.inputs[0] = tensor::Tensor::of<float>(shape, pair);
        QVERIFY(isNew());
        const auto again = explainer.explain(request);
        QVERIFY(again.ok() && again->programReused);
    }

    void checkpointsAndSeveralTargets()
    {
        const auto model = load("clever-hans/clever-hans.onnx");
        engine::ExplainRequest request;
        request.inputs = inputsOf(*model, "clever-hans/mug.png");
        RETRO_MADE(plain, engine::explain(*model, request));
        std::vector<std::string> reached; // results that relevance reaches
        for (std::size_t i = 0; i < plain->relevance.size(); ++i) {
            const graph::Value& value = plain->model->graph().value(base::ValueId(i));
            if (plain->relevance[i].isValid() && value.kind == graph::ValueKind::Result) {
                reached.push_back(value.name);
            }
        }
        QVERIFY(reached.size() > 4);
        request.checkpoints = {reached[reached.size() / 2]};
        request.alsoTargets.emplace_back();
        request.alsoTargets.back().kind = engine::TargetRequest::Kind::Class;
        request.alsoTargets.back().classIndex = 2;
        engine::Explainer explainer(model);
        for (const bool stops : {false, true}) {
            request.stopAtCheckpoints = stops;
            for (const char* picture : {"clever-hans/mug.png", "clever-hans/boat.png"}) {
                request.inputs = inputsOf(*model, picture);
                request.engine = engine::EngineKind::Promise;
                const auto promise = engine::explain(*model, request);
                request.engine = engine::EngineKind::Compiled;
                const auto compiled = explainer.explain(request);
                QVERIFY2(compiled.ok() && promise.ok(), compiled.ok() ? "" : compiled.error().text().c_str());
                QCOMPARE(difference(*compiled, *promise), QString());
                QCOMPARE(compiled->stoppedEarly, promise->stoppedEarly);
                QCOMPARE(compiled->checkpoints.size(), std::size_t{1});
                QCOMPARE(compiled->checkpoints[0].visit, promise->checkpoints[0].visit);
                QVERIFY(compiled->checkpoints[0].relevance.bitEqual(promise->checkpoints[0].relevance));
            }
        }
    }

    // Written out for its input, the graph is in the key: another way makes another program, the same way finds its
    // own.
    void controlFlowIsPartOfTheKey()
    {
        const auto model = twoWays();
        engine::Explainer explainer(model);
        std::map<bool, base::Hash128> keys;
        for (const bool way : {true, false, true, false}) {
            engine::ExplainRequest request;
            request.engine = engine::EngineKind::Compiled;
            request.composite = "epsilon";
            const std::vector<float> x{static_cast<float>(keys.size()) + 0.5F, 2.0F};
            request.inputs = {tensor::Tensor::scalar(way), tensor::Tensor::of<float>({2}, x)};
            RETRO_MADE(compiled, explainer.explain(request));
            QCOMPARE(compiled->programReused, keys.contains(way));
            QVERIFY(keys.emplace(way, compiled->program->key).first->second == compiled->program->key);
            request.engine = engine::EngineKind::Promise;
            RETRO_MADE(promise, engine::explain(*model, request));
            QCOMPARE(difference(*compiled, *promise), QString());
        }
        QVERIFY(keys[true] != keys[false]);
    }

    void recordedRunsAreFirstPassesAndHoldTheirProgram()
    {
        const auto model = load("planted-word/planted-word.onnx");
        engine::Explainer explainer(model);
        engine::ExplainRequest request;
        request.inputs = inputsOf(*model, "planted-word/good.npy");
        const auto compiled = explainer.explain(request);
        QVERIFY(compiled.ok() && compiled->program);
        request.record = true;
        const auto recorded = explainer.explain(request);
        QVERIFY(recorded.ok() && recorded->run && !recorded->program);
        RETRO_MADE(program, trace::programOf(*recorded->run));
        QCOMPARE(program->key, compiled->program->key);
        QCOMPARE(program->instructions.size(), compiled->program->instructions.size());
        QVERIFY(program->promises > 0 && program->argsEnd > 0);
        request.engine = engine::EngineKind::Compiled;
        const auto refused = explainer.explain(request);
        QVERIFY(!refused.ok() && refused.error().code == base::ErrorCode::Usage);
    }

    // A recorded pass is told again for the next input: the run is the one that a traversal of that input records.
    void theNextRecordedInputIsToldByTheProgram_data()
    {
        QTest::addColumn<int>("sample");
        for (int i = 0; i < static_cast<int>(samples().size()); ++i) {
            QTest::addRow("%s", samples()[static_cast<std::size_t>(i)].model) << i;
        }
    }

    void theNextRecordedInputIsToldByTheProgram()
    {
        QFETCH(int, sample);
        const Sample& chosen = samples()[static_cast<std::size_t>(sample)];
        RETRO_MADE(model, load(chosen.model));
        engine::Explainer explainer(model);
        std::map<tensor::Shape, int> seen;
        for (const char* file : chosen.inputs) {
            engine::ExplainRequest request;
            request.inputs = inputsOf(*model, file);
            request.record = true;
            request.keepValues = true;
            const auto traversed = engine::explain(*model, request);
            const auto told = explainer.explain(request);
            QVERIFY2(told.ok() && traversed.ok(), told.ok() ? "" : told.error().text().c_str());
            QCOMPARE(told->programReused, seen[request.inputs[0].shape()]++ > 0);
            QCOMPARE(difference(*told, *traversed), QString());
            QCOMPARE(differenceOfRuns(*told->run, *traversed->run), QString());
        }
        QVERIFY(std::ranges::any_of(seen, [](const auto& shape) { return shape.second > 1; }));
    }

    void aStoppedProgramLeavesNothingBehind()
    {
        const auto model = load("planted-word/planted-word.onnx");
        engine::Explainer explainer(model);
        engine::ExplainRequest request;
        request.inputs = inputsOf(*model, "planted-word/good.npy");
        RETRO_MADE(first, explainer.explain(request));
        std::stop_source stop;
        const auto stopInside = [&stop](const std::string& stage, std::size_t done, std::size_t) {
            if (stage == "relevance" && done == 5) {
                stop.request_stop();
            }
        };
        RETRO_REFUSED(explainer.explain(request, stop.get_token(), stopInside), base::ErrorCode::Cancelled);
        const auto after = explainer.explain(request);
        QVERIFY(after.ok() && after->programReused);
        QCOMPARE(difference(*first, *after), QString());
    }
};

QTEST_GUILESS_MAIN(ExplainerTest)
#include "explainertest.moc"
