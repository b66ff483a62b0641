// SPDX-License-Identifier: Apache-2.0
// Attention as exporters write it, recognised and left alone.
#include "core/base/memoryaccount.h"
#include "tests/core/rewrite/attentionchains.h"

#include <QtTest>

#include <limits>

using namespace retro::rewrite::testing;
using retro::rewrite::Rewritten;

using W = AttentionWriter;

namespace
{

ValueId plain(W& w) { return w.attended(w.scaled(w.product(w.q, w.swapped(w.k))), w.v); }
ValueId unscaled(W& w) { return w.attended(w.product(w.q, w.swapped(w.k)), w.v); }
ValueId divided(W& w) { return w.attended(w.node("Div", {w.product(w.q, w.swapped(w.k)), w.number(2)}), w.v); }
ValueId scaledQueries(W& w) { return w.attended(w.product(w.scaled(w.q), w.swapped(w.k)), w.v); }
ValueId scaledKeys(W& w) { return w.attended(w.product(w.q, w.swapped(w.scaled(w.k))), w.v); }
ValueId scaledBoth(W& w) { return w.attended(w.product(w.scaled(w.q), w.scaled(w.swapped(w.k))), w.v); }
ValueId addedMask(W& w)
{
    const ValueId mask = w.writer.constant("mask", randomTensor({1, 1, 3, 3}, 3));
    return w.attended(w.node("Add", {mask, w.scaled(w.product(w.q, w.swapped(w.k)))}), w.v);
}
ValueId computedMask(W& w)
{
    const ValueId mask = w.node("Tanh", {w.heads("m", {1, 1, 1, 3})});
    return w.attended(w.node("Add", {w.scaled(w.product(w.q, w.swapped(w.k))), mask}), w.v);
}
ValueId chosenMask(W& w)
{
    const ValueId scores = w.scaled(w.product(w.q, w.swapped(w.k)));
    return w.attended(w.node("Where", {w.lowerTriangle(), scores, w.number(-1e9)}), w.v);
}
ValueId filledMask(W& w)
{
    const ValueId scores = w.scaled(w.product(w.q, w.swapped(w.k)));
    return w.attended(w.node("Where", {w.lowerTriangle(true), w.number(-65504), scores}), w.v);
}
ValueId computedChoice(W& w)
{
    const ValueId scores = w.scaled(w.product(w.q, w.swapped(w.k)));
    const ValueId keep = w.node("Less", {w.heads("m", {1, 1, 3, 3}), w.number(2)});
    return w.attended(w.node("Where", {keep, scores, w.number(-std::numeric_limits<double>::infinity())}), w.v);
}
/// batch × tokens × heads × width, turned once for queries and once with the swap for keys.
ValueId throughHeads(W& w)
{
    const ValueId keys = w.transposed(w.heads("kt", {1, 3, 2, 4}), {0, 2, 3, 1});
    const ValueId queries = w.transposed(w.heads("qt", {1, 3, 2, 4}), {0, 2, 1, 3});
    return w.attended(w.scaled(w.product(queries, keys)), w.v);
}
ValueId scaledThroughHeads(W& w)
{
    const ValueId keys = w.transposed(w.scaled(w.heads("kt", {1, 3, 2, 4})), {0, 2, 3, 1});
    return w.attended(w.product(w.q, keys), w.v);
}
ValueId throughThreeAxes(W& w)
{
    const ValueId flat = w.transposed(w.node("Reshape", {w.k, w.ints({-1, 3, 4})}), {0, 2, 1});
    return w.attended(w.scaled(w.product(w.q, w.node("Reshape", {flat, w.ints({1, 2, 4, 3})}))), w.v);
}
/// √(1/√width) on both sides, the width read from the queries' shape.
ValueId scaledByShape(W& w)
{
    const ValueId width = w.node("Slice", {w.node("Shape", {w.q}), w.ints({-1}), w.ints({9223372036854775807})});
    const ValueId root = w.node("Sqrt", {w.node("Cast", {width}, {{"to", std::int64_t{1}}})});
    const ValueId scale = w.node("Div", {w.number(1), root});
    const ValueId queries = w.node("Mul", {w.q, w.node("Sqrt", {scale})});
    return w.attended(w.product(queries, w.node("Mul", {w.swapped(w.k), w.node("Sqrt", {scale})})), w.v);
}
ValueId threeAxes(W& w)
{
    const Shape shape{2, 3, 4};
    const ValueId q = w.heads("q3", shape);
    const ValueId k = w.transposed(w.heads("k3", shape), {0, 2, 1});
    return w.attended(w.scaled(w.product(q, k)), w.heads("v3", shape));
}
/// tokens × heads × width, as nn.MultiheadAttention has it.
ValueId tokensFirst(W& w)
{
    const Shape shape{3, 2, 4};
    const ValueId q = w.transposed(w.heads("q3", shape), {1, 0, 2});
    const ValueId k = w.transposed(w.heads("k3", shape), {1, 2, 0});
    return w.attended(w.product(w.scaled(q), k), w.transposed(w.heads("v3", shape), {1, 0, 2}));
}
ValueId oldSoftmax(W& w)
{
    w.opset = 11;
    return w.attended(w.scaled(w.product(w.q, w.swapped(w.k))), w.v, 3);
}

struct Form
{
    const char* name;
    ValueId (*write)(W&);
};

const std::vector<Form> kForms{
    {"plain", plain},
    {"unscaled", unscaled},
    {"divided", divided},
    {"scaled queries", scaledQueries},
    {"scaled keys", scaledKeys},
    {"scaled both", scaledBoth},
    {"added mask", addedMask},
    {"computed mask", computedMask},
    {"chosen mask", chosenMask},
    {"filled mask", filledMask},
    {"computed choice", computedChoice},
    {"through heads", throughHeads},
    {"scaled through heads", scaledThroughHeads},
    {"through three axes", throughThreeAxes},
    {"scaled by shape", scaledByShape},
    {"three axes", threeAxes},
    {"tokens first", tokensFirst},
    {"old softmax", oldSoftmax},
};

// Of another meaning, or not known to be of the same.
ValueId overQueries(W& w) { return w.attended(w.scaled(w.product(w.q, w.swapped(w.k))), w.v, 2); }
ValueId notTransposed(W& w) { return w.attended(w.product(w.q, w.heads("kk", {1, 2, 4, 3})), w.v); }
ValueId rowsThatMayBeEmpty(W& w)
{
    const ValueId scores = w.scaled(w.product(w.q, w.swapped(w.k)));
    const ValueId keep = w.node("Less", {w.heads("m", {1, 1, 3, 3}), w.number(2)});
    return w.attended(w.node("Where", {keep, scores, w.number(-1e9)}), w.v);
}
ValueId littleFill(W& w)
{
    const ValueId scores = w.scaled(w.product(w.q, w.swapped(w.k)));
    return w.attended(w.node("Where", {w.lowerTriangle(), scores, w.number(-1)}), w.v);
}
ValueId twoImages(W& w) { return w.attended(w.product(w.heads("qq", {2, 2, 3, 4}), w.swapped(w.k)), w.v); }

const std::vector<Form> kOthers{
    {"over queries", overQueries}, {"not transposed", notTransposed}, {"rows that may be empty", rowsThatMayBeEmpty},
    {"little fill", littleFill},   {"two images", twoImages},
};

} // namespace

