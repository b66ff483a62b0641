// SPDX-License-Identifier: Apache-2.0
// The steps between the scores of a model and its result, by one walk over functions that only rise or only fall.
#include "core/ops/scoretail.h"
#include "core/graph/graphbuilder.h"

#include <QTest>

#include <array>
#include <functional>

using namespace retro;
using base::ValueId;
using ops::ScoreTail;

namespace
{

/// x → Gemm → "z" → what is under test.
class Network
{
public:
    Network()
    {
        m_builder.setOpset("", 18);
        const ValueId x = m_builder.addInput("x", tensor::DType::Float32, tensor::Shape{1, 4});
        const ValueId w = m_builder.addConstant("w", tensor::Tensor::zeros(tensor::DType::Float32, {4, 4}));
        z = node("MatMul", {x, w}, "z");
    }

    ValueId node(const std::string& op, std::vector<ValueId> inputs, std::string name = {},
                 graph::Attributes attributes = {})
    {
        name = name.empty() ? op + std::to_string(++m_count) : name;
        return m_builder.addOp(op, name + " node", std::move(inputs), name, std::move(attributes));
    }

    /// The mean over the last axis, which has so many elements.
    ValueId mean(ValueId of, std::int64_t extent)
    {
        m_builder.declare(of, tensor::DType::Float32, {{{1, {}}, {4, {}}, {extent, {}}}});
        const ValueId made = node("ReduceMean", {of});
        m_builder.declare(made, tensor::DType::Float32, {{{1, {}}, {4, {}}}});
        return made;
    }

    ValueId number(float value) { return constant(tensor::Tensor::of<float>({}, std::array<float, 1>{value})); }

    /// One for each class.
    ValueId numbers(const std::array<float, 4>& values) { return constant(tensor::Tensor::of<float>({4}, values)); }

    ScoreTail tailOf(ValueId output)
    {
        m_builder.addOutput(output);
        graph = std::make_unique<graph::Graph>(std::move(m_builder).build().value());
        return ops::scoreTail(*graph, output);
    }

    ValueId z;
    std::unique_ptr<graph::Graph> graph;

private:
    ValueId constant(tensor::Tensor values)
    {
        return m_builder.addConstant("number " + std::to_string(++m_count), std::move(values));
    }

