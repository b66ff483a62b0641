// SPDX-License-Identifier: Apache-2.0
// Graphs inside control flow are rewritten like the graph around them.
#include "core/execute/control/unroll.h"
#include "tests/core/rewrite/graphs.h"

#include <QtTest>

using namespace retro::rewrite::testing;

using retro::graph::Subgraph;
using retro::rewrite::RewriteOptions;
using retro::rewrite::Rewritten;

namespace
{

const Shape kWeight{3, 3};
const Shape kBias{3};

/// out = captured x · captured w + captured b; or x alone.
Subgraph branchOfWeightsAround(bool isLayer)
{
    Writer writer;
    ValueId x = writer.input("x", {2, 3});
    const ValueId w = writer.input("w", kWeight);
    const ValueId b = writer.input("b", kBias);
    if (isLayer) {
        x = writer.node("Add", "bias", {writer.node("MatMul", "fc", {x, w}), b});
    }
    writer.output(writer.node("Relu", "act", {x}));
    return {writer.finish(), 3};
}

SharedGraph gateWithWeightsAround()
{
    retro::graph::GraphBuilder builder("gate", 17);
    const ValueId c = builder.addInput("c", DType::Bool, Shape{});
    const ValueId x = builder.addInput("x", DType::Float32, Shape{2, 3});
    const ValueId w = builder.addConstant("w", randomTensor(kWeight, 1));
    const ValueId b = builder.addConstant("b", randomTensor(kBias, 2));
    const ValueId y =
        builder.addOp("If", "if", {c, x, w, b}, "y",
                      {{"then_branch", branchOfWeightsAround(true)}, {"else_branch", branchOfWeightsAround(false)}});
    builder.addOutput(y);
    auto built = std::move(builder).build();
    return built.ok() ? std::make_shared<const Graph>(std::move(built).value()) : nullptr;
}

/// out = captured x · W + b, through Identity; or x alone.
Subgraph branch(bool isLayer)
{
    Writer writer;
    ValueId x = writer.input("x", {2, 3});
    if (isLayer) {
        x = writer.node("MatMul", "fc", {x, writer.constant("w", randomTensor({3, 3}, 1))});
        x = writer.node("Add", "bias", {x, writer.constant("b", randomTensor({3}, 2))});
    }
    writer.output(writer.node("Relu", "act", {x}));
    return {writer.finish(), 1};
}

SharedGraph gate(const Subgraph& chosen)
{
    retro::graph::GraphBuilder builder("gate", 17);
    const ValueId c = builder.addInput("c", DType::Bool, Shape{});
    const ValueId x = builder.addInput("x", DType::Float32, Shape{2, 3});
    const ValueId y = builder.addOp("If", "if", {c, x}, "y", {{"then_branch", chosen}, {"else_branch", branch(false)}});
    builder.addOutput(y);
    auto built = std::move(builder).build();
    return built.ok() ? std::make_shared<const Graph>(std::move(built).value()) : nullptr;
}

Tensor run(const SharedGraph& graph, bool chosen, std::string* operators)
{
    const std::vector<double> truth{chosen ? 1.0 : 0.0};
    const std::vector<Tensor> inputs{Tensor::of<double>({}, truth).to(DType::Bool),
                                     randomTensor({2, 3}, 5).to(DType::Float64)};
    auto flat = retro::execute::unroll(*graph, inputs, Precision::Double);
    if (!flat.ok()) {
        return {};
    }
    for (const auto& node : flat->graph->nodes()) {
        *operators += node.op + " ";
    }
    const std::vector<retro::ops::TensorType> types{{DType::Bool, {}}, {DType::Float64, {2, 3}}};
    const auto model = retro::execute::BoundModel::bind(flat->graph, types, Precision::Double, inputs);
    if (!model.ok()) {
        return {};
    }
    auto result = retro::execute::forward(*model, inputs, retro::execute::SavePolicy::All);
    return result.ok() ? result->outputs[0] : Tensor();
}

} // namespace

class BodiesTest : public QObject
{
    Q_OBJECT

    /// The same results, and no Add is left in the branch that has a layer.
    static void expectFusedInThen(const SharedGraph& before, const SharedGraph& after)
    {
        for (const bool chosen : {true, false}) {
            std::string plain;
            std::string fused;
            const Tensor a = run(before, chosen, &plain);
            QVERIFY(a.isValid());
            QVERIFY(deviation(run(after, chosen, &fused), a) < 1e-12);
            QCOMPARE(QString::fromStdString(fused).contains("Add"), false);
            QCOMPARE(QString::fromStdString(plain).contains("Add"), chosen);
        }
    }

private slots:
    void chainsInABranchAreFused()
    {
        const SharedGraph before = gate(branch(true));
        QVERIFY(before != nullptr);
        RETRO_MADE(after, retro::rewrite::rewrite(before, only(&RewriteOptions::fuseLinear)));
        QVERIFY(after->graph != before);
        QCOMPARE(after->steps.size(), std::size_t{1});
        QCOMPARE(QString::fromStdString(after->steps[0].text).section(':', 0, 0),
                 QStringLiteral("in then_branch of If if"));
        QCOMPARE(after->steps[0].removed, (std::vector<std::string>{"if/fc", "if/bias"}));
        QVERIFY(after->fused.empty());
        expectFusedInThen(before, after->graph);
    }

    /// As exporters write it: a layer is one wherever its weights stand.
    void layersOfWeightsAroundTheirBodyAreFused()
    {
        const SharedGraph before = gateWithWeightsAround();
        QVERIFY(before != nullptr);
        RETRO_MADE(after, retro::rewrite::rewrite(before, only(&RewriteOptions::fuseLinear)));
        QCOMPARE(after->graph->nodes()[0].inputs.size(), std::size_t{2}); // condition and x
        expectFusedInThen(before, after->graph);
        const std::vector<Tensor> inputs{Tensor::full(DType::Bool, {}, 1), randomTensor({2, 3}, 5)};
        RETRO_MADE(flat, retro::execute::unroll(*after->graph, inputs, Precision::Float));
        for (const char* name : {"w", "b"}) { // as they are named around the branch
            QVERIFY2(flat->graph->findValue(name), name);
        }
        RETRO_MADE(untouched, retro::rewrite::rewrite(before, retro::rewrite::noRewrites()));
        QVERIFY(untouched->graph == before);
    }

    void nothingToDoHandsTheGraphBack()
    {
        const SharedGraph before = gate(branch(false));
        RETRO_MADE(after, retro::rewrite::rewrite(before, {}));
        QVERIFY(after->graph == before);
        QVERIFY(after->steps.empty());
    }

    void switchedOffIsOffInside()
    {
        const SharedGraph before = gate(branch(true));
        RETRO_MADE(after, retro::rewrite::rewrite(before, retro::rewrite::noRewrites()));
        QVERIFY(after->graph == before);
    }
};

QTEST_GUILESS_MAIN(BodiesTest)
#include "bodiestest.moc"
