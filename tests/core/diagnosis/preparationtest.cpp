// SPDX-License-Identifier: Apache-2.0
// What a model shows of the pixels that it was trained with.
#include "core/diagnosis/usualpreparation.h"
#include "tests/core/diagnosis/diagnosed.h"

using namespace retro;
using namespace retro::tests;

namespace
{

struct Shown
{
    tensor::Shape input{1, 3, 64, 64};
    std::int64_t classes = 7;
    /// What the running means of the first normalisation say of the mean of the pixels; none: there is none.
    std::optional<float> pixels = std::nullopt;
    std::optional<float> factor = std::nullopt; ///< in front of the first layer
    std::string op = "Mul";
};

/// image → factor → Conv → BatchNormalization → Relu → GlobalAveragePool → Flatten → Gemm.
SharedGraph network(const Shown& shown)
{
    constexpr std::int64_t kChannels = 16;
    Writer writer;
    ValueId value = writer.input("image", shown.input);
    if (shown.factor) {
        value = writer.node(shown.op, "scaling", {value, writer.constant("factor", floats({}, {*shown.factor}))});
    }
    const Tensor weight = randomTensor({kChannels, shown.input[1], 3, 3}, 4);
    value = writer.node("Conv", "conv", {value, writer.constant("conv.weight", weight)});
    if (shown.pixels) {
        std::vector<float> means;
        const std::int64_t length = weight.size() / kChannels;
        for (std::int64_t k = 0; k < kChannels; ++k) {
            double sum = 0;
            for (std::int64_t i = 0; i < length; ++i) {
                sum += weight.at(k * length + i);
            }
            means.push_back(static_cast<float>(sum) * *shown.pixels + (k % 2 == 0 ? 0.01F : -0.01F));
        }
        value = writer.node("BatchNormalization", "bn",
                            {value, writer.constant("bn.scale", randomTensor({kChannels}, 1)),
                             writer.constant("bn.bias", randomTensor({kChannels}, 2)),
                             writer.constant("bn.mean", floats({kChannels}, means)),
                             writer.constant("bn.var", randomTensor({kChannels}, 3, 0.5, 2))});
    }
    value = writer.node("GlobalAveragePool", "pool", {writer.node("Relu", "relu", {value})});
    const Tensor head = randomTensor({kChannels, shown.classes}, 5);
    value = writer.node("Gemm", "fc", {writer.node("Flatten", "flat", {value}), writer.constant("fc.weight", head)});
    writer.output(value);
    return writer.finish();
}

std::optional<diagnosis::ExpectedPreparation> expectedOf(const SharedGraph& graph, bool isChosen = false)
{
    diagnosis::PixelPreparation pixels;
    pixels.input = "image";
    pixels.isChosen = isChosen;
    return diagnosis::expectedPreparation(diagnosis::ModelFacts(graph), pixels);
}

std::string optionOf(const Shown& shown)
{
    const auto expected = expectedOf(network(shown));
    return expected ? expected->option : std::string();
}

const std::string kImageNet = "--mean 0.485,0.456,0.406 --std 0.229,0.224,0.225";

} // namespace

class PreparationTest : public QObject
{
    Q_OBJECT

private slots:
    void theFirstNormalisationTells()
    {
        QCOMPARE(optionOf({.pixels = 0.0F}), kImageNet);
        QCOMPARE(optionOf({.pixels = 0.45F}), std::string());
        QCOMPARE(optionOf({.input = {1, 3, 224, 224}, .pixels = 0.45F}), std::string()); // numbers before sizes
        QCOMPARE(optionOf({.pixels = 118.0F}), std::string("--scale 0,255"));
        QCOMPARE(optionOf({}), std::string());
    }

    void sizesAndClassesTell()
    {
        QCOMPARE(optionOf({.input = {1, 3, 224, 224}}), kImageNet);
        QVERIFY(expectedOf(network({.input = {1, 3, 299, 299}}))->why.find("299 × 299") != std::string::npos);
        QCOMPARE(optionOf({.input = {1, 3, 32, 32}, .classes = 7}), std::string());
        QCOMPARE(optionOf({.input = {1, 1, 28, 28}, .classes = 10}), std::string()); // digits
        QVERIFY(!expectedOf(network({.input = {1, 3, 224, 224}}), true));            // a person said it
    }

    void whatScalesInsideIsNotWarnedOf()
    {
        for (const float factor : {2.0F, 4.4F}) {
            QCOMPARE(optionOf({.input = {1, 3, 224, 224}, .factor = factor}), std::string());
        }
        QCOMPARE(optionOf({.input = {1, 3, 224, 224}, .factor = 0.226F, .op = "Div"}), std::string());
        QCOMPARE(optionOf({.input = {1, 3, 224, 224}, .factor = 0.45F, .op = "Sub"}), std::string());
        QCOMPARE(optionOf({.factor = 1 / 255.0F}), std::string("--scale 0,255"));
        QCOMPARE(optionOf({.factor = 255.0F, .op = "Div"}), std::string("--scale 0,255"));
        QCOMPARE(optionOf({.factor = 127.5F, .op = "Sub"}), std::string("--scale 0,255"));
    }

    void aDiagnosisSaysIt()
    {
        const SharedGraph graph = network({.pixels = 0.0F});
        engine::ExplainRequest request = Asked{{randomTensor({1, 3, 64, 64}, 6, 0, 1)}}.request();
        request.preparation = engine::PictureOptions();
        request.pictures = {{"cup.png", 0, {}}};
        const Diagnosis found = diagnosed(*engine::factsOf(loaded(graph), request), "input.preparation");
        QVERIFY(hasAll(firstText(found), {"warning image is a picture", "numbers around 0", kImageNet}));
        QVERIFY(isDocumented(found));
        request.preparation->origin = engine::PictureOrigin::Asked;
        QVERIFY(isSilent(diagnosed(*engine::factsOf(loaded(graph), request), "input.preparation")));
    }
};

QTEST_GUILESS_MAIN(PreparationTest)
#include "preparationtest.moc"
