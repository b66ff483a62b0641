// SPDX-License-Identifier: Apache-2.0
// Gradients by the tape: those of the gradient composite on every sample, and what a central difference says.
#include <QtTest>

#include "core/engine/explain/runforward.h"
#include "core/engine/gradient/critical.h"
#include "core/engine/gradient/gradient.h"
#include "core/engine/gradient/parameters.h"
#include "core/engine/input/inputs.h"
#include "core/engine/verify/verify.h"
#include "core/ops/algebra.h"
#include "tests/core/engine/relevancenetworks.h"
#include "tests/core/engine/samplequestion.h"

#include <array>

using namespace retro;
using tensor::Tensor;

namespace
{

constexpr std::array<const char*, 5> kSamples{"clever-hans/clever-hans", "marked-step/marked-step",
                                              "one-segment/one-segment", "planted-word/planted-word",
                                              "silent-groups/silent-groups"};

/// The card's target on the first of its inputs, in double.
base::Result<engine::GradientRequest> questionOf(const engine::LoadedModel& model)
{
    engine::GradientRequest request;
    request.precision = execute::Precision::Double;
    const std::string file = (model.path.parent_path() / model.card->pictures.front().file).string();
    RETRO_TRY(request.inputs, engine::resolveInputs({file}, *model.graph(), engine::pictureOptions(&*model.card)));
    RETRO_TRY(request.target,
              engine::parseTarget(model.card->target.empty() ? "argmax" : model.card->target, model.card->labels));
    return request;
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

std::int64_t whereLargest(const Tensor& tensor)
{
    std::int64_t where = 0;
    const Tensor flat = tensor.contiguous();
    for (std::int64_t i = 0; i < flat.size(); ++i) {
        where = std::abs(flat.at(i)) > std::abs(flat.at(where)) ? i : where;
    }
    return where;
}

Tensor shifted(const Tensor& tensor, std::int64_t at, double by)
{
    const Tensor flat = tensor.to(tensor::DType::Float64).contiguous();
    std::vector<double> values(flat.span<double>().begin(), flat.span<double>().end());
    values[static_cast<std::size_t>(at)] += by;
    return Tensor::of<double>(tensor.shape(), values);
}

/// Σ start · value of the target when element `at` of input `i` is shifted.
double shiftedScore(const engine::OpenedParameters& opened, const engine::GradientResult& result, std::size_t i,
                    std::int64_t at, double by)
{
    std::vector<Tensor> inputs = opened.inputs;
    inputs[i] = shifted(inputs[i], at, by);
    const auto outputs = engine::runForward(*opened.model, inputs, execute::Precision::Double);
    return outputs.ok() ? ops::algebra::dot(outputs->outputs.front(), result.target.start) : NAN;
}

} // namespace

class GradientTest : public QObject
{
    Q_OBJECT

private slots:
    void everySampleHasTheBitsOfTheGradientComposite_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<bool>("isDouble");
        for (const char* name : kSamples) {
            QTest::addRow("%s float", name) << QString::fromLatin1(name) << false;
            QTest::addRow("%s double", name) << QString::fromLatin1(name) << true;
        }
    }

    void everySampleHasTheBitsOfTheGradientComposite()
    {
        QFETCH(QString, name);
        QFETCH(bool, isDouble);
        const engine::LoadedModelPointer model = tests::loadSample(name);
        QVERIFY(model);
        RETRO_MADE(request, questionOf(*model));
        request->precision = isDouble ? execute::Precision::Double : execute::Precision::Float;
        RETRO_MADE(result, engine::gradient(*model, *request));
        engine::ExplainRequest question;
        question.inputs = request->inputs;
        question.target = request->target;
        question.start.kind = engine::StartKind::One;
        question.composite = "gradient";
        question.precision = request->precision;
        for (const engine::EngineKind kind : {engine::EngineKind::Oracle, engine::EngineKind::Promise}) {
            question.engine = kind;
            RETRO_MADE(explained, engine::explain(*model, question));
            for (std::size_t i = 0; i < result->gradients.size(); ++i) {
                const Tensor& wanted = explained->relevance[explained->model->graph().inputs()[i].index()];
                if (result->gradients[i].isValid() && wanted.isValid()) {
                    QVERIFY(largest(wanted) > 0);
                    QVERIFY2(result->gradients[i].bitEqual(wanted), qPrintable(name));
                }
            }
        }
    }

