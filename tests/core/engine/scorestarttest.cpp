// SPDX-License-Identifier: Apache-2.0
// Where relevance starts: at the scores behind their logarithm or probability, before a quantiser that is saturated,
// with 1 under rules of gradients.
#include "core/engine/question/resolve.h"
#include "tests/core/diagnosis/diagnosed.h"

#include <QtTest>

#include <algorithm>
#include <array>
#include <cmath>

using namespace retro;
using namespace retro::tests;

namespace
{

const std::vector<float> kInput{1, 2, 0.5F};

/// y = W·x with the rows (-1, -2, 1) and (-3, -1, -1); of the input its scores are -4.5 and -5.5.
ValueId scoresOf(Writer& writer)
{
    const ValueId x = writer.input("x", {1, 3});
    return writer.node("Gemm", "z", {x, writer.constant("w", floats({3, 2}, {-1, -3, -2, -1, 1, -1}))});
}

SharedGraph classifier(const std::vector<std::string>& tail)
{
    Writer writer;
    ValueId value = scoresOf(writer);
    for (const std::string& op : tail) {
        value = writer.node(op, op, {value});
    }
    writer.output(value);
    return writer.finish();
}

/// The answer to a question as the command line asks it.
engine::ExplainResult answer(const SharedGraph& graph, engine::Question question)
{
    const engine::LoadedModelPointer model = loaded(graph);
    auto request = tests::made(engine::resolve(question, *model));
    request.inputs = {floats({1, 3}, kInput)};
    return tests::made(engine::explain(*model, request));
}

engine::Question asking(const std::string& composite, const std::string& start = {}, const std::string& target = {})
{
    engine::Question question;
    question.composite = composite;
    question.start = start;
    if (!target.empty()) {
        question.targets = {target};
    }
    return question;
}

std::string targetOf(const engine::ExplainResult& result)
{
    return result.model->graph().value(result.target.value).name;
}

void expectMap(const engine::ExplainResult& result, const std::vector<double>& expected)
{
    const Tensor& map = result.relevance[result.model->graph().inputs().front().index()];
    for (std::size_t i = 0; i < expected.size(); ++i) {
        QVERIFY2(std::abs(map.at(static_cast<std::int64_t>(i)) - expected[i]) < 1e-5, qPrintable(QString::number(i)));
    }
}

bool warns(const engine::ExplainResult& result, const std::string& words)
{
    return std::ranges::any_of(result.warnings,
                               [&](const std::string& one) { return one.find(words) != std::string::npos; });
}

/// The scores, quantised: what lies beyond ±`most` saturates.
SharedGraph quantised(float most)
{
    Writer writer;
    const ValueId scale = writer.constant("s", floats({}, {most / 127}));
    const ValueId zero = writer.constant("zero", Tensor::zeros(tensor::DType::Int8, {}));
    const ValueId levels = writer.node("QuantizeLinear", "quantise", {scoresOf(writer), scale, zero});
    writer.output(writer.node("DequantizeLinear", "y", {levels, scale, zero}));
    return writer.finish();
}

} // namespace

class ScoreStartTest : public QObject
{
    Q_OBJECT

private slots:
    void autoStartsAtTheScores()
    {
        const std::vector<std::vector<std::string>> tails{{"LogSoftmax"},     {"Softmax", "Log"},
                                                          {"Sigmoid", "Log"}, {"Softmax"},
                                                          {"Sigmoid"},        {"LogSoftmax", "Identity"}};
        for (const auto& tail : tails) {
            const auto result = answer(classifier(tail), asking("auto"));
            QCOMPARE(targetOf(result), std::string("z_out"));
            QCOMPARE(result.target.index.front(), std::int64_t{0});
            expectMap(result, {-1, -4, 0.5});
            QVERIFY(warns(result, "relevance starts at the scores \"z_out\" before it"));
            const Asked byEpsilon{{floats({1, 3}, kInput)}, "epsilon"};
            QCOMPARE(diagnosed(classifier(tail), byEpsilon, "target.squashed").findings.size(), std::size_t{1});
        }
        expectMap(answer(classifier({"LogSoftmax"}), asking("auto", {}, "1")), {-3, -2, -0.5});
        const auto plain = answer(classifier({}), asking("auto"));
        QVERIFY(plain.warnings.empty() && targetOf(plain) == "z_out");
    }

    void otherRulesAndNamedValuesAreWarnedOf()
    {
        for (const char* composite : {"epsilon", "gradient"}) {
            const auto result = answer(classifier({"LogSoftmax"}), asking(composite));
            QCOMPARE(targetOf(result), std::string("LogSoftmax_out"));
            QVERIFY(warns(result, "--target 'z_out:0,0'"));
        }
        const auto named = answer(classifier({"LogSoftmax"}), asking("auto", {}, "LogSoftmax_out:0,0"));
        QVERIFY(targetOf(named) == "LogSoftmax_out" && warns(named, "--target 'z_out:0,0'"));
        expectMap(answer(classifier({"LogSoftmax"}), asking("epsilon", {}, "z_out:0,0")), {-1, -4, 0.5});
    }

