// SPDX-License-Identifier: Apache-2.0
// Checks of texts: a first token that takes all relevance, and tokens behind the position that a causal model must not
// have seen.
#include "tests/core/diagnosis/diagnosed.h"

using namespace retro;
using namespace retro::tests;

namespace
{

constexpr std::int64_t kTokens = 6;
constexpr std::int64_t kWidth = 4;
constexpr std::int64_t kWords = 5;

/// Two attentions over the words of a table, each with a causal mask or without; `first` is added to the scores of the
/// first key.
SharedGraph reading(bool firstIsMasked, bool secondIsMasked, float first)
{
    Writer writer;
    const ValueId ids = writer.integers("ids", {1, kTokens});
    ValueId x = writer.node("Gather", "embedded", {writer.constant("table", randomTensor({kWords, kWidth}, 1)), ids});
    std::vector<float> sink(kTokens, 0);
    sink.front() = first;
    for (int block = 0; block < 2; ++block) {
        const std::string name = "block" + std::to_string(block) + "/";
        std::vector<float> mask;
        for (std::int64_t i = 0; i < kTokens * kTokens; ++i) {
            const bool isMasked = (block == 0 ? firstIsMasked : secondIsMasked) && i % kTokens > i / kTokens;
            mask.push_back((isMasked ? -1e9F : 0) + sink[static_cast<std::size_t>(i % kTokens)]);
        }
        const ValueId turned = writer.node("Transpose", name + "turned", {x}, {{"perm", Whole{0, 2, 1}}});
        const ValueId scores = writer.node("MatMul", name + "scores", {x, turned});
        const ValueId masked = writer.node("Add", name + "masked",
                                           {scores, writer.constant(name + "mask", floats({kTokens, kTokens}, mask))});
        const ValueId weights = writer.node("Softmax", name + "softmax", {masked}, {{"axis", std::int64_t{-1}}});
        x = writer.node("MatMul", name + "mixed", {weights, x});
    }
    writer.output(writer.node("MatMul", "head", {x, writer.constant("v", randomTensor({kWidth, kWords}, 7))}));
    return writer.finish();
}

/// Attentions over six words; each hides the keys of its mask ('#').
SharedGraph paddedStack(const std::vector<std::string>& masks)
{
    Writer writer;
    const ValueId ids = writer.integers("ids", {1, kTokens});
    ValueId x = writer.node("Gather", "embedded", {writer.constant("table", randomTensor({kWords, kWidth}, 1)), ids});
    for (std::size_t block = 0; block < masks.size(); ++block) {
        const std::string name = "/layers." + std::to_string(block) + "/attn/";
        std::vector<float> mask;
        for (const char key : masks[block]) {
            mask.push_back(key == '#' ? -1e9F : 0);
        }
        const ValueId turned = writer.node("Transpose", name + "turned", {x}, {{"perm", Whole{0, 2, 1}}});
        const ValueId scores = writer.node("MatMul", name + "scores", {x, turned});
        const ValueId masked =
            writer.node("Add", name + "masked", {scores, writer.constant(name + "mask", floats({kTokens}, mask))});
        const ValueId weights = writer.node("Softmax", name + "Softmax", {masked}, {{"axis", std::int64_t{-1}}});
        x = writer.node("MatMul", name + "mixed", {weights, x});
    }
    writer.output(writer.node("MatMul", "head", {x, writer.constant("v", randomTensor({kWidth, kWords}, 7))}));
    return writer.finish();
}

Asked textAt(std::int64_t position)
{
    const std::vector<std::int64_t> ids{1, 2, 3, 4, 0, 2};
    Asked asked{{Tensor::of<std::int64_t>({1, kTokens}, ids)}};
    asked.composite = "attnlrp";
    asked.target = "token=" + std::to_string(position) + ",class=1";
    return asked;
}

} // namespace

class TokenChecksTest : public QObject
{
    Q_OBJECT

private slots:
    void aSinkIsNamed()
    {
        const Diagnosis found = diagnosed(reading(true, true, 12), textAt(5), "token.sink");
        QVERIFY(hasAll(firstText(found), {"warning ids the first token has", "asked for at position 5"}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosed(reading(true, true, 0), textAt(5), "token.sink")));
        QVERIFY(isSilent(diagnosed(reading(true, true, 12), textAt(2), "token.sink"))); // too near
    }

    void aMaskUnlikeThoseOfTheOtherLayersIsNamed()
    {
        const Diagnosis found = diagnosed(paddedStack({"....##", "####..", "....##"}), textAt(2), "attention.mask");
        QVERIFY(
            hasAll(firstText(found), {"warning /layers.1/attn/Softmax gives 100 % of its weight to positions 4 … 5, "
                                      "which the 2 others hide by a mask",
                                      "Its mask is inverted"}));
        QVERIFY(isDocumented(found));
        const Diagnosis missing = diagnosed(paddedStack({"....##", "......"}), textAt(2), "attention.mask");
        QVERIFY(hasAll(firstText(missing), {"warning /layers.1/attn/Softmax gives ",
                                            "which /layers.0/attn/Softmax hides", "Its mask is missing"}));
        QVERIFY(isSilent(diagnosed(paddedStack({"....##", "....##", "....##"}), textAt(2), "attention.mask")));
        QVERIFY(isSilent(diagnosed(paddedStack({"......", "......"}), textAt(2), "attention.mask")));
        // One layer that sees less than the others sees no padding.
        QVERIFY(isSilent(diagnosed(paddedStack({"....##", "..####", "....##"}), textAt(2), "attention.mask")));
    }

    void tokensBehindAreNamed()
    {
        const Diagnosis found = diagnosed(reading(true, false, 0), textAt(2), "token.behind");
        QVERIFY(hasAll(firstText(found), {"warning ids tokens behind position 2 have", "block0/softmax is causal"}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosed(reading(true, true, 0), textAt(2), "token.behind")));
        // Nothing says that it is causal.
        const Diagnosis free = diagnosed(reading(false, false, 0), textAt(2), "token.behind");
        QVERIFY(free.findings.empty() && !free.checks.front().isRun);
    }
};

QTEST_APPLESS_MAIN(TokenChecksTest)
#include "tokencheckstest.moc"
