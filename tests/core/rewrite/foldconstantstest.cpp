// SPDX-License-Identifier: Apache-2.0
#include "core/graph/contentdigest.h"
#include "tests/core/rewrite/graphs.h"

#include <QtTest>

using namespace retro::rewrite::testing;

using retro::rewrite::Rewritten;

namespace
{

Rewritten folded(const SharedGraph& graph)
{
    auto result = retro::rewrite::rewrite(graph, only(&retro::rewrite::RewriteOptions::foldConstants));
    return result.ok() ? std::move(result).value() : Rewritten{};
}

Attributes permutation() { return {{"perm", std::vector<std::int64_t>{1, 0}}}; }

Tensor ints(std::vector<std::int64_t> values)
{
    return Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

const retro::graph::Value& named(const Graph& graph, const std::string& name)
{
    return graph.value(graph.findValue(name).value());
}

} // namespace

class FoldConstantsTest : public QObject
{
    Q_OBJECT

private slots:
    void weightsAreMovedOnce()
    {
        Writer writer;
        const ValueId x = writer.input("x", {2, 6});
        const ValueId w = writer.constant("w", randomTensor({24}, 1));
        const ValueId matrix = writer.node("Reshape", "reshape", {w, writer.constant("shape", ints({4, 6}))});
        const ValueId same = writer.node("Identity", "same", {matrix});
        const ValueId turned = writer.node("Transpose", "turn", {same}, permutation());
        writer.output(writer.node("MatMul", "product", {x, turned}));
        const SharedGraph graph = writer.finish();
        QVERIFY(graph);
        const std::string untouched = contentDigest(*graph);

        const Rewritten result = folded(graph);
        QVERIFY(result.graph);
        QCOMPARE(nodeNames(*result.graph), std::string("product"));
        const auto& weight = named(*result.graph, "turn_out"); // the value keeps its name
        QCOMPARE(weight.kind, retro::graph::ValueKind::Constant);
        QCOMPARE(weight.constant.dtype(), DType::Float32);
        QCOMPARE(weight.constant.shape(), (Shape{6, 4}));
        QVERIFY(!result.graph->findValue("w"));
        QVERIFY(!result.graph->findValue("shape"));
        for (const Precision precision : {Precision::Float, Precision::Double}) {
            QCOMPARE(deviation(result.graph, graph, {randomTensor({2, 6}, 2)}, precision), 0.0);
        }
        QCOMPARE(result.steps.size(), std::size_t{1});
        QCOMPARE(result.steps[0].rewrite, std::string("fold constants"));
        QCOMPARE(result.steps[0].removed, (std::vector<std::string>{"reshape", "same", "turn"}));
        QCOMPARE(result.steps[0].text,
                 std::string("3 nodes with constant operands computed once (1 Identity, 1 Reshape, 1 Transpose)"));
        QCOMPARE(result.before, graph);
        QCOMPARE(contentDigest(*graph), untouched);
    }

    /// A table of 16 bits whose index is computed: what is picked of it has 16 bits as well.
    void sixteenBitsStayBehindComputedIntegers()
    {
        for (const DType type : {DType::Float16, DType::BFloat16}) {
            Writer writer;
            const ValueId from = writer.constant("from", Tensor::scalar(std::int64_t{0}));
            const ValueId to = writer.constant("to", Tensor::scalar(std::int64_t{3}));
            const ValueId step = writer.constant("step", Tensor::scalar(std::int64_t{1}));
            const ValueId places = writer.node("Range", "places", {from, to, step});
            const ValueId table = writer.constant("table", randomTensor({6, 4}, 1).to(type));
            const ValueId picked = writer.node("Gather", "pick", {table, places});
            writer.output(writer.node("Add", "sum", {writer.input("x", {3, 4}), picked}));
            const Rewritten result = folded(writer.finish());
            QVERIFY(result.graph);
            QCOMPARE(nodeNames(*result.graph), std::string("sum"));
            QCOMPARE(named(*result.graph, "pick_out").dtype, type);
        }
    }

    void aLargeMatrixThatProductsReadTurnedIsNoCopy()
    {
        for (const bool isReadElsewhere : {false, true}) {
            Writer writer;
            const ValueId x = writer.input("x", {2, 600});
            const ValueId w = writer.constant("w", randomTensor({700, 600}, 1));
            const ValueId turned = writer.node("Transpose", "turn", {w}, permutation());
            writer.output(writer.node("MatMul", "product", {x, turned}));
            writer.output(writer.node("MatMul", "again", {writer.node("Relu", "relu", {x}), turned}));
            if (isReadElsewhere) {
                writer.output(writer.node("Mul", "scaled", {writer.input("y", {600, 700}), turned}));
            }
            const SharedGraph graph = writer.finish();
            const Rewritten result = folded(graph);
            const Tensor& weight = named(*result.graph, "turn_out").constant;
            const Tensor& before = named(*graph, "w").constant;
            QCOMPARE(weight.shape(), (Shape{600, 700}));
            QCOMPARE(weight.storage() == before.storage(), !isReadElsewhere);
            QCOMPARE(weight.isContiguous(), isReadElsewhere);
            std::vector<Tensor> inputs{randomTensor({2, 600}, 2)};
            if (isReadElsewhere) {
                inputs.push_back(randomTensor({600, 700}, 3));
            }
            for (const Precision precision : {Precision::Float, Precision::Double}) {
                QCOMPARE(deviation(result.graph, graph, inputs, precision), 0.0);
            }
        }
    }

