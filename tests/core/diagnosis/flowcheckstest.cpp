// SPDX-License-Identifier: Apache-2.0
// Checks of the flow of relevance: each fires on its fault and is silent without it.
#include <QtTest>

#include "tests/core/diagnosis/diagnosed.h"

using namespace retro;
using namespace retro::tests;

namespace
{

/// x → Pad with a constant → Conv → sum over all.
SharedGraph padded(float fill)
{
    Writer writer;
    const ValueId x = writer.input("x", {1, 1, 2, 2});
    const ValueId pads = writer.constant("pads", Tensor::of<std::int64_t>({8}, Whole{0, 0, 2, 2, 0, 0, 2, 2}));
    const ValueId value = writer.constant("fill", Tensor::scalar<float>(fill));
    const ValueId wide = writer.node("Pad", "pad", {x, pads, value});
    const ValueId w = writer.constant("w", floats({2, 1, 6, 6}, std::vector<float>(72, 0.5F)));
    const ValueId map = writer.node("Conv", "conv", {wide, w});
    writer.output(writer.node("Flatten", "flat", {map}));
    return writer.finish();
}

Tensor same(const Shape& shape, float value)
{
    return floats(shape, std::vector<float>(static_cast<std::size_t>(tensor::elementCount(shape)), value));
}

/// Two inputs side by side, of which the first is read alone; or both.
SharedGraph twoInputs(std::int64_t end)
{
    Writer writer;
    const ValueId a = writer.input("a", {1, 4});
    const ValueId b = writer.input("b", {1, 4});
    const ValueId both = writer.node("Concat", "both", {a, b}, {{"axis", std::int64_t{1}}});
    const auto whole = [&writer](const std::string& name, std::int64_t number) {
        return writer.constant(name, Tensor::of<std::int64_t>({1}, Whole{number}));
    };
    const ValueId part = writer.node("Slice", "part", {both, whole("from", 0), whole("to", end), whole("axis", 1)});
    writer.output(writer.node("Gemm", "head", {part, writer.constant("v", same({end, 3}, 0.5F))}));
    return writer.finish();
}

/// b is multiplied by a constant before it is added to a.
SharedGraph factored(float factor)
{
    Writer writer;
    const ValueId a = writer.input("a", {1, 4});
    const ValueId b = writer.input("b", {1, 4});
    const ValueId c = writer.node("Mul", "gated", {b, writer.constant("gate", Tensor::scalar<float>(factor))});
    const ValueId sum = writer.node("Add", "sum", {a, c});
    writer.output(writer.node("Gemm", "head", {sum, writer.constant("v", same({4, 3}, 0.5F))}));
    return writer.finish();
}

const Asked kTwo{{same({1, 4}, 1), same({1, 4}, 2)}};

/// a + factor·a → dense → dense.
SharedGraph cancelling(float factor)
{
    Writer writer;
    const ValueId a = writer.input("a", {1, 4});
    const ValueId b = writer.node("Mul", "scaled", {a, writer.constant("factor", Tensor::scalar<float>(factor))});
    const ValueId sum = writer.node("Add", "sum", {a, b});
    const ValueId y = writer.node("Gemm", "dense", {sum, writer.constant("w", same({4, 4}, 0.5F))});
    writer.output(writer.node("Gemm", "head", {y, writer.constant("v", same({4, 3}, 0.5F))}));
    return writer.finish();
}

/// Four dense layers; the bias of the second one is given.
SharedGraph biased(float bias)
{
    Writer writer;
    ValueId x = writer.input("a", {1, 4});
    for (int i = 0; i < 4; ++i) {
        const std::string name = "dense" + std::to_string(i);
        const ValueId b = writer.constant(name + ".bias", same({4}, i == 1 ? bias : 0.01F));
        x = writer.node("Gemm", name, {x, writer.constant(name + ".weight", same({4, 4}, 0.25F)), b});
    }
    writer.output(writer.node("Gemm", "head", {x, writer.constant("v", same({4, 3}, 0.5F))}));
    return writer.finish();
}

const Asked kRow{{same({1, 4}, 1)}};

/// A depthwise convolution whose channels but the first have that weight.
SharedGraph depthwise(float weight)
{
    Writer writer;
    const ValueId x = writer.input("x", {1, 4, 2, 2});
    const ValueId w = writer.constant("w", floats({4, 1, 1, 1}, {1, weight, weight, weight}));
    const ValueId y = writer.node("Conv", "depthwise", {x, w}, {{"group", std::int64_t{4}}});
    const ValueId row = writer.node("Flatten", "flat", {y});
    writer.output(writer.node("Gemm", "head", {row, writer.constant("v", same({16, 3}, weight < 0 ? -1 : 1))}));
    return writer.finish();
}

/// Positions are added to 3 × 4 numbers.
SharedGraph positioned(float size)
{
    Writer writer;
    const ValueId x = writer.input("x", {1, 3, 4});
    std::vector<float> positions(12);
    for (std::size_t i = 0; i < positions.size(); ++i) {
        positions[i] = size * (1 + static_cast<float>(i) / 10);
    }
    const ValueId sum = writer.node("Add", "add", {x, writer.constant("pos", floats({1, 3, 4}, positions))});
    const ValueId row = writer.node("Flatten", "flat", {writer.node("Relu", "relu", {sum})});
    writer.output(writer.node("Gemm", "head", {row, writer.constant("v", same({12, 3}, 1))}));
    return writer.finish();
}

/// Three dense layers of one number and weight 1, with these biases.
SharedGraph biasedAlong(const std::vector<float>& biases)
{
    Writer writer;
    ValueId x = writer.input("a", {1, 1});
    for (std::size_t i = 0; i < biases.size(); ++i) {
        const std::string name = "dense" + std::to_string(i);
        const ValueId b = writer.constant(name + ".bias", same({1}, biases[i]));
        x = writer.node("Gemm", name, {x, writer.constant(name + ".weight", same({1, 1}, 1)), b});
    }
    writer.output(x);
    return writer.finish();
}

Asked oneNumber(float x, const std::string& composite = "epsilon") { return {{same({1, 1}, x)}, composite, "argmax"}; }

const Asked kPicture{{floats({1, 1, 2, 2}, {1, 2, 3, 4})}};

} // namespace

