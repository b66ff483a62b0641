// SPDX-License-Identifier: Apache-2.0
// Checks that read a model's file alone: each fires on its fault and is silent without it.
#include <QtTest>

#include "tests/core/diagnosis/diagnosed.h"

#include <limits>

using namespace retro;
using namespace retro::tests;

namespace
{

const Asked kNoInput{};
const Asked kTwoInputs{{floats({1, 4}, {1, 1, 1, 1}), floats({1, 4}, {1, 1, 1, 1})}};

/// x → Conv → output; the weight is given.
SharedGraph convolution(Tensor weight, Attributes attributes = {})
{
    Writer writer;
    const ValueId x = writer.input("x", {1, weight.shape()[1], 6, 6});
    const ValueId w = writer.constant("conv.weight", std::move(weight));
    writer.output(writer.node("Conv", "conv", {x, w}, std::move(attributes)));
    return writer.finish();
}

Tensor withElement(const Tensor& tensor, std::size_t position, float number)
{
    const std::span<const float> old = tensor.span<float>();
    std::vector<float> numbers(old.begin(), old.end());
    numbers[position] = number;
    return floats(tensor.shape(), numbers);
}

SharedGraph normalisation(std::int64_t trainingMode)
{
    Writer writer;
    const ValueId x = writer.input("x", {2, 4, 3, 3});
    writer.output(writer.batchNorm("bn", x, 4, {{"training_mode", trainingMode}}));
    return writer.finish();
}

SharedGraph dropout(bool isTraining, float ratio)
{
    Writer writer;
    const ValueId x = writer.input("x", {1, 4});
    const ValueId r = writer.constant("ratio", Tensor::scalar<float>(ratio));
    const ValueId t = writer.constant("training", Tensor::full(DType::Bool, {}, isTraining ? 1 : 0));
    writer.output(writer.node("Dropout", "drop", {x, r, t}));
    return writer.finish();
}

/// x → Conv of a kernel and stride → Relu.
SharedGraph strided(std::int64_t kernel, std::int64_t stride, const std::string& before = {})
{
    Writer writer;
    ValueId x = writer.input("x", {1, 2, 9, 9});
    x = before.empty() ? x : writer.node(before, "before", {x});
    const ValueId w = writer.constant("w", randomTensor({3, 2, kernel, kernel}, 1));
    writer.output(writer.node("Conv", "conv", {x, w}, {{"strides", Whole{stride, stride}}}));
    return writer.finish();
}

SharedGraph normalisationOf(const std::vector<float>& variance, const Tensor& weights = {})
{
    Writer writer;
    const auto channels = static_cast<std::int64_t>(variance.size());
    ValueId x = writer.input("x", {1, weights.isValid() ? weights.shape()[1] : channels, 2, 2});
    if (weights.isValid()) {
        x = writer.node("Conv", "conv", {x, writer.constant("weight", weights)});
    }
    const Tensor ones = floats({channels}, std::vector<float>(variance.size(), 1));
    const Tensor zeros = floats({channels}, std::vector<float>(variance.size(), 0));
    writer.output(
        writer.node("BatchNormalization", "bn",
                    {x, writer.constant("scale", ones), writer.constant("shift", zeros), writer.constant("mean", zeros),
                     writer.constant("variance", floats({channels}, variance))}));
    return writer.finish();
}

/// Two branches, joined by a Concat, whose second half a Gemm has no weights for.
SharedGraph joined(float second)
{
    Writer writer;
    const ValueId a = writer.node("Relu", "left", {writer.input("a", {1, 4})});
    const ValueId b = writer.node("Relu", "right", {writer.input("b", {1, 4})});
    const ValueId both = writer.node("Concat", "concat", {a, b}, {{"axis", std::int64_t{1}}});
    std::vector<float> weight(24, 0.5F);
    std::fill(weight.begin() + 12, weight.end(), second);
    writer.output(writer.node("Gemm", "fc", {both, writer.constant("fc.weight", floats({8, 3}, weight))}));
    return writer.finish();
}

SharedGraph transposed(std::int64_t kernel)
{
    Writer writer;
    const ValueId x = writer.input("x", {1, 1, 4, 4});
    const ValueId w = writer.constant("w", randomTensor({1, 2, kernel, kernel}, 3, 0.1, 1));
    const ValueId up = writer.node("ConvTranspose", "up", {x, w}, {{"strides", Whole{2, 2}}});
    const ValueId mean = writer.node("GlobalAveragePool", "mean", {up});
    writer.output(writer.node("Flatten", "flat", {mean}));
    return writer.finish();
}

SharedGraph leaky(double slope)
{
    Writer writer;
    writer.output(writer.node("LeakyRelu", "act", {writer.input("x", {1, 4})}, {{"alpha", slope}}));
    return writer.finish();
}

/// A normalisation of rows of four with these scales, as an operator of its own.
SharedGraph layerNormOf(const std::vector<float>& scale)
{
    Writer writer;
    const ValueId x = writer.input("x", {1, 3, 4});
    const ValueId gamma = writer.constant("norm.scale", floats({4}, scale));
    writer.output(writer.node("LayerNormalization", "norm", {x, gamma}, {{"axis", std::int64_t{-1}}}));
    return writer.finish();
}

/// The same, written out.
SharedGraph writtenOutNormOf(const std::vector<float>& scale)
{
    Writer writer;
    const ValueId x = writer.input("x", {1, 3, 4});
    const ValueId axes = writer.constant("axes", Tensor::of<std::int64_t>({1}, Whole{-1}));
    const ValueId centred = writer.node("Sub", "sub", {x, writer.node("ReduceMean", "mean", {x, axes})});
    const ValueId squares = writer.node("Mul", "square", {centred, centred});
    const ValueId variance = writer.node("ReduceMean", "variance", {squares, axes});
    const ValueId epsilon = writer.constant("epsilon", Tensor::scalar<float>(1e-5F));
    const ValueId root = writer.node("Sqrt", "root", {writer.node("Add", "add", {variance, epsilon})});
    const ValueId divided = writer.node("Div", "div", {centred, root});
    writer.output(writer.node("Mul", "scaled", {divided, writer.constant("norm.scale", floats({4}, scale))}));
    return writer.finish();
}

/// Blocks of a product and a LeakyRelu with these slopes; a block's weights are those of `seeds`, those of the second
/// one times a factor.
SharedGraph stackOf(const std::vector<double>& slopes, const std::vector<unsigned>& seeds, double factor = 1)
{
    Writer writer;
    ValueId x = writer.input("x", {1, 8});
    for (std::size_t i = 0; i < slopes.size(); ++i) {
        const std::string block = "/blocks." + std::to_string(i);
        const double bound = i == 1 ? factor : 1;
        const ValueId w = writer.constant("w" + std::to_string(i), randomTensor({8, 8}, seeds[i], -bound, bound));
        x = writer.node("LeakyRelu", block + "/act", {writer.node("MatMul", block + "/fc", {x, w})},
                        {{"alpha", slopes[i]}});
    }
    writer.output(x);
    return writer.finish();
}

/// Blocks that add what they read, times a factor, to what they make of it.
SharedGraph residualStackOf(const std::vector<float>& factors, std::int64_t timesInBlock2 = 1)
{
    Writer writer;
    ValueId x = writer.node("Relu", "stem", {writer.input("x", {1, 8})});
    for (std::size_t i = 0; i < factors.size(); ++i) {
        const std::string block = "/layer" + std::to_string(i);
        Tensor weight = randomTensor({8, 8}, static_cast<unsigned>(i));
        if (i == 2) {
            std::vector<float> numbers(weight.span<float>().begin(), weight.span<float>().end());
            std::ranges::for_each(numbers, [&](float& x) { x *= static_cast<float>(timesInBlock2); });
            weight = floats({8, 8}, numbers);
        }
        const ValueId w = writer.constant("w" + std::to_string(i), weight);
        const ValueId branch = writer.node("Relu", block + "/act", {writer.node("MatMul", block + "/fc", {x, w})});
        const ValueId skip = factors[i] == 1
                                 ? x
                                 : writer.node("Mul", block + "/scaled",
                                               {x, writer.constant(block + ".factor", floats({1}, {factors[i]}))});
        x = writer.node("Add", block + "/sum", {branch, skip});
    }
    writer.output(x);
    return writer.finish();
}

} // namespace