    void parametersAgreeWithCentralDifferences()
    {
        const engine::LoadedModelPointer model = tests::loadSample(QStringLiteral("silent-groups/one-group"));
        QVERIFY(model);
        RETRO_MADE(request, questionOf(*model));
        RETRO_MADE(opened, engine::openParameters(model, request->inputs));
        request->inputs = opened->inputs;
        RETRO_MADE(result, engine::gradient(*opened->model, *request));
        QVERIFY(result->gradients.size() > 3);
        for (std::size_t i = 1; i < result->gradients.size(); ++i) {
            const std::int64_t at = whereLargest(result->gradients[i]);
            const double gradient = result->gradients[i].contiguous().at(at);
            const double step = 1e-6 * std::max(1.0, std::abs(opened->inputs[i].contiguous().at(at)));
            const double slope =
                (shiftedScore(*opened, *result, i, at, step) - shiftedScore(*opened, *result, i, at, -step)) /
                (2 * step);
            QVERIFY2(std::abs(slope - gradient) <= 1e-4 * std::max(std::abs(gradient), 1e-3),
                     opened->model->graph()->value(opened->model->graph()->inputs()[i]).name.c_str());
        }
    }

    /// What a quantised weight stands for is no initializer of the file; what it is made of is named.
    void partsOfAQuantisedWeightAreNamed()
    {
        graph::GraphBuilder builder("quantised", 17);
        builder.setOpset("com.microsoft", 1);
        const auto x = builder.addInput("x", tensor::DType::Float32, tensor::Shape{1, 16});
        const auto packed = builder.addConstant("packed", Tensor::full(tensor::DType::UInt8, {2, 1, 8}, 77));
        const auto scales = builder.addConstant("scales", Tensor::full(tensor::DType::Float32, {2}, 0.5));
        const auto bias = builder.addConstant("bias", Tensor::full(tensor::DType::Float32, {2}, 1));
        const auto product = builder.addResult("product");
        const auto y = builder.addResult("y");
        const graph::Attributes sizes{{"K", std::int64_t{16}},
                                      {"N", std::int64_t{2}},
                                      {"bits", std::int64_t{4}},
                                      {"block_size", std::int64_t{16}}};
        builder.addNode({"MatMulNBits", "com.microsoft", "layer", "", 1, {x, packed, scales}, {product}, sizes});
        builder.addNode({"Add", "", "add", "", 17, {product, bias}, {y}, {}});
        builder.addOutput(y);
        const auto model =
            engine::testing::modelOf(std::make_shared<const graph::Graph>(std::move(builder).build().value()));
        QVERIFY(model);
        RETRO_MADE(opened, engine::openParameters(model, {Tensor::full(tensor::DType::Float32, {1, 16}, 1)}));
        std::string names;
        for (const base::ValueId input : opened->model->graph()->inputs()) {
            names += opened->model->graph()->value(input).name + " ";
        }
        QCOMPARE(names, std::string("x bias "));
        QCOMPARE(opened->without.size(), std::size_t(1));
        RETRO_SAYS(opened->without[0], "\"scales\": node 'layer' (MatMulNBits)");
    }

    void operatorsLeftOutHaveAReason()
    {
        const engine::LoadedModelPointer model = tests::loadSample(QStringLiteral("one-segment/one-segment"));
        RETRO_MADE(request, questionOf(*model));
        RETRO_MADE(result, engine::gradient(*model, *request));
        const graph::Graph& graph = result->model->graph();
        const engine::CriticalNodes found = engine::criticalNodes(*result->model, result->target.value);
        QCOMPARE(found.critical + found.leftOut.size(), graph.nodeCount());
        QCOMPARE(found.critical, result->visited); // no node has several results here
        const auto argMax = std::ranges::find(found.leftOut, "ArgMax", &engine::LeftOutNode::op);
        QVERIFY(argMax != found.leftOut.end());
        QVERIFY(argMax->reason == analysis::LeftOut::Stops);
    }

    void aTargetWithoutAFloatingInputIsRefused()
    {
        const engine::LoadedModelPointer model = tests::loadSample(QStringLiteral("clever-hans/clever-hans"));
        RETRO_MADE(request, questionOf(*model));
        const graph::Graph& graph = *model->graph();
        request->target.kind = engine::TargetRequest::Kind::Value;
        for (const graph::Value& value : graph.values()) {
            if (value.kind == graph::ValueKind::Constant && tensor::isFloating(value.constant.dtype())) {
                request->target.value = value.name;
            }
        }
        RETRO_REFUSED(engine::gradient(*model, *request), "does not depend on a floating input");
    }

    void anIntegerTargetIsRefused()
    {
        const engine::LoadedModelPointer model = tests::loadSample(QStringLiteral("one-segment/one-segment"));
        RETRO_MADE(request, questionOf(*model));
        for (const graph::Node& node : model->graph()->nodes()) {
            if (node.op == "ArgMax") {
                engine::VerifyRequest question{request->inputs, request->target};
                question.target.kind = engine::TargetRequest::Kind::Value;
                question.target.value = model->graph()->value(node.outputs.front()).name;
                const auto result = engine::verify(*model, question);
                QVERIFY(!result.ok() && result.error().code == base::ErrorCode::Input);
                return;
            }
        }
        QFAIL("the sample has no ArgMax");
    }
};

QTEST_APPLESS_MAIN(GradientTest)
#include "gradienttest.moc"
