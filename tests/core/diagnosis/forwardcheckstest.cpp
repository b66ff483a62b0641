// SPDX-License-Identifier: Apache-2.0
// Checks of forward values, of quantisation and of attention: each fires on its fault and is silent without it.
#include <QtTest>

#include "tests/core/diagnosis/diagnosed.h"

#include <limits>

using namespace retro;
using namespace retro::tests;

namespace
{

Tensor filled(const Shape& shape, float value)
{
    return floats(shape, std::vector<float>(static_cast<std::size_t>(tensor::elementCount(shape)), value));
}

/// x of 16 numbers → f → dense layer of 3 classes.
SharedGraph between(const std::string& op, float weight, float bias, const Attributes& attributes = {},
                    std::int64_t opset = 17)
{
    Writer writer;
    const ValueId x = writer.input("x", {1, 16});
    const ValueId w = writer.constant("w", filled({16, 16}, weight));
    const ValueId b = writer.constant("b", filled({16}, bias));
    const ValueId sum = writer.node("Gemm", "before", {x, w, b});
    const ValueId y = writer.node(op, "f", {sum}, attributes, opset);
    writer.output(writer.node("Gemm", "head", {y, writer.constant("v", randomTensor({16, 3}, 7))}));
    return writer.finish();
}

const Asked kRow{{randomTensor({1, 16}, 1, 0.5, 1)}};

/// x → dense layer → Clip to 0 … 6 → dense layer.
SharedGraph clipped(const Tensor& weight)
{
    Writer writer;
    const ValueId x = writer.input("x", {1, 16});
    const ValueId sum = writer.node("Gemm", "before", {x, writer.constant("w", weight)});
    const ValueId y = writer.node(
        "Clip", "clip",
        {sum, writer.constant("low", Tensor::scalar<float>(0)), writer.constant("high", Tensor::scalar<float>(6))});
    writer.output(writer.node("Gemm", "head", {y, writer.constant("v", randomTensor({16, 3}, 7))}));
    return writer.finish();
}

/// x / y, the deviation of constant rows.
SharedGraph divided()
{
    Writer writer;
    const ValueId x = writer.input("x", {2, 4});
    const ValueId y = writer.input("y", {2, 4});
    const ValueId share = writer.node("Div", "share", {x, y});
    writer.output(writer.node("Gemm", "head", {share, writer.constant("v", randomTensor({4, 3}, 7))}));
    return writer.finish();
}

/// A map whose windows have equal maxima, or not.
SharedGraph pooled()
{
    Writer writer;
    const ValueId x = writer.input("x", {1, 1, 4, 4});
    const ValueId y = writer.node("MaxPool", "pool", {x}, {{"kernel_shape", Whole{2, 2}}, {"strides", Whole{2, 2}}});
    const ValueId row = writer.node("Flatten", "flat", {y});
    writer.output(writer.node("Gemm", "head", {row, writer.constant("v", filled({4, 3}, 1))}));
    return writer.finish();
}

SharedGraph halved(float factor)
{
    Writer writer;
    const ValueId x = writer.input("x", {1, 16});
    const ValueId small = writer.node("Mul", "scaled", {x, writer.constant("factor", Tensor::scalar<float>(factor))});
    const ValueId half = writer.node("Cast", "half", {small}, {{"to", std::int64_t{10}}});
    const ValueId full = writer.node("Cast", "full", {half}, {{"to", std::int64_t{1}}});
    writer.output(writer.node("Gemm", "head", {full, writer.constant("v", randomTensor({16, 3}, 7))}));
    return writer.finish();
}

SharedGraph normalised(double epsilon)
{
    Writer writer;
    const ValueId x = writer.input("x", {1, 4, 16});
    const ValueId y =
        writer.node("LayerNormalization", "norm",
                    {x, writer.constant("scale", filled({16}, 1)), writer.constant("shift", filled({16}, 0))},
                    {{"axis", std::int64_t{-1}}, {"epsilon", epsilon}});
    const ValueId row = writer.node("Flatten", "flat", {y});
    writer.output(writer.node("Gemm", "head", {row, writer.constant("v", randomTensor({64, 3}, 7))}));
    return writer.finish();
}

/// An LSTM of 4 units over 3 steps; `bias` is that of its input gate.
SharedGraph recurrent(float bias)
{
    Writer writer;
    const ValueId x = writer.input("x", {3, 1, 2});
    std::vector<float> biases(32, 0);
    std::fill_n(biases.begin(), 4, bias); // input, output, forget, cell
    const ValueId y =
        writer.node("LSTM", "lstm",
                    {x, writer.constant("w", randomTensor({1, 16, 2}, 3)),
                     writer.constant("r", randomTensor({1, 16, 4}, 4)), writer.constant("b", floats({1, 32}, biases))},
                    {{"hidden_size", std::int64_t{4}}});
    const ValueId row =
        writer.node("Reshape", "row", {y, writer.constant("one", Tensor::of<std::int64_t>({2}, Whole{1, 12}))});
    writer.output(writer.node("Gemm", "head", {row, writer.constant("v", randomTensor({12, 3}, 7))}));
    return writer.finish();
}

SharedGraph quantised(float scale, std::uint8_t zeroPoint = 0)
{
    Writer writer;
    const ValueId x = writer.input("x", {1, 32});
    const ValueId y = writer.node("Relu", "relu", {x});
    const ValueId s = writer.constant("scale", Tensor::scalar<float>(scale));
    const ValueId z = writer.constant("zero", Tensor::scalar<std::uint8_t>(zeroPoint));
    const ValueId levels = writer.node("QuantizeLinear", "quantise", {y, s, z});
    const ValueId back = writer.node("DequantizeLinear", "dequantise", {levels, s, z});
    writer.output(writer.node("Gemm", "head", {back, writer.constant("v", randomTensor({32, 3}, 7))}));
    return writer.finish();
}

/// Two blocks of attention over 4 positions, each with its causal mask or without.
SharedGraph attending(bool firstIsMasked, bool secondIsMasked)
{
    Writer writer;
    ValueId x = writer.input("x", {1, 4, 4});
    std::vector<float> mask(16, 0);
    for (std::size_t i = 0; i < 16; ++i) {
        mask[i] = i % 4 > i / 4 ? -1e9F : 0;
    }
    for (int block = 0; block < 2; ++block) {
        const std::string name = "block" + std::to_string(block) + "/";
        const auto weight = [&](const char* which, unsigned seed) {
            return writer.constant(name + which, randomTensor({4, 4}, seed + static_cast<unsigned>(block) * 10));
        };
        const ValueId q = writer.node("MatMul", name + "q", {x, weight("wq", 1)});
        const ValueId k = writer.node("MatMul", name + "k", {x, weight("wk", 2)});
        const ValueId turned = writer.node("Transpose", name + "turned", {k}, {{"perm", Whole{0, 2, 1}}});
        ValueId scores = writer.node("MatMul", name + "scores", {q, turned});
        if (block == 0 ? firstIsMasked : secondIsMasked) {
            scores =
                writer.node("Add", name + "masked", {scores, writer.constant(name + "mask", floats({4, 4}, mask))});
        }
        const ValueId weights = writer.node("Softmax", name + "softmax", {scores}, {{"axis", std::int64_t{-1}}});
        x = writer.node("MatMul", name + "mixed", {weights, x});
    }
    const ValueId row = writer.node("Flatten", "flat", {x});
    writer.output(writer.node("Gemm", "head", {row, writer.constant("v", randomTensor({16, 3}, 7))}));
    return writer.finish();
}

} // namespace

