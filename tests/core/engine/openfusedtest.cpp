// SPDX-License-Identifier: Apache-2.0
#include "core/engine/model/openfused.h"
#include "core/engine/results/results.h"
#include "core/graph/graphbuilder.h"

#include <QtTest>

#include <nlohmann/json.hpp>

#include <cmath>
#include <random>

using namespace retro;

using tensor::Tensor;

namespace
{

Tensor randomTensor(const tensor::Shape& shape, unsigned seed)
{
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> draw(-1, 1);
    std::vector<float> values(static_cast<std::size_t>(tensor::elementCount(shape)));
    std::generate(values.begin(), values.end(), [&] { return draw(random); });
    return Tensor::of<float>(shape, values);
}

/// Two dense layers as MatMul and Add, a Relu between them.
std::shared_ptr<const graph::Graph> twoLayers()
{
    graph::GraphBuilder builder({}, 17);
    const auto node = [&](const std::string& op, const std::string& name, std::vector<base::ValueId> inputs) {
        return builder.addOp(op, name, std::move(inputs), name + "_out");
    };
    base::ValueId x = builder.addInput("x", tensor::DType::Float32, tensor::Shape{1, 5, 4});
    for (unsigned i = 1; i <= 2; ++i) {
        const std::string name = "fc" + std::to_string(i);
        const auto weight = builder.addConstant(name + ".w", randomTensor({4, 4}, i));
        const auto bias = builder.addConstant(name + ".b", randomTensor({4}, i + 10));
        x = node("Add", name + "_bias", {node("MatMul", name, {x, weight}), bias});
        x = i == 1 ? node("Relu", "relu", {x}) : x;
    }
    builder.addOutput(x);
    auto built = std::move(builder).build();
    return built.ok() ? std::make_shared<const graph::Graph>(std::move(built).value()) : nullptr;
}

/// Attention of the standard, of one head over 5 tokens, behind a Relu.
std::shared_ptr<const graph::Graph> attention()
{
    graph::GraphBuilder builder({}, 24);
    const base::ValueId x = builder.addInput("x", tensor::DType::Float32, tensor::Shape{1, 1, 5, 4});
    const base::ValueId h = builder.addOp("Relu", "relu", {x}, "h");
    const base::ValueId y = builder.addOp("Attention", "attend", {h, h, h}, "y", {{"is_causal", std::int64_t{1}}});
    builder.addOutput(y);
    auto built = std::move(builder).build();
    return built.ok() ? std::make_shared<const graph::Graph>(std::move(built).value()) : nullptr;
}

engine::LoadedModel loaded(const rewrite::RewriteOptions& options)
{
    engine::LoadedModel model;
    model.name = "two layers";
    model.rewritten = rewrite::rewrite(twoLayers(), options).value();
    return model;
}

/// Two rounds of a dense layer as MatMul and Add, and a Relu.
std::shared_ptr<const graph::Graph> rounds()
{
    graph::GraphBuilder body("round", 17);
    body.addInput("i", tensor::DType::Int64, tensor::Shape{});
    const auto goesOn = body.addInput("goes_on", tensor::DType::Bool, tensor::Shape{});
    base::ValueId x = body.addInput("state", tensor::DType::Float32, tensor::Shape{1, 4});
    const auto add = [&](const std::string& op, const std::string& name, std::vector<base::ValueId> inputs) {
        return body.addOp(op, name, std::move(inputs), name + "_out");
    };
    x = add("MatMul", "fc", {x, body.addConstant("w", randomTensor({4, 4}, 1))});
    x = add("Relu", "relu", {add("Add", "bias", {x, body.addConstant("b", randomTensor({4}, 2))})});
    const auto still = add("Identity", "still", {goesOn});
    body.addOutput(still);
    body.addOutput(x);
    auto inner = std::make_shared<const graph::Graph>(std::move(body).build().value());
    graph::GraphBuilder builder("rounds", 17);
    const auto start = builder.addInput("x", tensor::DType::Float32, tensor::Shape{1, 4});
    const auto most = builder.addConstant("most", Tensor::scalar<std::int64_t>(2));
    const auto y = builder.addOp("Loop", "loop", {most, base::ValueId(), start}, "y",
                                 {{"body", graph::Subgraph{std::move(inner), 0}}});
    builder.addOutput(y);
    return std::make_shared<const graph::Graph>(std::move(builder).build().value());
}

/// An LSTM over three steps; the sum of its last state and cell is the output.
engine::LoadedModel series(bool isCoupled)
{
    graph::GraphBuilder builder("series", 14);
    const graph::ValueId x = builder.addInput("x", tensor::DType::Float32, {3, 1, 2});
    const graph::ValueId w = builder.addConstant("w", randomTensor({1, 8, 2}, 1));
    const graph::ValueId r = builder.addConstant("r", randomTensor({1, 8, 2}, 2));
    const graph::ValueId h = builder.addResult("h");
    const graph::ValueId c = builder.addResult("c");
    const graph::ValueId y = builder.addResult("y");
    builder.addNode({"LSTM",
                     "",
                     "lstm",
                     "",
                     14,
                     {x, w, r},
                     {graph::ValueId(), h, c},
                     {{"hidden_size", std::int64_t{2}}, {"input_forget", std::int64_t{isCoupled ? 1 : 0}}}});
    builder.addNode({"Add", "", "sum", "", 14, {h, c}, {y}, {}});
    builder.addOutput(y);
    engine::LoadedModel model;
    model.rewritten =
        rewrite::rewrite(std::make_shared<const graph::Graph>(std::move(builder).build().value()), {}).value();
    return model;
}

engine::ExplainRequest request()
{
    engine::ExplainRequest request;
    request.inputs = {randomTensor({1, 5, 4}, 77)};
    request.target = engine::parseTarget("fc2_bias_out:0,2,1").value();
    request.composite = "epsilon";
    request.precision = execute::Precision::Double;
    return request;
}

double deviation(const Tensor& a, const Tensor& b)
{
    double largest = a.shape() == b.shape() ? 0 : INFINITY;
    for (std::int64_t i = 0; i < a.size() && std::isfinite(largest); ++i) {
        largest = std::max(largest, std::abs(a.at(i) - b.at(i)));
    }
    return largest;
}

} // namespace

