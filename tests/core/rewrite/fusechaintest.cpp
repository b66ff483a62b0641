// SPDX-License-Identifier: Apache-2.0
#include "tests/core/rewrite/graphs.h"

#include "core/ops/registry.h"

#include <QtTest>

#include <numbers>

using namespace retro::rewrite::testing;

using retro::rewrite::Rewritten;

namespace
{

/// Writes expressions; the order of the operands of sums and products comes from a seed, so that every chain is tried
/// in many forms.
class Chain
{
public:
    Chain(Writer& writer, unsigned seed) : m_writer(writer), m_random(seed) {}

    ValueId constant(double number)
    {
        const std::vector<double> values{number};
        return m_writer.constant(nextName("c"), Tensor::of<double>({}, values));
    }
    ValueId vector(std::int64_t size)
    {
        return m_writer.constant(nextName("v"), randomTensor({size}, static_cast<unsigned>(m_random() % 1000)));
    }
    ValueId node(const std::string& op, std::vector<ValueId> inputs, Attributes attributes = {})
    {
        return m_writer.node(op, nextName(op), std::move(inputs), std::move(attributes));
    }
    ValueId add(ValueId a, ValueId b) { return commuted("Add", a, b); }
    ValueId mul(ValueId a, ValueId b) { return commuted("Mul", a, b); }
    /// a·c or a/(1/c).
    ValueId scaled(ValueId a, double c) { return isHeads() ? mul(a, constant(c)) : node("Div", {a, constant(1 / c)}); }
    ValueId squared(ValueId a) { return isHeads() ? node("Mul", {a, a}) : node("Pow", {a, constant(2)}); }
    ValueId cubed(ValueId a) { return isHeads() ? mul(a, squared(a)) : node("Pow", {a, constant(3)}); }
    ValueId mean(ValueId a) { return node("ReduceMean", {a}, {{"axes", std::vector<std::int64_t>{-1}}}); }
    /// a/√b.
    ValueId overRoot(ValueId a, ValueId b)
    {
        switch (m_random() % 4) {
        case 0:
            return node("Div", {a, node("Sqrt", {b})});
        case 1:
            return mul(a, node("Reciprocal", {node("Sqrt", {b})}));
        case 2:
            return mul(a, node("Div", {constant(1), node("Sqrt", {b})}));
        default:
            return mul(a, node("Pow", {b, constant(-0.5)}));
        }
    }
    /// The product of three, in any order.
    ValueId product(ValueId a, ValueId b, ValueId c)
    {
        switch (m_random() % 3) {
        case 0:
            return mul(mul(a, b), c);
        case 1:
            return mul(a, mul(b, c));
        default:
            return mul(mul(a, c), b);
        }
    }
    bool isHeads() { return m_random() % 2 == 0; }

private:
    ValueId commuted(const std::string& op, ValueId a, ValueId b)
    {
        return isHeads() ? node(op, {a, b}) : node(op, {b, a});
    }
    std::string nextName(const std::string& stem) { return stem + std::to_string(m_count++); }