class FlowChecksTest : public QObject
{
    Q_OBJECT

private slots:
    void relevanceOnPaddingIsNamed()
    {
        const Diagnosis found = diagnosed(padded(4), kPicture, "flow.unread");
        QVERIFY(hasAll(firstText(found), {"warning pad", "unread", "pads with 4"}));
        QVERIFY(isDocumented(found));
        // 32 padded elements of 4 beside 10 in all: 128 of 138.
        QVERIFY(std::abs(found.findings.front().number("lost_of_sum_abs_R") - 128.0 / 138) < 1e-4);
        QVERIFY(isSilent(diagnosed(padded(0), kPicture, "flow.unread")));
        // A fill that takes less of it is worth knowing, too: 32·0.1 beside 10.
        QVERIFY(hasAll(firstText(diagnosed(padded(0.1F), kPicture, "flow.unread")), {"note pad", "pads with 0.1"}));
        QVERIFY(isSilent(diagnosed(padded(0.01F), kPicture, "flow.unread")));
    }

    void inputsThatAreLeftOutAreNamed()
    {
        const Diagnosis found = diagnosed(twoInputs(4), kTwo, "flow.cut");
        QVERIFY(hasAll(firstText(found), {"warning part", "leaves out what comes from b"}));
        QVERIFY(isDocumented(found));
        QCOMPARE(found.findings.front().action.arguments.at("input"), std::string("b"));
        QVERIFY(isSilent(diagnosed(twoInputs(8), kTwo, "flow.cut")));
    }

    void aFactorOfZeroCutsAnInputOff()
    {
        const Diagnosis found = diagnosed(factored(0), kTwo, "flow.cut");
        QVERIFY(hasAll(firstText(found), {"warning gated", "multiplies what comes from b by 0 (gate)"}));
        QVERIFY(isSilent(diagnosed(factored(1), kTwo, "flow.cut")));
    }

    /// Tokens that come as numbers: the way to the input leads through a value of integers.
    void aWayThroughIntegersIsFollowed()
    {
        Writer writer;
        const ValueId x = writer.input("x", {1, 3});
        const ValueId ids = writer.node("Cast", "ids", {x}, {{"to", std::int64_t{7}}});
        const ValueId rows = writer.node("Gather", "table", {writer.constant("w", same({9, 4}, 1)), ids});
        const ValueId row = writer.node("Flatten", "flat", {rows});
        writer.output(writer.node("Gemm", "head", {row, writer.constant("v", same({12, 2}, 0.5F))}));
        const Diagnosis found = diagnosed(writer.finish(), {{same({1, 3}, 1)}}, "flow.cut");
        QVERIFY(std::ranges::none_of(found.findings, [](const auto& one) {
            return one.line().find("leaves out what comes from x") != std::string::npos;
        }));
    }