class ModelChecksTest : public QObject
{
    Q_OBJECT

private slots:
    void trainingModeIsNamed()
    {
        const Diagnosis found = diagnosed(normalisation(1), kNoInput, "model.training");
        QVERIFY(hasAll(firstText(found), {"error bn is in training mode", "the batch"}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosed(normalisation(0), kNoInput, "model.training")));
        QCOMPARE(only(diagnosed(normalisation(0), kNoInput, "model.training")).sites, std::size_t{1});
    }

    void dropoutThatDropsIsNamed()
    {
        const Diagnosis found = diagnosed(dropout(true, 0.5F), kNoInput, "model.training");
        QVERIFY(hasAll(firstText(found), {"error drop is in training mode", "ratio 0.5"}));
        QVERIFY(isSilent(diagnosed(dropout(true, 0.0F), kNoInput, "model.training")));
        QVERIFY(isSilent(diagnosed(dropout(false, 0.5F), kNoInput, "model.training")));
    }

    void weightThatIsNoNumberIsNamed()
    {
        const Tensor good = randomTensor({4, 3, 2, 2}, 1);
        const Tensor bad = withElement(good, 12, std::numeric_limits<float>::quiet_NaN());
        const Diagnosis found = diagnosed(convolution(bad), kNoInput, "model.weight-nonfinite");
        QVERIFY(hasAll(firstText(found), {"error conv its weight (conv.weight) is NaN in 1 of 48", "[1, 0, 0, 0]"}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosed(convolution(good), kNoInput, "model.weight-nonfinite")));
    }