    /// The largest probability of several rows need not be where the largest score is.
    void rowsOfASoftmaxAreNotCompared()
    {
        Writer writer;
        const std::array<std::int64_t, 3> shape{1, 2, 1};
        const ValueId rows = writer.node(
            "Concat", "rows",
            {writer.node("Reshape", "row",
                         {scoresOf(writer), writer.constant("shape", Tensor::of<std::int64_t>({3}, shape))}),
             writer.constant("others", floats({1, 2, 1}, {1, 1}))},
            {{"axis", std::int64_t{2}}});
        writer.output(writer.node("LogSoftmax", "y", {rows}, {{"axis", std::int64_t{2}}}));
        const auto result = answer(writer.finish(), asking("auto"));
        QVERIFY(targetOf(result) == "y_out" && warns(result, "the logarithm of a softmax"));
    }

    /// A classifier of two classes by one score: 1 - p stands beside p.
    void columnsBesideEachOtherAreLookedThrough()
    {
        Writer writer;
        const ValueId x = writer.input("x", {1, 3});
        const ValueId z = writer.node("Gemm", "z", {x, writer.constant("w", floats({3, 1}, {-1, -2, 1}))});
        const ValueId p = writer.node("Sigmoid", "p", {z});
        const ValueId q = writer.node("Sub", "q", {writer.constant("one", floats({}, {1})), p});
        writer.output(writer.node("Concat", "y", {q, p}, {{"axis", std::int64_t{1}}}));
        const SharedGraph graph = writer.finish();
        const auto no = answer(graph, asking("auto"));
        QVERIFY(no.target.index.front() == 0 && warns(no, "it falls where the score rises"));
        QVERIFY(warns(no, "--target 'z_out:0,0'"));
        QVERIFY(warns(answer(graph, asking("auto", {}, "1")), "is below 0.5"));
    }

    void rulesOfGradientsStartWithOne()
    {
        const SharedGraph graph = classifier({});
        for (const char* composite : {"gradient", "guided_backprop", "deconvnet", "beta_smooth"}) {
            expectMap(answer(graph, asking(composite, {}, "0")), {-1, -2, 1});
        }
        expectMap(answer(graph, asking("gradient_x_input", {}, "0")), {-1, -4, 0.5});
        expectMap(answer(graph, asking("gradient_x_input", "logit", "0")), {4.5, 18, -2.25});
        QVERIFY(answer(graph, asking("gradient", {}, "0")).warnings.empty());
    }

    void oneAtAScoreBelowZeroIsWarnedOf()
    {
        const SharedGraph graph = classifier({});
        const auto turned = answer(graph, asking("epsilon", "one", "0"));
        expectMap(turned, {1 / 4.5, 4 / 4.5, -0.5 / 4.5});
        QVERIFY(warns(turned, "what raises the score gets negative relevance"));
        QVERIFY(warns(turned, "--start logit"));
        QVERIFY(answer(graph, asking("epsilon", {}, "0")).warnings.empty());
    }

    void aSaturatedTargetIsExplainedBeforeItsQuantiser()
    {
        const auto within = answer(quantised(6), asking("epsilon"));
        QVERIFY(within.warnings.empty() && targetOf(within) != "z_out");
        const auto beyond = answer(quantised(3), asking("epsilon"));
        QCOMPARE(targetOf(beyond), std::string("z_out"));
        expectMap(beyond, {-1, -4, 0.5});
        QVERIFY(warns(beyond, "\"z_out\", is explained in its place"));
        const auto named = answer(quantised(3), asking("epsilon", {}, "y_out:0,0"));
        expectMap(named, {0, 0, 0});
        QVERIFY(warns(named, "the map is empty. Explain the value before it, --target 'z_out[:i,j,…]'"));
    }

    /// A plan lets go what saturation is seen by: such a target is refused, not answered by an empty map.
    void aQuantisedTargetIsNoneOfAPlan()
    {
        const engine::LoadedModelPointer model = loaded(quantised(3));
        engine::Question question = asking("epsilon");
        question.budget = "100%";
        const auto explained = [&] {
            auto request = tests::made(engine::resolve(question, *model));
            request.inputs = {floats({1, 3}, kInput)};
            return engine::explain(*model, request);
        };
        RETRO_REFUSED(explained(), "--target 'z_out[:i,j,…]'");
        question.targets = {"z_out:0,0"};
        RETRO_MADE(named, explained());
        expectMap(*named, {-1, -4, 0.5});
    }
};

QTEST_GUILESS_MAIN(ScoreStartTest)
#include "scorestarttest.moc"
