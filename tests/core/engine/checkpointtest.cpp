// SPDX-License-Identifier: Apache-2.0
// LRP checkpoints, several targets and hidden values as targets, from the request to the files.
#include "core/base/file.h"
#include "core/engine/explain/explain.h"
#include "core/engine/results/results.h"
#include "core/formats/onnx.h"
#include "core/graph/graphbuilder.h"
#include "core/ops/algebra.h"
#include "core/trace/timeline.h"

#include <QtTest>

#include <nlohmann/json.hpp>

#include <QTemporaryDir>

#include <cmath>

using namespace retro;

using base::ErrorCode;
using tensor::Tensor;

namespace
{

Tensor drawn(const tensor::Shape& shape, unsigned seed)
{
    std::vector<double> values;
    for (std::int64_t i = 0; i < tensor::elementCount(shape); ++i) {
        values.push_back(std::sin(static_cast<double>(seed) + 1.7 * static_cast<double>(i)));
    }
    return Tensor::of<double>(shape, values).to(tensor::DType::Float32);
}

/// y = k + relu(k·V) with k a checkpoint behind h = relu(x·W): relevance of k is final at its fan-in, after a search
/// has come by. `side` depends on nothing but x, z on nothing at all.
graph::Graph residual()
{
    graph::GraphBuilder builder("residual", 18);
    builder.setOpset("ai.retrograde", 1);
    const auto node = [&](const char* op, const char* name, std::vector<base::ValueId> inputs,
                          const char* domain = "") {
        const base::ValueId result = builder.addResult(std::string(name) + "_out");
        builder.addNode({op, domain, name, "", *domain == 0 ? 18 : 1, std::move(inputs), {result}, {}});
        return result;
    };
    const base::ValueId x = builder.addInput("x", tensor::DType::Float32, tensor::Shape{1, 4});
    const base::ValueId w = builder.addConstant("W", drawn({4, 4}, 1));
    const base::ValueId v = builder.addConstant("V", drawn({4, 4}, 2));
    const base::ValueId h = node("Relu", "h", {node("MatMul", "first", {x, w})});
    const base::ValueId k = node("Checkpoint", "k", {h}, "ai.retrograde");
    const base::ValueId y = node("Add", "y", {k, node("Relu", "r", {node("MatMul", "second", {k, v})})});
    const base::ValueId side = node("Neg", "side", {x});
    builder.addOutput(y);
    builder.addOutput(side);
    return std::move(builder).build().value();
}

engine::LoadedModelPointer load(const graph::Graph& graph)
{
    auto model = engine::parseModel(formats::toOnnx(graph).value(), "residual.onnx", {});
    return model.ok() ? *model : nullptr;
}

engine::ExplainRequest question()
{
    engine::ExplainRequest request;
    request.inputs = {drawn({1, 4}, 5)};
    request.composite = "dynamic";
    request.precision = execute::Precision::Double;
    request.target = engine::parseTarget("y_out").value();
    return request;
}

} // namespace

class CheckpointTest : public QObject
{
    Q_OBJECT

private slots:
    void init()
    {
        m_model = load(residual());
        QVERIFY(m_model != nullptr);
    }

