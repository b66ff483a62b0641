// SPDX-License-Identifier: Apache-2.0
// Checks of inputs and targets: each fires on its fault and is silent without it.
#include <QtTest>

#include "tests/core/diagnosis/diagnosed.h"

using namespace retro;
using namespace retro::tests;

namespace
{

/// image (1×2×6×6) → Conv → GlobalAveragePool → Gemm with four classes.
SharedGraph classifier()
{
    Writer writer;
    const ValueId x = writer.input("image", {1, 2, 6, 6});
    const ValueId w = writer.constant("conv.weight", randomTensor({3, 2, 3, 3}, 4));
    const ValueId map = writer.node("Relu", "relu", {writer.node("Conv", "conv", {x, w})});
    const ValueId mean = writer.node("Flatten", "flat", {writer.node("GlobalAveragePool", "pool", {map})});
    writer.output(writer.node("Gemm", "fc", {mean, writer.constant("fc.weight", randomTensor({3, 4}, 5))}));
    return writer.finish();
}

formats::ModelCard pictureCard()
{
    formats::ModelCard card;
    card.inputName = "image";
    card.mean = {0.5, 0.5};
    card.deviation = {0.25, 0.25};
    card.labels = {"dot", "line", "ring", "cross"};
    return card;
}

/// Facts of a model with a card.
std::shared_ptr<diagnosis::Facts> withCard(const SharedGraph& graph, const Asked& asked, formats::ModelCard card)
{
    auto model = std::make_shared<engine::LoadedModel>(*loaded(graph));
    model->card = std::move(card);
    return engine::factsOf(engine::LoadedModelPointer(std::move(model)), asked.request());
}

Asked picture(double low, double high, const std::string& target = "argmax")
{
    return {{randomTensor({1, 2, 6, 6}, 9, low, high)}, "epsilon_plus", target};
}

/// tokens (1×6) → Gather of embeddings → ReduceMean → Gemm.
SharedGraph text()
{
    Writer writer;
    const ValueId table = writer.constant("emb.weight", randomTensor({8, 4}, 6, 0.5, 1));
    const ValueId tokens = writer.integers("tokens", {1, 6});
    const ValueId words = writer.node("Gather", "emb", {table, tokens});
    const ValueId mean =
        writer.node("ReduceMean", "mean", {words}, {{"axes", Whole{1}}, {"keepdims", std::int64_t{0}}});
    writer.output(writer.node("Gemm", "fc", {mean, writer.constant("fc.weight", randomTensor({4, 3}, 7, 0.1, 1))}));
    return writer.finish();
}

formats::ModelCard textCard()
{
    formats::ModelCard card;
    card.inputName = "tokens";
    card.inputKind = "array";
    card.layout = "NT";
    card.vocabulary = {"[PAD]", "a", "b", "c", "d", "e", "f", "g"};
    return card;
}

Asked tokens(const Whole& numbers) { return {{Tensor::of<std::int64_t>({1, 6}, numbers)}, "epsilon_plus"}; }

/// The classifier with a Softmax or Sigmoid behind it.
SharedGraph squashed(const std::string& op, float sharpness)
{
    Writer writer;
    const ValueId x = writer.input("x", {1, 3});
    std::vector<float> weight(9, 0);
    weight[0] = weight[4] = weight[8] = sharpness;
    const ValueId logits = writer.node("Gemm", "fc", {x, writer.constant("w", floats({3, 3}, weight))});
    writer.output(writer.node(op, "last", {logits}));
    return writer.finish();
}

const Asked kThree{{floats({1, 3}, {1, 2, 3})}};

/// A side output behind one layer before the main one behind three, or the same the other way round.
SharedGraph sideOutput(bool isFirst)
{
    Writer writer;
    const auto layer = [&writer](const std::string& name, ValueId x) {
        return writer.node("Gemm", name, {x, writer.constant(name + ".w", randomTensor({3, 3}, 8))});
    };
    const ValueId x = writer.input("x", {1, 3});
    const ValueId side = layer("side", x);
    const ValueId main = layer("c", layer("b", layer("a", x)));
    writer.output(isFirst ? side : main);
    writer.output(isFirst ? main : side);
    return writer.finish();
}

/// A row of numbers → Gemm → Relu → Gemm.
SharedGraph tableReader()
{
    Writer writer;
    const ValueId w = writer.constant("w", randomTensor({6, 8}, 3, 0.2, 0.5));
    const ValueId hidden = writer.node("Relu", "relu", {writer.node("Gemm", "fc", {writer.input("x", {1, 6}), w})});
    writer.output(writer.node("Gemm", "head", {hidden, writer.constant("v", randomTensor({8, 2}, 4))}));
    return writer.finish();
}

/// A picture whose class hangs on a bright corner, or on all of it.
SharedGraph cornerReader(bool isCorner)
{
    Writer writer;
    const ValueId x = writer.input("image", {1, 1, 10, 10});
    std::vector<float> weight(200, 0);
    for (std::size_t i = 0; i < 100; ++i) {
        const bool isIn = i % 10 < 2 && i / 10 < 2;
        weight[2 * i] = isCorner ? (isIn ? 1.0F : 0.0F) : 0.08F;
        weight[2 * i + 1] = 0.05F;
    }
    const ValueId flat = writer.node("Flatten", "flat", {x});
    writer.output(writer.node("Gemm", "fc", {flat, writer.constant("w", floats({100, 2}, weight))}));
    return writer.finish();
}

Asked brightCorner()
{
    std::vector<float> pixels(100, 0.3F);
    for (std::size_t i = 0; i < 100; ++i) {
        pixels[i] = i % 10 < 2 && i / 10 < 2 ? 1.0F : 0.3F;
    }
    return {{floats({1, 1, 10, 10}, pixels)}};
}

} // namespace

