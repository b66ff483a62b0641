// SPDX-License-Identifier: Apache-2.0
// AttnLRP as gradient × input gives what its relevance form gives without a stabiliser.
#include "core/engine/explain/explain.h"
#include "core/formats/onnx.h"
#include "core/ops/algebra.h"
#include "core/tensor/npy.h"
#include "core/trace/gradientrun.h"
#include "tests/core/rewrite/graphs.h"

#include <QtTest>

#include <algorithm>
#include <cmath>

using namespace retro;

using tensor::Tensor;

namespace
{

base::Result<engine::ExplainResult> explained(const engine::LoadedModel& model, const Tensor& input,
                                              const char* composite, const char* start = "logit",
                                              const char* target = "argmax")
{
    engine::ExplainRequest request;
    request.start = engine::parseStart(start).value();
    request.target = engine::parseTarget(target).value();
    request.inputs = {input};
    request.composite = composite;
    request.precision = execute::Precision::Double;
    return engine::explain(model, request);
}

Tensor atInput(const engine::ExplainResult& result)
{
    return result.relevance[result.model->graph().inputs()[0].index()];
}

} // namespace

class GradientFormTest : public QObject
{
    Q_OBJECT

private slots:
    void sameAsTheRelevanceForm_data()
    {
        QTest::addColumn<QString>("file");
        QTest::addColumn<QString>("input");
        QTest::addColumn<QString>("start");
        QTest::newRow("tokens") << "encoder/model.onnx"
                                << "encoder/input.npy"
                                << "logit";
        QTest::newRow("tokens, from 1") << "encoder/model.onnx"
                                        << "encoder/input.npy"
                                        << "one";
        QTest::newRow("tokens, opset 17") << "encoder/model_opset17.onnx"
                                          << "encoder/input.npy"
                                          << "contrastive";
        QTest::newRow("convolutions") << "cnn/model.onnx"
                                      << "cnn/input.npy"
                                      << "all";
    }
    void sameAsTheRelevanceForm()
    {
        QFETCH(QString, file);
        QFETCH(QString, input);
        QFETCH(QString, start);
        const std::string folder = RETRO_SOURCE_DIR "/tests/data/golden/lrp/";
        RETRO_MADE(model, engine::loadModel(folder + file.toStdString()));
        const Tensor x = tensor::readNpy(folder + input.toStdString()).value();
        RETRO_MADE(relevance, explained(**model, x, "attnlrp:epsilon=0", qPrintable(start)));
        RETRO_MADE(gradient, explained(**model, x, "attnlrp:form=gradient_x_input", qPrintable(start)));
        const Tensor a = atInput(*relevance);
        const Tensor b = atInput(*gradient);
        QVERIFY(a.shape() == b.shape() && a.size() > 0);
        double largest = 0;
        for (std::int64_t i = 0; i < a.size(); ++i) {
            largest = std::max(largest, std::abs(a.at(i)));
        }
        QVERIFY(largest > 0);
        const double distance = ops::algebra::sumAbsolute(ops::algebra::subtract(a, b));
        QVERIFY2(distance <= 1e-9 * largest * static_cast<double>(a.size()), qPrintable(QString::number(distance)));
        QVERIFY(trace::carriesGradient(gradient->rules) && !trace::carriesGradient(relevance->rules));
    }

    // A Relu makes zeros, where the quotient of what BatchNormalization makes of them and 0 has no limit.
    void aNormalisationThatStaysBlowsNothingUp()
    {
        rewrite::testing::Writer writer;
        const auto x = writer.input("x", {1, 4, 3, 3});
        const auto rectified = writer.node("Relu", "rectified", {x});
        const auto norm = writer.node("Relu", "bent", {writer.batchNorm("bn", rectified, 4)});
        const auto flat = writer.node("Flatten", "flat", {norm});
        const auto weight = writer.constant("w", rewrite::testing::randomTensor({36, 3}, 3));
        writer.output(writer.node("Gemm", "head", {flat, weight}));
        RETRO_MADE(bytes, formats::toOnnx(*writer.finish()));
        RETRO_MADE(model, engine::parseModel(*bytes, "norm.onnx", {}));
        QVERIFY((*model)->graph()->findNode("bn").has_value());
        std::vector<double> numbers;
        for (int i = 0; i < 36; ++i) {
            numbers.push_back(i % 3 == 0 ? -0.5 : (i % 3 == 1 ? 1e-9 : 0.1 * i)); // off, near 0, on
        }
        const Tensor input = Tensor::of<double>({1, 4, 3, 3}, numbers);
        const auto gradient = explained(**model, input, "attnlrp:form=gradient_x_input");
        const auto relevance = explained(**model, input, "attnlrp:epsilon=0");
        QVERIFY2(gradient.ok() && relevance.ok(), gradient.ok() ? "" : gradient.error().text().c_str());
        const Tensor a = atInput(*gradient);
        const Tensor b = atInput(*relevance);
        double largest = 0;
        for (std::int64_t i = 0; i < a.size(); ++i) {
            QVERIFY2(std::abs(a.at(i) - b.at(i)) <= 1e-12, qPrintable(QString::number(a.at(i) - b.at(i))));
            QVERIFY(i % 3 != 1 || std::abs(a.at(i)) < 1e-6); // what is near 0 has next to nothing
            largest = std::max(largest, std::abs(a.at(i)));
        }
        QVERIFY(largest > 1e-3);
        for (const Tensor& value : gradient->relevance) { // gradients, of weights and factors below 10
            for (std::int64_t i = 0; value.isValid() && i < value.size(); ++i) {
                QVERIFY(std::abs(value.at(i)) < 1e3);
            }
        }
    }

    // 0/0 is 0; another start has no gradient whose product with 0 it is.
    void aStartWhereTheValueIsZero()
    {
        const std::string folder = RETRO_SOURCE_DIR "/tests/data/golden/lrp/";
        const auto model = engine::loadModel(folder + "cnn/model.onnx");
        const Tensor x = tensor::readNpy(folder + "cnn/input.npy").value();
        std::string rectified;
        for (const graph::Node& node : (*model)->graph()->nodes()) {
            rectified = node.op == "Relu" ? (*model)->graph()->value(node.outputs[0]).name : rectified;
        }
        QVERIFY(!rectified.empty());
        const char* const composite = "attnlrp:form=gradient_x_input";
        RETRO_MADE(all, explained(**model, x, composite, "all", rectified.c_str()));
        const auto ones = explained(**model, x, composite, "one", rectified.c_str());
        QVERIFY(!ones.ok() && ones.error().code == base::ErrorCode::Input);
        QVERIFY(ones.error().text().find(rectified) != std::string::npos);
    }

    // It has nothing to stabilise: the other parameters are refused.
    void otherParametersAreRefused()
    {
        const std::string folder = RETRO_SOURCE_DIR "/tests/data/golden/lrp/";
        const auto model = engine::loadModel(folder + "encoder/model.onnx");
        const Tensor x = tensor::readNpy(folder + "encoder/input.npy").value();
        const auto result = explained(**model, x, "attnlrp:form=gradient_x_input,epsilon=1");
        QVERIFY(!result.ok() && result.error().code == base::ErrorCode::Usage);
    }
};

QTEST_GUILESS_MAIN(GradientFormTest)
#include "gradientformtest.moc"
