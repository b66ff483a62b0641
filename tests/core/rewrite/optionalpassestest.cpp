// SPDX-License-Identifier: Apache-2.0
// Rewrites that are off unless asked for: what each takes and what it leaves, with the same results.
#include "core/base/memoryaccount.h"
#include "tests/core/rewrite/graphs.h"

#include <QtTest>

using namespace retro::rewrite::testing;
using retro::rewrite::RewriteOptions;
using retro::rewrite::Rewritten;

namespace
{

Rewritten with(const SharedGraph& graph, bool RewriteOptions::*pass)
{
    auto result = retro::rewrite::rewrite(graph, only(pass));
    return result.ok() ? std::move(*result) : Rewritten();
}

QString textOf(const Rewritten& result)
{
    QString text = QString::fromStdString(nodeNames(*result.graph));
    for (const auto& step : result.steps) {
        text += QStringLiteral(" | %1: %2")
                    .arg(QString::fromStdString(std::string(step.name)), QString::fromStdString(step.text));
    }
    return text;
}

Tensor indices(const std::vector<std::int64_t>& values)
{
    return Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size()), 1}, values);
}

} // namespace

class OptionalPassesTest : public QObject
{
    Q_OBJECT

private slots:
    void theyAreOffUnlessAskedFor()
    {
        RewriteOptions options;
        QCOMPARE(retro::rewrite::switchedOn(options).size(), 0U);
        const std::vector<std::string> names{"merge-common", "fuse-elementwise"};
        QVERIFY(retro::rewrite::switchOn(options, names).ok());
        QCOMPARE(retro::rewrite::switchedOn(options), names);
        QCOMPARE(retro::rewrite::switchedOff(options).size(), 0U);
        const std::vector<std::string> unknown{"merge-everything"};
        QVERIFY(!retro::rewrite::switchOn(options, unknown).ok());
    }

    void whatIsComputedTwiceIsComputedOnce()
    {
        Writer w;
        const ValueId x = w.input("x", {2, 3});
        const ValueId one = w.constant("one", Tensor::full(DType::Float32, {3}, 1));
        const ValueId same = w.constant("same", Tensor::full(DType::Float32, {3}, 1));
        const ValueId a = w.node("Add", "a", {x, one});
        const ValueId b = w.node("Add", "b", {same, x}); // the other way round, with an equal constant
        const ValueId c = w.node("Tanh", "c", {a});
        const ValueId d = w.node("Tanh", "d", {b});
        const ValueId e = w.node("LeakyRelu", "e", {d}, {{"alpha", 0.1}});
        const ValueId f = w.node("LeakyRelu", "f", {c}, {{"alpha", 0.2}}); // another function
        const ValueId g = w.node("Tanh", "g", {a});                        // an output keeps its name
        w.output(w.node("Sub", "y", {w.node("Mul", "cd", {c, d}), w.node("Add", "ef", {e, f})}));
        w.output(g);
        const SharedGraph graph = w.finish();
        const Rewritten result = with(graph, &RewriteOptions::mergeCommon);
        QVERIFY(result.graph);
        QCOMPARE(textOf(result), QStringLiteral("a, c, e, f, g, cd, ef, y | merge-common: b computes what a does (Add) "
                                                "| merge-common: d computes what c does (Tanh)"));
        QCOMPARE(deviation(result.graph, graph, {randomTensor({2, 3}, 1)}, Precision::Float), 0.0);
    }

    void chainsOfFunctionsBecomeOneNode()
    {
        Writer w;
        const ValueId x = w.input("x", {3, 50001}); // two blocks and a rest
        const ValueId a = w.node("Tanh", "a", {x});
        const ValueId b = w.node("LeakyRelu", "b", {a}, {{"alpha", 0.3}});
        const ValueId c = w.node("Softplus", "c", {b});
        const ValueId d = w.node("Sqrt", "d", {c}); // c is read twice: the chain ends there
        const ValueId e = w.node("Neg", "e", {c});  // moves elements
        w.output(w.node("Add", "y", {d, e}));
        const SharedGraph graph = w.finish();
        const Rewritten result = with(graph, &RewriteOptions::fuseElementwise);
        QVERIFY(result.graph);
        QCOMPARE(textOf(result), QStringLiteral("c, d, e, y | fuse-elementwise: Tanh, LeakyRelu, Softplus → c (between "
                                                "them nothing is kept)"));
        QVERIFY(result.findFused("c"));
        QCOMPARE(QString::fromStdString(nodeNames(*result.findFused("c")->members)), QStringLiteral("a, b, c"));
        for (const Precision precision : {Precision::Float, Precision::Double}) {
            const double most = deviation(result.graph, graph, {randomTensor({3, 50001}, 2, -3, 3)}, precision);
            QVERIFY2(most <= (precision == Precision::Float ? 1e-6 : 1e-15), qPrintable(QString::number(most)));
        }
    }