class OpenFusedTest : public QObject
{
    Q_OBJECT

private slots:
    void innerValuesGetTheRelevanceOfTheDecomposedRules()
    {
        const engine::LoadedModel fused = loaded({});
        const engine::LoadedModel plain = loaded(rewrite::noRewrites());
        QCOMPARE(fused.graph()->nodeCount(), std::size_t{3});
        QCOMPARE(plain.graph()->nodeCount(), std::size_t{5});
        const auto ofFused = engine::explain(fused, request());
        const auto ofPlain = engine::explain(plain, request());
        QVERIFY(ofFused.ok() && ofPlain.ok());
        RETRO_MADE(opened, engine::openFused(fused, request(), *ofFused, {"all"}));
        QCOMPARE(opened->size(), std::size_t{2});
        int compared = 0;
        for (const engine::OpenedFused& one : *opened) {
            for (const lrp::OpenedValue& value : one.opened.values) {
                const auto id = plain.graph()->findValue(value.name);
                QVERIFY2(id.has_value(), value.name.c_str());
                QVERIFY(value.relevance.isValid());
                const double difference = deviation(value.relevance, ofPlain->relevance[id->index()]);
                // The last layer got the same relevance bit for bit; before it the two ways stabilise apart.
                QVERIFY2(difference < (one.node == "fc2" ? 1e-12 : 1e-4), value.name.c_str());
                ++compared;
            }
        }
        QCOMPARE(compared, 6);
    }

    void theValueBetweenIsTheProductWithoutItsBias()
    {
        const engine::LoadedModel fused = loaded({});
        const auto result = engine::explain(fused, request());
        RETRO_MADE(opened, engine::openFused(fused, request(), *result, {"fc2"}));
        const lrp::OpenedNode& node = opened->front().opened;
        QCOMPARE(node.values.size(), std::size_t{3});
        QCOMPARE(node.values[0].name, std::string("relu_out"));
        QVERIFY(node.values[0].isOperand && !node.values[1].isOperand);
        QCOMPARE(node.values[1].name, std::string("fc2_out"));
        QCOMPARE(node.values[2].name, std::string("fc2_bias_out"));
        const Tensor bias = randomTensor({4}, 12).to(tensor::DType::Float64);
        for (std::int64_t i = 0; i < 20; ++i) {
            QVERIFY(std::abs(node.values[2].value.at(i) - node.values[1].value.at(i) - bias.at(i % 4)) < 1e-12);
        }
        QCOMPARE(node.rules[0].matcher, std::string("the fused node"));
    }

