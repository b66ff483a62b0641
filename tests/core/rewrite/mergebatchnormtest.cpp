// SPDX-License-Identifier: Apache-2.0
#include "core/graph/contentdigest.h"
#include "tests/core/rewrite/graphs.h"

#include <QtTest>

#include <functional>

using namespace retro::rewrite::testing;

using retro::rewrite::Rewritten;

namespace
{

Rewritten merged(const SharedGraph& graph)
{
    auto result = retro::rewrite::rewrite(graph, only(&retro::rewrite::RewriteOptions::mergeBatchNorm));
    return result.ok() ? std::move(result).value() : Rewritten{};
}

Attributes group(std::int64_t count) { return {{"group", count}}; }

struct Case
{
    const char* name;
    const char* op;
    Shape x;
    Shape weight;
    std::optional<Shape> bias;
    std::int64_t channels;
    Attributes attributes;
};

SharedGraph graphOf(const Case& c)
{
    Writer writer;
    std::vector<ValueId> inputs{writer.input("x", c.x), writer.constant("layer.weight", randomTensor(c.weight, 1))};
    if (c.bias) {
        inputs.push_back(writer.constant("layer.bias", randomTensor(*c.bias, 2)));
    }
    const ValueId layer = writer.node(c.op, "layer", inputs, c.attributes);
    writer.output(writer.node("Relu", "relu", {writer.batchNorm("bn", layer, c.channels, {{"epsilon", 1e-3}})}));
    return writer.finish();
}

std::vector<Case> mergeable()
{
    return {
        {"Conv 2d", "Conv", {2, 3, 5, 5}, {4, 3, 3, 3}, Shape{4}, 4, {}},
        {"Conv without bias", "Conv", {2, 3, 5, 5}, {4, 3, 3, 3}, {}, 4, {}},
        {"Conv 1d", "Conv", {1, 3, 7}, {5, 3, 2}, Shape{5}, 5, {}},
        {"Conv 3d", "Conv", {1, 2, 4, 4, 4}, {3, 2, 2, 2, 2}, Shape{3}, 3, {}},
        {"Conv groups", "Conv", {1, 4, 5, 5}, {6, 2, 3, 3}, Shape{6}, 6, group(2)},
        {"Conv depthwise", "Conv", {1, 4, 5, 5}, {4, 1, 3, 3}, {}, 4, group(4)},
        {"ConvTranspose", "ConvTranspose", {1, 3, 4, 4}, {3, 5, 2, 2}, Shape{5}, 5, {}},
        {"ConvTranspose groups", "ConvTranspose", {1, 4, 4, 4}, {4, 3, 2, 2}, Shape{6}, 6, group(2)},
        {"ConvTranspose without bias", "ConvTranspose", {1, 4, 4, 4}, {4, 3, 2, 2}, {}, 6, group(2)},
        {"Gemm", "Gemm", {3, 4}, {4, 5}, Shape{5}, 5, {}},
        {"Gemm transposed", "Gemm", {3, 4}, {5, 4}, Shape{5}, 5, {{"transB", std::int64_t{1}}}},
        {"Gemm without C", "Gemm", {3, 4}, {4, 5}, {}, 5, {{"alpha", 0.5}}},
        {"Gemm scaled", "Gemm", {3, 4}, {4, 5}, Shape{1, 5}, 5, {{"alpha", 0.5}, {"beta", 2.0}}},
        {"Gemm scalar C", "Gemm", {3, 4}, {4, 5}, Shape{}, 5, {{"beta", 0.25}}},
        {"Gemm without beta", "Gemm", {3, 4}, {4, 5}, Shape{5}, 5, {{"beta", 0.0}}},
    };
}

/// A Conv and a BatchNormalization with something in the way.
struct Obstacle
{
    const char* name;
    std::function<SharedGraph()> make;
};

ValueId conv(Writer& writer, ValueId x, const std::string& name = "conv")
{
    return writer.node("Conv", name, {x, writer.constant(name + ".weight", randomTensor({4, 3, 1, 1}, 1))});
}

SharedGraph normWith(Attributes attributes, std::int64_t opset)
{
    Writer writer;
    writer.output(
        writer.batchNorm("bn", conv(writer, writer.input("x", {1, 3, 2, 2})), 4, std::move(attributes), opset));
    return writer.finish();
}

SharedGraph normOf(const std::function<ValueId(Writer&, ValueId)>& layer, const Shape& x, std::int64_t channels)
{
    Writer writer;
    writer.output(writer.batchNorm("bn", layer(writer, writer.input("x", x)), channels));
    return writer.finish();
}

std::vector<Obstacle> obstacles()
{
    return {
        {"another reader",
         [] {
             Writer writer;
             const ValueId between = conv(writer, writer.input("x", {1, 3, 2, 2}));
             const ValueId norm = writer.batchNorm("bn", between, 4);
             writer.output(writer.node("Add", "add", {norm, between}));
             return writer.finish();
         }},
        {"the value between is an output",
         [] {
             Writer writer;
             const ValueId between = conv(writer, writer.input("x", {1, 3, 2, 2}));
             writer.output(between);
             writer.output(writer.batchNorm("bn", between, 4));
             return writer.finish();
         }},
        {"a parameter is not constant",
         [] {
             Writer writer;
             const ValueId between = conv(writer, writer.input("x", {1, 3, 2, 2}));
             const ValueId scale = writer.input("scale", {4});
             const ValueId b = writer.constant("b", randomTensor({4}, 2, 0.5, 1));
             writer.output(writer.node("BatchNormalization", "bn", {between, scale, b, b, b}));
             return writer.finish();
         }},
        {"the weight is not constant",
         [] {
             Writer writer;
             const ValueId x = writer.input("x", {1, 3, 2, 2});
             const ValueId layer = writer.node("Conv", "conv", {x, writer.input("w", {4, 3, 1, 1})});
             writer.output(writer.batchNorm("bn", layer, 4));
             return writer.finish();
         }},
        {"the bias is not constant",
         [] {
             Writer writer;
             const ValueId x = writer.input("x", {1, 3, 2, 2});
             const ValueId w = writer.constant("w", randomTensor({4, 3, 1, 1}, 1));
             writer.output(writer.batchNorm("bn", writer.node("Conv", "conv", {x, w, writer.input("b", {4})}), 4));
             return writer.finish();
         }},
        {"training",
         [] {
             return normWith({{"training_mode", std::int64_t{1}}}, 17);
         }},
        {"old training", [] { return normWith({}, 6); }},
        {"per element",
         [] {
             return normWith({{"spatial", std::int64_t{0}}}, 8);
         }},
        {"negative variance",
         [] {
             return normWith({{"epsilon", -10.0}}, 17);
         }},
        {"on the input",
         [] {
             return normOf([](Writer&, ValueId x) { return x; }, {1, 3, 2, 2}, 3);
         }},
        {"after a Relu",
         [] {
             return normOf([](Writer& w, ValueId x) { return w.node("Relu", "relu", {x}); }, {1, 3, 2, 2}, 3);
         }},
        {"Gemm with a matrix C",
         [] {
             return normOf(
                 [](Writer& w, ValueId x) {
                     const ValueId b = w.constant("w", randomTensor({3, 4}, 1));
                     return w.node("Gemm", "gemm", {x, b, w.constant("c", randomTensor({2, 4}, 2))});
                 },
                 {2, 3}, 4);
         }},
        {"other number of channels",
         [] {
             return normOf([](Writer& w, ValueId x) { return conv(w, x); }, {1, 3, 2, 2}, 3);
         }},
    };
}

} // namespace