    void anEmptyInputIsNoFault()
    {
        const Asked empty{{same({1, 4}, 1), same({1, 4}, 0)}};
        const Diagnosis found = diagnosed(factored(1), empty, "flow.cut");
        QVERIFY(hasAll(firstText(found), {"note b is 0 everywhere"}));
    }

    void inputsWithoutAWayAreNamed()
    {
        Writer writer;
        const ValueId a = writer.input("a", {1, 4});
        const ValueId b = writer.input("b", {1, 4});
        const ValueId v = writer.constant("v", same({4, 3}, 0.5F));
        writer.output(writer.node("Gemm", "head", {a, v}));
        writer.output(writer.node("Gemm", "other", {b, v}));
        const SharedGraph graph = writer.finish();
        const Diagnosis found = diagnosed(graph, kTwo, "flow.unconnected");
        QVERIFY(hasAll(firstText(found), {"warning b is not connected with the target head_out"}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosed(factored(1), kTwo, "flow.unconnected")));
    }

    void growthIsNamed()
    {
        Asked epsilon = kRow;
        epsilon.composite = "epsilon:epsilon=1e-9";
        const Diagnosis found = diagnosed(cancelling(-0.9999F), epsilon, "flow.growth");
        QVERIFY(hasAll(firstText(found), {"warning sum", "its operands cancel", "--rule name:sum=abs-ratio"}));
        QVERIFY(isDocumented(found));
        QVERIFY(found.findings.front().number("factor") > 15000);
        QVERIFY(isSilent(diagnosed(cancelling(0.5F), epsilon, "flow.growth")));
    }

    void explosionsAreNamed()
    {
        Asked epsilon = kRow;
        epsilon.composite = "epsilon:epsilon=1e-9";
        const Diagnosis found = diagnosed(cancelling(-0.9999F), epsilon, "flow.explodes");
        QVERIFY(hasAll(firstText(found), {"warning", "Σ|R| grows by 4", "decades", "most is sum ("}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosed(cancelling(0.5F), epsilon, "flow.explodes")));
    }

    void otherRulesAreTriedWhereRelevanceExplodes()
    {
        Asked epsilon = kRow;
        epsilon.composite = "epsilon:epsilon=1e-9";
        const Diagnosis found = diagnosed(cancelling(-0.9999F), epsilon, "rule.better");
        QVERIFY(
            hasAll(firstText(found), {"with other rules Σ|R| grows by", "structure:\"sum of operands\"=abs-ratio"}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosed(cancelling(0.5F), epsilon, "rule.better")));
    }

    void aLargeBiasIsNamed()
    {
        const Diagnosis found = diagnosed(biased(9), kRow, "flow.bias");
        QVERIFY(hasAll(firstText(found), {"warning dense1", "its bias is 90 % of the magnitude", "at its siblings",
                                          "takes 90 % of Σ|R|", "--rule name:dense1=epsilon:bias=zero"}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosed(biased(0.01F), kRow, "flow.bias")));
        // Siblings without any: a little more than half is not enough, 0.6 is.
        QVERIFY(hasAll(firstText(diagnosed(biased(1.6F), kRow, "flow.bias")), {"warning dense1", "is 61 %"}));
        QVERIFY(isSilent(diagnosed(biased(1.45F), kRow, "flow.bias")));
        QVERIFY(isSilent(diagnosed(biased(1.2F), kRow, "flow.bias")));
    }

    void gatesOverChannelsAreComparedWithEachOther()
    {
        // Three gates of one position among convolutions of many: the bias of a gate is like that of the other gates.
        const auto gated = [](float lastBias) {
            Writer writer;
            ValueId x = writer.input("a", {1, 4, 4, 4});
            for (int i = 0; i < 3; ++i) {
                const std::string name = "block" + std::to_string(i) + "/";
                const auto conv = [&](const std::string& which, ValueId read, float bias) {
                    return writer.node("Conv", name + which,
                                       {read, writer.constant(name + which + ".w", same({4, 4, 1, 1}, 0.25F)),
                                        writer.constant(name + which + ".b", same({4}, bias))});
                };
                x = writer.node("Relu", name + "relu", {conv("conv", x, 0.001F)});
                const ValueId mean = writer.node("GlobalAveragePool", name + "mean", {x});
                x = writer.node("Add", name + "add", {x, conv("gate", mean, i == 2 ? lastBias : 3)});
            }
            const ValueId row = writer.node("Flatten", "row", {writer.node("GlobalAveragePool", "mean", {x})});
            writer.output(writer.node("Gemm", "head", {row, writer.constant("v", same({4, 3}, 0.5F))}));
            return writer.finish();
        };
        const Asked asked{{same({1, 4, 4, 4}, 0.5F)}};
        QVERIFY(isSilent(diagnosed(gated(3), asked, "flow.bias")));
        QVERIFY(hasAll(firstText(diagnosed(gated(3000), asked, "flow.bias")), {"block2/gate its bias is 100 %"}));
    }