class InputChecksTest : public QObject
{
    Q_OBJECT

private slots:
    void otherOrderOfAxesIsNamed()
    {
        const Asked channelsLast{{randomTensor({1, 6, 6, 2}, 1)}};
        const auto facts = factsFor(classifier(), channelsLast);
        const Diagnosis found = diagnosed(*facts, "input.layout");
        QVERIFY(hasAll(firstText(found), {"error image has the shape 1×6×6×2, the model wants 1×2×6×6", "(0, 3, 1, 2)",
                                          "NHWC", "numpy.transpose"}));
        QVERIFY(isDocumented(found));
        QVERIFY(facts->failure().has_value() || facts->pass() == nullptr);
        QVERIFY(isSilent(diagnosed(classifier(), picture(-1, 1), "input.layout")));
        QVERIFY(isSilent(diagnosed(*factsFor(classifier(), channelsLast), "input.shape")));
    }

    void shapeThatFitsInNoOrderIsNamed()
    {
        const Diagnosis found = diagnosed(classifier(), {{randomTensor({2, 6, 6}, 1)}}, "input.shape");
        QVERIFY(hasAll(firstText(found), {"error image has the shape 2×6×6", "numpy.expand_dims"}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosed(classifier(), {{randomTensor({2, 6, 6}, 1)}}, "input.layout")));
        QVERIFY(isSilent(diagnosed(classifier(), picture(-1, 1), "input.shape")));
    }

    void pixelsThatWereNotScaledAreNamed()
    {
        const Diagnosis found = diagnosed(*withCard(classifier(), picture(0, 255), pictureCard()), "input.range");
        QVERIFY(hasAll(firstText(found), {"error image lies in ", "the card maps pixels to -2 … 2"}));
        QVERIFY(isDocumented(found));
        QVERIFY(found.findings.front().number("beyond_range_in_range_widths") > 50);
        QVERIFY(isSilent(diagnosed(*withCard(classifier(), picture(-2, 2), pictureCard()), "input.range")));
    }

    void pixelsThatWereScaledAloneAreNamed()
    {
        const Diagnosis found = diagnosed(*withCard(classifier(), picture(0, 1), pictureCard()), "input.range");
        QVERIFY(hasAll(firstText(found), {"warning image lies in 0", "contrast"}));
        formats::ModelCard plain = pictureCard();
        plain.mean = plain.deviation = {};
        QVERIFY(isSilent(diagnosed(*withCard(classifier(), picture(0, 1), plain), "input.range")));
    }

