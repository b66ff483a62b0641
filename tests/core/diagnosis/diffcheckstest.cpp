// SPDX-License-Identifier: Apache-2.0
// Checks against a reference: each fires on its difference and is silent without it.
#include <QtTest>

#include "core/diagnosis/matching.h"
#include "tests/core/diagnosis/diagnosed.h"

using namespace retro;
using namespace retro::tests;

namespace
{

/// What differs between the models of these tests.
struct Spec
{
    std::string prefix = {}; ///< of every name
    float factor = 1;        ///< of output channel 1 of the second convolution
    float element = 0;       ///< added to one element of the first
    bool addsTwice = false;
    bool hasMask = false;
    std::int64_t pad = 1;
    bool isRewired = false;
};

Tensor changed(const Tensor& tensor, std::size_t begin, std::size_t end, float factor, float shift)
{
    const std::span<const float> old = tensor.span<float>();
    std::vector<float> numbers(old.begin(), old.end());
    for (std::size_t i = begin; i < end; ++i) {
        numbers[i] = numbers[i] * factor + shift;
    }
    return floats(tensor.shape(), numbers);
}

/// image → conv1 → relu1 → conv2 → + relu1 → relu2 → mean → fc.
SharedGraph network(const Spec& spec)
{
    Writer writer;
    const auto name = [&spec](const std::string& text) { return spec.prefix + text; };
    const Attributes padded{{"pads", Whole{spec.pad, spec.pad, spec.pad, spec.pad}},
                            {"kernel_shape", Whole{2 * spec.pad + 1, 2 * spec.pad + 1}}};
    const ValueId x = writer.input(name("image"), {1, 3, 6, 6});
    const ValueId w1 = writer.constant(name("w1"), changed(randomTensor({4, 3, 3, 3}, 1), 5, 6, 1, spec.element));
    const ValueId w2 = writer.constant(name("w2"), changed(randomTensor({4, 4, 3, 3}, 2), 36, 72, spec.factor, 0));
    const ValueId conv1 = writer.node("Conv", name("conv1"), {x, w1}, {{"pads", Whole{1, 1, 1, 1}}});
    const ValueId relu1 = writer.node("Relu", name("relu1"), {conv1});
    ValueId conv2 = writer.node("Conv", name("conv2"), {spec.isRewired ? conv1 : relu1, w2},
                                {{"pads", Whole{1, 1, 1, 1}}, {"dilations", Whole{1, 1}}});
    if (spec.hasMask) {
        conv2 = writer.node("Add", name("mask"),
                            {conv2, writer.constant(name("m"), floats({1, 1, 1, 6}, {0, 0, 0, -1e9F, -1e9F, -1e9F}))});
    }
    ValueId sum = writer.node("Add", name("add"), {conv2, relu1});
    if (spec.addsTwice) {
        sum = writer.node("Add", name("add2"), {sum, relu1});
    }
    const ValueId relu2 = writer.node("Relu", name("relu2"), {sum});
    const ValueId mean =
        writer.node("Flatten", name("flat"), {writer.node("GlobalAveragePool", name("mean"), {relu2})});
    const ValueId fc = writer.constant(name("fc.w"), randomTensor({4, 3}, 3));
    writer.output(writer.node("Gemm", name("fc"), {mean, fc}, {{"alpha", spec.pad == 1 ? 1.0 : 2.0}}));
    return writer.finish();
}

Tensor image() { return randomTensor({1, 3, 6, 6}, 7); }

Diagnosis compared(const SharedGraph& own, const SharedGraph& other, const std::string& check,
                   const Asked& asked = {{image()}}, const Asked& askedOther = {{image()}})
{
    const auto facts = factsFor(own, asked);
    facts->setReference(factsFor(other, askedOther));
    return diagnosed(*facts, check);
}

/// Elements of an image read in another order.
template <class F>
Tensor reordered(const Tensor& tensor, F&& from)
{
    std::vector<float> numbers(static_cast<std::size_t>(tensor.size()));
    for (std::int64_t c = 0; c < 3; ++c) {
        for (std::int64_t i = 0; i < 36; ++i) {
            numbers[static_cast<std::size_t>(c * 36 + i)] = static_cast<float>(tensor.at(from(c, i)));
        }
    }
    return floats(tensor.shape(), numbers);
}

Diagnosis againstInput(const Tensor& input)
{
    return compared(network({}), network({}), "diff.input", {{input}}, {{image()}});
}

} // namespace