    void updatesThatAreWrittenOverAreDropped()
    {
        Writer w;
        const ValueId x = w.input("x", {4, 2});
        const ValueId u = w.input("u", {2, 2});
        const ValueId v = w.input("v", {2, 2});
        const ValueId a = w.node("ScatterND", "a", {x, w.constant("i", indices({0, 2})), u});
        const ValueId b = w.node("ScatterND", "b", {a, w.constant("j", indices({0, 2})), v});
        const ValueId c = w.node("ScatterND", "c", {b, w.constant("k", indices({0, 1})), u}); // other places
        w.output(c);
        const SharedGraph graph = w.finish();
        const Rewritten result = with(graph, &RewriteOptions::dropOverwritten);
        QVERIFY(result.graph);
        QCOMPARE(textOf(result), QStringLiteral("b, c | drop-overwritten: b writes over all that a wrote"));
        const std::vector<Tensor> inputs{randomTensor({4, 2}, 1), randomTensor({2, 2}, 2), randomTensor({2, 2}, 3)};
        QCOMPARE(deviation(result.graph, graph, inputs, Precision::Float), 0.0);
    }

    void whatDiesIsWrittenOver()
    {
        Writer w;
        const ValueId x = w.input("x", {3, 50001}); // blocks and a rest
        const ValueId a = w.node("Tanh", "a", {x}); // x is the caller's
        const ValueId b = w.node("LeakyRelu", "b", {a}, {{"alpha", 0.3}});
        const ValueId c = w.node("Mul", "c", {b, a}); // both die; a was read before
        const ValueId d = w.node("Add", "d", {c, x});
        const ValueId e = w.node("Transpose", "e", {d}); // moves elements
        const ValueId f = w.node("Sigmoid", "f", {e});   // the memory of d, in another order
        const ValueId g = w.node("Sub", "g", {f, w.constant("row", randomTensor({3}, 4))}); // broadcast
        w.output(g);
        w.output(f);
        const SharedGraph graph = w.finish();
        const Rewritten result = with(graph, &RewriteOptions::dropOverwritten);
        QVERIFY(result.graph);
        QStringList lines{QStringLiteral("a, b, c, d, e, f, g")};
        for (const char* line :
             {"c (Mul) writes over b_out", "d (Add) writes over c_out", "f (Sigmoid) writes over e_out"}) {
            lines << QStringLiteral("drop-overwritten: %1, which nobody reads after it: 600012 bytes less").arg(line);
        }
        QCOMPARE(textOf(result), lines.join(QStringLiteral(" | ")));
        for (const Precision precision : {Precision::Float, Precision::Double}) {
            QCOMPARE(deviation(result.graph, graph, {randomTensor({3, 50001}, 2, -3, 3)}, precision), 0.0);
        }
    }

    void writingOverTakesTheMemoryOfOneValue()
    {
        Writer w;
        ValueId x = w.input("x", {1000, 1000});
        for (const char* name : {"a", "b", "c", "d"}) {
            x = w.node("Tanh", name, {x});
        }
        w.output(x);
        const SharedGraph graph = w.finish();
        const Rewritten result = with(graph, &RewriteOptions::dropOverwritten);
        QVERIFY(result.graph);
        const std::vector<Tensor> inputs{randomTensor({1000, 1000}, 1)};
        const auto peakOf = [&](const SharedGraph& one) {
            auto& account = retro::base::MemoryAccount::tensors();
            account.resetPeak();
            const auto before = static_cast<double>(account.peak());
            return evaluate(one, inputs, Precision::Float).empty() ? 0 : static_cast<double>(account.peak()) - before;
        };
        const double plain = peakOf(graph);
        const double over = peakOf(result.graph);
        // A forward pass lets operators write over what nobody reads after them, without the rewrite as well.
        QVERIFY2(plain < 5e6 && over < 5e6, qPrintable(QStringLiteral("%1, %2 bytes").arg(plain).arg(over)));
    }