    void aBiasThatIsNoNumberIsNamed()
    {
        const auto biased = [](float number) {
            Writer writer;
            const ValueId x = writer.input("x", {1, 4});
            const ValueId w = writer.constant("w", randomTensor({4, 3}, 1));
            writer.output(writer.node("Gemm", "fc", {x, w, writer.constant("fc.bias", floats({3}, {0, number, 0}))}));
            return writer.finish();
        };
        const Diagnosis found =
            diagnosed(biased(std::numeric_limits<float>::quiet_NaN()), kNoInput, "model.weight-nonfinite");
        QVERIFY(hasAll(firstText(found), {"error fc its bias (fc.bias) is NaN in 1 of 3 elements, first at [1]"}));
        QVERIFY(isSilent(diagnosed(biased(1), kNoInput, "model.weight-nonfinite")));
        // Bounds and starts of a maximum are infinite on purpose.
        QVERIFY(
            isSilent(diagnosed(biased(std::numeric_limits<float>::infinity()), kNoInput, "model.weight-nonfinite")));
    }

    void minusInfinityIsAMask()
    {
        const Tensor masked = withElement(randomTensor({4, 3, 2, 2}, 1), 0, -std::numeric_limits<float>::infinity());
        QVERIFY(isSilent(diagnosed(convolution(masked), kNoInput, "model.weight-nonfinite")));
    }

    void channelThatIsTooLargeIsNamed()
    {
        Tensor weight = randomTensor({4, 3, 2, 2}, 1);
        QVERIFY(isSilent(diagnosed(convolution(weight), kNoInput, "model.channel-outlier")));
        for (std::size_t i = 24; i < 36; ++i) {
            weight = withElement(weight, i, weight.span<float>()[i] * 1000);
        }
        const Diagnosis found = diagnosed(convolution(weight), kNoInput, "model.channel-outlier");
        QVERIFY(hasAll(firstText(found), {"warning conv the weights of output channel 2 of 4", "conv.weight"}));
        QVERIFY(isDocumented(found));
        QVERIFY(found.findings.front().number("ratio_to_median") > 500);
        QCOMPARE(only(found).largestAt, std::string("conv"));
    }

    /// As exporters write a layer where they do not fold constants: its weight stands before a Transpose.
    void aChannelOfAWeightThatIsTurnedIsNamed()
    {
        Tensor weight = randomTensor({4, 4}, 1);
        for (std::size_t i = 8; i < 12; ++i) { // output channel 2
            weight = withElement(weight, i, weight.span<float>()[i] * 1000);
        }
        Writer writer;
        const ValueId x = writer.input("x", {1, 4});
        const ValueId turned = writer.node("Transpose", "fc/Transpose", {writer.constant("fc.weight", weight)});
        writer.output(writer.node("MatMul", "fc/MatMul", {x, turned}));
        const Diagnosis found = diagnosed(writer.finish(), kNoInput, "model.channel-outlier");
        QVERIFY(hasAll(firstText(found), {"warning fc/MatMul the weights of output channel 2 of 4", "fc.weight"}));
    }

    void groupedTransposedConvolutionsHaveAllTheirChannels()
    {
        // Two groups of two channels in, two out: the last channel is a thousand times as large.
        Tensor weight = randomTensor({4, 2, 1, 1}, 5, 0.5, 1);
        for (const std::size_t i : {5U, 7U}) {
            weight = withElement(weight, i, 1000);
        }
        Writer writer;
        const ValueId x = writer.input("x", {1, 4, 3, 3});
        writer.output(
            writer.node("ConvTranspose", "up", {x, writer.constant("w", weight)}, {{"group", std::int64_t{2}}}));
        const Diagnosis found = diagnosed(writer.finish(), kNoInput, "model.channel-outlier");
        QVERIFY(hasAll(firstText(found), {"warning up the weights of output channel 3 of 4"}));
    }

    void aScaleOfAQuantisedWeightIsRead()
    {
        const auto quantised = [](float third) {
            std::vector<std::int8_t> small;
            for (std::size_t i = 0; i < 36; ++i) {
                small.push_back(static_cast<std::int8_t>(i % 7 + 1));
            }
            Writer writer;
            const ValueId weight =
                writer.node("DequantizeLinear", "dequantise",
                            {writer.constant("levels", Tensor::of<std::int8_t>({4, 9, 1, 1}, small)),
                             writer.constant("scales", floats({4}, {0.1F, 0.1F, third, 0.1F})),
                             writer.constant("zeros", Tensor::of<std::int8_t>({4}, std::vector<std::int8_t>(4, 0)))},
                            {{"axis", std::int64_t{0}}});
            writer.output(writer.node("Conv", "conv", {writer.input("x", {1, 9, 2, 2}), weight}));
            return writer.finish();
        };
        QVERIFY(isSilent(diagnosed(quantised(0.1F), kNoInput, "model.channel-outlier")));
        const Diagnosis found = diagnosed(quantised(100), kNoInput, "model.channel-outlier");
        QVERIFY(hasAll(firstText(found), {"warning conv the weights of output channel 2 of 4", "channel 2 of levels"}));
    }