class FuseAttentionTest : public QObject
{
    Q_OBJECT

private slots:
    void isRecognised_data() { addRows(kForms); }
    void isRecognised()
    {
        QFETCH(int, form);
        W w;
        const SharedGraph before = w.finish(kForms[static_cast<std::size_t>(form)].write(w));
        QVERIFY(before != nullptr);
        const Rewritten result = fusedAttention(before);
        QVERIFY(result.graph != nullptr);
        QCOMPARE(opCount(*result.graph, "Attention"), std::size_t{1});
        QCOMPARE(opCount(*result.graph, "Softmax"), std::size_t{0});
        QVERIFY(deviation(result.graph, before, w.inputs, Precision::Double) < 1e-12);
        const auto own = evaluate(before, w.inputs, Precision::Float);
        QVERIFY(evaluate(result.graph, w.inputs, Precision::Float)[0].bitEqual(own[0]));
        RETRO_MADE(kept, result.findFused("mix"));
        QCOMPARE(opCount(*kept->members, "MatMul"), std::size_t{2});
        QVERIFY(result.graph->findValue("mix_out").has_value());
        QVERIFY(kept->members->findValue("mix_out").has_value());
        QCOMPARE(result.steps.size(), std::size_t{1});
        QVERIFY(!result.steps[0].isNote);
        const auto* node = &result.graph->node(*result.graph->findNode("mix"));
        for (const ValueId input : kept->members->inputs()) { // by name: relevance is carried through the members
            const auto value = result.graph->findValue(kept->members->value(input).name);
            QVERIFY(value && std::find(node->inputs.begin(), node->inputs.end(), *value) != node->inputs.end());
        }
    }