class MergeBatchNormTest : public QObject
{
    Q_OBJECT

private slots:
    void resultsStayTheSame()
    {
        for (const Case& c : mergeable()) {
            const SharedGraph graph = graphOf(c);
            QVERIFY2(graph, c.name);
            const std::string untouched = contentDigest(*graph);
            const Rewritten result = merged(graph);
            QVERIFY2(result.graph, c.name);
            QVERIFY2(nodeNames(*result.graph) == "layer, relu", c.name);
            QVERIFY2(result.graph->nodes()[0].outputs[0] == *result.graph->findValue("bn_out"), c.name);
            QVERIFY2(!result.graph->findValue("layer_out"), c.name);
            QVERIFY2(!result.graph->findValue("bn.weight"), c.name);
            const std::vector<Tensor> inputs{randomTensor(c.x, 9)};
            const double wide = deviation(result.graph, graph, inputs, Precision::Double);
            QVERIFY2(wide < 1e-12, qPrintable(QString("%1: %2").arg(c.name).arg(wide)));
            const double narrow = deviation(result.graph, graph, inputs, Precision::Float);
            QVERIFY2(narrow < 1e-5, qPrintable(QString("%1: %2").arg(c.name).arg(narrow)));
            QVERIFY2(contentDigest(*graph) == untouched && result.before == graph, c.name);
        }
    }

