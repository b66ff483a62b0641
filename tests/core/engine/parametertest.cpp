// SPDX-License-Identifier: Apache-2.0
// Relevance of parameters over whole models: the same by every engine and saving, gradients as the tape has them, and
// what cannot be asked for.
#include <QtTest>

#include "core/engine/explain/explain.h"
#include "core/engine/gradient/gradient.h"
#include "core/engine/gradient/parameters.h"
#include "core/engine/input/inputs.h"
#include "core/graph/graphbuilder.h"
#include "core/ops/algebra.h"

#include <cmath>
#include <map>

using namespace retro;
using tensor::Tensor;

namespace
{

engine::LoadedModelPointer loadSample(const char* name, rewrite::RewriteOptions options = {})
{
    auto model =
        engine::loadModel(std::filesystem::path(RETRO_SOURCE_DIR) / "samples" / (std::string(name) + ".onnx"), options);
    return model.ok() && (*model)->card ? *model : nullptr;
}

/// The first input of the card, in double.
engine::ExplainRequest questionOf(const engine::LoadedModel& model, const char* composite)
{
    engine::ExplainRequest request;
    const std::string file = (model.path.parent_path() / model.card->pictures.front().file).string();
    auto inputs = engine::resolveInputs({file}, *model.graph(), engine::pictureOptions(&*model.card));
    request.inputs = inputs.ok() ? *inputs : std::vector<Tensor>();
    request.precision = execute::Precision::Double;
    request.composite = composite;
    request.parameters = true;
    return request;
}

std::map<std::string, Tensor> byName(const engine::ExplainResult& result)
{
    std::map<std::string, Tensor> tensors;
    for (const engine::ParameterRelevance& parameter : result.parameters) {
        tensors[result.model->graph().value(parameter.value).name] = parameter.relevance;
    }
    return tensors;
}

double largest(const Tensor& tensor)
{
    double most = 0;
    const Tensor flat = tensor.contiguous();
    for (std::int64_t i = 0; i < flat.size(); ++i) {
        most = std::max(most, std::abs(flat.at(i)));
    }
    return most;
}

double largestDifference(const Tensor& a, const Tensor& b)
{
    return a.shape() == b.shape() ? largest(ops::algebra::subtract(a, b)) : 1e300;
}

/// y = relu(x·W)·W, where one constant is read twice.
engine::LoadedModelPointer twice(const std::vector<float>& weights)
{
    graph::GraphBuilder builder("twice", 13);
    const base::ValueId x = builder.addInput("x", tensor::DType::Float32, tensor::Shape{1, 2});
    const base::ValueId w = builder.addConstant("W", Tensor::of<float>({2, 2}, weights));
    const base::ValueId unread = builder.addConstant("unread", Tensor::scalar(1.0F));
    const base::ValueId first = builder.addOp("MatMul", "one", {x, w}, "first");
    const base::ValueId act = builder.addOp("Relu", "relu", {first}, "act");
    const base::ValueId y = builder.addOp("MatMul", "two", {act, w}, "y");
    const base::ValueId beside = builder.addOp("Mul", "aside", {first, unread}, "beside");
    builder.addOutput(y);
    builder.addOutput(beside);
    auto model = std::make_shared<engine::LoadedModel>();
    model->name = "twice";
    auto graph = std::make_shared<const graph::Graph>(std::move(builder).build().value());
    model->rewritten = rewrite::rewrite(std::move(graph), rewrite::noRewrites()).value();
    return model;
}

engine::ExplainRequest questionOfTwice()
{
    engine::ExplainRequest request;
    request.inputs = {Tensor::of<float>({1, 2}, std::vector<float>{1, 2})};
    request.composite = "epsilon:epsilon=0";
    request.parameters = true;
    request.target = engine::parseTarget("y:0,0", {}).value();
    return request;
}

} // namespace

class ParameterTest : public QObject
{
    Q_OBJECT

private slots:
    void everyEngineSaysTheSame_data()
    {
        QTest::addColumn<QString>("sample");
        QTest::addColumn<QString>("composite");
        for (const char* sample : {"clever-hans/clever-hans", "silent-groups/silent-groups"}) {
            for (const char* composite : {"epsilon_plus_flat", "epsilon_gamma_box", "epsilon_alpha2_beta1"}) {
                QTest::addRow("%s, %s", sample, composite) << sample << composite;
            }
        }
        QTest::addRow("words") << "planted-word/planted-word"
                               << "attnlrp";
        QTest::addRow("words, by gradients") << "planted-word/planted-word"
                                             << "attnlrp:form=gradient_x_input";
    }
    void everyEngineSaysTheSame()
    {
        QFETCH(QString, sample);
        QFETCH(QString, composite);
        RETRO_MADE(model, loadSample(qPrintable(sample)));
        engine::ExplainRequest request = questionOf(*model, qPrintable(composite));
        RETRO_MADE(promise, engine::explain(*model, request));
        const std::map<std::string, Tensor> expected = byName(*promise);
        QVERIFY(std::ranges::count_if(expected, [](const auto& one) { return one.second.isValid(); }) > 5);
        std::vector<engine::ExplainRequest> others(3, request);
        others[0].engine = engine::EngineKind::Oracle;
        others[1].engine = engine::EngineKind::Compiled;
        others[2].save = execute::SavePolicy::All; // no value comes from another forward pass
        for (const engine::ExplainRequest& other : others) {
            RETRO_MADE(result, engine::explain(*model, other));
            for (const auto& [name, relevance] : byName(*result)) {
                const Tensor& known = expected.at(name);
                QVERIFY2(relevance.isValid() == known.isValid() && (!known.isValid() || relevance.bitEqual(known)),
                         name.c_str());
            }
        }
        // Asking for it changes nothing else.
        request.parameters = false;
        const auto without = engine::explain(*model, request);
        QVERIFY(without.ok() && without->parameters.empty());
        QCOMPARE(without->relevanceInputs, promise->relevanceInputs);
        QCOMPARE(without->counts.visits, promise->counts.visits);
    }