class DiffChecksTest : public QObject
{
    Q_OBJECT

private slots:
    void equalModelsHaveNoDifference()
    {
        for (const char* check : {"diff.node", "diff.attribute", "diff.weight", "diff.rewired", "diff.input",
                                  "diff.rule", "diff.target", "diff.start", "diff.forward"}) {
            QVERIFY2(isSilent(compared(network({}), network({}), check)), check);
            QVERIFY2(isSilent(compared(network({.prefix = "other/"}), network({}), check)), check);
        }
    }

    void quarterTurnsOfAnInputAreNamed()
    {
        const auto at = [](std::int64_t c, std::int64_t row, std::int64_t column) { return c * 36 + row * 6 + column; };
        const Tensor once = reordered(image(), [&](auto c, auto i) { return at(c, i % 6, 5 - i / 6); });
        QVERIFY(hasAll(firstText(againstInput(once)), {"rotated by 90° in its axes 2 and 3"}));
        const Tensor twice = reordered(image(), [&](auto c, auto i) { return at(c, 5 - i / 6, 5 - i % 6); });
        QVERIFY(hasAll(firstText(againstInput(twice)), {"rotated by 180° in its axes 2 and 3"}));
        const Tensor thrice = reordered(image(), [&](auto c, auto i) { return at(c, 5 - i % 6, i / 6); });
        QVERIFY(hasAll(firstText(againstInput(thrice)), {"rotated by 270° in its axes 2 and 3"}));
    }

    void whatIsAddedTwiceIsNamed()
    {
        const Diagnosis found = compared(network({.addsTwice = true}), network({}), "diff.node");
        QVERIFY(hasAll(firstText(found), {"difference add2 adds relu1_out a second time"}));
        QVERIFY(isDocumented(found));
    }

    void missingMaskIsNamedAtItsReader()
    {
        const Diagnosis found = compared(network({}), network({.hasMask = true}), "diff.node");
        QVERIFY(hasAll(firstText(found),
                       {"difference add lacks what the reference has before it: mask (Add) adds a mask"}));
    }

    void nodesAreFoundUnderOtherNames()
    {
        const Diagnosis found = compared(network({.prefix = "m/", .hasMask = true}), network({}), "diff.node");
        QCOMPARE(found.findings.size(), std::size_t{1});
        QVERIFY(hasAll(firstText(found), {"difference m/mask (Add) is only here"}));
    }

    void attributeIsNamedWithBothValues()
    {
        const Diagnosis found = compared(network({.pad = 2}), network({}), "diff.attribute");
        QVERIFY(hasAll(firstText(found), {"difference fc its attribute alpha is 2, in the reference 1"}));
        QVERIFY(isDocumented(found));
    }

    void channelAndFactorOfAWeightAreNamed()
    {
        const Diagnosis found = compared(network({.factor = 1000}), network({}), "diff.weight");
        QVERIFY(hasAll(firstText(found), {"difference conv2 its weight (w2) differs in 36 of 144 elements: all in "
                                          "channel 1, factor 1000",
                                          "2 other constants are the same"}));
        QVERIFY(isDocumented(found));
    }

    void singleElementIsNamedWithBothNumbers()
    {
        const Diagnosis found = compared(network({.prefix = "x.", .element = 0.25F}), network({}), "diff.weight");
        QVERIFY(hasAll(firstText(found), {"difference x.conv1", "differs in 1 of 108 elements, at [0, 0, 1, 2]"}));
    }

    void rewiredOperandIsNamed()
    {
        const Diagnosis found = compared(network({.isRewired = true}), network({}), "diff.rewired");
        QVERIFY(hasAll(firstText(found), {"difference conv2 reads conv1_out", "it reads relu1_out"}));
        QVERIFY(isDocumented(found));
    }

