// SPDX-License-Identifier: Apache-2.0
// Attention written with Einsum, and attention whose NaNs an exporter guards against.
#include "tests/core/rewrite/attentionchains.h"

#include <QtTest>

#include <limits>

using namespace retro::rewrite::testing;
using retro::rewrite::Rewritten;

namespace
{

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class W : public AttentionWriter
{
public:
    ValueId einsum(const std::string& equation, ValueId a, ValueId b, const std::string& name = {})
    {
        return writer.node("Einsum", name.empty() ? "einsum" : name, {a, b}, {{"equation", equation}}, opset);
    }
    ValueId softmax(ValueId logits, std::int64_t axis = -1) { return node("Softmax", {logits}, {{"axis", axis}}); }
    ValueId tokens(const std::string& name) { return heads(name, {1, 3, 2, 4}); }
    /// −∞ for the last query: it sees nothing.
    ValueId hidden(ValueId logits)
    {
        std::vector<double> values(9, 0);
        values[1] = values[6] = values[7] = values[8] = -kInfinity;
        return node("Add", {logits, writer.constant("hidden", Tensor::of<double>({3, 3}, values))});
    }
    ValueId guarded(ValueId p, ValueId zero) { return node("Where", {node("IsNaN", {p}), zero, p}); }
    ValueId zerosLike(ValueId p, double fill = 0)
    {
        const std::vector<double> values{fill};
        return node("ConstantOfShape", {node("Shape", {p})},
                    {{"value", Tensor::of<double>({1}, values).to(DType::Float32)}});
    }
};

ValueId tokensFirst(W& w)
{
    const ValueId scores = w.scaled(w.einsum("bqhd,bkhd->bhqk", w.tokens("a"), w.tokens("b")));
    return w.einsum("bhqk,bkhd->bqhd", w.softmax(scores), w.tokens("c"), "mix");
}
ValueId headsFirst(W& w)
{
    const ValueId scores = w.einsum("b h i d, b h j d -> b h i j", w.scaled(w.q), w.k);
    return w.einsum("b h i j, b h j d -> b h i d", w.softmax(scores), w.v, "mix");
}
ValueId turnedAround(W& w)
{
    const ValueId mask = w.writer.constant("mask", randomTensor({1, 1, 3, 3}, 3));
    const ValueId scores = w.einsum("bkhd,bqhd->bhqk", w.tokens("a"), w.scaled(w.tokens("b")));
    return w.einsum("bhkd,bhqk->bhqd", w.v, w.softmax(w.node("Add", {w.scaled(scores), mask})), "mix");
}
ValueId threeAxes(W& w)
{
    const ValueId scores = w.einsum("nqd,nkd->nqk", w.heads("a", {2, 3, 4}), w.heads("b", {2, 3, 4}));
    return w.einsum("nqk,knd->nqd", w.softmax(w.scaled(scores), 2), w.heads("c", {3, 2, 4}), "mix");
}
ValueId mixedByMatMul(W& w) { return w.attended(w.scaled(w.einsum("bqhd,bhkd->bhqk", w.tokens("a"), w.k)), w.v); }
ValueId scoredByMatMul(W& w)
{
    const ValueId p = w.softmax(w.scaled(w.product(w.q, w.swapped(w.k))));
    return w.einsum("bhqk,bhkd->bqhd", p, w.v, "mix");
}
ValueId guardedByNumber(W& w)
{
    const ValueId p = w.softmax(w.hidden(w.scaled(w.product(w.q, w.swapped(w.k)))));
    return w.writer.node("MatMul", "mix", {w.guarded(p, w.number(0)), w.v}, {}, w.opset);
}
ValueId guardedByShape(W& w)
{
    const ValueId p = w.softmax(w.hidden(w.scaled(w.einsum("bqhd,bkhd->bhqk", w.tokens("a"), w.tokens("b")))));
    return w.einsum("bhqk,bkhd->bqhd", w.guarded(p, w.zerosLike(p)), w.tokens("c"), "mix");
}

ValueId softmaxOfQueries(W& w)
{
    const ValueId scores = w.einsum("bqhd,bkhd->bhqk", w.tokens("a"), w.tokens("b"));
    return w.einsum("bhqk,bkhd->bqhd", w.softmax(scores, 2), w.tokens("c"), "mix");
}
ValueId mixedOverQueries(W& w)
{
    const ValueId scores = w.einsum("bqhd,bkhd->bhqk", w.tokens("a"), w.tokens("b"));
    return w.einsum("bhqk,bqhd->bkhd", w.softmax(scores), w.tokens("c"), "mix");
}
ValueId sumOverHeads(W& w)
{
    const ValueId scores = w.einsum("bqhd,bkhd->bqk", w.tokens("a"), w.tokens("b"));
    return w.einsum("bqk,bkd->bqd", w.softmax(scores), w.heads("c", {1, 3, 4}), "mix");
}
ValueId guardedByOne(W& w)
{
    const ValueId p = w.softmax(w.scaled(w.product(w.q, w.swapped(w.k))));
    return w.writer.node("MatMul", "mix", {w.guarded(p, w.zerosLike(p, 1)), w.v}, {}, w.opset);
}
ValueId guardOfSomethingElse(W& w)
{
    const ValueId scores = w.scaled(w.product(w.q, w.swapped(w.k)));
    const ValueId p = w.softmax(scores);
    const ValueId kept = w.node("Where", {w.node("IsNaN", {scores}), w.number(0), p});
    return w.writer.node("MatMul", "mix", {kept, w.v}, {}, w.opset);
}

struct Form
{
    const char* name;
    ValueId (*write)(W&);
    bool isMoved; ///< the result gets its order of axes outside
};

const std::vector<Form> kForms{{"tokens first", tokensFirst, true},
                               {"heads first", headsFirst, false},
                               {"turned around", turnedAround, false},
                               {"three axes", threeAxes, false},
                               {"mixed by MatMul", mixedByMatMul, false},
                               {"scored by MatMul", scoredByMatMul, true},
                               {"guarded by a number", guardedByNumber, false},
                               {"guarded by a shape", guardedByShape, true}};
const std::vector<Form> kOthers{{"softmax of queries", softmaxOfQueries, false},
                                {"mixed over queries", mixedOverQueries, false},
                                {"sum over heads", sumOverHeads, false},
                                {"guarded by one", guardedByOne, false},
                                {"guard of something else", guardOfSomethingElse, false}};

} // namespace

