// SPDX-License-Identifier: Apache-2.0
#include "tests/core/rewrite/graphs.h"

#include "core/ops/structure.h"

#include <QtTest>

#include <functional>

using namespace retro::rewrite::testing;

using retro::rewrite::RewriteOptions;
using retro::rewrite::Rewritten;

namespace
{

Rewritten rewritten(const SharedGraph& graph, const RewriteOptions& options)
{
    auto result = retro::rewrite::rewrite(graph, options);
    return result.ok() ? std::move(result).value() : Rewritten{};
}

Rewritten fused(const SharedGraph& graph) { return rewritten(graph, only(&RewriteOptions::fuseLinear)); }
Rewritten withoutIdentities(const SharedGraph& graph)
{
    return rewritten(graph, only(&RewriteOptions::removeIdentities));
}

struct Case
{
    const char* name;
    Shape x;
    Shape weight;
    Shape bias;
    bool isBiasFirst;
    bool isFused;
};

SharedGraph graphOf(const Case& c)
{
    Writer writer;
    const ValueId x = writer.input("x", c.x);
    const ValueId product = writer.node("MatMul", "fc", {x, writer.constant("w", randomTensor(c.weight, 1))});
    const ValueId bias = writer.constant("b", randomTensor(c.bias, 2));
    const std::vector<ValueId> sum = c.isBiasFirst ? std::vector{bias, product} : std::vector{product, bias};
    writer.output(writer.node("Relu", "relu", {writer.node("Add", "fc_bias", sum)}));
    return writer.finish();
}

std::vector<Case> cases()
{
    return {
        {"rows", {2, 3}, {3, 4}, {4}, false, true},
        {"bias first", {2, 3}, {3, 4}, {4}, true, true},
        {"batch of rows", {2, 5, 3}, {3, 4}, {4}, false, true},
        {"batch of batches", {2, 2, 5, 3}, {3, 4}, {4}, true, true},
        {"bias as a row", {2, 3}, {3, 4}, {1, 4}, false, true},
        {"bias with more axes than the product", {2, 3}, {3, 4}, {1, 1, 4}, false, true},
        {"one number", {2, 3}, {3, 4}, {}, false, true},
        {"one number in a vector", {2, 5, 3}, {3, 4}, {1}, true, true},
        {"a vector", {3}, {3, 4}, {4}, false, true},
        {"batched weights", {2, 5, 3}, {2, 3, 4}, {4}, false, true},
        {"one column", {2, 3}, {3, 1}, {1}, false, true},
        {"a column that broadcasts to more", {2, 3}, {3, 1}, {4}, false, false},
        {"a bias per row", {2, 3}, {3, 4}, {2, 1}, false, false},
        {"a bias per element", {2, 3}, {3, 4}, {2, 4}, false, false},
    };
}

/// A product and an Add that must stay two nodes.
struct Obstacle
{
    const char* name;
    std::function<void(Writer&, ValueId x, ValueId weight, ValueId bias)> write;
};

std::vector<Obstacle> obstacles()
{
    return {
        {"another reader",
         [](Writer& w, ValueId x, ValueId weight, ValueId bias) {
             const ValueId product = w.node("MatMul", "fc", {x, weight});
             w.output(w.node("Add", "sum", {w.node("Add", "fc_bias", {product, bias}), product}));
         }},
        {"the product is an output",
         [](Writer& w, ValueId x, ValueId weight, ValueId bias) {
             const ValueId product = w.node("MatMul", "fc", {x, weight});
             w.output(product);
             w.output(w.node("Add", "fc_bias", {product, bias}));
         }},
        {"the weight is computed",
         [](Writer& w, ValueId x, ValueId, ValueId bias) {
             const ValueId other = w.node("Transpose", "turn", {x}, {{"perm", std::vector<std::int64_t>{1, 0}}});
             w.output(w.node("Add", "fc_bias", {w.node("MatMul", "fc", {x, other}), bias}));
         }},
        {"the bias is computed",
         [](Writer& w, ValueId x, ValueId weight, ValueId) {
             const ValueId product = w.node("MatMul", "fc", {x, weight});
             w.output(w.node("Add", "fc_bias", {product, w.node("Relu", "relu", {x})}));
         }},
        {"the weight stands on the left",
         [](Writer& w, ValueId x, ValueId weight, ValueId bias) {
             w.output(w.node("Add", "fc_bias", {w.node("MatMul", "fc", {weight, x}), bias}));
         }},
    };
}

} // namespace

class FuseLinearTest : public QObject
{
    Q_OBJECT

private slots:
    void resultsStayTheSame()
    {
        for (const Case& c : cases()) {
            const SharedGraph graph = graphOf(c);
            QVERIFY2(graph, c.name);
            const Rewritten result = fused(graph);
            QVERIFY2(result.graph, c.name);
            QVERIFY2(nodeNames(*result.graph) == (c.isFused ? "fc, relu" : "fc, fc_bias, relu"), c.name);
            QVERIFY2(result.graph->findValue("fc_bias_out").has_value(), c.name);
            const std::vector<Tensor> inputs{randomTensor(c.x, 9)};
            const double wide = deviation(result.graph, graph, inputs, Precision::Double);
            QVERIFY2(wide < 1e-12, qPrintable(QString("%1: %2").arg(c.name).arg(wide)));
            const double narrow = deviation(result.graph, graph, inputs, Precision::Float);
            QVERIFY2(narrow < 1e-5, qPrintable(QString("%1: %2").arg(c.name).arg(narrow)));
        }
    }