    void digitsMayBeDropped()
    {
        for (const Case& c : mergeable()) {
            const SharedGraph graph = graphOf(c);
            auto options = only(&retro::rewrite::RewriteOptions::mergeBatchNorm);
            options.keepDigits = false;
            const auto result = retro::rewrite::rewrite(graph, options);
            QVERIFY2(graph && result.ok(), c.name);
            for (const auto& value : result->graph->values()) {
                QVERIFY2(value.kind != retro::graph::ValueKind::Constant || value.constant.dtype() == DType::Float32,
                         c.name);
            }
            QVERIFY2(deviation(result->graph, graph, {randomTensor(c.x, 9)}, Precision::Float) < 1e-5, c.name);
        }
    }

    void aLayerAfterItTakesItIn()
    {
        struct Right
        {
            const char* name;
            const char* op;
            Shape x;
            Shape weight;
            std::optional<Shape> bias;
            Attributes attributes;
        };
        const std::vector<Right> cases{
            {"Conv", "Conv", {2, 3, 5, 5}, {4, 3, 3, 3}, Shape{4}, {}},
            {"Conv without bias", "Conv", {2, 3, 5, 5}, {4, 3, 3, 3}, {}, {}},
            {"Conv groups", "Conv", {1, 4, 5, 5}, {6, 2, 3, 3}, Shape{6}, group(2)},
            {"Conv 1d", "Conv", {1, 3, 7}, {5, 3, 2}, Shape{5}, {}},
            {"Gemm", "Gemm", {3, 4}, {4, 5}, Shape{5}, {{"alpha", 0.5}, {"beta", 2.0}}},
            {"Gemm transposed", "Gemm", {3, 4}, {5, 4}, Shape{1, 5}, {{"transB", std::int64_t{1}}}},
            {"Gemm scalar C", "Gemm", {3, 4}, {4, 5}, Shape{}, {{"beta", 0.25}}},
        };
        for (const Right& c : cases) {
            Writer writer;
            const ValueId norm = writer.batchNorm("bn", writer.input("x", c.x), c.x[1]);
            std::vector<ValueId> inputs{norm, writer.constant("w", randomTensor(c.weight, 1))};
            if (c.bias) {
                inputs.push_back(writer.constant("b", randomTensor(*c.bias, 2)));
            }
            writer.output(writer.node(c.op, "layer", inputs, c.attributes));
            const SharedGraph graph = writer.finish();
            QVERIFY2(graph, c.name);
            const auto result =
                retro::rewrite::rewrite(graph, only(&retro::rewrite::RewriteOptions::mergeBatchNormRight));
            QVERIFY2(result.ok() && nodeNames(*result->graph) == "layer", c.name);
            QVERIFY2(result->findFused("layer") && nodeNames(*result->findFused("layer")->members) == "bn, layer",
                     c.name);
            const double wide = deviation(result->graph, graph, {randomTensor(c.x, 9)}, Precision::Double);
            QVERIFY2(wide < 1e-12, qPrintable(QString("%1: %2").arg(c.name).arg(wide)));
        }
    }

