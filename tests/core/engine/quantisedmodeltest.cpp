// SPDX-License-Identifier: Apache-2.0
// `verify` on quantised models: nothing is violated, and what cannot be asked of a rounding says so.
#include "core/engine/explain/explain.h"
#include "core/engine/explain/runforward.h"
#include "core/engine/verify/verify.h"
#include "tests/core/engine/loopmodel.h"
#include "tests/core/engine/smalltape.h"

#include <QtTest>

#include <array>
#include <cmath>

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

/// Convolutions of levels with `between` them, which reads levels as well.
template <class Between>
SharedGraph levelsBetween(const Between& between)
{
    rewrite::testing::Writer w;
    const auto number = [&](const std::string& name, double value) {
        return w.constant(name, Tensor::scalar<double>(value).to(DType::Float32));
    };
    const ValueId zero = w.constant("zero", Tensor::zeros(DType::Int8, {}));
    const ValueId low = w.constant("low", Tensor::scalar<double>(-20).to(DType::Int8));
    const ValueId xs = number("xs", 0.01);
    const ValueId hs = number("hs", 0.05);
    const ValueId ys = number("ys", 0.2);
    const ValueId ws = number("ws", 0.01);
    const ValueId q = w.node("QuantizeLinear", "x8", {w.input("x", {1, 2, 5, 5}), xs, zero});
    const ValueId c =
        w.node("QLinearConv", "conv", {q, xs, zero, w.constant("w1", levels({3, 2, 3, 3}, 1)), ws, zero, hs, low});
    const ValueId b = between(w, c);
    const ValueId d =
        w.node("QLinearConv", "conv2", {b, hs, low, w.constant("w2", levels({2, 3, 3, 3}, 2)), ws, zero, ys, zero});
    w.output(w.node("DequantizeLinear", "y", {d, ys, zero}));
    return w.finish();
}

ValueId resizedTwice(rewrite::testing::Writer& w, ValueId levels)
{
    const std::array<float, 4> scales{1, 1, 2, 2};
    return w.node("Resize", "resize", {levels, ValueId(), w.constant("scales", Tensor::of<float>({4}, scales))},
                  {{"mode", std::string("linear")}});
}

ValueId paddedByLevelZero(rewrite::testing::Writer& w, ValueId levels)
{
    const std::array<std::int64_t, 8> pads{0, 0, 1, 1, 0, 0, 1, 1};
    return w.node("Pad", "pad", {levels, w.constant("pads", Tensor::of<std::int64_t>({8}, pads))});
}

engine::ExplainResult explained(const SharedGraph& graph, const rewrite::RewriteOptions& options)
{
    engine::LoadedModel model;
    model.rewritten = rewrite::rewrite(graph, options).value();
    engine::ExplainRequest request;
    request.inputs = {randomTensor({1, 2, 5, 5}, 3)};
    request.composite = "epsilon";
    return tests::made(engine::explain(model, request));
}

} // namespace

class QuantisedModelTest : public QObject
{
    Q_OBJECT

private slots:
    /// The levels are those of the graph before, and relevance goes through them.
    void nodesThatMixLevelsHandRelevanceOn()
    {
        for (const SharedGraph& graph : {levelsBetween(resizedTwice), levelsBetween(paddedByLevelZero)}) {
            const engine::ExplainResult result = explained(graph, {});
            engine::LoadedModel plain;
            plain.rewritten = rewrite::rewrite(graph, rewrite::noRewrites()).value();
            const auto levels =
                engine::runForward(plain, {randomTensor({1, 2, 5, 5}, 3)}, execute::Precision::Float).value();
            for (std::int64_t i = 0; i < levels.outputs[0].size(); ++i) {
                QCOMPARE(result.outputs[0].at(i), levels.outputs[0].at(i));
            }
            QVERIFY(std::abs(result.relevanceInputs) > 0.1 * std::abs(result.relevanceStart));
            const auto causes = engine::causeTotals(result.ledger);
            QVERIFY(std::abs(causes.at("unexplained")) < 1e-4 * std::abs(result.relevanceStart));
        }
    }

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
        RETRO_MADE(result, engine::verify(model, request));
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