    void theOperatorIsACheckpointInBothFormats()
    {
        const std::string json = R"({"format": "retrograde-graph/1", "opsets": {"ai.onnx": 18, "ai.retrograde": 1},
            "inputs": ["x"], "outputs": ["y_out"], "values": [{"name": "x", "dtype": "float32", "shape": [1, 4]}],
            "nodes": [{"op": "Relu", "inputs": ["x"], "outputs": ["h"]},
                      {"op": "Checkpoint", "domain": "ai.retrograde", "inputs": ["h"], "outputs": ["k_out"]},
                      {"op": "Neg", "inputs": ["k_out"], "outputs": ["y_out"]}]})";
        QTemporaryDir folder;
        const std::filesystem::path path = (folder.path() + "/small.json").toStdString();
        QVERIFY(base::writeFile(path, json).ok());
        RETRO_MADE(fromJson, engine::loadModel(path));
        for (const engine::LoadedModelPointer& model : {m_model, *fromJson}) {
            RETRO_MADE(result, engine::explain(*model, question()));
            QCOMPARE(result->checkpoints.size(), std::size_t{1});
            QCOMPARE(result->model->graph().value(result->checkpoints[0].value).name, std::string("k_out"));
        }
    }

    void snapshotsAreTakenAtTheFanIn()
    {
        engine::ExplainRequest request = question();
        request.checkpoints = {"first_out", "k_out"};
        request.record = true;
        RETRO_MADE(result, engine::explain(*m_model, request));
        QCOMPARE(result->checkpoints.size(), std::size_t{2}); // k is named and an operator: once
        const auto& k = result->checkpoints[1];
        QVERIFY(k.relevance.bitEqual(result->relevance[k.value.index()]));
        const graph::Graph& graph = result->model->graph();
        std::vector<std::pair<event::Mode, std::uint32_t>> visits;
        for (const event::Event& event : result->run->events) {
            if (event.kind == event::EventKind::Visit && event.node == graph.nodeOf(k.value).value) {
                visits.emplace_back(event.mode, event.visit);
            }
        }
        QCOMPARE(visits.size(), std::size_t{2});
        QVERIFY(visits[0].first == event::Mode::Search);
        QCOMPARE(k.visit, std::optional(visits[1].second)); // not where the search came by
        QVERIFY(trace::Timeline::open(result->run).ok());
    }

    void oracleAndPromisesTakeTheSame()
    {
        engine::ExplainRequest request = question();
        request.checkpoints = {"first_out"};
        const auto promise = engine::explain(*m_model, request);
        request.engine = engine::EngineKind::Oracle;
        const auto oracle = engine::explain(*m_model, request);
        QVERIFY(promise.ok() && oracle.ok());
        QCOMPARE(oracle->checkpoints.size(), std::size_t{2});
        for (std::size_t i = 0; i < 2; ++i) {
            QVERIFY(promise->checkpoints[i].relevance.bitEqual(oracle->checkpoints[i].relevance));
            QVERIFY(promise->checkpoints[i].visit.has_value() && !oracle->checkpoints[i].visit.has_value());
        }
    }

    void aStoppedRunKnowsItsCheckpoints()
    {
        engine::ExplainRequest request = question();
        const auto whole = engine::explain(*m_model, request);
        request.stopAtCheckpoints = true;
        request.record = true;
        RETRO_MADE(stopped, engine::explain(*m_model, request));
        QVERIFY(whole.ok() && !whole->stoppedEarly && stopped->stoppedEarly);
        QVERIFY(stopped->counts.visits < whole->counts.visits);
        QVERIFY(stopped->checkpoints[0].relevance.bitEqual(whole->checkpoints[0].relevance));
        const std::size_t input = stopped->model->graph().inputs()[0].index();
        QVERIFY(whole->relevance[input].isValid() && !stopped->relevance[input].isValid());
        RETRO_MADE(timeline, trace::Timeline::open(stopped->run));
        timeline->seek(timeline->run().eventCount());
        QVERIFY(timeline->state().isFinished);
    }

    void snapshotsBecomeFiles()
    {
        QTemporaryDir folder;
        engine::ExplainRequest request = question();
        RETRO_MADE(result, engine::explain(*m_model, request));
        const std::filesystem::path path = folder.path().toStdString();
        QVERIFY(engine::writeExplanation(path, *m_model, request, *result).ok());
        QVERIFY(std::filesystem::exists(path / "checkpoints" / "k_out.npy"));
        const auto summary = engine::summaryJson(*m_model, request, *result);
        QCOMPARE(summary["checkpoints"][0]["file"].get<std::string>(), std::string("checkpoints/k_out.npy"));
        QCOMPARE(summary["stopped_early"].get<bool>(), false);
    }

    void whatCannotBeACheckpointIsRefusedByName()
    {
        for (const char* name : {"nothing", "W", "side_out"}) {
            engine::ExplainRequest request = question();
            request.checkpoints = {name};
            RETRO_REFUSED(engine::explain(*m_model, request), ErrorCode::Usage, name);
        }
        engine::ExplainRequest request = question();
        request.stopAtCheckpoints = true;
        request.target = engine::parseTarget("side_out").value(); // k is not on its way
        QVERIFY(engine::explain(*m_model, request).error().code == ErrorCode::Usage);
        request = question();
        request.stopAtCheckpoints = true;
        request.engine = engine::EngineKind::Oracle;
        QVERIFY(engine::explain(*m_model, request).error().code == ErrorCode::Usage);
    }

    // Relevance is linear in what starts: targets together get the sum of what each gets alone.
    void severalTargetsAddUp()
    {
        std::vector<Tensor> alone;
        double started = 0;
        const std::vector<std::string> targets{"y_out:0,1", "side_out", "y_out:0,2", "second_out"};
        for (const std::string& target : targets) {
            engine::ExplainRequest request = question();
            request.target = engine::parseTarget(target).value();
            RETRO_MADE(result, engine::explain(*m_model, request));
            alone.push_back(result->relevance[result->model->graph().inputs()[0].index()]);
            started += result->relevanceStart;
        }
        engine::ExplainRequest request = question();
        request.target = engine::parseTarget(targets[0]).value();
        for (std::size_t i = 1; i < targets.size(); ++i) {
            request.alsoTargets.push_back(engine::parseTarget(targets[i]).value());
        }
        RETRO_MADE(together, engine::explain(*m_model, request));
        QCOMPARE(together->alsoTargets.size(), targets.size() - 1);
        QVERIFY(std::abs(together->relevanceStart - started) < 1e-12);
        const Tensor& sum = together->relevance[together->model->graph().inputs()[0].index()];
        for (std::int64_t i = 0; i < sum.size(); ++i) {
            double expected = 0;
            for (const Tensor& one : alone) {
                expected += one.at(i);
            }
            QVERIFY(std::abs(sum.at(i) - expected) < 1e-9);
        }
        request.engine = engine::EngineKind::Oracle;
        RETRO_MADE(oracle, engine::explain(*m_model, request));
        QVERIFY(sum.bitEqual(oracle->relevance[oracle->model->graph().inputs()[0].index()]));
    }

    void aHiddenValueIsATargetLikeAnyOther()
    {
        engine::ExplainRequest request = question();
        request.target = engine::parseTarget("second_out").value();
        const auto promise = engine::explain(*m_model, request);
        request.engine = engine::EngineKind::Oracle;
        const auto oracle = engine::explain(*m_model, request);
        QVERIFY(promise.ok() && oracle.ok());
        const std::size_t input = promise->model->graph().inputs()[0].index();
        QVERIFY(promise->relevance[input].bitEqual(oracle->relevance[input]));
        QCOMPARE(promise->target.index, std::vector<std::int64_t>{-1}); // the whole value
        QVERIFY(std::abs(promise->relevanceStart - ops::algebra::sum(promise->target.start)) < 1e-12);
    }

private:
    engine::LoadedModelPointer m_model;
};

QTEST_APPLESS_MAIN(CheckpointTest)
#include "checkpointtest.moc"