class ForwardChecksTest : public QObject
{
    Q_OBJECT

private slots:
    void divisionsByZeroAreNamed()
    {
        const Asked bad{{floats({2, 4}, {0, 0, 1, 1, 1, 1, 1, 1}), floats({2, 4}, {0, 0, 1, 1, 1, 1, 1, 1})}};
        const Diagnosis found = diagnosed(divided(), bad, "forward.nonfinite");
        QVERIFY(hasAll(firstText(found), {"error share", "0/0 in 2 of 8 elements", "divisor y is 0"}));
        QVERIFY(isDocumented(found));
        const Asked good{{filled({2, 4}, 1), filled({2, 4}, 2)}};
        QVERIFY(isSilent(diagnosed(divided(), good, "forward.nonfinite")));
    }

    void infiniteConstantsOfOneAxisAreNamedWhereTheyDoHarm()
    {
        const float infinite = std::numeric_limits<float>::infinity();
        // A bound may be infinite, and here nothing comes of it.
        QVERIFY(isSilent(diagnosed(between("Tanh", 0.1F, infinite), kRow, "forward.nonfinite")));
        const Diagnosis linear = diagnosed(between("Relu", 0.1F, infinite), kRow, "forward.nonfinite");
        QVERIFY(hasAll(firstText(linear), {"error before its bias (b) is infinite in 16 of 16 elements"}));
    }