    void reversedChannelsAreNamed()
    {
        const Tensor reversed = reordered(image(), [](std::int64_t c, std::int64_t i) { return (2 - c) * 36 + i; });
        QVERIFY(hasAll(firstText(againstInput(reversed)), {"difference image", "[2, 1, 0]", "BGR"}));
        QVERIFY(isDocumented(againstInput(reversed)));
    }

    void mirrorIsNamed()
    {
        const Tensor mirrored =
            reordered(image(), [](std::int64_t c, std::int64_t i) { return c * 36 + i / 6 * 6 + 5 - i % 6; });
        QVERIFY(hasAll(firstText(againstInput(mirrored)), {"mirrored along axis 3"}));
    }

    void turnedAxesAreNamed()
    {
        const Tensor turned =
            reordered(image(), [](std::int64_t c, std::int64_t i) { return c * 36 + i % 6 * 6 + i / 6; });
        QVERIFY(hasAll(firstText(againstInput(turned)), {"axes in the order (0, 1, 3, 2)"}));
    }

    void scaleIsNamed()
    {
        const Tensor scaled = changed(image(), 0, 108, 0.5F, 2);
        QVERIFY(hasAll(firstText(againstInput(scaled)), {"0.5·x + 2"}));
    }

    void otherInputIsCounted()
    {
        const Diagnosis found = againstInput(changed(image(), 10, 14, 0, 3));
        QVERIFY(hasAll(firstText(found), {"differs from that of the reference in 4 of 108 elements"}));
        QVERIFY(found.findings.front().base < 2.9);
    }

    void ruleIsNamedWithBoth()
    {
        const Diagnosis found = compared(network({}), network({}), "diff.rule",
                                         {{image()}, "epsilon_plus | name:conv2=gamma:gamma=0.05"}, {{image()}});
        QVERIFY(hasAll(firstText(found), {"difference conv2 has rule gamma 0.05; the reference has z-plus"}));
        QVERIFY(isDocumented(found));
        QCOMPARE(found.findings.size(), std::size_t{1});
    }

    void otherTargetAndStartAreNamed()
    {
        const Diagnosis target = compared(network({}), network({}), "diff.target", {{image()}, "epsilon_plus", "0"},
                                          {{image()}, "epsilon_plus", "1"});
        QVERIFY(hasAll(firstText(target), {"difference fc_out relevance starts at 0; in the reference at 1"}));
        QVERIFY(isDocumented(target));
        const auto facts = factsFor(network({}), {{image()}});
        engine::ExplainRequest one = Asked{{image()}}.request();
        one.start.kind = engine::StartKind::One;
        facts->setReference(engine::factsOf(loaded(network({})), one));
        QVERIFY(hasAll(firstText(diagnosed(*facts, "diff.start")), {"in the reference with 1"}));
        QVERIFY(isDocumented(diagnosed(*facts, "diff.start")));
    }

    void firstForwardValueThatDiffersIsNamed()
    {
        const Diagnosis found = compared(network({.factor = 3}), network({}), "diff.forward");
        QVERIFY(hasAll(firstText(found), {"difference conv2 is the first node whose forward value differs"}));
        QVERIFY(isDocumented(found));
    }

    void differentModelsAreOneFinding()
    {
        Writer writer;
        writer.output(writer.node("Sigmoid", "s", {writer.node("Tanh", "t", {writer.input("x", {1, 3, 6, 6})})}));
        const Diagnosis found = compared(network({}), writer.finish(), "diff.node");
        QCOMPARE(found.findings.size(), std::size_t{1});
        QVERIFY(hasAll(firstText(found), {"is another model"}));
    }

    void withoutAReferenceTheyDoNotRun()
    {
        QCOMPARE(only(diagnosed(network({}), {{image()}}, "diff.weight")).why,
                 std::string("nothing to compare with: --against"));
    }
};

QTEST_APPLESS_MAIN(DiffChecksTest)
#include "diffcheckstest.moc"
