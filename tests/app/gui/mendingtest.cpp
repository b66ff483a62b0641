// SPDX-License-Identifier: Apache-2.0
// What the window can do about each kind of action, and the arrays that it makes of an input.
#include <QtTest>

#include "app/gui/controllers/mending.h"
#include "tests/core/rewrite/graphs.h"

using namespace retro;
using app::Mend;
using app::MendBy;
using app::MendStage;
using diagnosis::Finding;
using tensor::Tensor;

namespace
{

using Texts = std::vector<std::string>;

Tensor floats(const tensor::Shape& shape, const std::vector<float>& numbers)
{
    return Tensor::of<float>(shape, numbers);
}

using Arguments = std::map<std::string, std::string>;

Finding withAction(const std::string& kind, const Arguments& arguments = {}, const std::string& option = {})
{
    Finding finding;
    finding.id = "flow.unread";
    finding.place.name = "conv";
    finding.action = {kind, arguments, option};
    return finding;
}

struct Stage
{
    rewrite::testing::SharedGraph graph;
    formats::ModelCard card;
    MendStage is;

    Stage()
    {
        rewrite::testing::Writer writer;
        const auto image = writer.input("image", {1, 3, 4, 4});
        const auto weight = writer.constant("conv.weight", rewrite::testing::randomTensor({2, 3, 1, 1}, 1));
        writer.output(writer.node("Relu", "relu", {writer.node("Conv", "conv", {image, weight})}));
        graph = writer.finish();
        card.labels = {"cup", "bowl", "lamp"};
        card.mean = {0.5, 0.25, 0};
        card.deviation = {0.25, 0.5, 1};
        is.question.inputs = {"array.npy"};
        is.question.composite = "epsilon_plus";
        is.graph = graph.get();
        is.card = &card;
    }
    [[nodiscard]] Mend of(const std::string& kind, const Arguments& arguments = {},
                          const std::string& option = {}) const
    {
        return app::mendOf(withAction(kind, arguments, option), is);
    }
};

} // namespace

class MendingTest : public QObject
{
    Q_OBJECT

private slots:
    void aRuleIsPutBeforeTheComposite()
    {
        Stage stage;
        stage.is.question.rules = {"name:conv=gamma", "op:Relu=pass"};
        const Mend mend = stage.of("change rule", {{"node", "conv"}}, "--rule name:conv=epsilon");
        QCOMPARE(mend.by, MendBy::Question);
        QCOMPARE(mend.text, QStringLiteral("Use epsilon here"));
        QCOMPARE(mend.question.rules, Texts({"name:conv=epsilon", "op:Relu=pass"}));
        QVERIFY(mend.tip.contains("--rule name:conv=epsilon"));
        const Mend other = stage.of("change rule", {{"node", "conv"}}, "--rule name:conv=z-plus:bias=zero");
        QCOMPARE(other.text, QStringLiteral("Use z-plus with bias=zero here"));
    }

    void withoutAnOptionTheRuleIsChosenByHand()
    {
        const Stage stage;
        const Mend mend = stage.of("change rule", {{"node", "conv"}});
        QCOMPARE(mend.by, MendBy::Dialog);
        QCOMPARE(mend.node, *stage.graph->findNode("conv"));
        QCOMPARE(stage.of("same rule for all", {{"node", "relu"}}).by, MendBy::Dialog);
        QCOMPARE(stage.of("change rule", {{"node", "nowhere"}}).by, MendBy::Nothing);
    }

    void aRuleIsRemovedWhereItWasPut()
    {
        Stage stage;
        stage.is.question.rules = {"name:conv=stop", "op:Relu=pass"};
        const Mend mend = stage.of("remove rule", {{"node", "conv"}, {"entry", "name:conv"}});
        QCOMPARE(mend.by, MendBy::Question);
        QCOMPARE(mend.question.rules, Texts({"op:Relu=pass"}));
        stage.is.question.rules.clear(); // it stands in the composite
        QCOMPARE(stage.of("remove rule", {{"node", "conv"}, {"entry", "name:conv"}}).by, MendBy::Dialog);
    }

    void anotherCompositeComesWithItsRules()
    {
        const Stage stage;
        const Mend mend = stage.of("switch composite", {}, "--composite epsilon");
        QCOMPARE(mend.question.composite, std::string("epsilon"));
        QVERIFY(mend.question.rules.empty());
        const Mend rules = stage.of("switch composite", {{"composite", "epsilon_plus"}},
                                    "--rule 'structure:\"sum of operands\"=abs-ratio' --rule 'op:Conv=z-plus'");
        QCOMPARE(rules.question.composite, std::string("epsilon_plus"));
        QCOMPARE(rules.question.rules, Texts({"structure:\"sum of operands\"=abs-ratio", "op:Conv=z-plus"}));
        QCOMPARE(stage.of("switch composite", {{"node", "conv"}}).by, MendBy::Nothing);
    }

    void aClassIsCalledByItsName()
    {
        Stage stage;
        const Mend mend = stage.of("choose target", {{"target", "2"}}, "--target 2");
        QCOMPARE(mend.text, QStringLiteral("Explain lamp"));
        QCOMPARE(mend.question.targets, Texts({"2"}));
        stage.is.card = nullptr;
        QCOMPARE(stage.of("choose target", {}, "--target 2").text, QStringLiteral("Explain class 2"));
        QCOMPARE(stage.of("choose target").by, MendBy::Nothing);
    }

