// SPDX-License-Identifier: Apache-2.0
// `verify` on quantised models: nothing is violated, and what cannot be asked of a rounding says so.
#include "core/engine/verify/verify.h"
#include "tests/core/engine/loopmodel.h"
#include "tests/core/engine/smalltape.h"

#include <QtTest>

using namespace retro;
using namespace retro::enginetest;
using rewrite::testing::randomTensor;
using rewrite::testing::SharedGraph;
using rewrite::testing::ValueId;
using tensor::DType;
using tensor::Tensor;

namespace
{

Tensor levels(const tensor::Shape& shape, unsigned seed)
{
    return randomTensor(shape, seed, -127, 127).to(DType::Int8);
}

/// Conv and Gemm with weights of int8, each behind QuantizeLinear and DequantizeLinear.
SharedGraph pairsGraph()
{
    rewrite::testing::Writer w;
    const auto number = [&](const std::string& name, double value) {
        return w.constant(name, Tensor::scalar<double>(value).to(DType::Float32));
    };
    const ValueId zero = w.constant("zero", Tensor::zeros(DType::Int8, {}));
    const auto rounded = [&](const std::string& name, ValueId x, double scale) {
        const ValueId s = number(name + "/scale", scale);
        return w.node("DequantizeLinear", name + "/back", {w.node("QuantizeLinear", name, {x, s, zero}), s, zero});
    };
    const auto weight = [&](const std::string& name, const tensor::Shape& shape, unsigned seed) {
        return w.node("DequantizeLinear", name + "/back",
                      {w.constant(name, levels(shape, seed)), number(name + "/scale", 0.01), zero});
    };
    const ValueId x = rounded("x8", w.input("x", {1, 2, 5, 5}), 0.01);
    const ValueId c = w.node("Conv", "conv", {x, weight("w1", {3, 2, 3, 3}, 1)});
    const ValueId r = rounded("c8", w.node("Relu", "relu", {c}), 0.1);
    const ValueId flat = w.node("Flatten", "flat", {r});
    w.output(w.node("Gemm", "fc", {flat, weight("w2", {4, 27}, 2)}, {{"transB", std::int64_t{1}}}));
    return w.finish();
}

/// Integer layers of the standard: the graph before runs, too.
SharedGraph integerGraph()
{
    rewrite::testing::Writer w;
    const auto number = [&](const std::string& name, double value) {
        return w.constant(name, Tensor::scalar<double>(value).to(DType::Float32));
    };
    const ValueId zero = w.constant("zero", Tensor::zeros(DType::Int8, {}));
    const ValueId xs = number("xs", 0.01);
    const ValueId ys = number("ys", 0.1);
    const ValueId ws = number("ws", 0.01);
    const ValueId q = w.node("QuantizeLinear", "x8", {w.input("x", {1, 2, 5, 5}), xs, zero});
    const ValueId c =
        w.node("QLinearConv", "conv", {q, xs, zero, w.constant("w1", levels({3, 2, 3, 3}, 1)), ws, zero, ys, zero});
    const ValueId flat = w.node("Flatten", "flat", {c});
    const ValueId m =
        w.node("QLinearMatMul", "mm", {flat, ys, zero, w.constant("w2", levels({27, 4}, 2)), ws, zero, ys, zero});
    w.output(w.node("DequantizeLinear", "y", {m, ys, zero}));
    return w.finish();
}

} // namespace

class QuantisedModelTest : public QObject
{
    Q_OBJECT

private slots:
    void verifyHolds_data()
    {
        QTest::addColumn<bool>("isInteger");
        QTest::newRow("pairs") << false;
        QTest::newRow("integer layers") << true;
    }

    void verifyHolds()
    {
        QFETCH(bool, isInteger);
        engine::LoadedModel model;
        model.rewritten = rewrite::rewrite(isInteger ? integerGraph() : pairsGraph(), {}).value();
        engine::VerifyRequest request;
        request.inputs = {randomTensor({1, 2, 5, 5}, 3)};
        const auto result = engine::verify(model, request);
        QVERIFY2(result.ok(), result.ok() ? "" : result.error().text().c_str());
        for (const engine::PropertyResult& one : result->properties) {
            QVERIFY2(one.state != engine::PropertyState::Violated, (one.id + ": " + one.detail).c_str());
        }
        const engine::PropertyResult* rewritten = find(result->properties, "dequantise");
        QVERIFY(rewritten != nullptr && rewritten->state == engine::PropertyState::Held);
        const engine::PropertyResult* slope = find(result->properties, "gradient");
        QVERIFY(slope != nullptr && slope->state == engine::PropertyState::NotApplicable);
        QVERIFY2(slope->detail.find("rounding") != std::string::npos, slope->detail.c_str());
        for (const char* id : {"P1", "P5", "P7", "promise", "compiled", "conservation"}) {
            const engine::PropertyResult* one = find(result->properties, id);
            QVERIFY2(one != nullptr && one->state == engine::PropertyState::Held, id);
        }
    }
};

QTEST_GUILESS_MAIN(QuantisedModelTest)
#include "quantisedmodeltest.moc"