    Writer& m_writer;
    std::mt19937 m_random;
    int m_count = 0;
};

ValueId geluByErf(Chain& c, ValueId x)
{
    const ValueId gate = c.add(c.node("Erf", {c.scaled(x, 1 / std::numbers::sqrt2)}), c.constant(1));
    return c.product(x, gate, c.constant(0.5));
}

ValueId geluByTanh(Chain& c, ValueId x)
{
    const double scale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
    const ValueId sum = c.isHeads()
                            ? c.scaled(c.add(x, c.scaled(c.cubed(x), 0.044715)), scale)
                            : c.product(x, c.add(c.constant(1), c.scaled(c.squared(x), 0.044715)), c.constant(scale));
    return c.product(x, c.add(c.node("Tanh", {sum}), c.constant(1)), c.constant(0.5));
}

ValueId silu(Chain& c, ValueId x) { return c.mul(x, c.node("Sigmoid", {x})); }
ValueId quickGelu(Chain& c, ValueId x) { return c.mul(x, c.node("Sigmoid", {c.scaled(x, 1.702)})); }
ValueId mish(Chain& c, ValueId x) { return c.mul(x, c.node("Tanh", {c.node("Softplus", {x})})); }
ValueId hardSwish(Chain& c, ValueId x)
{
    return c.mul(x, c.node("HardSigmoid", {x}, {{"alpha", 1.0 / 6}, {"beta", 0.5}}));
}
ValueId hardSwishByClip(Chain& c, ValueId x)
{
    const ValueId gate = c.node("Clip", {c.add(x, c.constant(3)), c.constant(0), c.constant(6)});
    return c.scaled(c.mul(x, gate), 1.0 / 6);
}

constexpr std::int64_t kWidth = 6;

ValueId standardised(Chain& c, ValueId x)
{
    const ValueId difference = c.node("Sub", {x, c.mean(x)});
    const ValueId other = c.isHeads() ? difference : c.node("Sub", {x, c.mean(x)});
    const ValueId variance = c.add(c.mean(c.squared(other)), c.constant(1e-5));
    return c.overRoot(difference, variance);
}
ValueId layerNorm(Chain& c, ValueId x) { return c.add(c.mul(standardised(c, x), c.vector(kWidth)), c.vector(kWidth)); }
ValueId rmsNorm(Chain& c, ValueId x)
{
    return c.mul(c.overRoot(x, c.add(c.mean(c.squared(x)), c.constant(1e-6))), c.vector(kWidth));
}
ValueId plainRmsNorm(Chain& c, ValueId x) { return c.overRoot(x, c.add(c.mean(c.squared(x)), c.constant(1e-6))); }

struct Case
{
    const char* name;
    ValueId (*write)(Chain&, ValueId);
    const char* op;
    std::int64_t opset;
};

const std::vector<Case> kCases{
    {"GELU", geluByErf, "Gelu", 20},
    {"GELU by tanh", geluByTanh, "Gelu", 20},
    {"SiLU", silu, "Swish", 24},
    {"quick GELU", quickGelu, "Swish", 24},
    {"Mish", mish, "Mish", 18},
    {"HardSwish", hardSwish, "HardSwish", 17},
    {"HardSwish by Clip", hardSwishByClip, "HardSwish", 17},
    {"LayerNorm", layerNorm, "LayerNormalization", 17},
    {"LayerNorm without affine", standardised, "LayerNormalization", 17},
    {"RMSNorm", rmsNorm, "RMSNormalization", 23},
    {"RMSNorm without scale", plainRmsNorm, "RMSNormalization", 23},
};

SharedGraph graphOf(const Case& c, unsigned seed)
{
    Writer writer;
    Chain chain(writer, seed);
    const ValueId x = chain.node("Relu", {writer.input("x", {2, 3, kWidth})});
    const ValueId y = c.write(chain, chain.node("Sub", {x, chain.constant(0.4)}));
    writer.output(writer.node("Add", "after", {y, x}));
    return writer.finish();
}

Rewritten fused(const SharedGraph& graph)
{
    retro::rewrite::RewriteOptions options;
    options.foldConstants = options.fuseLinear = false;
    auto result = retro::rewrite::rewrite(graph, options);
    return result.ok() ? std::move(result).value() : Rewritten{};
}

std::string ops(const Graph& graph)
{
    std::string text;
    for (const auto& node : graph.nodes()) {
        text += (text.empty() ? "" : ", ") + node.op;
    }
    return text;
}

QString about(const Case& c, unsigned seed, const std::string& what)
{
    return QString("%1, seed %2: %3").arg(c.name).arg(seed).arg(QString::fromStdString(what));
}

} // namespace

class FuseChainTest : public QObject
{
    Q_OBJECT

private slots:
    void chainsInAnyOrderBecomeOneNode()
    {
        for (const Case& c : kCases) {
            for (unsigned seed = 0; seed < 40; ++seed) {
                const SharedGraph graph = graphOf(c, seed);
                QVERIFY2(graph, c.name);
                const Rewritten result = fused(graph);
                QVERIFY2(result.graph, c.name);
                const std::string expected = std::string("Relu, Sub, ") + c.op + ", Add";
                QVERIFY2(ops(*result.graph) == expected, qPrintable(about(c, seed, ops(*result.graph))));
                QCOMPARE(result.graph->nodes()[2].opset, c.opset);
                const double wide =
                    deviation(result.graph, graph, {randomTensor({2, 3, kWidth}, seed, -4, 4)}, Precision::Double);
                QVERIFY2(wide < 1e-12, qPrintable(about(c, seed, std::to_string(wide))));
            }
        }
    }

    void membersComputeWhatTheNodeDoes()
    {
        for (const Case& c : kCases) {
            const Rewritten result = fused(graphOf(c, 3));
            QCOMPARE(result.fused.size(), std::size_t{1});
            const auto& node = result.graph->nodes()[2];
            QCOMPARE(result.fused[0].node, node.name);
            const Graph& members = *result.fused[0].members;
            QCOMPARE(members.inputs().size(), std::size_t{1});
            QCOMPARE(members.value(members.inputs()[0]).name, result.graph->value(node.inputs[0]).name);
            QCOMPARE(members.value(members.outputs()[0]).name, result.graph->value(node.outputs[0]).name);
            QVERIFY(!evaluate(result.fused[0].members, {randomTensor({2, 3, kWidth}, 1)}, Precision::Double).empty());
        }
    }