    void aPaddedLayerAfterItIsLeftAndNamed()
    {
        Writer writer;
        const ValueId norm = writer.batchNorm("bn", writer.input("x", {1, 3, 5, 5}), 3);
        writer.output(writer.node("Conv", "layer", {norm, writer.constant("w", randomTensor({4, 3, 3, 3}, 1))},
                                  {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}}));
        const SharedGraph graph = writer.finish();
        RETRO_MADE(result, retro::rewrite::rewrite(graph, only(&retro::rewrite::RewriteOptions::mergeBatchNormRight)));
        QCOMPARE(result->graph, graph);
        QCOMPARE(result->steps.size(), std::size_t{1});
        QVERIFY(result->steps[0].isNote && result->steps[0].text.find("layer") != std::string::npos);
    }

    void stepsSayWhatHappened()
    {
        const Rewritten result = merged(graphOf(mergeable().front()));
        QCOMPARE(result.steps.size(), std::size_t{1});
        QCOMPARE(result.steps[0].rewrite, std::string("merge BatchNorm"));
        QCOMPARE(result.steps[0].text, std::string("layer + bn → Conv layer"));
        QCOMPARE(result.steps[0].removed, (std::vector<std::string>{"layer", "bn"}));
        QCOMPARE(result.steps[0].added, (std::vector<std::string>{"layer"}));
    }

    void mergedWeightsAreWideButDeclaredAsBefore()
    {
        const Rewritten result = merged(graphOf(mergeable().front()));
        const auto& weight = result.graph->value(result.graph->findValue("layer.weight.merged").value());
        QCOMPARE(weight.dtype, DType::Float32);
        QCOMPARE(weight.constant.dtype(), DType::Float64);
        QVERIFY(result.graph->findValue("layer.bias.merged").has_value());
    }

    void aMergedLayerKeepsItsMembers()
    {
        const SharedGraph graph = graphOf(mergeable().front());
        const Rewritten result = merged(graph);
        QCOMPARE(result.fused.size(), std::size_t{1});
        RETRO_MADE(fused, result.findFused("layer"));
        QCOMPARE(nodeNames(*fused->members), std::string("layer, bn"));
        const std::vector<Tensor> inputs{randomTensor(mergeable().front().x, 9)};
        const auto inner = evaluate(fused->members, inputs, Precision::Double);
        QCOMPARE(inner.size(), std::size_t{1});
        QVERIFY(fused->members->value(fused->members->outputs()[0]).name == "bn_out");
        QVERIFY(!result.findFused("relu"));
    }

    void obstaclesPreventIt()
    {
        for (const Obstacle& obstacle : obstacles()) {
            const SharedGraph graph = obstacle.make();
            QVERIFY2(graph, obstacle.name);
            const Rewritten result = merged(graph);
            QVERIFY2(result.graph == graph && result.steps.empty(), obstacle.name);
        }
    }

    void chainsOfNormalisationsMergeAtOnce()
    {
        Writer writer;
        const ValueId x = writer.input("x", {1, 3, 2, 2});
        writer.output(writer.batchNorm("second", writer.batchNorm("first", conv(writer, x), 4), 4));
        const SharedGraph graph = writer.finish();
        const Rewritten result = merged(graph);
        QVERIFY(result.graph);
        QCOMPARE(nodeNames(*result.graph), std::string("conv"));
        QCOMPARE(result.steps.size(), std::size_t{1});
        QCOMPARE(result.steps[0].text, std::string("conv + first + second → Conv conv"));
        QVERIFY(deviation(result.graph, graph, {randomTensor({1, 3, 2, 2}, 5)}, Precision::Double) < 1e-12);
    }

    void sharedWeightsAreCopied()
    {
        Writer writer;
        const ValueId x = writer.input("x", {1, 3, 2, 2});
        const ValueId w = writer.constant("w", randomTensor({4, 3, 1, 1}, 1));
        const ValueId a = writer.batchNorm("bn_a", writer.node("Conv", "a", {x, w}), 4, {{"epsilon", 0.5}});
        const ValueId b = writer.batchNorm("bn_b", writer.node("Conv", "b", {x, w}), 4);
        const ValueId c = writer.node("Conv", "c", {x, w});
        writer.output(writer.node("Sum", "sum", {a, b, c}));
        const SharedGraph graph = writer.finish();
        const Rewritten result = merged(graph);
        QVERIFY(result.graph);
        QCOMPARE(nodeNames(*result.graph), std::string("a, b, c, sum"));
        for (const char* name : {"w", "w.merged", "w.merged.2"}) {
            QVERIFY2(result.graph->findValue(name).has_value(), name);
        }
        QVERIFY(deviation(result.graph, graph, {randomTensor({1, 3, 2, 2}, 5)}, Precision::Double) < 1e-12);
    }

    void switchedOffItDoesNothing()
    {
        const SharedGraph graph = graphOf(mergeable().front());
        RETRO_MADE(result, retro::rewrite::rewrite(graph, only(&retro::rewrite::RewriteOptions::foldConstants)));
        QCOMPARE(result->graph, graph);
    }

    void twiceIsOnce()
    {
        const Rewritten once = merged(graphOf(mergeable().front()));
        const Rewritten twice = merged(once.graph);
        QCOMPARE(twice.graph, once.graph);
        QVERIFY(twice.steps.empty());
    }
};

QTEST_APPLESS_MAIN(MergeBatchNormTest)
#include "mergebatchnormtest.moc"