class FuseEinsumTest : public QObject
{
    Q_OBJECT

private slots:
    void isRecognised_data() { addRows(kForms); }
    void isRecognised()
    {
        QFETCH(int, form);
        const Form& chosen = kForms[static_cast<std::size_t>(form)];
        W w;
        const SharedGraph before = w.finish(chosen.write(w));
        QVERIFY(before != nullptr);
        const Rewritten result = fusedAttention(before);
        QVERIFY(result.graph != nullptr);
        QCOMPARE(opCount(*result.graph, "Attention"), std::size_t{1});
        for (const char* gone : {"Softmax", "Einsum", "IsNaN"}) {
            QCOMPARE(opCount(*result.graph, gone), std::size_t{0});
        }

        QVERIFY(deviation(result.graph, before, w.inputs, Precision::Double) < 1e-12);
        QVERIFY(deviation(result.graph, before, w.inputs, Precision::Float) < 1e-5);
        QVERIFY(result.graph->findValue("mix_out").has_value());
        RETRO_MADE(kept, result.findFused("mix"));
        QCOMPARE(kept->members->findValue("mix_out").has_value(), !chosen.isMoved);
        QCOMPARE(result.graph->findNode("mix/result").has_value(), chosen.isMoved);
        const auto& node = result.graph->node(*result.graph->findNode("mix"));
        for (const ValueId input : kept->members->inputs()) { // by name: relevance is carried through the members
            const auto value = result.graph->findValue(kept->members->value(input).name);
            QVERIFY(value && std::find(node.inputs.begin(), node.inputs.end(), *value) != node.inputs.end());
        }
    }

    void isLeftAlone_data() { addRows(kOthers); }
    void isLeftAlone()
    {
        QFETCH(int, form);
        W w;
        const SharedGraph before = w.finish(kOthers[static_cast<std::size_t>(form)].write(w));
        const Rewritten result = fusedAttention(before);
        QVERIFY(result.graph == before);
        QVERIFY(result.fused.empty());
    }

    void nothingMovesWhenTheChainStays()
    {
        W w;
        const ValueId scores = w.einsum("bqhd,bkhd->bhqk", w.tokens("a"), w.tokens("b"));
        const ValueId p = w.softmax(scores);
        w.writer.output(p); // read by the world, too
        const SharedGraph before = w.finish(w.einsum("bhqk,bkhd->bqhd", p, w.tokens("c"), "mix"));
        const Rewritten result = fusedAttention(before);
        QVERIFY(result.graph != nullptr);
        QCOMPARE(opCount(*result.graph, "Transpose"), std::size_t{0});
        QCOMPARE(opCount(*result.graph, "Einsum"), std::size_t{2});
        QVERIFY(!result.steps.empty() && result.steps[0].isNote);
    }
};

QTEST_GUILESS_MAIN(FuseEinsumTest)
#include "fuseeinsumtest.moc"