    void inputsThatAreNotFiniteAreNamed()
    {
        const float none = std::numeric_limits<float>::quiet_NaN();
        const Asked bad{{floats({2, 4}, {1, 1, none, 1, 1, 1, 1, 1}), filled({2, 4}, 1)}};
        const Diagnosis found = diagnosed(divided(), bad, "forward.nonfinite");
        QVERIFY(hasAll(firstText(found), {"error x", "1 of 8 elements"}));
    }

    void deadRectifiersAreNamed()
    {
        const Diagnosis found = diagnosed(between("Relu", 0.1F, -60), kRow, "forward.dead");
        QVERIFY(
            hasAll(firstText(found), {"warning f is dead", "all 16 outputs are 0", "for this input", "at most -5"}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosed(between("Relu", 0.1F, 0), kRow, "forward.dead")));
    }

    void deadSmoothRectifiersAreNamed()
    {
        constexpr std::int64_t kGeluOpset = 20;
        const Diagnosis found = diagnosed(between("Gelu", 0.1F, -12, {}, kGeluOpset), kRow, "forward.dead");
        QVERIFY(hasAll(firstText(found), {"warning f is dead", "all 16 outputs are next to 0", "at most -1"}));
        QVERIFY(isSilent(diagnosed(between("Gelu", 0.1F, -2, {}, kGeluOpset), kRow, "forward.dead")));
    }

    void saturatedActivationsAreNamed()
    {
        const Diagnosis tanh = diagnosed(between("Tanh", 10, 0), kRow, "forward.saturated");
        QVERIFY(hasAll(firstText(tanh), {"warning f is saturated", "100 %", "±0.999"}));
        QVERIFY(isDocumented(tanh));
        QCOMPARE(tanh.findings.front().number("share_saturated"), 1.0);
        const Diagnosis closed = diagnosed(between("Sigmoid", 0.1F, -60), kRow, "forward.saturated");
        QVERIFY(hasAll(firstText(closed), {"warning f is closed"}));
        QVERIFY(isSilent(diagnosed(between("Tanh", 0.01F, 0), kRow, "forward.saturated")));
    }

    void theLastSigmoidMayBeSure()
    {
        Writer writer;
        const ValueId x = writer.input("x", {1, 16});
        const ValueId sum = writer.node("Gemm", "dense", {x, writer.constant("w", filled({16, 4}, 10))});
        writer.output(writer.node("Sigmoid", "sigmoid", {sum}));
        QVERIFY(isSilent(diagnosed(writer.finish(), kRow, "forward.saturated")));
    }

    void samplesOfABatchConfirm()
    {
        Writer writer;
        const ValueId x = writer.input("x", {2, 16});
        const ValueId w = writer.constant("w", filled({16, 16}, 0.1F));
        const ValueId b = writer.constant("b", filled({16}, -60));
        const ValueId y = writer.node("Relu", "f", {writer.node("Gemm", "before", {x, w, b})});
        writer.output(writer.node("Gemm", "head", {y, writer.constant("v", randomTensor({16, 3}, 7))}));
        const Asked two{{randomTensor({2, 16}, 1)}};
        const SharedGraph graph = writer.finish();
        const Diagnosis found = diagnosed(graph, two);
        QVERIFY(hasAll(firstText(found), {"warning f", "for each of 2 samples", "Look at the bias of before"}));
        QVERIFY(found.findings.front().raised >= 0.3);
        QVERIFY(std::ranges::any_of(found.findings.front().also,
                                    [](const Finding& also) { return also.id == "eval.batch"; }));
        const Diagnosis batch = diagnosed(graph, two, "eval.batch");
        QVERIFY(hasAll(firstText(batch), {"note f is dead for each of 2 samples"}) && isDocumented(batch));
        const Asked one{{randomTensor({1, 16}, 1)}};
        QVERIFY(!only(diagnosed(between("Relu", 0.1F, -60), one, "eval.batch")).isRun);
        Writer sound;
        const ValueId z = sound.node("Relu", "f", {sound.input("x", {2, 16})});
        sound.output(sound.node("Gemm", "head", {z, sound.constant("v", randomTensor({16, 3}, 7))}));
        QVERIFY(isSilent(diagnosed(sound.finish(), two, "eval.batch")));
    }