    void signsOfTermsDoNotCountForTheShareOfABias()
    {
        // Terms of 1 and −0.98 with a bias of 0.1: most of the sum, little of its magnitude.
        Writer writer;
        const ValueId x = writer.input("a", {1, 4});
        ValueId y = x;
        for (int i = 0; i < 4; ++i) {
            const std::string name = "dense" + std::to_string(i);
            std::vector<float> weights(16, 0.25F);
            if (i == 1) {
                for (std::size_t k = 0; k < weights.size(); ++k) {
                    weights[k] = k / 4 % 2 == 0 ? 0.5F : -0.49F;
                }
            }
            y = writer.node("Gemm", name,
                            {y, writer.constant(name + ".weight", floats({4, 4}, weights)),
                             writer.constant(name + ".bias", same({4}, i == 1 ? 0.1F : 0.0F))});
        }
        writer.output(writer.node("Gemm", "head", {y, writer.constant("v", same({4, 3}, 0.5F))}));
        Asked epsilon = kRow;
        epsilon.composite = "epsilon";
        const Diagnosis found = diagnosed(writer.finish(), epsilon, "flow.bias");
        QVERIFY(isSilent(found));
        QVERIFY(std::abs(only(found).largest - 0.1 / 2.08) < 1e-3);
    }

    void zeroDenominatorsAreNamed()
    {
        const Asked picture{{same({1, 4, 2, 2}, 1)}};
        const Diagnosis found = diagnosed(depthwise(-1), picture, "flow.zero-denominator");
        QVERIFY(hasAll(firstText(found), {"warning depthwise", "is lost to zero denominators", "3 of 4 channels",
                                          "--rule name:depthwise=epsilon"}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosed(depthwise(1), picture, "flow.zero-denominator")));
    }

    void signsThatARuleCutsOffAreNamed()
    {
        // 1 and −0.6 arrive at the Relu; deconvnet lets what is above 0 through.
        Writer writer;
        const ValueId x = writer.input("a", {1, 2});
        const ValueId relu = writer.node(
            "Relu", "relu", {writer.node("Gemm", "first", {x, writer.constant("w", floats({2, 2}, {1, 0, 0, 1}))})});
        writer.output(writer.node("Gemm", "head", {relu, writer.constant("v", floats({2, 1}, {1, -0.6F}))}));
        const SharedGraph graph = writer.finish();
        const Asked cut{{floats({1, 2}, {1, 1})}, "epsilon | op:Relu=deconvnet"};
        const Diagnosis found = diagnosed(graph, cut, "flow.clipped-sign");
        QVERIFY(hasAll(firstText(found), {"warning relu 38 % of Σ|R|", "the sign that rule deconvnet cuts off",
                                          "--rule name:relu=pass"}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosed(graph, {{floats({1, 2}, {1, 1})}, "epsilon"}, "flow.clipped-sign")));
    }

    void positionsThatTakeAllAreNamed()
    {
        const Asked rows{{same({1, 3, 4}, 1)}};
        const Diagnosis found = diagnosed(positioned(10), rows, "flow.constant");
        QVERIFY(hasAll(firstText(found), {"warning add its constant pos is 9", "of what started"}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosed(positioned(0.1F), rows, "flow.constant")));
    }

    void wholeRunsThatLoseMuchAreNamed()
    {
        // No single bias is unlike the others: 1 + 0.3 + 0.4 + 0.3 of which the input made a half.
        const Diagnosis found = diagnosed(biasedAlong({0.3F, 0.4F, 0.3F}), oneNumber(1), "flow.absorbed");
        QVERIFY(
            hasAll(firstText(found), {"note dense2_out 50 % of what started is absorbed on the way (bias 50 %), most",
                                      "at dense1 20 %, ", "50 % arrives at the inputs"}));
        QVERIFY(isDocumented(found));
        QVERIFY(std::abs(found.findings.front().number("absorbed_of_start") - 0.5) < 1e-5);
        QVERIFY(isSilent(diagnosed(biasedAlong({0.1F, 0.1F, 0.1F}), oneNumber(1), "flow.absorbed")));
        // Nothing is lost to a bias that counts as none.
        QVERIFY(
            isSilent(diagnosed(biasedAlong({0.3F, 0.4F, 0.3F}), oneNumber(1, "epsilon:zero_bias=1"), "flow.absorbed")));
    }