    graph::GraphBuilder m_builder;
    int m_count = 0;
};

using Make = std::function<ValueId(Network&)>;

/// A tail of the scores z, in words.
struct Case
{
    const char* words;
    bool isLogarithm;
    bool rises;
    Make make;
};

std::vector<Case> cases()
{
    return {
        {"a softmax", false, true, [](Network& n) { return n.node("Softmax", {n.z}); }},
        {"the logarithm of a softmax", true, true, [](Network& n) { return n.node("LogSoftmax", {n.z}); }},
        {"the logarithm of a softmax", true, true,
         [](Network& n) { return n.node("Log", {n.node("Softmax", {n.z})}); }},
        {"the logarithm of a softmax", true, true,
         [](Network& n) {
             const ValueId p = n.node("Clip", {n.node("Softmax", {n.z})});
             return n.node("Identity", {n.node("Log", {n.node("Add", {p, n.number(1e-7F)})})});
         }},
        {"the logarithm of a softmax", true, true,
         [](Network& n) {
             return n.node("Sub", {n.z, n.node("ReduceLogSumExp", {n.z})});
         }},
        {"the logarithm of a softmax", true, true,
         [](Network& n) {
             const ValueId shifted = n.node("Sub", {n.z, n.node("ReduceMax", {n.z})});
             const ValueId sum = n.node("ReduceSum", {n.node("Exp", {shifted})});
             return n.node("Sub", {shifted, n.node("Log", {sum})});
         }},
        {"the logarithm of a sigmoid", true, true,
         [](Network& n) { return n.node("Log", {n.node("Sigmoid", {n.z})}); }},
        {"the logarithm of a softmax", true, false,
         [](Network& n) { return n.node("Neg", {n.node("LogSoftmax", {n.z})}); }},
        {"a softmax", false, true, [](Network& n) { return n.node("Exp", {n.node("LogSoftmax", {n.z})}); }},
        {"a softmax", false, true,
         [](Network& n) {
             return n.node("Mul", {n.node("Softmax", {n.z}), n.number(100)});
         }},
        {"a softmax", false, false,
         [](Network& n) {
             return n.node("Sub", {n.number(1), n.node("Softmax", {n.z})});
         }},
        {"a softmax", false, false,
         [](Network& n) {
             return n.node("Mul", {n.node("Softmax", {n.z}), n.number(-1)});
         }},
        {"a softmax", false, true,
         [](Network& n) {
             return n.node("Mul", {n.node("Softmax", {n.z}), n.numbers({10, 20, 30, 40})});
         }},
        {"the logarithm of a softmax", true, true,
         [](Network& n) {
             const ValueId p = n.node("Max", {n.number(1e-7F), n.node("Softmax", {n.z})});
             return n.node("Sub", {n.node("Log", {p}), n.numbers({-1, -2, -3, -4})});
         }},
        {"a softmax", false, true,
         [](Network& n) {
             const ValueId p = n.node("Softmax", {n.z});
             return n.node("Where", {n.node("IsNaN", {p}), n.number(0), n.node("Sum", {p})});
         }},
        {"a softmax", false, false,
         [](Network& n) {
             return n.node("Pow", {n.node("Softmax", {n.z}), n.number(-0.5)});
         }},
        {"a sigmoid", false, true,
         [](Network& n) {
             const ValueId p = n.node("Sigmoid", {n.z});
             return n.node("Mul", {p, p});
         }},
        {"Tanh", false, true,
         [](Network& n) {
             return n.node("Div", {n.node("Add", {n.node("Tanh", {n.z}), n.number(1)}), n.number(2)});
         }},
        {"a sigmoid", false, true, [](Network& n) { return n.node("Sigmoid", {n.z}); }},
        {"a sigmoid", false, true, [](Network& n) { return n.mean(n.node("Sigmoid", {n.z}), 1); }},
        {"HardSigmoid", false, true, [](Network& n) { return n.node("HardSigmoid", {n.z}); }},
        {"Softplus", false, true, [](Network& n) { return n.node("Softplus", {n.z}); }},
        {"the logarithm of a softmax", true, false,
         [](Network& n) { return n.node("Abs", {n.node("LogSoftmax", {n.z})}); }},
        {"the logarithm of a softmax", true, false,
         [](Network& n) {
             return n.node("Pow", {n.node("Log", {n.node("Softmax", {n.z})}), n.number(2)});
         }},
        {"a softmax", false, true, [](Network& n) { return n.node("Abs", {n.node("Softmax", {n.z})}); }},
        {"the logarithm of a softmax", true, true,
         [](Network& n) { return n.node("LeakyRelu", {n.node("LogSoftmax", {n.z})}); }},
        {"a softmax", false, true,
         [](Network& n) {
             return n.node("Sum", {n.node("Softmax", {n.z}), n.number(1), n.number(-2)});
         }},
        {"a sigmoid", false, true,
         [](Network& n) {
             return n.node("Mean", {n.numbers({1, 2, 3, 4}), n.node("Sigmoid", {n.z})});
         }},
        {"a softmax", false, true,
         [](Network& n) { // a class is left out
             return n.node("Mul", {n.node("Softmax", {n.z}), n.numbers({1, 0, 1, 1})});
         }},
        {"a softmax", false, true,
         [](Network& n) {
             return n.node("LpNormalization", {n.node("Exp", {n.z})}, {}, {{"p", std::int64_t{1}}});
         }},
        {"a softmax", false, true,
         [](Network& n) {
             const ValueId e = n.node("Exp", {n.node("Sub", {n.z, n.node("ReduceMax", {n.z})})});
             return n.node("Div", {e, n.node("ReduceL1", {e})});
         }},
        {"a share of the sum of all scores", false, true,
         [](Network& n) {
             const ValueId p = n.node("Sigmoid", {n.z});
             return n.node("Div", {p, n.node("Add", {n.node("ReduceSum", {p}), n.number(1e-6F)})});
         }},
        {"a share of the sum of all scores", false, true,
         [](Network& n) { return n.node("LpNormalization", {n.node("Softplus", {n.z})}); }},
        {"a difference from the largest score", true, true,
         [](Network& n) {
             return n.node("Sub", {n.z, n.node("ReduceMax", {n.z})});
         }},
        {"Exp", false, true,
         [](Network& n) {
             return n.node("Pow", {n.number(2), n.z});
         }},
        {"Exp", false, true,
         [](Network& n) { // 1 / (1 + exp(-z))
             const ValueId e = n.node("Exp", {n.node("Neg", {n.z})});
             return n.node("Div", {n.number(1), n.node("Add", {e, n.number(1)})});
         }},
    };
}

} // namespace