    void valuesThatAreCutOffAreNamed()
    {
        const Diagnosis found = diagnosed(clipped(filled({16, 16}, 10)), kRow, "forward.clipped");
        QVERIFY(hasAll(firstText(found), {"warning clip", "100 % of its 16 outputs", "upper bound 6"}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosed(clipped(filled({16, 16}, 0.1)), kRow, "forward.clipped")));
        // Few elements are cut off, and nearly all relevance is there.
        std::vector<float> few(16 * 16);
        for (std::size_t i = 0; i < 16; ++i) {
            few[i * 16 + i] = i < 3 ? 100.0F : 0.01F;
        }
        const Diagnosis heavy = diagnosed(clipped(Tensor::of<float>({16, 16}, few)), kRow, "forward.clipped");
        QVERIFY(hasAll(firstText(heavy), {"warning clip", "19 % of its 16 outputs", "of Σ|R| lies there"}));
    }

    void copiesOfAPoolAreTiesByDesign()
    {
        const auto twice = [](std::int64_t stride) {
            Writer writer;
            const ValueId x = writer.input("x", {1, 1, 9, 9});
            const Attributes first{{"kernel_shape", Whole{3, 3}}, {"strides", Whole{stride, stride}}};
            const Attributes second{{"kernel_shape", Whole{2, 2}}, {"strides", Whole{1, 1}}};
            const ValueId pooled = writer.node("MaxPool", "before", {x}, first);
            writer.output(writer.node("Flatten", "flat", {writer.node("MaxPool", "pool", {pooled}, second)}));
            return writer.finish();
        };
        const Asked row{{randomTensor({1, 1, 9, 9}, 5, 0.5, 1)}, "epsilon_plus", "flat_out"};
        const Diagnosis found = diagnosed(twice(1), row, "forward.ties");
        QVERIFY(hasAll(firstText(found), {"note pool", "overlapping windows"}));
        QVERIFY(isSilent(diagnosed(twice(3), row, "forward.ties")));
    }

    void tiesAreNamed()
    {
        const Diagnosis found = diagnosed(pooled(), {{filled({1, 1, 4, 4}, 1)}}, "forward.ties");
        QVERIFY(hasAll(firstText(found), {"warning pool", "100 % of Σ|R|", "several equal maxima"}));
        QVERIFY(isDocumented(found));
        const Asked different{{randomTensor({1, 1, 4, 4}, 5, 0.1, 1)}};
        QVERIFY(isSilent(diagnosed(pooled(), different, "forward.ties")));
    }

    /// A window that is nearly all padding is looked at where the map is.
    void tiesInHugeWindowsAreNamed()
    {
        constexpr std::int64_t kHalf = std::int64_t{1} << 28;
        Writer writer;
        const ValueId x = writer.input("x", {1, 1, 4, 4});
        const Whole side(4, kHalf);
        const ValueId y = writer.node("MaxPool", "pool", {x},
                                      {{"kernel_shape", Whole{2 * kHalf + 4, 2 * kHalf + 4}}, {"pads", side}});
        const ValueId row = writer.node("Flatten", "flat", {y});
        writer.output(writer.node("Gemm", "head", {row, writer.constant("v", filled({1, 3}, 1))}));
        const SharedGraph graph = writer.finish();
        const Diagnosis found = diagnosed(graph, {{filled({1, 1, 4, 4}, 1)}}, "forward.ties");
        QVERIFY(hasAll(firstText(found), {"warning pool", "several equal maxima"}));
        QVERIFY(isSilent(diagnosed(graph, {{randomTensor({1, 1, 4, 4}, 5, 0.1, 1)}}, "forward.ties")));
    }

