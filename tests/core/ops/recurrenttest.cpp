// SPDX-License-Identifier: Apache-2.0
// RNN, GRU, LSTM and attention: small cases by hand, attributes, refusals.
#include "tests/core/ops/opcase.h"

#include <QtTest>

#include <cmath>

using namespace retro::tests;
using Texts = std::vector<std::string>;
using retro::ops::StructureKind;

namespace
{

/// h ← 2·x + 3·h without an activation, over x = 1, 10, 100.
OpCase linearRnn(const std::string& direction = "forward")
{
    OpCase c("RNN", 22);
    const bool isBoth = direction == "bidirectional";
    c.operand(doubles({3, 1, 1}, {1, 10, 100}));
    c.constant(isBoth ? doubles({2, 1, 1}, {2, 2}) : doubles({1, 1, 1}, {2}));
    c.constant(isBoth ? doubles({2, 1, 1}, {3, 3}) : doubles({1, 1, 1}, {3}));
    return c.with("direction", direction).with("activations", Texts(isBoth ? 2 : 1, "Affine")).outputs(2);
}

} // namespace

class RecurrentTest : public QObject
{
    Q_OBJECT
private slots:
    void stepByStep()
    {
        QCOMPARE(q(linearRnn().run()), "[3 × 1 × 1 × 1] 2 26 278");
        QCOMPARE(q(linearRnn().run(1)), "[1 × 1 × 1] 278");
        QCOMPARE(q(linearRnn("reverse").run()), "[3 × 1 × 1 × 1] 1862 620 200");
        QCOMPARE(q(linearRnn("reverse").run(1)), "[1 × 1 × 1] 1862");
        QCOMPARE(q(linearRnn("bidirectional").run()), "[3 × 2 × 1 × 1] 2 1862 26 620 278 200");
        OpCase c = linearRnn();
        QVERIFY(c.bind());
        QVERIFY(c.op().structure().kind() == StructureKind::Composed);
    }

    void shorterSequencesEndInZeros()
    {
        const Tensor two = Tensor::of<std::int32_t>({1}, std::vector<std::int32_t>{2});
        QCOMPARE(q(linearRnn().absent().constant(two).run()), "[3 × 1 × 1 × 1] 2 26 0");
        QCOMPARE(q(linearRnn().absent().constant(two).run(1)), "[1 × 1 × 1] 26");
        QCOMPARE(q(linearRnn("reverse").absent().constant(two).run()), "[3 × 1 × 1 × 1] 62 20 0");
    }

    void biasesAndFirstState()
    {
        OpCase c = linearRnn().constant(doubles({1, 2}, {0.5, 0.25})).absent().operand(doubles({1, 1, 1}, {1}));
        QCOMPARE(q(c.run()), "[3 × 1 × 1 × 1] 5.75 38 314.75");
    }

    void batchFirst()
    {
        OpCase c("RNN", 22);
        c.operand(doubles({2, 2, 1}, {1, 10, 5, 50}))
            .constant(doubles({1, 1, 1}, {2}))
            .constant(doubles({1, 1, 1}, {3}));
        c.with("layout", std::int64_t{1}).with("activations", Texts{"Affine"}).outputs(2);
        QCOMPARE(q(c.run()), "[2 × 2 × 1 × 1] 2 26 10 130");
        QCOMPARE(q(c.run(1)), "[2 × 1 × 1] 26 130");
    }

    void clippedBeforeTheActivation() { QCOMPARE(q(linearRnn().with("clip", 20.0).run()), "[3 × 1 × 1 × 1] 2 20 20"); }

    void gatedUnit()
    {
        // Update gate 1/2, reset gate 1/2, candidate 4·x + 8·(r ⊙ h).
        OpCase c("GRU", 22);
        c.operand(doubles({2, 1, 1}, {1, 1}))
            .constant(doubles({1, 3, 1}, {0, 0, 4}))
            .constant(doubles({1, 3, 1}, {0, 0, 8}));
        c.with("activations", Texts{"Sigmoid", "Affine"});
        QCOMPARE(q(c.run()), "[2 × 1 × 1 × 1] 2 7");
        // The bias of the state's part is reset, too.
        c.constant(doubles({1, 6}, {0, 0, 0, 0, 0, 2})).with("linear_before_reset", std::int64_t{1});
        QCOMPARE(q(c.run()), "[2 × 1 × 1 × 1] 2.5 8.75");
    }

    void longShortTermMemory()
    {
        // All gates 1/2, cell input x: c ← c/2 + x/2, h = c/2 (no activations but the gates').
        OpCase c("LSTM", 22);
        c.operand(doubles({2, 1, 1}, {4, 8})).constant(doubles({1, 4, 1}, {0, 0, 0, 1}));
        c.constant(doubles({1, 4, 1}, {0, 0, 0, 0}))
            .with("activations", Texts{"Sigmoid", "Affine", "Affine"})
            .outputs(3);
        QCOMPARE(q(c.run()), "[2 × 1 × 1 × 1] 1 2.5");
        QCOMPARE(q(c.run(2)), "[1 × 1 × 1] 5");
        // A peephole of the output gate sees the new cell.
        OpCase peeping = OpCase("LSTM", 22).operand(doubles({1, 1, 1}, {4})).constant(doubles({1, 4, 1}, {0, 0, 0, 1}));
        peeping.constant(doubles({1, 4, 1}, {0, 0, 0, 0})).absent().absent().absent().absent();
        peeping.constant(doubles({1, 3}, {0, std::log(3.0) / 2, 0}));
        QCOMPARE(q(peeping.with("activations", Texts{"Sigmoid", "Affine", "Affine"}).run()), "[1 × 1 × 1 × 1] 1.5");
    }

