// SPDX-License-Identifier: Apache-2.0
// Mul, Div, Add, Sub and BatchNormalization beside layers: what merges, what stays, and how it is said.
#include "tests/core/rewrite/graphs.h"

#include <QtTest>

#include <functional>

using namespace retro::rewrite::testing;

using retro::rewrite::RewriteOptions;
using retro::rewrite::Rewritten;

namespace
{

Rewritten mergedWith(const SharedGraph& graph, bool keepsDigits = true)
{
    RewriteOptions options = retro::rewrite::noRewrites();
    options.mergeBatchNorm = options.mergeBatchNormRight = true;
    options.keepDigits = keepsDigits;
    auto result = retro::rewrite::rewrite(graph, options);
    return result.ok() ? std::move(result).value() : Rewritten{};
}

const Shape kPicture{1, 3, 4, 4};

ValueId perChannel(Writer& writer, const std::string& name, std::int64_t channels, unsigned seed)
{
    return writer.constant(name, randomTensor({channels, 1, 1}, seed, 0.5, 2));
}

ValueId convOf(Writer& writer, ValueId x, const Shape& weight, Attributes attributes = {})
{
    return writer.node("Conv", "conv", {x, writer.constant("w", randomTensor(weight, 1))}, std::move(attributes));
}

Attributes padded() { return {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}}; }

struct Kept
{
    const char* name;
    std::function<void(Writer&)> write;
};

/// Graphs in which nothing may be merged.
std::vector<Kept> kept()
{
    return {
        {"another reader",
         [](Writer& w) {
             const ValueId conv = convOf(w, w.input("x", kPicture), {4, 3, 1, 1});
             const ValueId scaled = w.node("Mul", "mul", {conv, perChannel(w, "k", 4, 2)});
             w.output(w.node("Add", "sum", {scaled, conv}));
         }},
        {"the value between is an output",
         [](Writer& w) {
             const ValueId conv = convOf(w, w.input("x", kPicture), {4, 3, 1, 1});
             w.output(conv);
             w.output(w.node("Add", "add", {conv, perChannel(w, "k", 4, 2)}));
         }},
        {"a number for each place",
         [](Writer& w) {
             const ValueId conv = convOf(w, w.input("x", kPicture), {4, 3, 1, 1});
             w.output(w.node("Mul", "mul", {conv, w.constant("k", randomTensor({4, 4, 4}, 2))}));
         }},
        {"a number for each sample",
         [](Writer& w) {
             const ValueId conv = convOf(w, w.input("x", {4, 3, 4, 4}), {4, 3, 1, 1});
             w.output(w.node("Mul", "mul", {conv, w.constant("k", randomTensor({4, 1, 1, 1}, 2))}));
         }},
        {"the constant is larger than the value",
         [](Writer& w) {
             const ValueId conv = convOf(w, w.input("x", {1, 3, 1, 1}), {4, 3, 1, 1});
             w.output(w.node("Mul", "mul", {conv, w.constant("k", Tensor::full(DType::Float32, {4, 2, 2}, 3))}));
         }},
        {"the constant makes channels",
         [](Writer& w) {
             const ValueId grown = w.node("Mul", "mul", {w.input("x", {1, 1, 4, 4}), perChannel(w, "k", 3, 2)});
             w.output(convOf(w, grown, {4, 3, 1, 1}));
         }},
        {"the constant has an axis more",
         [](Writer& w) {
             const ValueId gemm =
                 w.node("Gemm", "gemm", {w.input("x", {2, 3}), w.constant("w", randomTensor({3, 4}, 1))});
             w.output(w.node("Mul", "mul", {gemm, w.constant("k", randomTensor({1, 1, 4}, 2))}));
         }},
        {"divided by the value",
         [](Writer& w) {
             const ValueId conv = convOf(w, w.input("x", kPicture), {4, 3, 1, 1});
             w.output(w.node("Div", "div", {perChannel(w, "k", 4, 2), conv}));
         }},
        {"divided by 0",
         [](Writer& w) {
             const ValueId conv = convOf(w, w.input("x", kPicture), {4, 3, 1, 1});
             w.output(w.node("Div", "div", {conv, w.constant("k", Tensor::zeros(DType::Float32, {4, 1, 1}))}));
         }},
        {"channels and places mixed",
         [](Writer& w) {
             const ValueId conv = convOf(w, w.input("x", kPicture), {4, 3, 1, 1});
             const ValueId flat = w.node("Flatten", "flat", {conv});
             w.output(w.node("Mul", "mul", {flat, w.constant("k", randomTensor({64}, 2))}));
         }},
        {"a MatMul and its bias, which fuse-linear joins",
         [](Writer& w) {
             const ValueId product =
                 w.node("MatMul", "mm", {w.input("x", {2, 3}), w.constant("w", randomTensor({3, 4}, 1))});
             w.output(w.node("Add", "add", {product, w.constant("b", randomTensor({4}, 2))}));
         }},
    };
}

} // namespace

