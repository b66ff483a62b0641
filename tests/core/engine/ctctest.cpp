// SPDX-License-Identifier: Apache-2.0
// Scores of CTC: time steps are no samples, and the blank is no class to explain.
#include <QtTest>

#include "core/engine/explain/explain.h"
#include "tests/core/engine/relevancenetworks.h"

using namespace retro;
using namespace retro::engine::testing;

namespace
{

constexpr std::int64_t kSteps = 10;
constexpr std::int64_t kClasses = 5;

/// signal (1 × 2 × steps) → convolution along time → time first or behind the sample → classes, the first favoured.
SharedGraph recogniser(bool isTimeFirst, const std::string& ending)
{
    Writer writer;
    const ValueId signal = writer.input("signal", {1, 2, kSteps});
    const ValueId conv = writer.node("Conv", "conv", {signal, writer.constant("kernel", randomTensor({6, 2, 3}, 1))},
                                     {{"pads", Ints{1, 1}}});
    const ValueId bent = writer.node("Relu", "bent", {conv});
    const ValueId turned =
        writer.node("Transpose", "turned", {bent}, {{"perm", isTimeFirst ? Ints{2, 0, 1} : Ints{0, 2, 1}}});
    const ValueId product =
        writer.node("MatMul", "product", {turned, writer.constant("weight", randomTensor({6, kClasses}, 2))});
    const ValueId bias = writer.constant("bias", Tensor::of<float>({kClasses}, std::vector<float>{1.5F, 0, 0, 0, 0}));
    const ValueId scores = writer.node("Add", "scores", {product, bias});
    writer.output(ending.empty() ? scores : writer.node(ending, "ended", {scores}, {{"axis", std::int64_t{-1}}}));
    return writer.finish();
}

base::Result<engine::ExplainResult> explained(const SharedGraph& graph, const std::string& target = {})
{
    const engine::LoadedModelPointer model = modelOf(graph);
    engine::ExplainRequest request;
    request.precision = execute::Precision::Double;
    request.composite = "epsilon";
    request.inputs = {randomTensor({1, 2, kSteps}, 7)};
    RETRO_TRY(request.target, engine::parseTarget(target));
    return engine::explain(*model, request);
}

/// The best class that is not 0, at a step where it is the best of all, if there is one: its row-major place.
std::int64_t expectedPlace(const Tensor& scores)
{
    std::int64_t chosen = -1;
    bool isWinner = false;
    for (std::int64_t i = 0; i < scores.size(); ++i) {
        const std::int64_t row = i / kClasses * kClasses;
        bool wins = i % kClasses != 0;
        for (std::int64_t k = 0; k < kClasses; ++k) {
            wins = wins && scores.at(i) >= scores.at(row + k);
        }
        const bool isBetter =
            chosen < 0 || (wins && !isWinner) || (wins == isWinner && scores.at(i) > scores.at(chosen));
        if (i % kClasses != 0 && isBetter) {
            chosen = i;
            isWinner = wins;
        }
    }
    return chosen;
}

} // namespace

class CtcTest : public QObject
{
    Q_OBJECT
private slots:
    void theBestClassThatIsNoBlank()
    {
        for (const bool isTimeFirst : {true, false}) {
            RETRO_MADE(result, explained(recogniser(isTimeFirst, "LogSoftmax")));
            const std::int64_t place = expectedPlace(result->outputs[0]);
            const std::int64_t step = place / kClasses;
            const engine::ResolvedTarget& target = result->target;
            if (isTimeFirst) {
                QCOMPARE(std::ranges::count_if(target.index, [](std::int64_t i) { return i >= 0; }), std::ptrdiff_t{1});
                QCOMPARE(target.index[static_cast<std::size_t>(step)], place % kClasses);
                QCOMPARE(target.place[static_cast<std::size_t>(step)],
                         fmt::format("time {}, class {}", step, place % kClasses));
            } else {
                QCOMPARE(target.index, (std::vector<std::int64_t>{place}));
            }
            QVERIFY(!target.notes.empty() && target.notes.front().find("CTC") != std::string::npos);
            double sum = 0;
            for (std::int64_t i = 0; i < target.start.size(); ++i) {
                sum += target.start.at(i);
            }
            QCOMPARE(sum, result->outputs[0].at(place));
        }
    }

    void aStepAndAClassAreNamed()
    {
        for (const bool isTimeFirst : {true, false}) {
            for (const char* const target : {"time=4,class=2", "token=4,class=2"}) {
                RETRO_MADE(result, explained(recogniser(isTimeFirst, "LogSoftmax"), target));
                const double score = result->outputs[0].at(4 * kClasses + 2);
                QCOMPARE(result->target.start.at(4 * kClasses + 2), score);
            }
        }
    }

    void otherScoresAreWhatTheyWere()
    {
        const auto result = explained(recogniser(false, "Softmax")); // nothing but a look of it
        RETRO_OK(result);
        const Tensor& scores = result->outputs[0];
        std::int64_t best = 0;
        for (std::int64_t i = 0; i < scores.size(); ++i) {
            best = scores.at(i) > scores.at(best) ? i : best;
        }
        QCOMPARE(result->target.index, (std::vector<std::int64_t>{best}));
    }
};

QTEST_GUILESS_MAIN(CtcTest)
#include "ctctest.moc"