    void aRowOfWordsThatIsTooLargeIsNamed()
    {
        const auto embedded = [](float factor) {
            Tensor table = randomTensor({5, 2}, 1, 0.5, 1);
            for (const std::size_t i : {6U, 7U}) {
                table = withElement(table, i, table.span<float>()[i] * factor);
            }
            Writer writer;
            const ValueId ids = writer.integers("ids", {1, 4});
            writer.output(writer.node("Gather", "words", {writer.constant("words.weight", table), ids}));
            return writer.finish();
        };
        const Diagnosis found = diagnosed(embedded(1000), kNoInput, "model.channel-outlier");
        QVERIFY(hasAll(firstText(found), {"warning words the weights of row 3 of 5", "row 3 of words.weight"}));
        QVERIFY(isSilent(diagnosed(embedded(1), kNoInput, "model.channel-outlier")));
    }

    void aUnitOfAGateThatIsTooLargeIsNamed()
    {
        const auto recurrent = [](float factor) {
            Tensor weight = randomTensor({1, 16, 2}, 3, 0.5, 1);
            for (const std::size_t i : {10U, 11U}) {
                weight = withElement(weight, i, weight.span<float>()[i] * factor);
            }
            Writer writer;
            const ValueId x = writer.input("x", {3, 1, 2});
            writer.output(writer.node(
                "LSTM", "lstm", {x, writer.constant("w", weight), writer.constant("r", randomTensor({1, 16, 4}, 4))},
                {{"hidden_size", std::int64_t{4}}}));
            return writer.finish();
        };
        const Diagnosis found = diagnosed(recurrent(1000), kNoInput, "model.channel-outlier");
        QVERIFY(hasAll(firstText(found), {"warning lstm the weights of unit 5 of 16", "unit 5 of w"}));
        QVERIFY(isSilent(diagnosed(recurrent(1), kNoInput, "model.channel-outlier")));
    }

    void aProductWithNothingIsNamed()
    {
        const auto switched = [](float factor, const std::string& before) {
            Writer writer;
            const ValueId x = writer.node(before, "before", {writer.input("x", {1, 8})});
            const ValueId off = writer.node("Mul", "off", {x, writer.constant("switch", floats({1}, {factor}))});
            const ValueId both = writer.node("Concat", "both", {x, off}, {{"axis", std::int64_t{1}}});
            writer.output(writer.node("Gemm", "head", {both, writer.constant("v", randomTensor({16, 3}, 7))}));
            return writer.finish();
        };
        const Asked row{{randomTensor({1, 8}, 1, 0.5, 1)}};
        const Diagnosis found = diagnosed(switched(0, "Relu"), row, "model.zero-factor");
        QVERIFY(hasAll(firstText(found), {"warning off multiplies by 0 throughout (switch)", "all its outputs are 0"}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosed(switched(0.5F, "Relu"), row, "model.zero-factor")));
        // What is 0 anyway is no fault of the constant.
        const Asked dark{{randomTensor({1, 8}, 1, -1, -0.5)}};
        QVERIFY(isSilent(diagnosed(switched(0, "Relu"), dark, "model.zero-factor")));
    }

    void aMergedProductWithNothingIsNamed()
    {
        Writer writer;
        const ValueId x = writer.input("x", {1, 4});
        const ValueId y = writer.node("Gemm", "fc", {x, writer.constant("w", randomTensor({4, 4}, 1))});
        const ValueId off = writer.node("Mul", "off", {y, writer.constant("scale", floats({4}, {0, 0, 0, 0}))});
        writer.output(writer.node("Add", "add", {x, off}));
        const Diagnosis found = diagnosed(writer.finish(), {{randomTensor({1, 4}, 1, 0.5, 1)}}, "model.zero-factor");
        QVERIFY(hasAll(firstText(found), {"warning off multiplies by 0 throughout (scale)"}));
    }

    void livingChannelsBesideDeadOnesAreNoOutliers()
    {
        Tensor weight = randomTensor({8, 3, 1, 1}, 1, 0.5, 1);
        for (std::size_t i = 0; i < 15; ++i) {
            weight = withElement(weight, i, 0.001F);
        }
        const Diagnosis found = diagnosed(convolution(weight), kNoInput, "model.channel-outlier");
        QVERIFY(isSilent(found));
        QVERIFY(only(found).largest < 2);
    }

    void normalisationThatBlowsAChannelUpIsNamed()
    {
        const Diagnosis found = diagnosed(normalisationOf({1, 1, 1e-8F, 1}), kNoInput, "model.bn-outlier");
        QVERIFY(hasAll(firstText(found), {"warning bn multiplies channel 2 of 4", "variance 1e-08"}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosed(normalisationOf({1, 2, 0.5F, 1}), kNoInput, "model.bn-outlier")));
    }

    void aChannelThatDiedInTrainingIsNoOutlier()
    {
        const std::vector<float> weights{1, -1, 1, 1, 1e-8F, 0, -1, 1};
        const auto found = [&](std::vector<float> variance) {
            return diagnosed(normalisationOf(variance, floats({4, 2, 1, 1}, weights)), kNoInput, "model.bn-outlier");
        };
        QVERIFY(isSilent(found({1, 1, 1e-20F, 1})));
        QVERIFY(hasAll(firstText(found({1, 1e-20F, 1, 1})), {"warning bn multiplies channel 1 of 4"}));
    }

