// SPDX-License-Identifier: Apache-2.0
// A loaded model holds computed constants in float32; a run in double has all their digits nevertheless.
#include "core/engine/explain/runforward.h"
#include "core/formats/onnx.h"
#include "tests/core/rewrite/graphs.h"

#include <QtTest>

using namespace retro;
using rewrite::testing::deviation;
using rewrite::testing::evaluate;
using rewrite::testing::Precision;
using rewrite::testing::randomTensor;
using rewrite::testing::SharedGraph;
using rewrite::testing::Writer;
using tensor::DType;
using tensor::Tensor;

namespace
{

/// Convolution with a BatchNormalization that merges into it, and a factor that is folded.
SharedGraph normalised()
{
    Writer writer;
    const auto x = writer.input("x", {1, 3, 6, 6});
    const auto z = writer.node("Conv", "conv", {x, writer.constant("w", randomTensor({8, 3, 3, 3}, 1))});
    const auto factor = writer.node(
        "Mul", "factor",
        {writer.constant("a", randomTensor({8, 1, 1}, 2)), writer.constant("b", randomTensor({8, 1, 1}, 3))});
    writer.output(writer.node("Mul", "scale", {writer.batchNorm("bn", z, 8), factor}));
    return writer.finish();
}

} // namespace

class DigitsTest : public QObject
{
    Q_OBJECT

private slots:
    void doubleRunsHaveAllDigits()
    {
        const SharedGraph graph = normalised();
        QVERIFY(graph);
        RETRO_MADE(bytes, formats::toOnnx(*graph));
        RETRO_MADE(model, engine::parseModel(*bytes, "normalised.onnx", {}));
        QCOMPARE((*model)->graph()->nodeCount(), std::size_t{1}); // merged and folded
        for (const graph::Value& value : (*model)->graph()->values()) {
            QVERIFY2(!value.constant.isValid() || value.constant.dtype() == DType::Float32, value.name.c_str());
        }
        const std::vector<Tensor> inputs{randomTensor({1, 3, 6, 6}, 4)};
        for (const Precision precision : {Precision::Double, Precision::Float}) {
            RETRO_MADE(run, engine::runForward(**model, inputs, precision));
            const std::vector<Tensor> plain = evaluate(graph, inputs, precision);
            QCOMPARE(plain.size(), std::size_t{1});
            QVERIFY(deviation(run->outputs[0], plain[0]) < (precision == Precision::Double ? 1e-12 : 1e-5));
        }
    }
};

QTEST_GUILESS_MAIN(DigitsTest)
#include "digitstest.moc"