    void anAttentionOfTheFileIsOpened()
    {
        engine::LoadedModel model;
        model.rewritten = rewrite::rewrite(attention(), {}).value();
        engine::ExplainRequest ask = request();
        ask.inputs = {randomTensor({1, 1, 5, 4}, 77)};
        ask.target = engine::parseTarget("y:0,0,3,1").value();
        ask.composite = "attnlrp";
        RETRO_MADE(result, engine::explain(model, ask));
        RETRO_MADE(opened, engine::openFused(model, ask, *result, {"attend"}));
        QCOMPARE(engine::openFused(model, ask, *result, {"all"})->size(), std::size_t{1});
        const auto listed = engine::composedNodes(model, *result->model);
        QCOMPARE(listed.size(), std::size_t{1});
        QCOMPARE(result->model->graph().node(listed.front().node).name, std::string("attend"));
        QVERIFY(listed.front().members->nodeCount() >= 3); // scores, their softmax, the sum of values
        const auto& values = opened->front().opened.values;
        const auto find = [&](const std::string& name) {
            return std::find_if(values.begin(), values.end(), [&](const auto& value) { return value.name == name; });
        };
        const auto scores = find("attend/attention");
        QVERIFY(scores != values.end() && scores->relevance.isValid());
        QVERIFY(scores->relevance.shape() == (tensor::Shape{1, 1, 5, 5}));
        // What the three operands got inside is what the pass handed on: they are one value.
        double inside = 0;
        for (const lrp::OpenedValue& value : values) {
            for (std::int64_t i = 0; value.isOperand && i < value.relevance.size(); ++i) {
                inside += value.relevance.at(i);
            }
        }
        double outside = 0;
        const Tensor& h = result->relevance[result->model->graph().findValue("h")->index()];
        for (std::int64_t i = 0; i < h.size(); ++i) {
            outside += h.at(i);
        }
        QVERIFY(std::abs(inside - outside) < 1e-12);
    }

    void theSummaryListsWhatWasRewritten()
    {
        for (const bool isFused : {true, false}) {
            const engine::LoadedModel model = loaded(isFused ? rewrite::RewriteOptions{} : rewrite::noRewrites());
            RETRO_MADE(result, engine::explain(model, request()));
            const auto summary = engine::summaryJson(model, request(), *result);
            QCOMPARE(summary.contains("rewrites"), isFused);
            const auto steps = isFused ? summary["rewrites"] : nlohmann::ordered_json::array();
            QCOMPARE(steps.size(), model.rewritten.steps.size());
            for (std::size_t i = 0; i < steps.size(); ++i) {
                QCOMPARE(steps[i]["rewrite"].get<std::string>(), model.rewritten.steps[i].rewrite);
                QCOMPARE(steps[i]["what"].get<std::string>(), model.rewritten.steps[i].text);
            }
        }
    }

    /// What was fused inside a loop is opened round by round, and has the relevance that the unfused nodes get.
    void whatWasFusedInALoopIsOpened()
    {
        engine::ExplainRequest ask = request();
        ask.inputs = {randomTensor({1, 4}, 77)};
        ask.target = engine::parseTarget("y:0,1").value();
        ask.precision = execute::Precision::Double;
        engine::LoadedModel fused;
        fused.rewritten = rewrite::rewrite(rounds(), {}).value();
        QCOMPARE(fused.rewritten.fusedInBodies.size(), std::size_t{1});
        engine::LoadedModel plain;
        plain.rewritten = rewrite::rewrite(rounds(), rewrite::noRewrites()).value();
        RETRO_MADE(ofFused, engine::explain(fused, ask));
        RETRO_MADE(ofPlain, engine::explain(plain, ask));
        RETRO_MADE(opened, engine::openFused(fused, ask, *ofFused, {"all"}));
        QCOMPARE(opened->size(), std::size_t{2});
        QCOMPARE(engine::composedNodes(fused, ask, *ofFused)->size(), std::size_t{2});
        for (std::size_t round = 0; round < opened->size(); ++round) {
            const engine::OpenedFused& node = opened->at(round);
            QCOMPARE(node.node, "loop/" + std::to_string(round) + "/fc");
            QCOMPARE(engine::openFused(fused, ask, *ofFused, {node.node})->size(), std::size_t{1});
            std::size_t inside = 0;
            for (const lrp::OpenedValue& value : node.opened.values) {
                const std::string name = "loop/" + std::to_string(round) + "/" + value.name;
                const auto id = ofPlain->model->graph().findValue(name);
                if (value.isOperand || !id) {
                    continue;
                }
                ++inside;
                const Tensor& wanted = ofPlain->relevance[id->index()];
                QVERIFY(wanted.isValid() && value.relevance.isValid());
                for (std::int64_t i = 0; i < wanted.size(); ++i) {
                    QVERIFY(std::abs(wanted.at(i) - value.relevance.at(i)) < 1e-9);
                }
            }
            QCOMPARE(inside, std::size_t{2}); // what the product and the bias make
        }
    }

