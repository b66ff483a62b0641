// SPDX-License-Identifier: Apache-2.0
// The oracle beside a run: what it says of equal, of changed, and of missing relevance.
#include "core/engine/explain/oraclecheck.h"
#include "core/engine/compare/compare.h"
#include "core/formats/onnx.h"
#include "core/graph/graphbuilder.h"

#include <QtTest>

using namespace retro;
using tensor::DType;
using tensor::Tensor;

namespace
{

Tensor tensorOf(const tensor::Shape& shape, const std::vector<float>& values)
{
    return Tensor::of<float>(shape, values);
}

/// y = h + relu(h), h = x W: the residual raises a promise.
engine::LoadedModelPointer residual()
{
    graph::GraphBuilder builder("residual", 18);
    const auto node = [&](const char* op, const std::string& name, std::vector<base::ValueId> inputs) {
        return builder.addOp(op, name, std::move(inputs), name);
    };
    const base::ValueId x = builder.addInput("x", DType::Float32, tensor::Shape{1, 3});
    const base::ValueId w = builder.addConstant("w", tensorOf({3, 3}, {1, -2, 3, 0.5F, 1, -1, 2, 0.25F, 1}));
    const base::ValueId h = node("MatMul", "h", {x, w});
    builder.addOutput(node("Add", "y", {h, node("Relu", "r", {h})}));
    auto model = engine::parseModel(formats::toOnnx(std::move(builder).build().value()).value(), "residual.onnx", {});
    return model.ok() ? *model : nullptr;
}

engine::ExplainRequest question(const char* composite)
{
    engine::ExplainRequest request;
    request.inputs = {tensorOf({1, 3}, {1, 2, 1})};
    request.composite = composite;
    return request;
}

} // namespace

class OracleCheckTest : public QObject
{
    Q_OBJECT

private slots:
    void aRunEqualsTheOracle()
    {
        RETRO_MADE(model, residual());
        for (const char* composite : {"epsilon", "dynamic", "gradient", "gradient_x_input"}) {
            engine::ExplainRequest request = question(composite);
            request.record = true;
            request.keepValues = true;
            RETRO_MADE(result, engine::explain(*model, request));
            for (const auto& relevance : {result->relevance, engine::finalRelevance(*result->run)}) {
                RETRO_MADE(check, engine::checkAgainstOracle(*model, request, relevance));
                QVERIFY2(check->holds(), check->text().c_str());
                QVERIFY2(check->values >= 4, check->text().c_str());
                QCOMPARE(check->unknown, std::size_t{0});
            }
        }
    }

    void oneBitMore()
    {
        const auto model = residual();
        const engine::ExplainRequest request = question("epsilon");
        auto relevance = engine::explain(*model, request)->relevance;
        const auto x = model->graph()->findValue("x");
        Tensor& own = relevance[x->index()];
        own = tensorOf({1, 3}, {static_cast<float>(own.at(0)), std::nextafterf(static_cast<float>(own.at(1)), 9),
                                static_cast<float>(own.at(2))});
        RETRO_MADE(check, engine::checkAgainstOracle(*model, request, relevance));
        QVERIFY(!check->holds());
        QCOMPARE(check->equal + 1, check->values);
        QCOMPARE(check->where, std::string("x"));
        QVERIFY(check->largest > 0 && check->largest < 1e-6);
        QVERIFY(QString::fromStdString(check->text()).startsWith("differs from the oracle in 1 of"));
    }

    void whatIsNotKeptIsCounted()
    {
        const auto model = residual();
        const engine::ExplainRequest request = question("epsilon");
        auto relevance = engine::explain(*model, request)->relevance;
        relevance[model->graph()->findValue("x")->index()] = Tensor();
        const auto check = engine::checkAgainstOracle(*model, request, relevance);
        QVERIFY(check.ok() && check->holds());
        QCOMPARE(check->unknown, std::size_t{1});
        QVERIFY(!engine::checkAgainstOracle(*model, request, {}).ok()); // of another graph
        const auto none = engine::compareWithOracle(*model->graph(), {}, {});
        QVERIFY(!none.holds());
    }
};

QTEST_APPLESS_MAIN(OracleCheckTest)
#include "oraclechecktest.moc"