    void aDecidedBranchIsPutInPlace()
    {
        for (const bool isThen : {true, false}) {
            retro::graph::Attributes branches;
            for (const char* name : {"then_branch", "else_branch"}) {
                Writer inner;
                const ValueId x = inner.input("x", {2});
                inner.output(inner.node(name[0] == 't' ? "Tanh" : "Exp", "act", {x}));
                branches[name] = retro::graph::Subgraph{inner.finish(), 1};
            }
            Writer w;
            const ValueId x = w.input("x", {2});
            const ValueId condition = w.constant("is", Tensor::of<bool>({}, std::span<const bool>(&isThen, 1)));
            w.output(w.node("Neg", "y", {w.node("If", "gate", {condition, x}, std::move(branches))}));
            const SharedGraph graph = w.finish();
            const Rewritten result = with(graph, &RewriteOptions::inlineBranches);
            QVERIFY(result.graph);
            QCOMPARE(QString::fromStdString(nodeNames(*result.graph)), QStringLiteral("gate/act, gate/out0, y"));
            QCOMPARE(result.graph->node(retro::graph::NodeId(0U)).op, isThen ? "Tanh" : "Exp");
            const Tensor input = randomTensor({2}, 5);
            const double expected = isThen ? -std::tanh(input.at(1)) : -std::exp(input.at(1));
            const std::vector<Tensor> made = evaluate(result.graph, {input}, Precision::Double);
            QCOMPARE(made.size(), 1U);
            QVERIFY(std::abs(made[0].at(1) - expected) < 1e-12);
        }
    }

    /// The If stays, and is refused when it runs.
    void aDecidedBranchStaysWhereTheOtherOneDoesNotFit()
    {
        for (const DType type : {DType::Int64, DType::Float32}) {
            Writer thens;
            thens.output(thens.node("Tanh", "act", {thens.input("x", {2})}));
            Writer elses;
            const ValueId own = elses.input("own", {2});
            const ValueId around = elses.input("x", {2});
            elses.output(type == DType::Int64 ? elses.integers("captured", {2})
                                              : elses.node("Add", "sum", {own, around}));
            Writer w;
            const ValueId x = w.input("x", {2});
            const bool isThen = true;
            const ValueId condition = w.constant("is", Tensor::of<bool>({}, std::span<const bool>(&isThen, 1)));
            const std::size_t captured = type == DType::Int64 ? 3 : 1;
            std::vector<ValueId> operands{condition, x};
            operands.resize(captured + 1, x);
            w.output(w.node("If", "gate", operands,
                            {{"then_branch", retro::graph::Subgraph{thens.finish(), 1}},
                             {"else_branch", retro::graph::Subgraph{elses.finish(), captured}}}));
            const SharedGraph graph = w.finish();
            const Rewritten result = with(graph, &RewriteOptions::inlineBranches);
            QCOMPARE(result.graph, graph);
            QVERIFY(evaluate(graph, {randomTensor({2}, 5)}, Precision::Double).empty());
        }
    }

    /// Its weights are those of the graph around the branch, turned inside it.
    void whatABranchBringsIsWrittenOut()
    {
        Writer inner;
        const ValueId given = inner.input("given", {3, 1, 4});
        const ValueId weights = inner.input("weights", {1, 4, 5});
        const ValueId states = inner.input("states", {1, 5, 5});
        const ValueId turned =
            inner.node("Transpose", "turn", {weights}, {{"perm", std::vector<std::int64_t>{0, 2, 1}}});
        inner.output(inner.node("RNN", "steps", {given, turned, states}, {{"hidden_size", std::int64_t{5}}}));
        const retro::graph::Subgraph branch{inner.finish(), 3};
        Writer w;
        const ValueId x = w.input("x", {3, 1, 4});
        const bool isThen = true;
        const ValueId condition = w.constant("is", Tensor::of<bool>({}, std::span<const bool>(&isThen, 1)));
        w.output(w.node(
            "If", "gate",
            {condition, x, w.constant("W", randomTensor({1, 4, 5}, 1)), w.constant("R", randomTensor({1, 5, 5}, 2))},
            {{"then_branch", branch}, {"else_branch", branch}}));
        const SharedGraph graph = w.finish();
        RewriteOptions options = only(&RewriteOptions::inlineBranches);
        options.expandFunctions = true;
        RETRO_MADE(result, retro::rewrite::rewrite(graph, options));
        const auto isWhole = [](const retro::graph::Node& node) { return node.op == "RNN" || node.op == "If"; };
        QVERIFY2(std::ranges::none_of(result->graph->nodes(), isWhole), qPrintable(textOf(*result)));
        const Rewritten inlined = with(graph, &RewriteOptions::inlineBranches);
        const std::vector<Tensor> input{randomTensor({3, 1, 4}, 3)};
        const std::vector<Tensor> expected = evaluate(inlined.graph, input, Precision::Double);
        const std::vector<Tensor> made = evaluate(result->graph, input, Precision::Double);
        QCOMPARE(made.size(), 1U);
        QVERIFY(deviation(made[0], expected.at(0)) < 1e-12);
    }

