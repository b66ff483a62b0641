// SPDX-License-Identifier: Apache-2.0
// Chains far longer than any that a rewrite means: every pass takes a bounded time and depth for each node.
#include "tests/core/rewrite/graphs.h"

#include <QtTest>

using namespace retro::rewrite;
using namespace retro::rewrite::testing;

namespace
{

/// A chain of `ops` in turns behind x, and a Mul by a constant behind that. Binary operators read the scalar constant
/// beside the chain.
SharedGraph chainOf(const std::vector<std::string>& ops, std::size_t nodes)
{
    Writer writer;
    ValueId value = writer.input("x", {2, 2});
    const ValueId one = writer.constant("one", Tensor::scalar(1.0F));
    const auto next = [&](const std::string& op, const std::string& name) {
        const bool isBinary = op == "Mul" || op == "Div" || op == "Add" || op == "Sub" || op == "Pow";
        const bool isMatrix = op == "MatMul";
        value = writer.node(op, name, isBinary || isMatrix ? std::vector{value, one} : std::vector{value});
    };
    for (std::size_t i = 0; i < nodes; ++i) {
        next(ops[i % ops.size()], "n" + std::to_string(i));
    }
    next("Mul", "last");
    writer.output(value);
    return writer.finish();
}

RewriteOptions everything()
{
    RewriteOptions options;
    const std::vector<std::string> all{"all"};
    return switchOn(options, all).ok() ? options : RewriteOptions();
}

} // namespace

class LongChainsTest : public QObject
{
    Q_OBJECT

private slots:
    void aLongChainIsRewritten_data()
    {
        QTest::addColumn<QString>("ops");
        QTest::addColumn<int>("nodes");
        for (const char* ops : {"Neg", "Mul"}) {
            QTest::newRow(ops) << ops << 100'000;
        }
        for (const char* ops : {"Neg,Mul", "Div", "Sqrt", "Pow", "Reciprocal", "Add", "Relu", "Transpose", "Mul,Add",
                                "Identity,Neg", "Neg,Mul,Add,Relu,Transpose,Tanh"}) {
            QTest::newRow(ops) << ops << 5'000;
        }
    }

    void aLongChainIsRewritten()
    {
        QFETCH(QString, ops);
        QFETCH(int, nodes);
        std::vector<std::string> names;
        for (const QString& op : ops.split(',')) {
            names.push_back(op.toStdString());
        }
        const auto count = static_cast<std::size_t>(nodes);
        const SharedGraph graph = chainOf(names, count);
        QVERIFY(graph != nullptr);
        RETRO_MADE(rewritten, rewrite(graph, {}));
        const bool hasIdentities = ops.contains(QLatin1String("Identity"));
        QCOMPARE(rewritten->graph->nodeCount(), hasIdentities ? count / 2 + 1 : count + 1);
    }

    /// With the passes that are off by default.
    void everyPassEndsOnALongChain()
    {
        const SharedGraph graph = chainOf({"Neg", "Mul", "Add", "Tanh"}, 5'000);
        RETRO_MADE(rewritten, rewrite(graph, everything()));
        QVERIFY(rewritten->graph->nodeCount() <= 5'001);
    }

    /// The node that ends a long chain is still read as what it is.
    void whatEndsALongChainIsStillFused()
    {
        Writer writer;
        ValueId value = writer.input("x", {2, 2});
        for (std::size_t i = 0; i < 1000; ++i) {
            value = writer.node("Neg", "n" + std::to_string(i), {value});
        }
        const ValueId gate = writer.node("Sigmoid", "gate", {value});
        writer.output(writer.node("Mul", "swish", {value, gate}));
        RETRO_MADE(rewritten, rewrite(writer.finish(), {}));
        QCOMPARE(rewritten->graph->nodes().back().op, std::string("Swish"));
    }
};

QTEST_GUILESS_MAIN(LongChainsTest)
#include "longchainstest.moc"