    void arithmeticIsDoneInDouble()
    {
        Writer writer;
        const ValueId x = writer.input("x", {3});
        const ValueId a = writer.constant("a", randomTensor({3}, 1));
        const ValueId b = writer.constant("b", randomTensor({3}, 2));
        writer.output(writer.node("Mul", "outer", {x, writer.node("Mul", "inner", {a, b})}));
        const SharedGraph graph = writer.finish();
        const Rewritten result = folded(graph);
        QVERIFY(result.graph);
        QCOMPARE(nodeNames(*result.graph), std::string("outer"));
        QCOMPARE(named(*result.graph, "inner_out").constant.dtype(), DType::Float64);
        QCOMPARE(named(*result.graph, "inner_out").dtype, DType::Float32);
        QCOMPARE(deviation(result.graph, graph, {randomTensor({3}, 3)}, Precision::Double), 0.0);
        QVERIFY(deviation(result.graph, graph, {randomTensor({3}, 3)}, Precision::Float) < 1e-6);
    }

    void wideOperandsAreMixedWithNarrow()
    {
        Writer writer;
        const ValueId x = writer.input("x", {3});
        const ValueId a = writer.constant("a", randomTensor({3}, 1));
        const ValueId b = writer.constant("b", randomTensor({3}, 2));
        const ValueId product = writer.node("Mul", "mul", {a, b}); // float64 from here on
        const ValueId joined = writer.node("Add", "add", {product, a});
        writer.output(writer.node("Add", "last", {x, joined}));
        const SharedGraph graph = writer.finish();
        const Rewritten result = folded(graph);
        QVERIFY(result.graph);
        QCOMPARE(nodeNames(*result.graph), std::string("last"));
        QCOMPARE(deviation(result.graph, graph, {randomTensor({3}, 3)}, Precision::Double), 0.0);
    }

    void halfPrecisionWeightsAreFolded()
    {
        Writer writer;
        const ValueId x = writer.input("x", {1, 3});
        const ValueId w = writer.constant("w", randomTensor({2, 3}, 1).to(DType::Float16));
        writer.output(writer.node("MatMul", "product", {x, writer.node("Transpose", "turn", {w}, permutation())}));
        const SharedGraph graph = writer.finish();
        const Rewritten result = folded(graph);
        QVERIFY(result.graph);
        QCOMPARE(nodeNames(*result.graph), std::string("product"));
        QCOMPARE(deviation(result.graph, graph, {randomTensor({1, 3}, 2)}, Precision::Double), 0.0);
    }

    void movedHalfPrecisionStaysNarrow()
    {
        Writer writer;
        const ValueId x = writer.input("x", {1, 3});
        const ValueId w = writer.constant("w", randomTensor({2, 3}, 1).to(DType::Float16));
        writer.output(writer.node("MatMul", "product", {x, writer.node("Transpose", "turn", {w}, permutation())}));
        const Rewritten result = folded(writer.finish());
        QVERIFY(result.graph);
        QCOMPARE(named(*result.graph, "turn_out").constant.dtype(), DType::Float16);
    }

    void digitsMayBeDropped()
    {
        Writer writer;
        const ValueId x = writer.input("x", {3});
        const ValueId a = writer.constant("a", randomTensor({3}, 1));
        const ValueId inner = writer.node("Mul", "inner", {a, writer.constant("b", randomTensor({3}, 2))});
        const ValueId wide = writer.constant("wide", randomTensor({3}, 3).to(DType::Float64));
        const ValueId own = writer.node("Mul", "own", {wide, wide});
        writer.output(writer.node("Mul", "outer", {writer.node("Mul", "first", {x, inner}), own}));
        auto options = only(&retro::rewrite::RewriteOptions::foldConstants);
        options.keepDigits = false;
        const SharedGraph graph = writer.finish();
        RETRO_MADE(result, retro::rewrite::rewrite(graph, options));
        const Rewritten kept = folded(graph);
        QCOMPARE(named(*result->graph, "inner_out").constant.dtype(), DType::Float32); // rounded once
        QVERIFY(named(*result->graph, "inner_out")
                    .constant.bitEqual(named(*kept.graph, "inner_out").constant.to(DType::Float32)));
        QCOMPARE(named(*result->graph, "own_out").constant.dtype(),
                 DType::Float64); // the model has these digits itself
    }