    void aWrittenSoftmaxKeepsItsBits_data() { addRows(kForms); }
    void aWrittenSoftmaxKeepsItsBits()
    {
        QFETCH(int, form);
        W w;
        w.writesSoftmax = true;
        const SharedGraph before = w.finish(kForms[static_cast<std::size_t>(form)].write(w));
        QVERIFY(before != nullptr);
        auto options = only(&retro::rewrite::RewriteOptions::fuseAttention);
        options.fuseSoftmax = true;
        RETRO_MADE(result, retro::rewrite::rewrite(before, options));
        QCOMPARE(opCount(*result->graph, "Attention"), std::size_t{1});
        const auto own = evaluate(before, w.inputs, Precision::Float);
        QVERIFY(evaluate(result->graph, w.inputs, Precision::Float)[0].bitEqual(own[0]));
    }

    void largeScoresKeepTheirBits()
    {
        const std::int64_t tokens = 1500;
        const std::int64_t bytesOfScores = 2 * tokens * tokens * 4;
        W w;
        const Shape shape{1, 2, tokens, 4};
        const ValueId q = w.heads("ql", shape);
        const ValueId scores = w.scaled(w.product(q, w.swapped(w.heads("kl", shape))));
        const ValueId mask = w.heads("mask", {1, 1, tokens, tokens});
        const SharedGraph before = w.finish(w.attended(w.node("Add", {scores, mask}), w.heads("vl", shape)));
        const Rewritten result = fusedAttention(before);
        QCOMPARE(opCount(*result.graph, "Attention"), std::size_t{1});
        retro::base::MemoryAccount& account = retro::base::MemoryAccount::tensors();
        account.resetPeak();
        const auto own = evaluate(before, w.inputs, Precision::Float);
        const std::int64_t peakOfNodes = account.peak();
        account.resetPeak();
        QVERIFY(evaluate(result.graph, w.inputs, Precision::Float)[0].bitEqual(own[0]));
        QVERIFY(account.peak() < peakOfNodes - bytesOfScores);
    }

    void isLeftAlone_data() { addRows(kOthers); }
    void isLeftAlone()
    {
        QFETCH(int, form);
        W w;
        const SharedGraph before = w.finish(kOthers[static_cast<std::size_t>(form)].write(w));
        QVERIFY(before != nullptr);
        const Rewritten result = fusedAttention(before);
        QCOMPARE(opCount(*result.graph, "Attention"), std::size_t{0});
    }

    void anOutputOfTheModelStays()
    {
        W w;
        const ValueId p = w.node("Softmax", {w.product(w.q, w.swapped(w.k))});
        w.writer.output(p);
        const Rewritten result = fusedAttention(w.finish(w.product(p, w.v)));
        QCOMPARE(opCount(*result.graph, "Attention"), std::size_t{0});
        QCOMPARE(result.steps.size(), std::size_t{1});
        QVERIFY(result.steps[0].isNote);
        QVERIFY(result.steps[0].text.find("is an output of the model") != std::string::npos);
    }

    void twoLayersAreTwoNodes()
    {
        W w;
        const ValueId first = w.product(w.node("Softmax", {w.product(w.q, w.swapped(w.k))}), w.v);
        const ValueId second = w.attended(w.scaled(w.product(first, w.swapped(first))), first);
        const SharedGraph before = w.finish(second);
        const Rewritten result = fusedAttention(before);
        QCOMPARE(opCount(*result.graph, "Attention"), std::size_t{2});
        QCOMPARE(result.graph->nodeCount(), std::size_t{2});
        QVERIFY(deviation(result.graph, before, w.inputs, Precision::Double) < 1e-12);
    }

    void theNewTransposeIsNamed()
    {
        W w;
        const Rewritten result = fusedAttention(w.finish(throughHeads(w)));
        QCOMPARE(result.steps[0].added.size(), std::size_t{2});
        QVERIFY(result.graph->findNode(result.steps[0].added[1]).has_value());
    }
};

QTEST_GUILESS_MAIN(FuseAttentionTest)
#include "fuseattentiontest.moc"