    void theEnginesAgreeOnCoupledGates()
    {
        const engine::LoadedModel model = series(true);
        for (const char* composite : {"epsilon", "attnlrp", "gradient"}) {
            engine::ExplainRequest ask = request();
            ask.inputs = {randomTensor({3, 1, 2}, 77)};
            ask.target = engine::parseTarget("y:0,0,1").value();
            ask.composite = composite;
            std::vector<Tensor> found;
            for (const auto& [kind, save] : {std::pair{engine::EngineKind::Promise, execute::SavePolicy::Autograd},
                                             std::pair{engine::EngineKind::Promise, execute::SavePolicy::All},
                                             std::pair{engine::EngineKind::Oracle, execute::SavePolicy::All}}) {
                ask.engine = kind;
                ask.save = save;
                RETRO_MADE(result, engine::explain(model, ask));
                found.push_back(result->relevance[result->model->graph().findValue("x")->index()]);
            }
            QVERIFY(found[0].isValid() && found[0].at(0) != 0);
            QVERIFY(found[0].bitEqual(found[1]));
            QVERIFY(found[0].bitEqual(found[2]));
        }
    }

    void aRecurrentNodeIsOpenedFromTheOutputsThatAreRead_data()
    {
        QTest::addColumn<bool>("isCoupled");
        QTest::newRow("gates of their own") << false;
        QTest::newRow("coupled gates") << true;
    }
    void aRecurrentNodeIsOpenedFromTheOutputsThatAreRead()
    {
        QFETCH(bool, isCoupled);
        const engine::LoadedModel model = series(isCoupled);
        engine::ExplainRequest ask = request();
        ask.inputs = {randomTensor({3, 1, 2}, 77)};
        ask.target = engine::parseTarget("y:0,0,1").value();
        ask.composite = "epsilon";
        RETRO_MADE(result, engine::explain(model, ask));
        RETRO_MADE(opened, engine::openFused(model, ask, *result, {"lstm"}));
        const lrp::OpenedNode& node = opened->front().opened;
        std::size_t gates = 0;
        for (std::size_t i = 0; i < node.rules.size(); ++i) {
            const bool isGate = node.model->graph().node(graph::NodeId(i)).op == "Gate";
            QVERIFY(!isGate || node.rules[i].rule->name() == "signal-take-all");
            gates += isGate ? 1 : 0;
        }
        QCOMPARE(gates, std::size_t{9}); // three of each step
        // What the series got inside, from both outputs, is what the pass handed on.
        const Tensor& outside = result->relevance[result->model->graph().findValue("x")->index()];
        QVERIFY(node.values.front().isOperand);
        for (std::int64_t i = 0; i < outside.size(); ++i) {
            QVERIFY(std::abs(node.values.front().relevance.at(i) - outside.at(i)) < 1e-6);
        }
    }

    void aNodeThatStandsForItselfIsRefused()
    {
        const engine::LoadedModel fused = loaded({});
        const auto result = engine::explain(fused, request());
        RETRO_REFUSED(engine::openFused(fused, request(), *result, {"relu"}), base::ErrorCode::Usage, "relu");
    }
};

QTEST_APPLESS_MAIN(OpenFusedTest)
#include "openfusedtest.moc"