    // The weights of the first layer carry all that reaches the picture.
    void firstWeightsCarryWhatTheInputGets()
    {
        for (const char* composite : {"epsilon_plus_flat", "epsilon_gamma_box", "epsilon_plus"}) {
            RETRO_MADE(model, loadSample("clever-hans/clever-hans"));
            RETRO_MADE(result, engine::explain(*model, questionOf(*model, composite)));
            const double carried = ops::algebra::sum(byName(*result).at("stem.input.conv.weight.merged"));
            QVERIFY2(std::abs(carried - result->relevanceInputs) <= 1e-10 * std::abs(carried), composite);
        }
    }

    void gradientsAreThoseOfTheTape_data()
    {
        QTest::addColumn<QString>("sample");
        for (const char* sample : {"clever-hans/clever-hans", "marked-step/marked-step", "planted-word/planted-word",
                                   "silent-groups/silent-groups"}) {
            QTest::addRow("%s", sample) << sample;
        }
    }
    void gradientsAreThoseOfTheTape()
    {
        QFETCH(QString, sample);
        RETRO_MADE(model, loadSample(qPrintable(sample), rewrite::noRewrites()));
        engine::ExplainRequest request = questionOf(*model, "gradient");
        request.start.kind = engine::StartKind::One;
        RETRO_MADE(found, engine::explain(*model, request));
        RETRO_MADE(opened, engine::openParameters(model, request.inputs));
        engine::GradientRequest asked;
        asked.inputs = opened->inputs;
        asked.precision = execute::Precision::Double;
        RETRO_MADE(gradients, engine::gradient(*opened->model, asked));
        std::map<std::string, Tensor> byTape;
        for (std::size_t i = 0; i < gradients->gradients.size(); ++i) {
            const graph::Graph& graph = gradients->model->graph();
            byTape[graph.value(graph.inputs()[i]).name] = gradients->gradients[i];
        }
        std::size_t compared = 0;
        for (const auto& [name, gradient] : byName(*found)) {
            if (gradient.isValid()) {
                const Tensor& expected = byTape.at(name);
                const double size = std::max(1e-3, largest(expected));
                QVERIFY2(largestDifference(gradient, expected) <= 1e-12 * size, name.c_str());
                ++compared;
            }
        }
        QVERIFY(compared >= 5 && compared + 1 >= found->parameters.size()); // but for the table of places
        // Times what they are of where the composite says so.
        request.composite = "gradient_x_input";
        const auto products = engine::explain(*model, request);
        if (products.ok()) { // not of tokens
            const std::map<std::string, Tensor> expected = byName(*found);
            for (const engine::ParameterRelevance& one : products->parameters) {
                const Tensor& gradient = expected.at(products->model->graph().value(one.value).name);
                QVERIFY(!gradient.isValid() ||
                        one.relevance.bitEqual(ops::algebra::multiply(gradient, products->model->constant(one.value))));
            }
        }
    }

    // x·W = (3, 1) with x = (1, 2) and W = ((1, −1), (1, 1)); y₀ = 3·1 + 1·1 = 4.
    void aConstantOfTwoNodesGetsTheSum()
    {
        const auto model = twice({1, -1, 1, 1});
        RETRO_MADE(result, engine::explain(*model, questionOfTwice()));
        QCOMPARE(result->parameters.size(), std::size_t(2));
        // Second layer: 3 and 1 through column 0. First: (3, 1) shared by 1·1 + 2·1 = 3 and −1 + 2 = 1.
        QVERIFY(result->parameters[0].relevance.bitEqual(Tensor::of<float>({2, 2}, std::vector<float>{4, -1, 3, 2})));
        QVERIFY(!result->parameters[1].relevance.isValid());
        QCOMPARE(result->parameters[1].reasons.size(), std::size_t(1));
        QVERIFY(result->parameters[1].reasons.front().find("no relevance reached") != std::string::npos);
    }

    // Relevance is finite; a gradient of W is x₀·W₁₀ = 1e30 · 1e10.
    void numbersThatAreNotFiniteAreNamed()
    {
        const auto model = twice({1e-5F, 1e-25F, 1e10F, 1});
        engine::ExplainRequest request = questionOfTwice();
        request.composite = "gradient";
        request.start.kind = engine::StartKind::One;
        request.inputs = {Tensor::of<float>({1, 2}, std::vector<float>{1e30F, 1})};
        const auto result = engine::explain(*model, request);
        RETRO_REFUSED(result, base::ErrorCode::Engine);
        for (const char* word : {"\"W\"", "\"one\"", "inf", "gradient", "--go-on"}) {
            QVERIFY2(result.error().text().find(word) != std::string::npos, result.error().text().c_str());
        }
        request.goesOnWhenNotFinite = true;
        QVERIFY(engine::explain(*model, request).ok());
        request.goesOnWhenNotFinite = request.parameters = false;
        QVERIFY(engine::explain(*model, request).ok());
    }

    void whatNeedsAWholePass()
    {
        const auto model = twice({1, -1, 1, 1});
        for (const bool alone : {false, true}) {
            engine::ExplainRequest request = questionOfTwice();
            request.inputsOnly = alone;
            request.stopAtCheckpoints = !alone;
            const auto result = engine::explain(*model, request);
            QVERIFY(!result.ok() && result.error().code == base::ErrorCode::Usage);
            QVERIFY(result.error().text().find("--parameters") != std::string::npos);
        }
    }
};

QTEST_GUILESS_MAIN(ParameterTest)
#include "parametertest.moc"