    void aPictureThatWasScaledTwiceIsNamed()
    {
        const Diagnosis found = diagnosed(*withCard(classifier(), picture(-2.02, -1.98), pictureCard()), "input.range");
        QVERIFY(hasAll(firstText(found), {"warning image lies in -2.02 … -1.98", "its contrast is 0.982 % of the range",
                                          "were applied twice"}));
    }

    void driftFromTheTrainingIsNamed()
    {
        Writer writer;
        const ValueId x = writer.input("x", {1, 4, 3, 3});
        writer.output(writer.batchNorm("bn", x, 4));
        const SharedGraph graph = writer.finish();
        const Diagnosis found = diagnosed(graph, {{randomTensor({1, 4, 3, 3}, 2, 99, 101)}}, "input.drift");
        QVERIFY(hasAll(firstText(found), {"warning bn reads means that lie"}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosed(graph, {{randomTensor({1, 4, 3, 3}, 2)}}, "input.drift")));
    }

    void wrongVariancesAreNoFaultOfTheInput()
    {
        Writer writer;
        const ValueId x = writer.input("x", {1, 4, 3, 3});
        const auto norm = [&writer](const std::string& name, ValueId read, float variance) {
            const auto same = [&](const std::string& role, float value) {
                return writer.constant(name + role, floats({4}, std::vector<float>(4, value)));
            };
            return writer.node("BatchNormalization", name,
                               {read, same(".scale", 1), same(".shift", 0), same(".mean", 0), same(".var", variance)});
        };
        writer.output(norm("second", writer.node("Relu", "relu", {norm("first", x, 0.3F)}), 1e-9F));
        const Diagnosis found = diagnosed(writer.finish(), {{randomTensor({1, 4, 3, 3}, 2)}}, "input.drift");
        QVERIFY(hasAll(firstText(found), {"warning second reads", "What first reads is as in the training",
                                          "between first and this node"}));
    }

    void relevanceOnPaddingTokensIsNamed()
    {
        const Diagnosis found = diagnosed(*withCard(text(), tokens({1, 2, 0, 0, 0, 0}), textCard()), "input.padding");
        QVERIFY(hasAll(firstText(found), {"warning tokens 4 of 6 tokens are padding"}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosed(*withCard(text(), tokens({1, 2, 3, 4, 5, 6}), textCard()), "input.padding")));
    }

    void equalLastTokensAreANoteWithoutAVocabulary()
    {
        const Diagnosis found = diagnosed(text(), tokens({1, 2, 3, 0, 0, 0}), "input.padding");
        QCOMPARE(found.findings.front().level, Level::Note);
        QVERIFY(isSilent(diagnosed(text(), tokens({1, 2, 3, 4, 0, 0}), "input.padding")));
    }

    void relevanceOnBarsIsNamed()
    {
        const auto reader = [] { // of the rows of a picture, the first two count most
            Writer writer;
            const ValueId image = writer.input("image", {1, 1, 8, 8});
            std::vector<float> weight(128, 0.1F);
            std::fill_n(weight.begin(), 16, 1.0F);
            const ValueId w = writer.constant("w", floats({2, 64}, weight));
            writer.output(
                writer.node("Gemm", "fc", {writer.node("Flatten", "flat", {image}), w}, {{"transB", std::int64_t{1}}}));
            return writer.finish();
        };
        std::vector<float> pixels(64, 0.5F);
        for (std::size_t i = 16; i < 64; ++i) {
            pixels[i] = 0.1F * static_cast<float>(i % 7 + 1);
        }
        const Diagnosis found = diagnosed(reader(), {{floats({1, 1, 8, 8}, pixels)}}, "input.bars");
        QVERIFY(
            hasAll(firstText(found), {"warning image ", " of Σ|R| lies on bars that hold nothing (rows 0 … 1), 25 % "
                                                        "of the input"}));
        QVERIFY(isDocumented(found));
        pixels[3] = 0.6F; // no bar
        QVERIFY(isSilent(diagnosed(reader(), {{floats({1, 1, 8, 8}, pixels)}}, "input.bars")));
        const std::vector<float> plain(64, 0.5F); // a picture of one colour has no bars either
        QVERIFY(isSilent(diagnosed(reader(), {{floats({1, 1, 8, 8}, plain)}}, "input.bars")));
    }