class MergeScaleTest : public QObject
{
    Q_OBJECT

private slots:
    void stepsSayWhatWasMerged()
    {
        Writer writer;
        ValueId value = convOf(writer, writer.input("x", kPicture), {4, 3, 3, 3}, padded());
        value = writer.node("Sub", "sub", {value, perChannel(writer, "m", 4, 2)});
        value = writer.node("Div", "div", {value, perChannel(writer, "s", 4, 3)});
        writer.output(writer.node("Add", "add", {perChannel(writer, "t", 4, 4), value}));
        const SharedGraph graph = writer.finish();
        const Rewritten result = mergedWith(graph);
        QVERIFY(result.graph);
        QCOMPARE(nodeNames(*result.graph), std::string("conv"));
        QCOMPARE(result.steps.size(), std::size_t{1});
        QCOMPARE(result.steps[0].rewrite, std::string("merge scale and shift"));
        QCOMPARE(result.steps[0].name, std::string_view("merge-batchnorm"));
        QCOMPARE(result.steps[0].text, std::string("conv + sub + div + add → Conv conv"));
        QCOMPARE(result.steps[0].removed, (std::vector<std::string>{"conv", "sub", "div", "add"}));
        QCOMPARE(nodeNames(*result.findFused("conv")->members), std::string("conv, sub, div, add"));
        QCOMPARE(result.graph->value(result.graph->outputs()[0]).name, std::string("add_out"));
        QVERIFY(deviation(result.graph, graph, {randomTensor(kPicture, 9)}, Precision::Double) < 1e-12);
    }

    void otherReadersShapesAndConstantsPreventIt()
    {
        for (const Kept& one : kept()) {
            Writer writer;
            one.write(writer);
            const SharedGraph graph = writer.finish();
            QVERIFY2(graph, one.name);
            const Rewritten result = mergedWith(graph);
            QVERIFY2(result.graph == graph, one.name);
        }
    }

    /// A bias that is repeated for each token, and one that a Sum of two adds.
    void aRepeatedBiasIsOne()
    {
        std::vector<float> rows;
        for (int token = 0; token < 3; ++token) {
            rows.insert(rows.end(), {0.5F, -1, 2, 0.25F});
        }
        for (const char* op : {"Add", "Sum"}) {
            Writer writer;
            const ValueId product = writer.node(
                "MatMul", "fc", {writer.input("x", {2, 3, 5}), writer.constant("w", randomTensor({5, 4}, 1))});
            const ValueId bias = writer.constant("b", Tensor::of<float>({3, 4}, rows));
            writer.output(writer.node(op, "sum", {product, bias}));
            const SharedGraph graph = writer.finish();
            const Rewritten result = mergedWith(graph);
            QCOMPARE(nodeNames(*result.graph), std::string("fc"));
            QVERIFY(deviation(result.graph, graph, {randomTensor({2, 3, 5}, 9)}, Precision::Double) < 1e-12);
        }
    }

    void aSharedWeightIsCopied()
    {
        Writer writer;
        const ValueId x = writer.input("x", kPicture);
        const ValueId w = writer.constant("w", randomTensor({4, 3, 1, 1}, 1));
        const ValueId a =
            writer.node("Mul", "scale", {writer.node("Conv", "a", {x, w}), perChannel(writer, "k", 4, 2)});
        writer.output(writer.node("Add", "sum", {a, writer.node("Conv", "b", {x, w})}));
        const SharedGraph graph = writer.finish();
        const Rewritten result = mergedWith(graph);
        QCOMPARE(nodeNames(*result.graph), std::string("a, b, sum"));
        QVERIFY(result.graph->findValue("w") && result.graph->findValue("w.merged"));
        QVERIFY(deviation(result.graph, graph, {randomTensor(kPicture, 9)}, Precision::Double) < 1e-12);
    }