    void severalOutputsAreFolded()
    {
        retro::graph::GraphBuilder builder({}, 17);
        const ValueId x = builder.addInput("x", DType::Float32, Shape{2});
        const ValueId w = builder.addConstant("w", randomTensor({4}, 1));
        const ValueId sizes = builder.addConstant("sizes", ints({2, 2}));
        const ValueId first = builder.addResult("first");
        const ValueId second = builder.addResult("second");
        const ValueId sum = builder.addResult("sum");
        const ValueId y = builder.addResult("y");
        builder.addNode({"Split", "", "split", "", 17, {w, sizes}, {first, second}, {}});
        builder.addNode({"Add", "", "add", "", 17, {x, second}, {sum}, {}});
        builder.addNode({"Add", "", "again", "", 17, {sum, first}, {y}, {}});
        builder.addOutput(y);
        RETRO_MADE(built, std::move(builder).build());
        const auto graph = std::make_shared<const Graph>(std::move(built).value());
        const Rewritten result = folded(graph);
        QVERIFY(result.graph);
        QCOMPARE(nodeNames(*result.graph), std::string("add, again"));
        QCOMPARE(deviation(result.graph, graph, {randomTensor({2}, 3)}, Precision::Float), 0.0);
    }

    void nodesThatMakeOutputsStay()
    {
        Writer writer;
        const ValueId x = writer.input("x", {2});
        writer.output(writer.node("Identity", "fixed", {writer.constant("w", randomTensor({2}, 1))}));
        writer.output(writer.node("Relu", "relu", {x}));
        const SharedGraph graph = writer.finish();
        const Rewritten result = folded(graph);
        QCOMPARE(result.graph, graph);
        QVERIFY(result.steps.empty());
    }

    void unknownOperatorsStay()
    {
        Writer writer;
        const ValueId x = writer.input("x", {2});
        const ValueId strange = writer.node("NoSuchOperator", "strange", {writer.constant("w", randomTensor({2}, 1))});
        writer.output(writer.node("Add", "add", {x, strange}));
        const SharedGraph graph = writer.finish();
        QCOMPARE(folded(graph).graph, graph);
    }

    void largeResultsStay()
    {
        Writer writer;
        const ValueId x = writer.input("x", {1});
        const ValueId column = writer.constant("column", randomTensor({20000, 1}, 1));
        const ValueId row = writer.constant("row", randomTensor({1, 20000}, 2));
        writer.output(writer.node("Add", "add", {x, writer.node("Mul", "outer", {column, row})}));
        const SharedGraph graph = writer.finish();
        QCOMPARE(folded(graph).graph, graph);
    }

    void unusedPartsAreRemoved()
    {
        Writer writer;
        const ValueId x = writer.input("x", {2});
        writer.constant("nobody", randomTensor({2}, 1));
        const ValueId dead = writer.node("Relu", "dead", {x});
        writer.node("Add", "deader", {dead, writer.constant("w", randomTensor({2}, 2))});
        writer.output(writer.node("Relu", "live", {x}));
        const SharedGraph graph = writer.finish();
        auto removed = retro::rewrite::rewrite(graph, only(&retro::rewrite::RewriteOptions::removeUnused));
        const Rewritten result = removed.ok() ? std::move(removed).value() : Rewritten{};
        QVERIFY(result.graph);
        QCOMPARE(nodeNames(*result.graph), std::string("live"));
        QCOMPARE(result.graph->valueCount(), std::size_t{2});
        QCOMPARE(result.steps.size(), std::size_t{1});
        QCOMPARE(result.steps[0].rewrite, std::string("remove unused"));
        QCOMPARE(result.steps[0].removed, (std::vector<std::string>{"dead", "deader"}));
        QCOMPARE(result.steps[0].text, std::string("no output depends on 2 nodes and 2 constants"));
    }

    void switchedOffItDoesNothing()
    {
        Writer writer;
        const ValueId x = writer.input("x", {1, 3});
        const ValueId w = writer.constant("w", randomTensor({2, 3}, 1));
        writer.output(writer.node("MatMul", "product", {x, writer.node("Transpose", "turn", {w}, permutation())}));
        const SharedGraph graph = writer.finish();
        RETRO_MADE(result, retro::rewrite::rewrite(graph, only(&retro::rewrite::RewriteOptions::mergeBatchNorm)));
        QCOMPARE(result->graph, graph);
        QVERIFY(result->steps.empty());
    }

    void twiceIsOnce()
    {
        Writer writer;
        const ValueId x = writer.input("x", {1, 3});
        const ValueId w = writer.constant("w", randomTensor({2, 3}, 1));
        writer.output(writer.node("MatMul", "product", {x, writer.node("Transpose", "turn", {w}, permutation())}));
        const Rewritten once = folded(writer.finish());
        const Rewritten twice = folded(once.graph);
        QCOMPARE(twice.graph, once.graph);
        QVERIFY(twice.steps.empty());
    }
};

QTEST_APPLESS_MAIN(FoldConstantsTest)
#include "foldconstantstest.moc"