    void patchThatDecidesIsAWarning()
    {
        const Diagnosis found = diagnosed(cornerReader(true), brightCorner(), "input.concentrated");
        QVERIFY(hasAll(firstText(found), {"warning image 100 % of positive relevance lies in 4 % of its area",
                                          "rows 0 … 1, columns 0 … 1", "covered, the class is another"}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosed(cornerReader(false), brightCorner(), "input.concentrated")));
    }

    void patchIsANoteWhereNoPassIsMade()
    {
        const auto model = loaded(cornerReader(true));
        const engine::ExplainRequest request = brightCorner().request();
        RETRO_MADE(result, engine::explain(*model, request));
        const Diagnosis found = diagnosed(*engine::factsOf(*model, request, *result), "input.concentrated");
        QCOMPARE(found.findings.front().level, Level::Note);
    }

    void aTableOfManyScalesIsNamed()
    {
        formats::ModelCard card;
        card.vocabulary = {"age", "income", "debt", "rate", "late", "calls"};
        const Asked raw{{floats({1, 6}, {36, 2955, 2064, 4, 0.8F, 3})}};
        const Diagnosis found = diagnosed(*withCard(tableReader(), raw, card), "input.columns");
        QVERIFY(
            hasAll(firstText(found), {"warning x its columns are on different scales", "column 1 (income) reaches"}));
        QVERIFY(isDocumented(found));
        const Asked standardised{{floats({1, 6}, {-1.7F, 0.4F, -0.1F, 2.3F, 0.9F, -0.05F})}};
        QVERIFY(isSilent(diagnosed(tableReader(), standardised, "input.columns")));
        const Asked alike{{floats({1, 6}, {120, 80, 255, 33, 200, 99})}};
        QVERIFY(isSilent(diagnosed(tableReader(), alike, "input.columns")));
    }

    void labelsThatAreNotOneForEachClassAreNamed()
    {
        formats::ModelCard card = pictureCard();
        card.labels.insert(card.labels.begin(), "background");
        const Diagnosis found = diagnosed(*withCard(classifier(), picture(-1, 1), card), "target.labels");
        QVERIFY(hasAll(firstText(found), {"warning fc_out has 4 classes, the labels of the card are 5", "background"}));
        QVERIFY(isDocumented(found));
        card.labels.resize(3);
        QVERIFY(hasAll(firstText(diagnosed(*withCard(classifier(), picture(-1, 1), card), "target.labels")),
                       {"has 4 classes, the labels of the card are 3", "Some classes have no name"}));
        QVERIFY(isSilent(diagnosed(*withCard(classifier(), picture(-1, 1), pictureCard()), "target.labels")));
    }

    void aVocabularyThatLacksWordsIsNamed()
    {
        formats::ModelCard card = textCard();
        const Asked text6 = tokens({1, 2, 0, 0, 0, 0});
        QVERIFY(isSilent(diagnosed(*withCard(text(), text6, card), "token.vocabulary")));
        card.vocabulary.erase(card.vocabulary.begin()); // the padding
        const Diagnosis found = diagnosed(*withCard(text(), text6, card), "token.vocabulary");
        QVERIFY(
            hasAll(firstText(found), {"warning tokens is looked up in a table of 8 rows, the vocabulary of the card "
                                      "has 7 words",
                                      "are moved"}));
        QVERIFY(isDocumented(found));
        // A table that was made longer than the vocabulary is a note.
        card = textCard();
        card.vocabulary.pop_back();
        QCOMPARE(diagnosed(*withCard(text(), text6, card), "token.vocabulary").findings.front().level, Level::Note);
        card.vocabulary.insert(card.vocabulary.end(), {"g", "h", "i"});
        QCOMPARE(diagnosed(*withCard(text(), text6, card), "token.vocabulary").findings.front().level, Level::Warning);
    }