    // The moved nodes change sides; no value keeps its name and gets other numbers.
    void nodesThatMoveElementsStay()
    {
        Writer writer;
        const ValueId conv = convOf(writer, writer.input("x", kPicture), {4, 3, 1, 1});
        ValueId value = writer.node("Transpose", "last", {conv}, {{"perm", std::vector<std::int64_t>{0, 2, 3, 1}}});
        value = writer.node("Mul", "mul", {value, writer.constant("k", randomTensor({4}, 2))});
        value = writer.node("Add", "add", {value, writer.constant("t", randomTensor({4}, 3))});
        writer.output(value);
        const SharedGraph graph = writer.finish();
        const Rewritten result = mergedWith(graph);
        QCOMPARE(nodeNames(*result.graph), std::string("conv, last"));
        QVERIFY(!result.graph->findValue("conv_out") && !result.graph->findValue("last_out"));
        QVERIFY(deviation(result.graph, graph, {randomTensor(kPicture, 9)}, Precision::Double) < 1e-12);
        // What the fused node stands for gives what it gives.
        RETRO_MADE(fused, result.findFused("conv"));
        const auto inner = evaluate(fused->members, {randomTensor(kPicture, 9)}, Precision::Double);
        const auto whole = evaluate(graph, {randomTensor(kPicture, 9)}, Precision::Double);
        QCOMPARE(inner.size(), std::size_t{1});
        QVERIFY(deviation(inner[0].permuted(std::vector<std::int64_t>{0, 2, 3, 1}).contiguous(), whole[0]) < 1e-12);
    }

    // Rows of the weight behind a Flatten are places of channels, for every number of samples and any picture.
    void freeAxesStayFree()
    {
        using retro::graph::Dimension;
        retro::graph::GraphBuilder builder({}, 17);
        const ValueId x =
            builder.addInput("x", DType::Float32, std::vector<Dimension>{{{}, "N"}, {3, ""}, {2, ""}, {2, ""}});
        const auto add = [&](const char* op, const std::string& name, std::vector<ValueId> inputs) {
            return builder.addOp(op, name, std::move(inputs), name + "_out");
        };
        const auto constant = [&](const char* name, const Shape& shape, unsigned seed) {
            return builder.addConstant(name, randomTensor(shape, seed, 0.5, 2));
        };
        const ValueId relu = add("Relu", "relu", {x});
        const ValueId norm =
            add("BatchNormalization", "bn",
                {relu, constant("g", {3}, 1), constant("b", {3}, 2), constant("m", {3}, 3), constant("v", {3}, 4)});
        const ValueId flat = add("Flatten", "flat", {norm});
        builder.addOutput(add("Gemm", "gemm", {flat, constant("w", {12, 2}, 5)}));
        const auto graph = std::make_shared<const Graph>(std::move(builder).build().value());
        const Rewritten result = mergedWith(graph);
        QCOMPARE(nodeNames(*result.graph), std::string("relu, flat, gemm"));
        for (const std::int64_t samples : {1, 2, 5}) {
            QVERIFY(deviation(result.graph, graph, {randomTensor({samples, 3, 2, 2}, 9)}, Precision::Double) < 1e-12);
        }
    }

    // One number for all needs no shapes: those of an input of unknown rank are not known.
    void aScalarGoesThroughUnknownShapes()
    {
        retro::graph::GraphBuilder builder({}, 17);
        const ValueId x = builder.addInput("x", DType::Float32, std::nullopt);
        const auto add = [&](const char* op, const std::string& name, std::vector<ValueId> inputs) {
            return builder.addOp(op, name, std::move(inputs), name + "_out");
        };
        const ValueId product = add("MatMul", "mm", {x, builder.addConstant("w", randomTensor({4, 6}, 1))});
        const std::vector<std::int64_t> heads{0, 0, 2, 3};
        const ValueId split =
            add("Reshape", "split", {product, builder.addConstant("heads", Tensor::of<std::int64_t>({4}, heads))});
        const ValueId scaled = add("Mul", "scale", {split, builder.addConstant("k", Tensor::scalar(0.125F))});
        builder.addOutput(add("Mul", "row", {scaled, builder.addConstant("r", randomTensor({3}, 2))}));
        const auto graph = std::make_shared<const Graph>(std::move(builder).build().value());
        const Rewritten result = mergedWith(graph);
        QCOMPARE(nodeNames(*result.graph), std::string("mm, split, row"));
        QVERIFY(deviation(result.graph, graph, {randomTensor({2, 5, 4}, 9)}, Precision::Double) < 1e-12);
    }