    void lossesOfHalfPrecisionAreNamed()
    {
        const Diagnosis small = diagnosed(halved(1e-9F), kRow, "forward.half");
        QVERIFY(hasAll(firstText(small), {"error half", "100 % of 16 values", "become 0 in float16"}));
        QVERIFY(isDocumented(small));
        const Diagnosis large = diagnosed(halved(1e6F), kRow, "forward.half");
        QVERIFY(hasAll(firstText(large), {"error half", "become infinite in float16"}));
        QVERIFY(isSilent(diagnosed(halved(1), kRow, "forward.half")));
    }

    void aLargeEpsilonIsNamed()
    {
        const Asked rows{{randomTensor({1, 4, 16}, 1)}};
        const Diagnosis found = diagnosed(normalised(10), rows, "forward.epsilon");
        QVERIFY(hasAll(firstText(found), {"warning norm its epsilon 10 is 9"}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosed(normalised(1e-5), rows, "forward.epsilon")));
    }

    void shutGatesAreNamed()
    {
        const Asked series{{randomTensor({3, 1, 2}, 1)}};
        const Diagnosis found = diagnosed(recurrent(-30), series, "recurrent.gate");
        QVERIFY(hasAll(firstText(found), {"warning lstm its input gate, forward, is shut in 100 %"}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosed(recurrent(0), series, "recurrent.gate")));
    }

    void scalesOfQuantisersAreNamed()
    {
        const Asked row{{randomTensor({1, 32}, 1, 0.1, 2)}};
        const Diagnosis narrow = diagnosed(quantised(0.001F), row, "quant.saturated");
        QVERIFY(hasAll(firstText(narrow), {"warning quantise", "0 … 255", "scale 0.001 is too small"}));
        QVERIFY(isDocumented(narrow));
        QVERIFY(isSilent(diagnosed(quantised(2 / 255.0F), row, "quant.saturated")));
        const Diagnosis coarse = diagnosed(quantised(1), row, "quant.coarse");
        QVERIFY(hasAll(firstText(coarse), {"warning quantise", "32 values use only 3 levels"}));
        QVERIFY(isDocumented(coarse));
        QVERIFY(isSilent(diagnosed(quantised(2 / 255.0F), row, "quant.coarse")));
        // A rectifier became the lower end of the type: of what lies above it, nothing is lost.
        std::vector<float> few(32);
        for (std::size_t i = 0; i < few.size(); ++i) {
            few[i] = i < 5 ? static_cast<float>(2 * i + 1) : -0.1F * static_cast<float>(i);
        }
        const Asked rectified{{Tensor::of<float>({1, 32}, few)}};
        QVERIFY(isSilent(diagnosed(quantised(0.25F), rectified, "quant.coarse")));
    }

    void aMissingMaskIsNamed()
    {
        const Asked rows{{randomTensor({1, 4, 4}, 1)}};
        const Diagnosis found = diagnosed(attending(true, false), rows, "attention.leak");
        QVERIFY(hasAll(firstText(found), {"warning block1/softmax attends to later positions", "1 of 2 like it"}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosed(attending(true, true), rows, "attention.leak")));
        QVERIFY(isSilent(diagnosed(attending(false, false), rows, "attention.leak")));
    }

    void anAttentionToOneKeyIsNamed()
    {
        const Diagnosis found =
            diagnosed(attending(false, false), {{randomTensor({1, 4, 4}, 1, -20, 20)}}, "attention.sharp");
        QVERIFY2(!found.findings.empty(), std::to_string(only(found).largest).c_str());
        QVERIFY(hasAll(firstText(found), {"warning block0/softmax is saturated: in 100 % of its 4 rows"}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosed(attending(false, false), {{randomTensor({1, 4, 4}, 1)}}, "attention.sharp")));
        // A mask that leaves a row few keys is none.
        QVERIFY(isSilent(diagnosed(attending(true, true), {{randomTensor({1, 4, 4}, 1)}}, "attention.sharp")));
    }
};

QTEST_APPLESS_MAIN(ForwardChecksTest)
#include "forwardcheckstest.moc"