    void targetBehindASoftmaxIsNamed()
    {
        const Diagnosis flat = diagnosed(squashed("Softmax", 20), kThree, "target.squashed");
        QVERIFY(hasAll(firstText(flat), {"warning last the target is the result of a softmax", "--target fc_out:2"}));
        QVERIFY(isDocumented(flat));
        const Diagnosis mild = diagnosed(squashed("Softmax", 0.1F), kThree, "target.squashed");
        QCOMPARE(mild.findings.front().level, Level::Note);
        QVERIFY(!diagnosed(squashed("Sigmoid", 1), kThree, "target.squashed").findings.empty());
        QVERIFY(isSilent(diagnosed(squashed("Relu", 1), kThree, "target.squashed")));
        const Diagnosis logarithm = diagnosed(squashed("LogSoftmax", 1), kThree, "target.squashed");
        QVERIFY(hasAll(firstText(logarithm), {"warning last the target is the result of the logarithm of a softmax",
                                              "what speaks for a class gets negative relevance", "--target fc_out:2"}));
    }

    void classBeyondTheRowIsNamed()
    {
        const Diagnosis found = diagnosed(classifier(), picture(-1, 1, "4"), "target.range");
        QVERIFY(hasAll(firstText(found), {"error fc_out has 4 classes, 0 … 3; class 4 was asked for", "--target "}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosed(classifier(), picture(-1, 1, "3"), "target.range")));
    }

    void lowRankOfTheTargetIsNamed()
    {
        const SharedGraph graph = squashed("Relu", 1); // scores 1, 2, 3
        Asked asked = kThree;
        asked.target = "0";
        const Diagnosis found = diagnosed(*withCard(graph, asked, pictureCard()), "target.rank");
        QVERIFY(hasAll(firstText(found), {"warning last_out target 0 (dot) is not the best class: rank 3 of 3",
                                          "the best is 2 (ring), 3", "--target 2"}));
        QVERIFY(isDocumented(found));
        asked.target = "1";
        QCOMPARE(diagnosed(graph, asked, "target.rank").findings.front().level, Level::Note);
        QVERIFY(isSilent(diagnosed(graph, kThree, "target.rank")));
    }

    void aClassOfOnePlaceIsRankedThere()
    {
        // Two words, three classes each: [1, 2, 3] and [3, 1, 2].
        Writer writer;
        const ValueId x = writer.input("x", {1, 2, 3});
        const ValueId one = writer.constant("w", floats({3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1}));
        writer.output(writer.node("MatMul", "logits", {x, one}));
        Asked asked{{floats({1, 2, 3}, {1, 2, 3, 3, 1, 2})}};
        asked.target = "logits_out:0,1,1";
        const SharedGraph graph = writer.finish();
        const Diagnosis found = diagnosed(graph, asked, "target.rank");
        QVERIFY(hasAll(firstText(found), {"warning logits_out target 1 is not the best class: rank 3 of 3",
                                          "the best is 0, 3", "--target logits_out:0,1,0"}));
        asked.target = "logits_out:0,0,2";
        QVERIFY(isSilent(diagnosed(graph, asked, "target.rank")));
    }

    void aClassOfOnePixelIsRankedThere()
    {
        Writer writer;
        const ValueId x = writer.input("x", {1, 3, 1, 2});
        writer.output(writer.node("Conv", "logits",
                                  {x, writer.constant("w", floats({3, 3, 1, 1}, {1, 0, 0, 0, 1, 0, 0, 0, 1}))}));
        Asked asked{{floats({1, 3, 1, 2}, {1, 3, 2, 1, 3, 2})}};
        asked.target = "logits_out:0,1,0,1";
        const SharedGraph graph = writer.finish();
        const Diagnosis found = diagnosed(graph, asked, "target.rank");
        QVERIFY(hasAll(firstText(found), {"target 1 is not the best class: rank 3 of 3", "logits_out:0,0,0,1"}));
        asked.target = "logits_out:0,2,0,0";
        QVERIFY(isSilent(diagnosed(graph, asked, "target.rank")));
    }

    void sideOutputIsNamed()
    {
        const Diagnosis found = diagnosed(sideOutput(true), kThree, "target.output");
        QVERIFY(hasAll(firstText(found), {"warning side_out is one of 2 outputs, behind 1 layers", "--target c_out"}));
        QVERIFY(isDocumented(found));
        QVERIFY(diagnosed(sideOutput(false), kThree, "target.output").findings.empty());
    }
};

QTEST_APPLESS_MAIN(InputChecksTest)
#include "inputcheckstest.moc"