    void theLayerIsOneLinearMapWithABias()
    {
        const Rewritten result = fused(graphOf(cases()[2]));
        const std::vector<retro::ops::TensorType> types{{DType::Float32, {2, 5, 3}}};
        RETRO_MADE(model, retro::execute::BoundModel::bind(result.graph, types, Precision::Double));
        const auto& structure = (*model)->op(retro::graph::NodeId(std::size_t{0})).structure();
        QCOMPARE(int(structure.kind()), int(retro::ops::StructureKind::LinearMap));
        QVERIFY(static_cast<const retro::ops::LinearMap&>(structure).hasBias());
    }

    void stepsAndMembersSayWhatHappened()
    {
        const SharedGraph graph = graphOf(cases().front());
        const Rewritten result = fused(graph);
        QCOMPARE(result.steps.size(), std::size_t{1});
        QCOMPARE(result.steps[0].rewrite, std::string("fuse linear"));
        QCOMPARE(result.steps[0].name, std::string_view("fuse-linear"));
        QCOMPARE(result.steps[0].text, std::string("fc + fc_bias → linear layer fc"));
        QCOMPARE(result.steps[0].removed, (std::vector<std::string>{"fc", "fc_bias"}));
        QCOMPARE(result.steps[0].added, std::vector<std::string>{"fc"});
        QCOMPARE(result.before, graph);
        RETRO_MADE(layer, result.findFused("fc"));
        QCOMPARE(nodeNames(*layer->members), std::string("fc, fc_bias"));
        QCOMPARE(layer->members->inputs().size(), std::size_t{1});
        QCOMPARE(layer->members->value(layer->members->inputs()[0]).name, std::string("x"));
        QCOMPARE(layer->members->value(layer->members->outputs()[0]).name, std::string("fc_bias_out"));
    }

    void obstaclesPreventIt()
    {
        for (const Obstacle& obstacle : obstacles()) {
            Writer writer;
            const ValueId x = writer.input("x", {4, 4});
            const ValueId weight = writer.constant("w", randomTensor({4, 4}, 1));
            obstacle.write(writer, x, weight, writer.constant("b", randomTensor({4}, 2)));
            const SharedGraph graph = writer.finish();
            QVERIFY2(graph, obstacle.name);
            const Rewritten result = fused(graph);
            QVERIFY2(result.graph == graph && result.steps.empty(), obstacle.name);
        }
    }

    void aTransposedWeightIsFoldedFirst()
    {
        Writer writer;
        const ValueId x = writer.input("x", {2, 5, 3});
        const ValueId stored = writer.constant("w", randomTensor({4, 3}, 1));
        const ValueId weight = writer.node("Transpose", "turn", {stored}, {{"perm", std::vector<std::int64_t>{1, 0}}});
        const ValueId product = writer.node("MatMul", "fc", {x, weight});
        writer.output(writer.node("Add", "fc_bias", {product, writer.constant("b", randomTensor({4}, 2))}));
        const SharedGraph graph = writer.finish();
        const Rewritten result = rewritten(graph, {});
        QCOMPARE(nodeNames(*result.graph), std::string("fc"));
        QVERIFY(deviation(result.graph, graph, {randomTensor({2, 5, 3}, 3)}, Precision::Double) < 1e-12);
    }

    void identitiesAndDropoutsGo()
    {
        Writer writer;
        const ValueId x = writer.input("x", {2, 3});
        const ValueId same = writer.node("Identity", "same", {x});
        const ValueId again = writer.node("Identity", "again", {same});
        const ValueId relu = writer.node("Relu", "relu", {writer.node("Dropout", "drop", {again})});
        writer.output(writer.node("Add", "sum", {relu, same}));
        const SharedGraph graph = writer.finish();
        const Rewritten result = withoutIdentities(graph);
        QVERIFY(result.graph);
        QCOMPARE(nodeNames(*result.graph), std::string("relu, sum"));
        QCOMPARE(result.steps.size(), std::size_t{1});
        QCOMPARE(result.steps[0].removed, (std::vector<std::string>{"same", "again", "drop"}));
        QVERIFY(deviation(result.graph, graph, {randomTensor({2, 3}, 3)}, Precision::Double) == 0);
    }

    void anIdentityThatNamesAnOutputStays()
    {
        Writer writer;
        const ValueId x = writer.input("x", {2, 3});
        writer.output(writer.node("Identity", "named", {writer.node("Relu", "relu", {x})}));
        const SharedGraph graph = writer.finish();
        QCOMPARE(withoutIdentities(graph).graph, graph);
    }

    void aDropoutThatTrainsStays()
    {
        Writer writer;
        const ValueId x = writer.input("x", {2, 3});
        const ValueId ratio = writer.constant("ratio", randomTensor({}, 1));
        const std::vector<std::uint8_t> yes{1};
        const ValueId training = writer.constant("training", Tensor::of<std::uint8_t>({}, yes));
        writer.output(writer.node("Relu", "relu", {writer.node("Dropout", "drop", {x, ratio, training})}));
        const SharedGraph graph = writer.finish();
        QVERIFY(graph);
        QCOMPARE(withoutIdentities(graph).graph, graph);
    }

    void rewritesAreSwitchedOffByName()
    {
        RewriteOptions options;
        const std::vector<std::string> names{"fuse-linear", "remove-identities"};
        QVERIFY(retro::rewrite::switchOff(options, names).ok());
        QVERIFY(!options.fuseLinear && !options.removeIdentities && options.mergeBatchNorm && options.foldConstants);
        const std::vector<std::string> all{"all"};
        QVERIFY(retro::rewrite::switchOff(options, all).ok());
        const SharedGraph graph = graphOf(cases().front());
        QCOMPARE(rewritten(graph, options).graph, graph);
        const std::vector<std::string> wrong{"fuse-everything"};
        RETRO_REFUSED(retro::rewrite::switchOff(options, wrong), "fuse-linear");
    }
};

QTEST_APPLESS_MAIN(FuseLinearTest)
#include "fuselineartest.moc"