    void operatorsOfManyStepsAreWrittenOut()
    {
        Writer w;
        const ValueId x = w.input("x", {3, 1, 4});
        const ValueId lstm =
            w.node("LSTM", "lstm",
                   {x, w.constant("W", randomTensor({1, 20, 4}, 1)), w.constant("R", randomTensor({1, 20, 5}, 2)),
                    w.constant("B", randomTensor({1, 40}, 3))},
                   {{"hidden_size", std::int64_t{5}}});
        w.output(w.node("Tanh", "y", {lstm}));
        const SharedGraph graph = w.finish();
        const Rewritten result = with(graph, &RewriteOptions::expandFunctions);
        QVERIFY(result.graph);
        QCOMPARE(result.steps.size(), 1U);
        QVERIFY(!result.steps.front().isNote);
        for (const auto& node : result.graph->nodes()) {
            const bool isStep = node.domain.empty() || node.op == "Gate"; // a product with a rule of its own
            QVERIFY2(isStep && node.op != "LSTM", node.op.c_str());
        }
        const double most = deviation(result.graph, graph, {randomTensor({3, 1, 4}, 4)}, Precision::Double);
        QVERIFY2(most < 1e-12, qPrintable(QString::number(most)));
    }

    /// As by the operator in one node.
    void lengthsBeyondTheKeysAreRefusedInTheStepsOfAttention()
    {
        for (const std::int64_t rank : {3, 4}) {
            Writer w;
            const Shape shape = rank == 3 ? Shape{2, 4, 6} : Shape{2, 2, 4, 3};
            const ValueId q = w.input("q", shape);
            const ValueId lengths = w.integers("lengths", {2});
            Attributes heads;
            if (rank == 3) {
                heads = {{"q_num_heads", std::int64_t{2}}, {"kv_num_heads", std::int64_t{2}}};
            }
            heads["is_causal"] = std::int64_t{1};
            w.output(w.node("Attention", "att", {q, q, q, ValueId(), ValueId(), ValueId(), lengths}, heads, 24));
            const SharedGraph graph = w.finish();
            const Rewritten result = with(graph, &RewriteOptions::expandFunctions);
            QVERIFY(result.graph && result.graph != graph);
            const auto ran = [&shape](const SharedGraph& one, std::int64_t length) {
                const std::vector<Tensor> inputs{randomTensor(shape, 3),
                                                 Tensor::of<std::int64_t>({2}, std::vector<std::int64_t>{4, length})};
                const std::vector<retro::ops::TensorType> types{{DType::Float32, shape}, {DType::Int64, {2}}};
                const auto model = retro::execute::BoundModel::bind(one, types, Precision::Float);
                return retro::execute::forward(*model, inputs, retro::execute::SavePolicy::Nothing);
            };
            for (const std::int64_t length : {0, 1, 3, 4}) {
                RETRO_MADE(parts, ran(result.graph, length));
                QVERIFY(deviation(parts->outputs[0], ran(graph, length)->outputs[0]) < 1e-6);
            }
            for (const std::int64_t length : {-5, -1, 5, 100}) {
                QVERIFY(!ran(graph, length).ok());
                RETRO_REFUSED(ran(result.graph, length), "node 'att/", QString::number(length));
            }
        }
    }

    void withoutShapesTheyStayWholeAndSaySo()
    {
        retro::graph::GraphBuilder builder({}, 17);
        const ValueId x = builder.addInput("x", DType::Float32, std::nullopt);
        const ValueId y = builder.addOp("GRU", "gru",
                                        {x, builder.addConstant("W", randomTensor({1, 6, 4}, 1)),
                                         builder.addConstant("R", randomTensor({1, 6, 2}, 2))},
                                        "y", {{"hidden_size", std::int64_t{2}}});
        builder.addOutput(y);
        const auto graph = std::make_shared<const Graph>(std::move(builder).build().value());
        const Rewritten result = with(graph, &RewriteOptions::expandFunctions);
        QCOMPARE(result.graph, graph);
        QCOMPARE(result.steps.size(), 1U);
        QVERIFY(result.steps.front().isNote);
        QVERIFY(QString::fromStdString(result.steps.front().text).contains("fix the shapes"));
    }
};

QTEST_GUILESS_MAIN(OptionalPassesTest)
#include "optionalpassestest.moc"