    void scaleThatBlowsAChannelUpIsNamed()
    {
        const Diagnosis found = diagnosed(layerNormOf({1, -1, 500, 1}), kNoInput, "model.norm-outlier");
        QVERIFY(hasAll(firstText(found), {"warning norm its scale multiplies channel 2 of 4 by 500", "norm.scale"}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosed(layerNormOf({1, -2, 0.5F, 9}), kNoInput, "model.norm-outlier")));
        const Diagnosis written = diagnosed(writtenOutNormOf({1, 1, 500, 1}), kNoInput, "model.norm-outlier");
        QVERIFY(hasAll(firstText(written), {"warning scaled its scale multiplies channel 2 of 4 by 500"}));
        QVERIFY(isSilent(diagnosed(writtenOutNormOf({1, 2, 0.5F, 1}), kNoInput, "model.norm-outlier")));
    }

    void channelsWithoutWeightsAreNamedWithTheirOperand()
    {
        const Diagnosis found = diagnosed(joined(0), kTwoInputs, "model.zero-weights");
        QVERIFY(hasAll(firstText(found), {"warning fc its weights for 4 of 8 input channels are all exactly 0",
                                          "operand 1 of concat, right_out"}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosed(joined(0.1F), kNoInput, "model.zero-weights")));
    }

    void strideBeyondTheKernelIsNamed()
    {
        const Diagnosis found = diagnosed(strided(2, 3), kNoInput, "model.stride");
        QVERIFY(hasAll(firstText(found), {"warning conv kernel 2×2, stride 3×3: 56 % of x is never read"}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosed(strided(3, 3), kNoInput, "model.stride")));
        QVERIFY(isSilent(diagnosed(strided(1, 1), kNoInput, "model.stride")));
    }

    void shortcutOfAPointKernelIsANoteWithinTheModel()
    {
        const Diagnosis found = diagnosed(strided(1, 2, "Relu"), kNoInput, "model.stride");
        QCOMPARE(found.findings.front().level, Level::Note);
        const Diagnosis ofInput = diagnosed(strided(1, 2), kNoInput, "model.stride");
        QCOMPARE(ofInput.findings.front().level, Level::Warning);
    }

    void anotherReaderOfEverythingMakesTheStrideHarmless()
    {
        Writer writer;
        const ValueId x = writer.input("x", {1, 2, 9, 9});
        const ValueId point = writer.constant("p", randomTensor({3, 2, 1, 1}, 1));
        const ValueId wide = writer.constant("w", randomTensor({3, 2, 3, 3}, 2));
        writer.output(writer.node("Conv", "shortcut", {x, point}, {{"strides", Whole{2, 2}}}));
        writer.output(writer.node("Conv", "branch", {x, wide}, {{"strides", Whole{2, 2}}}));
        QVERIFY(isSilent(diagnosed(writer.finish(), kNoInput, "model.stride")));
    }

    void unevenOverlapIsANote()
    {
        const Asked asked{{floats({1, 1, 4, 4}, std::vector<float>(16, 1))}};
        const Diagnosis found = diagnosed(transposed(3), asked, "model.checkerboard");
        QVERIFY(hasAll(firstText(found), {"note up kernel 3×3, stride 2×2", "unevenly"}));
        QVERIFY(isDocumented(found));
        QVERIFY(found.findings.front().number("spread_over_phases") > 0.1);
        QVERIFY(isSilent(diagnosed(transposed(4), asked, "model.checkerboard")));
    }

    void steepLeakyReluIsANote()
    {
        QVERIFY(hasAll(firstText(diagnosed(leaky(0.8), kNoInput, "model.slope")), {"note act slope 0.8"}));
        QVERIFY(isDocumented(diagnosed(leaky(0.8), kNoInput, "model.slope")));
        QVERIFY(hasAll(firstText(diagnosed(leaky(-0.1), kNoInput, "model.slope")), {"rises where its input falls"}));
        QVERIFY(isSilent(diagnosed(leaky(0.1), kNoInput, "model.slope")));
    }

    void aLayerUnlikeItsSiblingsIsNoted()
    {
        const Diagnosis found = diagnosed(stackOf({0.1, 0.1, 0.4, 0.1}, {1, 2, 3, 4}), kNoInput, "model.odd-one");
        QVERIFY(hasAll(firstText(found), {"note /blocks.2/act its alpha is 0.4; that of the 3 others like it is 0.1"}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosed(stackOf({0.1, 0.1, 0.1, 0.1}, {1, 2, 3, 4}), kNoInput, "model.odd-one")));
        // Learned ones all differ, and two others do not say what is usual.
        QVERIFY(isSilent(diagnosed(stackOf({0.1, 0.2, 0.3, 0.4}, {1, 2, 3, 4}), kNoInput, "model.odd-one")));
        QVERIFY(isSilent(diagnosed(stackOf({0.1, 0.1, 0.4}, {1, 2, 3}), kNoInput, "model.odd-one")));
    }