    void aShiftBeforePaddingBecomesOneNode()
    {
        for (const char* op : {"Conv", "ConvTranspose"}) {
            Writer writer;
            ValueId value = writer.node("Sub", "mean", {writer.input("x", kPicture), perChannel(writer, "m", 3, 2)});
            value = writer.node("Mul", "scale", {value, perChannel(writer, "s", 3, 3)});
            writer.output(
                writer.node(op, "layer", {value, writer.constant("w", randomTensor({3, 3, 3, 3}, 1))}, padded()));
            const SharedGraph graph = writer.finish();
            const Rewritten result = mergedWith(graph);
            QCOMPARE(nodeNames(*result.graph), std::string("scale, layer"));
            QCOMPARE(result.graph->nodes()[0].op, std::string("BatchNormalization"));
            QCOMPARE(result.steps.size(), std::size_t{1});
            QVERIFY2(result.steps[0].text.find("zeros that pad it") != std::string::npos, result.steps[0].text.c_str());
            QCOMPARE(nodeNames(*result.findFused("scale")->members), std::string("mean, scale"));
            QVERIFY(deviation(result.graph, graph, {randomTensor(kPicture, 9)}, Precision::Double) < 1e-12);
            const Rewritten again = mergedWith(result.graph); // and stays so
            QVERIFY(again.graph == result.graph && again.steps.size() == 1 && again.steps[0].isNote);
        }
    }

    void aFactorAloneMergesBeforePadding()
    {
        Writer writer;
        const ValueId value = writer.node("Div", "div", {writer.input("x", kPicture), perChannel(writer, "s", 3, 3)});
        writer.output(convOf(writer, value, {4, 3, 3, 3}, padded()));
        const SharedGraph graph = writer.finish();
        const Rewritten result = mergedWith(graph);
        QCOMPARE(nodeNames(*result.graph), std::string("conv"));
        QCOMPARE(result.graph->nodes()[0].inputs.size(), std::size_t{2}); // and no bias
        QVERIFY(deviation(result.graph, graph, {randomTensor(kPicture, 9)}, Precision::Double) < 1e-12);
    }

    void numbersThatFloatCannotHoldStay()
    {
        for (const double factor : {1e30, 1e-30}) {
            Writer writer;
            const ValueId large = writer.constant("w", Tensor::full(DType::Float32, {4, 3, 1, 1}, factor));
            const ValueId conv = writer.node("Conv", "conv", {writer.input("x", kPicture), large});
            writer.output(
                writer.node("Mul", "mul", {conv, writer.constant("k", Tensor::full(DType::Float32, {}, factor))}));
            const SharedGraph graph = writer.finish();
            for (const bool keepsDigits : {false, true}) {
                const Rewritten result = mergedWith(graph, keepsDigits);
                QVERIFY(result.graph == graph && result.steps.size() == 1 && result.steps[0].isNote);
                RETRO_SAYS(result.steps[0].text, "range of float32");
            }
        }
    }

    void aProductByTheLeftTakesItsRows()
    {
        Writer writer;
        const ValueId w = writer.constant("w", randomTensor({4, 3}, 1));
        const ValueId x = writer.input("x", {2, 3, 5});
        ValueId value = writer.node("Mul", "in", {x, writer.constant("f", randomTensor({3, 1}, 2))});
        value = writer.node("MatMul", "mm", {w, value});
        value = writer.node("Add", "bias", {value, writer.constant("b", randomTensor({4, 1}, 3))});
        writer.output(writer.node("Sub", "out", {writer.constant("c", randomTensor({4, 1}, 4)), value}));
        const SharedGraph graph = writer.finish();
        const Rewritten result = mergedWith(graph);
        QCOMPARE(nodeNames(*result.graph), std::string("mm"));
        QCOMPARE(result.graph->nodes()[0].domain, std::string("retrograde"));
        QVERIFY(deviation(result.graph, graph, {randomTensor({2, 3, 5}, 9)}, Precision::Double) < 1e-12);
        QVERIFY(deviation(result.graph, graph, {randomTensor({2, 3, 5}, 9)}, Precision::Float) < 1e-5);
    }

    void aProductOfOurOwnMayHaveOneBiasForAll()
    {
        Writer writer;
        const ValueId w = writer.constant("w", randomTensor({3, 4}, 1));
        const ValueId b = writer.constant("b", randomTensor({}, 2));
        const ValueId layer = writer.nodeOf("retrograde", "MatMul", "mm", {writer.input("x", {2, 3}), w, b});
        writer.output(writer.node("Mul", "out", {layer, writer.constant("k", randomTensor({4}, 3))}));
        const SharedGraph graph = writer.finish();
        const Rewritten result = mergedWith(graph);
        QCOMPARE(nodeNames(*result.graph), std::string("mm"));
        QVERIFY(deviation(result.graph, graph, {randomTensor({2, 3}, 9)}, Precision::Double) < 1e-12);
    }
};

QTEST_APPLESS_MAIN(MergeScaleTest)
#include "mergescaletest.moc"
