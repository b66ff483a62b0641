// SPDX-License-Identifier: Apache-2.0
// Attention whose scores are too many to be held at once: forward and relevance in pieces, against the same attention
// of fewer heads or queries.
#include "core/engine/explain/explain.h"
#include "core/ops/attention/attentioncore.h"
#include "core/ops/kernel/slices.h"
#include "tests/core/rewrite/graphs.h"

#include <QtTest>

using namespace retro;
using namespace retro::rewrite::testing;

namespace
{

/// Queries, keys, values.
using Operands = std::vector<Tensor>;

Operands operands(const Shape& q, const Shape& k)
{
    return {randomTensor(q, 1), randomTensor(k, 2), randomTensor(k, 3)};
}

Tensor part(const Tensor& t, std::size_t axis, std::int64_t begin, std::int64_t count)
{
    return ops::slice(t, axis, begin, count).contiguous();
}

/// Relevance of the operands, from all of what comes out.
std::vector<Tensor> relevanceOf(const Operands& given, const Tensor& mask, const Attributes& attributes = {})
{
    Writer writer;
    std::vector<ValueId> inputs{writer.input("q", given[0].shape()), writer.input("k", given[1].shape()),
                                writer.input("v", given[2].shape())};
    if (mask.isValid()) {
        inputs.push_back(writer.constant("mask", mask));
    }
    writer.output(writer.node("Attention", "attention", inputs, attributes, 25));
    engine::LoadedModel model;
    model.name = "attention";
    model.rewritten.before = model.rewritten.graph = writer.finish();
    model.read = model.rewritten.before;
    engine::ExplainRequest request;
    request.inputs = given;
    request.composite = "attnlrp";
    request.start = engine::parseStart("all").value();
    request.target = engine::parseTarget("attention_out").value();
    const auto result = engine::explain(model, request);
    if (!result.ok()) {
        qWarning("%s", result.error().text().c_str());
        return {};
    }
    std::vector<Tensor> relevance;
    for (const ValueId input : model.graph()->inputs()) {
        relevance.push_back(result->relevance[input.index()]);
    }
    return relevance;
}

/// Lower triangle.
Tensor causal(std::int64_t queries, std::int64_t keys)
{
    tensor::TensorBuffer mask(DType::Bool, {1, 1, queries, keys});
    for (std::int64_t i = 0; i < queries * keys; ++i) {
        mask.data<bool>()[i] = i % keys <= i / keys;
    }
    return std::move(mask).freeze();
}

} // namespace

class LargeAttentionTest : public QObject
{
    Q_OBJECT

private slots:
    void resultsHaveTheBitsOfTheWhole()
    {
        const std::int64_t tokens = 1100;
        const Tensor q = randomTensor({1, 4, tokens, 8}, 1);
        const Tensor k = randomTensor({1, 2, tokens, 8}, 2);
        const Tensor v = randomTensor({1, 2, tokens, 6}, 3);
        ops::AttentionForm form{1, 4, 2, tokens, tokens, 8, 6, 0.35};
        for (int kind = 0; kind < 6; ++kind) {
            ops::AttentionMask mask;
            form.left = kind == 5 ? 40 : -1;
            form.right = kind == 5 ? 3 : -1;
            form.isCausal = kind == 1 || kind == 3;
            form.past = 0;
            form.softcap = kind == 2 ? 2 : 0;
            if (kind == 2) {
                mask.bias = randomTensor({1, 1, tokens, tokens}, 4);
            } else if (kind == 3) {
                mask.lengths = {tokens - 100};
                mask.lengthsShiftCausal = true;
            } else if (kind == 4) {
                mask.bias = randomTensor({1, 4, 1, tokens}, 5);
                mask.lengths = {tokens - 3};
            }
            const Tensor pieces = ops::attended(form, q, k, v, mask);
            QVERIFY2(pieces.bitEqual(ops::attend(form, q, k, v, mask).y), qPrintable(QString::number(kind)));
        }
    }

    void headsAreCarriedOneAfterTheOther()
    {
        const std::int64_t tokens = 1300;
        const Operands all = operands({1, 4, tokens, 8}, {1, 4, tokens, 8});
        const Tensor mask = causal(tokens, tokens);
        const std::vector<Tensor> whole = relevanceOf(all, mask);
        QCOMPARE(whole.size(), std::size_t{3});
        for (std::int64_t head = 0; head < 4; ++head) {
            Operands some;
            for (const Tensor& operand : all) {
                some.push_back(part(operand, 1, head, 1));
            }
            const std::vector<Tensor> own = relevanceOf(some, mask);
            QCOMPARE(own.size(), std::size_t{3});
            for (std::size_t slot = 0; slot < 3; ++slot) {
                QVERIFY(own[slot].bitEqual(part(whole[slot], 1, head, 1)));
            }
        }
    }

    // What a query sees hangs on its place, also where scores are carried some queries at a time.
    void aWindowIsTheMaskOfTheSameKeys()
    {
        const std::int64_t tokens = 2100;
        const Operands all = operands({1, 1, tokens, 4}, {1, 1, tokens, 4});
        tensor::TensorBuffer seen(DType::Bool, {1, 1, tokens, tokens});
        for (std::int64_t i = 0; i < tokens * tokens; ++i) {
            const std::int64_t behind = i % tokens - i / tokens;
            seen.data<bool>()[i] = behind >= -20 && behind <= 5;
        }
        const std::vector<Tensor> masked = relevanceOf(all, std::move(seen).freeze());
        const std::vector<Tensor> windowed =
            relevanceOf(all, {}, {{"left_window_size", std::int64_t{20}}, {"right_window_size", std::int64_t{5}}});
        QCOMPARE(masked.size(), std::size_t{3});
        QCOMPARE(windowed.size(), std::size_t{3});
        for (std::size_t slot = 0; slot < 3; ++slot) {
            QVERIFY(deviation(windowed[slot], masked[slot]) < 1e-5);
        }
    }

    void queriesOfALargeHeadAreCarriedInGroups()
    {
        const std::int64_t tokens = 1500;
        const Operands all = operands({1, 1, tokens, 4}, {1, 1, tokens, 4});
        const Tensor mask = causal(tokens, tokens);
        const std::vector<Tensor> whole = relevanceOf(all, mask);
        QCOMPARE(whole.size(), std::size_t{3});
        std::vector<std::vector<Tensor>> halves;
        for (const std::int64_t row : {std::int64_t{0}, tokens / 2}) {
            halves.push_back(
                relevanceOf({part(all[0], 2, row, tokens / 2), all[1], all[2]}, part(mask, 2, row, tokens / 2)));
            QCOMPARE(halves.back().size(), std::size_t{3});
            QVERIFY(deviation(halves.back()[0], part(whole[0], 2, row, tokens / 2)) < 1e-5);
        }
        for (std::size_t slot = 1; slot < 3; ++slot) {
            tensor::TensorBuffer sum(DType::Float32, whole[slot].shape());
            for (std::int64_t i = 0; i < whole[slot].size(); ++i) {
                sum.data<float>()[i] = static_cast<float>(halves[0][slot].at(i) + halves[1][slot].at(i));
            }
            QVERIFY(deviation(whole[slot], std::move(sum).freeze()) < 1e-5);
        }
    }
};

QTEST_GUILESS_MAIN(LargeAttentionTest)
#include "largeattentiontest.moc"