    // A difference alone is a note; where the answer is another one without it, it is a warning.
    void aLayerThatChangesTheAnswerIsAWarning()
    {
        const SharedGraph graph = stackOf({0.1, 0.1, -3, 0.1}, {1, 2, 3, 4});
        const Asked asked{{floats({1, 8}, {3, -1, 2, 0.5F, -2, 1, 4, -3})}};
        const std::string text = firstText(diagnosed(graph, asked, "model.odd-one"));
        QVERIFY(hasAll(text, {"warning /blocks.2/act its alpha is -3", "; made like them, the class is "}));
        const Asked nothing{{floats({1, 8}, {0, 0, 0, 0, 0, 0, 0, 0})}};
        QVERIFY(hasAll(firstText(diagnosed(graph, nothing, "model.odd-one")), {"note /blocks.2/act"}));
    }

    void weightsThatAreLargerThanTheirSiblingsAreNoted()
    {
        const std::vector<double> slopes(5, 0.1);
        const std::vector<unsigned> seeds{1, 2, 3, 4, 5};
        QVERIFY(isSilent(diagnosed(stackOf(slopes, seeds), kNoInput, "model.stack")));
        const Diagnosis found = diagnosed(stackOf(slopes, seeds, 20), kNoInput, "model.stack");
        QVERIFY(hasAll(firstText(found), {"note /blocks.1/fc its weights are ", " times as large as those of the 4 "
                                                                                "layers like it"}));
        QVERIFY(isDocumented(found));
        const Asked asked{{floats({1, 8}, {3, -1, 2, 0.5F, -2, 1, 4, -3})}};
        QVERIFY(hasAll(firstText(diagnosed(stackOf(slopes, seeds, 20), asked, "model.stack")),
                       {"warning /blocks.1/fc", "; made like them, class "}));
    }