    void aConstantOfFloat32MayBeRounded()
    {
        Writer writer;
        const ValueId x = writer.input("x", {4});
        const auto number = [&](const char* name, float value) {
            const std::vector<float> values{value};
            return writer.constant(name, Tensor::of<float>({}, values));
        };
        const ValueId u = writer.node("Div", "div", {x, number("root", 1.41421354F)});
        const ValueId gate = writer.node("Add", "gate", {writer.node("Erf", "erf", {u}), number("one", 1)});
        writer.output(writer.node("Mul", "half", {writer.node("Mul", "mul", {x, gate}), number("half_c", 0.5F)}));
        const SharedGraph graph = writer.finish();
        const Rewritten result = fused(graph);
        QCOMPARE(ops(*result.graph), std::string("Gelu"));
        QCOMPARE(nodeNames(*result.graph), std::string("half"));
        QVERIFY(deviation(result.graph, graph, {randomTensor({4}, 2, -3, 3)}, Precision::Double) < 1e-7);
    }

    void otherConstantsAreOtherFunctions()
    {
        Writer writer;
        Chain c(writer, 1);
        const ValueId x = writer.input("x", {4});
        const ValueId gate = c.add(c.node("Erf", {c.scaled(x, 0.7)}), c.constant(1));
        writer.output(c.product(x, gate, c.constant(0.5)));
        const SharedGraph graph = writer.finish();
        QCOMPARE(fused(graph).graph, graph);
    }

    void anInnerValueThatIsReadElsewhereKeepsTheChain()
    {
        Writer writer;
        const ValueId x = writer.input("x", {4});
        const ValueId gate = writer.node("Sigmoid", "gate", {x});
        writer.output(gate);
        writer.output(writer.node("Relu", "relu", {writer.node("Mul", "mul", {x, gate})}));
        const SharedGraph graph = writer.finish();
        QCOMPARE(fused(graph).graph, graph);
    }

    void aVarianceThatIsReadElsewhereIsSaid()
    {
        Writer writer;
        Chain c(writer, 5);
        const ValueId x = writer.input("x", {2, kWidth});
        const ValueId difference = writer.node("Sub", "difference", {x, c.mean(x)});
        const ValueId variance = c.add(c.mean(c.node("Mul", {difference, difference})), c.constant(1e-5));
        writer.output(c.node("Div", {difference, c.node("Sqrt", {variance})}));
        writer.output(writer.node("Relu", "relu", {difference}));
        const SharedGraph graph = writer.finish();
        RETRO_MADE(result, retro::rewrite::rewrite(graph, only(&retro::rewrite::RewriteOptions::fuseLayerNorm)));
        QCOMPARE(result->graph, graph);
        QCOMPARE(result->steps.size(), std::size_t{1});
        QVERIFY(result->steps[0].isNote);
        QVERIFY(result->steps[0].text.find("difference_out") != std::string::npos);
    }

    void aGateTimesAnotherValueKeepsTheProduct()
    {
        Writer writer;
        Chain c(writer, 2);
        const ValueId x = writer.input("x", {2, kWidth});
        const ValueId up = writer.node("Relu", "up", {writer.input("u", {2, kWidth})});
        writer.output(writer.node("Mul", "gated", {silu(c, x), up}));
        const Rewritten result = fused(writer.finish());
        QCOMPARE(ops(*result.graph), std::string("Relu, Swish, Mul"));
    }

    void aNormOverAnotherAxisStays()
    {
        Writer writer;
        Chain c(writer, 4);
        const ValueId x = writer.input("x", {2, 3, kWidth});
        const auto mean = [&](ValueId v) {
            return c.node("ReduceMean", {v}, {{"axes", std::vector<std::int64_t>{1}}});
        };
        const ValueId difference = c.node("Sub", {x, mean(x)});
        const ValueId variance = c.add(mean(c.node("Mul", {difference, difference})), c.constant(1e-5));
        writer.output(c.node("Div", {difference, c.node("Sqrt", {variance})}));
        const SharedGraph graph = writer.finish();
        QCOMPARE(fused(graph).graph, graph);
    }
};

QTEST_APPLESS_MAIN(FuseChainTest)
#include "fusechaintest.moc"