    /// input_forget: c ← (1 − i)·c + i·x with i = 1/4, whatever the forget gate's own weights say.
    void coupledGates()
    {
        const double quarter = -std::log(3.0);
        OpCase c("LSTM", 22);
        c.operand(doubles({2, 1, 1}, {4, 8})).constant(doubles({1, 4, 1}, {0, 0, 7, 1}));
        c.constant(doubles({1, 4, 1}, {0, 0, 0, 0})).constant(doubles({1, 8}, {quarter, 0, 5, 0, 0, 0, 0, 0}));
        c.with("activations", Texts{"Sigmoid", "Affine", "Affine"}).with("input_forget", std::int64_t{1}).outputs(3);
        QCOMPARE(q(c.run(2)), "[1 × 1 × 1] 2.75");
        QCOMPARE(q(c.run()), "[2 × 1 × 1 × 1] 0.5 1.375");
    }

    void refusals()
    {
        QVERIFY(q(linearRnn().with("activations", Texts{"Magic"}).refusal()).contains("activation 'Magic' is unknown"));
        QVERIFY(q(linearRnn().with("direction", std::string("up")).refusal()).contains("direction 'up' is unknown"));
        QVERIFY(
            q(linearRnn().with("hidden_size", std::int64_t{2}).refusal()).contains("operand 1 must have the shape"));
        QVERIFY(q(linearRnn().with("input_forget", std::int64_t{1}).refusal()).contains("input_forget"));
    }

    void attentionWeighsValues()
    {
        // Queries of zero look at all keys alike.
        OpCase c =
            OpCase("Attention", 23).operand(doubles({1, 1, 2, 1}, {0, 0})).operand(doubles({1, 1, 2, 1}, {1, 2}));
        c.operand(doubles({1, 1, 2, 1}, {4, 8}));
        QCOMPARE(q(c.run()), "[1 × 1 × 2 × 1] 6 6");
        QCOMPARE(q(OpCase(c).with("is_causal", std::int64_t{1}).run()), "[1 × 1 × 2 × 1] 4 6");
        const Tensor none = Tensor::zeros(DType::Bool, {2, 2});
        QCOMPARE(q(OpCase(c).constant(none).run()), "[1 × 1 × 2 × 1] 0 0");
        QVERIFY(q(OpCase(c).constant(doubles({3, 3}, std::vector<double>(9))).refusal()).contains("the mask"));
    }

    void attentionWithoutItsScoresIsTheSame_data()
    {
        QTest::addColumn<bool>("isCausal");
        QTest::addColumn<bool>("isMasked");
        QTest::addColumn<bool>("isCapped");
        for (int i = 0; i < 8; ++i) {
            QTest::addRow("%d", i) << ((i & 1) != 0) << ((i & 2) != 0) << ((i & 4) != 0);
        }
    }

    // Without that output each step writes over the one before it.
    void attentionWithoutItsScoresIsTheSame()
    {
        QFETCH(bool, isCausal);
        QFETCH(bool, isMasked);
        QFETCH(bool, isCapped);
        OpCase c = OpCase("Attention", 23).operand(doubles({1, 1, 2, 2}, {1, -2, 3, 0.5}));
        c.operand(doubles({1, 1, 2, 2}, {0.5, 1, -1, 2})).operand(doubles({1, 1, 2, 1}, {4, 8}));
        if (isMasked) {
            c.constant(doubles({2, 2}, {0.25, -0.5, -1, 0.75}));
        }
        c.with("is_causal", std::int64_t{isCausal ? 1 : 0}).with("softcap", isCapped ? 2.0 : 0.0);
        QVERIFY(c.bind());
        const Tensor alone = c.forward().front();
        for (const std::int64_t kept : {0, 1, 2, 3}) {
            OpCase whole = OpCase(c).with("qk_matmul_output_mode", kept).outputs(4);
            QVERIFY(whole.bind());
            const std::vector<Tensor> results = whole.forward();
            QVERIFY(results[0].bitEqual(alone));
            QCOMPARE(results[3].shape(), (Shape{1, 1, 2, 2}));
        }
        OpCase raw = OpCase(c).with("scale", 1.0).outputs(4);
        QCOMPARE(q(raw.run(3)), "[1 × 1 × 2 × 2] -1.5 -5 2 -2"); // q·kᵀ, whatever came after it
    }

    void attentionOfGroupsAndThePast()
    {
        OpCase c = OpCase("Attention", 23).operand(doubles({1, 2, 1, 1}, {0, 0})).operand(doubles({1, 1, 1, 1}, {1}));
        c.operand(doubles({1, 1, 1, 1}, {8})).absent().operand(doubles({1, 1, 1, 1}, {3}));
        c.operand(doubles({1, 1, 1, 1}, {4})).outputs(4);
        QCOMPARE(q(c.run()), "[1 × 2 × 1 × 1] 6 6");
        QCOMPARE(q(c.run(1)), "[1 × 1 × 2 × 1] 3 1");
        QCOMPARE(q(c.run(2)), "[1 × 1 × 2 × 1] 4 8");
    }

    void rotationByAQuarter()
    {
        OpCase c = OpCase("RotaryEmbedding", 23).operand(doubles({1, 1, 1, 4}, {1, 2, 3, 4}));
        c.constant(doubles({1, 1, 2}, {0, 1})).constant(doubles({1, 1, 2}, {1, 0}));
        QCOMPARE(q(c.run()), "[1 × 1 × 1 × 4] -3 2 1 4");
        QCOMPARE(q(c.with("interleaved", std::int64_t{1}).run()), "[1 × 1 × 1 × 4] -2 1 3 4");
    }
};

QTEST_GUILESS_MAIN(RecurrentTest)
#include "recurrenttest.moc"
