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

} // namespace

class ModelChecksTest : public QObject
{
    Q_OBJECT

private slots:
    void trainingModeIsNamed()
    {
        const Diagnosis found = diagnosed(normalisation(1), kNoInput, "model.training");
        QVERIFY(hasAll(firstText(found), {"error bn is in training mode", "the batch"}));
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
        QVERIFY(isSilent(diagnosed(convolution(good), kNoInput, "model.weight-nonfinite")));
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
        QVERIFY(found.findings.front().number("ratio_to_median") > 500);
        QCOMPARE(only(found).largestAt, std::string("conv"));
    }
};

QTEST_APPLESS_MAIN(ModelChecksTest)
#include "modelcheckstest.moc"