    void theCardIsAppliedToPictureOrArray()
    {
        Stage stage;
        QCOMPARE(stage.of("apply the card").by, MendBy::Rescale);
        stage.is.question.inputs = {"picture.png"};
        stage.is.question.mean = {"0.5"};
        const Mend mend = stage.of("apply the card");
        QCOMPARE(mend.by, MendBy::Question);
        QVERIFY(mend.question.mean.empty()); // the card's, then
        stage.is.card = nullptr;
        QCOMPARE(stage.of("apply the card").by, MendBy::Nothing);
    }

    void weightsBothNodesAndCoverNeedThemThere()
    {
        Stage stage;
        const Mend weights = stage.of("go to weights", {{"node", "conv"}, {"value", "conv.weight"}});
        QCOMPARE(weights.by, MendBy::Weights);
        QCOMPARE(weights.value, *stage.graph->findValue("conv.weight"));
        QCOMPARE(stage.of("go to weights", {{"value", "merged away"}}).by, MendBy::Nothing);
        QCOMPARE(stage.of("select both nodes", {{"node", "conv"}, {"other", "relu"}}).by, MendBy::SelectBoth);
        QCOMPARE(stage.of("select both nodes", {{"node", "conv"}}).by, MendBy::Nothing);
        const Arguments window{{"row", "1"}, {"column", "2"}, {"height", "3"}, {"width", "4"}};
        QCOMPARE(stage.of("cover and run again", window).by, MendBy::Nothing); // no picture
        stage.is.isPicture = true;
        QCOMPARE(stage.of("cover and run again", window).cover, QRect(2, 1, 4, 3));
    }

    void mergingIsOfferedWhereItIsSwitchedOff()
    {
        Stage stage;
        Finding finding = withAction("change rule", {{"node", "conv"}}, "--rule name:conv=epsilon");
        finding.id = "rule.unmerged-bn";
        QCOMPARE(app::mendOf(finding, stage.is).text, QStringLiteral("Use epsilon here"));
        stage.is.question.noRewrite = {"merge-batchnorm", "fuse-linear"};
        const Mend mend = app::mendOf(finding, stage.is);
        QCOMPARE(mend.question.noRewrite, Texts({"fuse-linear"}));
    }

    void aRecordedRunCanOnlyBeLookedAt()
    {
        Stage stage;
        stage.is.isRecorded = true;
        QCOMPARE(stage.of("change rule", {}, "--rule name:conv=epsilon").by, MendBy::Nothing);
        QCOMPARE(stage.of("choose target", {}, "--target 1").by, MendBy::Nothing);
        QCOMPARE(stage.of("go to weights", {{"value", "conv.weight"}}).by, MendBy::Weights);
    }

    void theGoodInputTakesThePlaceOfTheOther()
    {
        Stage stage;
        QCOMPARE(stage.of("undo it").by, MendBy::Nothing);
        stage.is.reference = "/data/good.npy";
        QCOMPARE(stage.of("undo it").question.inputs, Texts({"/data/good.npy"}));
        stage.is.reference = "/data/good.onnx";
        QCOMPARE(stage.of("undo it").by, MendBy::Nothing);
    }

    void whatTheWindowCannotDoIsLeftToTheCommandLine()
    {
        const Stage stage;
        for (const char* kind : {"go to node", "mask", "show side by side", "made up"}) {
            QCOMPARE(stage.of(kind).by, MendBy::Nothing);
        }
        QCOMPARE(stage.of("choose input").by, MendBy::ChooseInput);
    }

    void axesAreTransposed()
    {
        const Tensor input = floats({1, 2, 1, 3}, {0, 1, 2, 10, 11, 12}); // 1 × 2 × 1 × 3, channels last
        const auto changed = app::transposed(input, {0, 3, 1, 2});
        QVERIFY(changed.ok() && changed->isContiguous());
        QCOMPARE(changed->shape(), (tensor::Shape{1, 3, 2, 1}));
        QCOMPARE(changed->at(0), 0.0);
        QCOMPARE(changed->at(1), 10.0);
        QCOMPARE(changed->at(2), 1.0);
        QVERIFY(!app::transposed(input, {0, 3, 1}).ok());
        QVERIFY(!app::transposed(input, {0, 3, 1, 1}).ok());
    }

    void pixelsBecomeWhatTheCardSays()
    {
        const Stage stage;
        const Tensor bytes = floats({1, 3, 1, 1}, {255, 51, 0});
        RETRO_MADE(changed, app::rescaled(bytes, stage.card));
        QCOMPARE(changed->at(0), 2.0);                       // (1 − 0.5) / 0.25
        QCOMPARE(static_cast<float>(changed->at(1)), -0.1F); // (0.2 − 0.25) / 0.5
        QCOMPARE(changed->at(2), 0.0);
        const auto shares = app::rescaled(floats({1, 3, 1, 1}, {1, 0.2F, 0}), stage.card);
        QVERIFY(std::abs(shares->at(1) - changed->at(1)) < 1e-6);
        QVERIFY(!app::rescaled(floats({1, 2, 1, 1}, {0, 1}), stage.card).ok());
        QVERIFY(!app::rescaled(floats({3}, {0, 1, 2}), stage.card).ok());
    }
};

QTEST_APPLESS_MAIN(MendingTest)
#include "mendingtest.moc"