class ScoreTailTest : public QObject
{
    Q_OBJECT

private slots:
    void everyTailEndsAtTheScores()
    {
        for (const Case& one : cases()) {
            Network network;
            const ScoreTail tail = network.tailOf(one.make(network));
            QVERIFY2(tail.scores == network.z, one.words);
            QCOMPARE(tail.words(), std::string(one.words));
            QCOMPARE(tail.isLogarithm, one.isLogarithm);
            QCOMPARE(tail.rises, one.rises);
            QVERIFY(tail.keepsOrder);
            QVERIFY(ops::outputOfScores(*network.graph, network.z).has_value());
        }
    }

    void whatIsNoFunctionOfAScoreHasNone()
    {
        const std::vector<Make> none{
            [](Network& n) { return n.z; },
            [](Network& n) { return n.node("Relu", {n.z}); },
            [](Network& n) { return n.node("Tanh", {n.z}); }, // its sign is that of the score
            [](Network& n) {
                return n.node("Mul", {n.z, n.number(30)});
            },
            [](Network& n) { return n.node("Neg", {n.z}); },
            [](Network& n) { return n.node("Abs", {n.z}); },
            [](Network& n) { return n.node("LpNormalization", {n.z}); },
            [](Network& n) {
                return n.node("Mul", {n.z, n.z});
            },
            [](Network& n) { // it falls for one class and rises for others
                return n.node("Mul", {n.node("Softmax", {n.z}), n.numbers({1, -1, 1, 1})});
            },
            [](Network& n) {
                return n.node("Mul", {n.node("Tanh", {n.z}), n.numbers({1, 2, 3, 4})});
            },
            [](Network& n) { return n.mean(n.node("Sigmoid", {n.z}), 2); },
            [](Network& n) {
                return n.node("Add", {n.node("Softmax", {n.z}), n.z});
            },
        };
        for (const Make& make : none) {
            Network network;
            QVERIFY(!network.tailOf(make(network)).isValid());
        }
    }

    void theSignIsThatOfTheScoreFromItsZeroOn()
    {
        Network sigmoid;
        const ScoreTail p =
            sigmoid.tailOf(sigmoid.node("Mul", {sigmoid.node("Sigmoid", {sigmoid.z}), sigmoid.number(100)}));
        QCOMPARE(p.atZero, 50.0);
        QVERIFY(p.turnsSign(20) && !p.turnsSign(70) && !p.isProbability());
        Network soft;
        QVERIFY(soft.tailOf(soft.node("Softplus", {soft.z})).turnsSign(0.5));
        Network capped; // tanh of a score caps it
        const ValueId cap = capped.node("Tanh", {capped.z});
        const ScoreTail tail = capped.tailOf(capped.node("Sigmoid", {cap}));
        QVERIFY(tail.scores == cap && tail.isProbability());
    }

    void numbersOfEachClassRankAnew()
    {
        Network network;
        const ScoreTail tail =
            network.tailOf(network.node("Mul", {network.node("Sigmoid", {network.z}), network.numbers({1, 2, 3, 4})}));
        QVERIFY(!tail.ranksSame && tail.keepsOrder && tail.turnsSign(0.1));
    }

    void elementsThatArePickedHaveAnotherPlace()
    {
        Network network;
        const ScoreTail tail = network.tailOf(network.node("TopK", {network.node("Softmax", {network.z})}));
        QVERIFY(tail.scores == network.z && !tail.keepsOrder);
    }
};

QTEST_APPLESS_MAIN(ScoreTailTest)
#include "scoretailtest.moc"