    void moreThanStartedAndLessThanNothingAreSaid()
    {
        // 1.5 − 0.5: the input speaks against what the biases make.
        const Diagnosis more = diagnosed(biasedAlong({1, 0.5F}), oneNumber(-0.5F), "flow.absorbed");
        QVERIFY(
            hasAll(firstText(more), {"dense1_out more than started is absorbed on the way, 150 % of it (bias 150 %)",
                                     "dense0 100 %", "-50 % arrives at the inputs", "the other sign than the score"}));
        // 2 − 1: twice as much arrives as started.
        const Diagnosis added = diagnosed(biasedAlong({-0.25F, -0.75F}), oneNumber(2), "flow.absorbed");
        QVERIFY(hasAll(firstText(added), {"100 % of what started is added on the way", "dense1 75 %",
                                          "200 % arrives at the inputs: they show more than the score"}));
        // Of a score below 0 as of one above.
        const Diagnosis negative = diagnosed(biasedAlong({-0.5F, -0.5F}), oneNumber(-1), "flow.absorbed");
        QVERIFY(hasAll(firstText(negative), {"50 % of what started is absorbed", "50 % arrives"}));
    }

    void whatRulesMeanToKeepBackIsNotAbsorbed()
    {
        const auto found = diagnosed(biasedAlong({0, 0}), oneNumber(1, "epsilon | name:dense0=stop"), "flow.absorbed");
        QVERIFY(isSilent(found));                                                             // rule.stop says it
        QVERIFY(!only(diagnosed(biasedAlong({-1, 0}), oneNumber(1), "flow.absorbed")).isRun); // a score of 0
    }

    void explanationsThatDoNotLookAtTheClassAreNamed()
    {
        // Two classes with the same weights.
        Writer writer;
        const ValueId x = writer.input("a", {1, 4});
        writer.output(writer.node("Gemm", "head", {x, writer.constant("v", same({4, 2}, 0.5F))}));
        const auto facts = factsFor(writer.finish(), kRow);
        QVERIFY(hasAll(firstText(diagnosed(*facts, "eval.class-blind", true)),
                       {"warning head_out", "have the same explanation: cosine 1.0000"}));
        QVERIFY(isDocumented(diagnosed(*facts, "eval.class-blind", true)));
        Writer other;
        const ValueId y = other.input("a", {1, 4});
        other.output(other.node("Gemm", "head", {y, other.constant("v", floats({4, 2}, {1, 0, 1, 0, 0, 1, 0, 1}))}));
        QVERIFY(isSilent(diagnosed(*factsFor(other.finish(), kRow), "eval.class-blind", true)));
        QVERIFY(!only(diagnosed(*facts, "eval.class-blind")).isRun);
    }

    void heatmapsThatPointElsewhereAreNamed()
    {
        // Half of the elements speak against the class; w-square does not look at signs and names them first.
        Writer writer;
        const ValueId x = writer.input("a", {1, 8});
        const ValueId w = writer.constant("w", floats({8, 2}, {1, 0, 1, 0, 1, 0, 1, 0, -3, 0, -3, 0, -3, 0, -3, 0}));
        writer.output(writer.node("Gemm", "head", {x, w, writer.constant("b", floats({2}, {50, 0}))}));
        const SharedGraph graph = writer.finish();
        const Asked asked{{floats({1, 8}, {1, 1, 1, 1, 4, 4, 4, 4})}};
        Asked blind = asked;
        blind.composite = "epsilon_plus | name:head=w-square";
        const Diagnosis found = diagnosed(*factsFor(graph, blind), "eval.below-random", true);
        QVERIFY(hasAll(firstText(found), {"note a the score falls slower"}));
        QVERIFY(isDocumented(found));
        Asked signs = asked;
        signs.composite = "epsilon";
        QVERIFY(isSilent(diagnosed(*factsFor(graph, signs), "eval.below-random", true)));
    }

    void gradientsAreNotChecked()
    {
        Asked gradient = kPicture;
        gradient.composite = "gradient";
        const Diagnosis found = diagnosed(padded(4), gradient, "flow.unread");
        QVERIFY(!only(found).isRun);
        QCOMPARE(only(found).why, std::string("a gradient is not conserved"));
    }
};

QTEST_APPLESS_MAIN(FlowChecksTest)
#include "flowcheckstest.moc"