    /// x (1 × 2 × 8) → a layer whose 8 results are 4 heads of 2, one of them `factor` times as large and with the
    /// numbers of head `like` → scores.
    static SharedGraph headsOf(float factor, std::size_t like = 1)
    {
        const Tensor random = randomTensor({8, 8}, 5);
        std::vector<float> numbers(random.span<float>().begin(), random.span<float>().end());
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            if (i % 8 / 2 == 1) { // columns 2 and 3
                numbers[i] = factor * numbers[i - 2 + 2 * like];
            }
        }
        Writer writer;
        const ValueId x = writer.input("x", {1, 2, 8});
        const ValueId q = writer.node("MatMul", "q", {x, writer.constant("wq", floats({8, 8}, numbers))});
        const ValueId biased = writer.node("Add", "biased", {q, writer.constant("bq", randomTensor({8}, 6))});
        const ValueId split = writer.node(
            "Reshape", "split", {biased, writer.constant("to", Tensor::of<std::int64_t>({4}, Whole{1, 2, 4, 2}))});
        const ValueId bent = writer.node("Tanh", "bent", {split});
        const ValueId mean =
            writer.node("ReduceMean", "mean", {bent}, {{"axes", Whole{1}}, {"keepdims", std::int64_t{0}}});
        const ValueId flat = writer.node("Flatten", "flat", {mean});
        writer.output(writer.node("MatMul", "scores", {flat, writer.constant("w", randomTensor({8, 4}, 7))}));
        return writer.finish();
    }

    void aHeadUnlikeTheOthersIsNoted()
    {
        const Asked asked{{floats({1, 2, 8}, {3, -1, 2, 0.5F, -2, 1, 4, -3, 1, 1, 2, -1, 0, 2, -1, 1})}};
        QVERIFY(isSilent(diagnosed(headsOf(1), asked, "model.parts")));
        const Diagnosis large = diagnosed(headsOf(60), asked, "model.parts");
        QVERIFY(
            hasAll(firstText(large), {" q the weights of head 1 are ", " times as large as those of the 3 others"}));
        QVERIFY(isDocumented(large));
        const Diagnosis copied = diagnosed(headsOf(1, 3), asked, "model.parts");
        QVERIFY(hasAll(firstText(copied), {"warning q head 3 of 4 has the weights of head 1"}));
    }

    void anExpertUnlikeTheOthersIsNoted()
    {
        const auto experts = [](float factor) {
            const Tensor random = randomTensor({5, 8, 6}, 5);
            std::vector<float> numbers(random.span<float>().begin(), random.span<float>().end());
            std::for_each(numbers.begin() + 2 * 48, numbers.begin() + 3 * 48, [factor](float& x) { x *= factor; });
            Writer writer;
            const ValueId x = writer.input("x", {1, 1, 8});
            const ValueId each =
                writer.node("MatMul", "experts", {x, writer.constant("w", floats({5, 8, 6}, numbers))});
            writer.output(writer.node("Flatten", "scores", {each}));
            return writer.finish();
        };
        const Asked asked{{floats({1, 1, 8}, {3, -1, 2, 0.5F, -2, 1, 4, -3})}};
        QVERIFY(isSilent(diagnosed(experts(1), asked, "model.parts")));
        QVERIFY(hasAll(firstText(diagnosed(experts(0.01F), asked, "model.parts")),
                       {" experts the weights of expert 2 are ", " times as large as those of the 4 others"}));
    }

    void classesThatCannotBeToldApartAreNamed()
    {
        const auto head = [](std::int64_t likeFirst) {
            const Tensor random = randomTensor({4, 16}, 7);
            std::vector<float> rows(random.span<float>().begin(), random.span<float>().end());
            if (likeFirst > 0) {
                std::copy_n(rows.begin(), 16, rows.begin() + 16 * likeFirst);
            }
            Writer writer;
            const ValueId x = writer.input("x", {1, 8});
            const ValueId hidden = writer.node(
                "Relu", "relu", {writer.node("MatMul", "fc1", {x, writer.constant("w1", randomTensor({8, 16}, 1))})});
            writer.output(writer.node("Gemm", "fc", {hidden, writer.constant("fc.weight", floats({4, 16}, rows))},
                                      {{"transB", std::int64_t{1}}}));
            return writer.finish();
        };
        const Diagnosis found = diagnosed(head(2), kNoInput, "model.rows");
        QVERIFY(hasAll(firstText(found), {"warning fc the weights of its outputs 0 and 2 are the same"}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosed(head(0), kNoInput, "model.rows")));
    }

    void namesThatCountNodesAreNoStack()
    {
        Writer writer;
        ValueId x = writer.input("x", {1, 8});
        for (const double slope : {0.1, 0.1, 0.4, 0.1}) {
            x = writer.node("LeakyRelu", "LeakyRelu_" + std::to_string(x.index()), {x}, {{"alpha", slope}});
        }
        writer.output(x);
        QVERIFY(isSilent(diagnosed(writer.finish(), kNoInput, "model.odd-one")));
    }

    void aShortcutThatIsScaledAloneIsNamed()
    {
        const Diagnosis found = diagnosed(residualStackOf({1, 1, 0.05F}), kNoInput, "model.skip");
        QVERIFY(hasAll(firstText(found), {"warning /layer2/scaled scales the shortcut of its residual sum by 0.05; the "
                                          "2 other residual sums by 1"}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosed(residualStackOf({1, 1, 1}), kNoInput, "model.skip")));
        QVERIFY(isSilent(diagnosed(residualStackOf({0.5F, 0.5F, 0.5F}), kNoInput, "model.skip")));
        QVERIFY(isSilent(diagnosed(residualStackOf({0.1F, 0.2F, 0.3F}), kNoInput, "model.skip"))); // learned ones
        QVERIFY(isSilent(diagnosed(residualStackOf({1, 0.05F}), kNoInput, "model.skip"))); // nobody says what is usual
        QVERIFY(isSilent(diagnosed(residualStackOf({1, 1, -10000}), kNoInput, "model.skip"))); // a mask
    }

    void aBranchThatOutweighsItsShortcutIsNoted()
    {
        const Asked asked{{floats({1, 8}, {3, 1, 2, 0.5F, 2, 1, 4, 3})}};
        const std::vector<float> same(5, 1);
        QVERIFY(isSilent(diagnosed(residualStackOf(same), asked, "model.skip")));
        QVERIFY(hasAll(firstText(diagnosed(residualStackOf(same, 100000), asked, "model.skip")),
                       {"note /layer2/sum its branch is ", " times as large as its shortcut; of the 4 other residual "
                                                           "sums "}));
    }

    void layersOfTheSameWeightsAreNamed()
    {
        const std::vector<double> slopes(4, 0.1);
        const Diagnosis found = diagnosed(stackOf(slopes, {1, 2, 2, 4}), kNoInput, "model.twins");
        QVERIFY(hasAll(firstText(found), {"warning /blocks.2/fc has the same weights as /blocks.1/fc, number for "
                                          "number"}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosed(stackOf(slopes, {1, 2, 3, 4}), kNoInput, "model.twins")));
        // A stack that was made of one layer, and weights that layers share in the file.
        const Diagnosis all = diagnosed(stackOf(slopes, {2, 2, 2, 2}), kNoInput, "model.twins");
        QVERIFY(isSilent(all));
        QCOMPARE(only(all).largest, 1.0);
        Writer writer;
        ValueId x = writer.input("x", {1, 8});
        const ValueId shared = writer.constant("shared", randomTensor({8, 8}, 1));
        for (const int i : {0, 1}) {
            x = writer.node("MatMul", "/blocks." + std::to_string(i) + "/fc", {x, shared});
        }
        writer.output(writer.node("MatMul", "/blocks.2/fc", {x, writer.constant("own", randomTensor({8, 8}, 2))}));
        QVERIFY(isSilent(diagnosed(writer.finish(), kNoInput, "model.twins")));
    }

    void aModuleThatIsCalledAgainHasItsWeights()
    {
        const auto called = [](const std::string& second) {
            Writer writer;
            ValueId x = writer.input("x", {1, 8});
            for (const std::string& module : {std::string("query"), second, std::string("value")}) {
                const ValueId w = writer.constant(module, randomTensor({8, 8}, module == "value" ? 2 : 1));
                x = writer.node("MatMul", "/attention/" + module + "/MatMul", {x, w});
            }
            writer.output(x);
            return writer.finish();
        };
        QVERIFY(isSilent(diagnosed(called("query_1"), kNoInput, "model.twins")));
        QVERIFY(hasAll(firstText(diagnosed(called("key_1"), kNoInput, "model.twins")), {"warning /attention/key_1"}));
    }

    void nearlyTheSameWeightsAreNamed()
    {
        const auto stack = [](float change) {
            Writer writer;
            ValueId x = writer.input("x", {1, 8});
            for (const unsigned i : {0U, 1U, 2U}) {
                const Tensor random = randomTensor({8, 8}, i == 2 ? 5U : 1U);
                std::vector<float> numbers(random.span<float>().begin(), random.span<float>().end());
                numbers[3] += i == 1 ? change : 0;
                const std::string block = "/blocks." + std::to_string(i);
                x = writer.node("MatMul", block + "/fc", {x, writer.constant(block, floats({8, 8}, numbers))});
            }
            writer.output(x);
            return writer.finish();
        };
        QVERIFY(hasAll(firstText(diagnosed(stack(1e-4F), kNoInput, "model.twins")),
                       {"warning /blocks.1/fc has the same weights as /blocks.0/fc, but for a thousandth"}));
        QVERIFY(isSilent(diagnosed(stack(0.5F), kNoInput, "model.twins")));
    }

    void equalWeightsThatAFileKeepsOnceAreNamed()
    {
        Writer writer;
        ValueId x = writer.input("x", {1, 8});
        const ValueId first = writer.constant("first", randomTensor({8, 8}, 1));
        x = writer.node("MatMul", "/blocks.0/fc", {x, first});
        x = writer.node("MatMul", "/blocks.1/fc", {x, writer.node("Identity", "again", {first})});
        writer.output(writer.node("MatMul", "/blocks.2/fc", {x, writer.constant("own", randomTensor({8, 8}, 2))}));
        const Diagnosis found = diagnosed(writer.finish(), kNoInput, "model.twins");
        QVERIFY(hasAll(firstText(found), {"warning /blocks.1/fc has the same weights as /blocks.0/fc"}));
    }

    // Along with an explanation, not every number of many weights is read; diagnose reads them.
    void manyWeightsAreLeftToDiagnose()
    {
        constexpr std::int64_t kMany = std::int64_t{1} << 14U; // squared, 1 GiB of float32; in memory it is one number
        const Tensor one = Tensor::full(DType::Float32, {1}, 1);
        for (const std::int64_t rows : {std::int64_t{4}, kMany}) {
            Writer writer;
            const ValueId x = writer.input("x", {1, rows});
            const ValueId w = writer.constant("w", Tensor(DType::Float32, {rows, kMany}, {0, 0}, 0, one.storage()));
            writer.output(writer.node("MatMul", "product", {x, w}));
            diagnosis::Sources sources;
            sources.model = std::make_shared<diagnosis::ModelFacts>(writer.finish());
            QCOMPARE(sources.model->weightBytes(), static_cast<std::uint64_t>(4 * rows * kMany));
            diagnosis::Options options;
            options.isCheapAlone = true;
            options.checks = {"model.zero-weights", "model.weight-nonfinite", "model.channel-outlier", "model.stride"};
            RETRO_MADE(made, diagnosis::diagnose(diagnosis::Facts(std::move(sources)), options));
            QCOMPARE(made->checksRun(), rows == kMany ? std::size_t{1} : std::size_t{4});
        }
    }

    void aNormalisationWithoutStatisticsIsNamed()
    {
        const auto normalised = [](bool isForgotten) {
            Writer writer;
            ValueId x = writer.node("Relu", "relu", {writer.batchNorm("bn1", writer.input("x", {1, 4, 2, 2}), 4)});
            const auto same = [&writer](const std::string& name, float number) {
                return writer.constant(name, floats({4}, {number, number, number, number}));
            };
            x = isForgotten ? writer.node("BatchNormalization", "bn2",
                                          {x, same("s", 0.5F), same("b", 0.1F), same("m", 0), same("v", 1)})
                            : writer.batchNorm("bn2", x, 4);
            writer.output(x);
            return writer.finish();
        };
        const Diagnosis found = diagnosed(normalised(true), kNoInput, "model.untrained");
        QVERIFY(hasAll(firstText(found), {"warning bn2 keeps the mean 0 and the variance 1", "1 other"}));
        QVERIFY(isSilent(diagnosed(normalised(false), kNoInput, "model.untrained")));
        QVERIFY(isSilent(diagnosed(normalisationOf({1, 1, 1}), kNoInput, "model.untrained"))); // no other says more
    }

    void untrainedWeightsAreNoted()
    {
        const auto dense = [](float bias) {
            Writer writer;
            ValueId x = writer.input("x", {1, 4});
            for (const char* name : {"fc1", "fc2"}) {
                const ValueId w = writer.constant(std::string(name) + ".weight", randomTensor({4, 4}, 3));
                const ValueId b =
                    writer.constant(std::string(name) + ".bias", floats({4}, std::vector<float>{0, 0, bias, 0}));
                x = writer.node("Gemm", name, {x, w, b});
            }
            writer.output(x);
            return writer.finish();
        };
        const Asked row{{randomTensor({1, 4}, 1)}};
        const Diagnosis found = diagnosed(dense(0), row, "model.untrained");
        QVERIFY(hasAll(firstText(found), {"note fc1 and 1 more", "every bias is 0", "look untrained"}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosed(dense(0.1F), row, "model.untrained")));
    }
};

QTEST_APPLESS_MAIN(ModelChecksTest)
#include "modelcheckstest.moc"
