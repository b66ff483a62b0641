// SPDX-License-Identifier: Apache-2.0
// The samples with their own inputs: what is sound has nothing beyond a note, and no statistic near its threshold; what
// a sample is there to show is found.
#include "core/engine/input/inputs.h"
#include "core/trace/breakpoints.h"
#include "tests/core/diagnosis/diagnosed.h"

#include <QtTest>

#include <array>
#include <set>

using namespace retro;
using namespace retro::tests;

namespace
{

/// How far below its threshold a healthy statistic has to stay.
constexpr double kMargin = 1.5;
/// Checks whose gap to healthy models is known to be narrow, or whose number is a small count or a setting: all outputs
/// of a Relu but a few are often 0, a slope of 0.4 is one of a
/// sample, and covering decides about a patch, not its share alone.
const std::set<std::string_view> kNarrow{"rule.unmerged-bn",   "flow.bias",       "target.rank",
                                         "target.output",      "forward.dead",    "model.slope",
                                         "input.concentrated", "model.untrained", "eval.batch"};

/// Facts of a sample and one of its inputs.
std::shared_ptr<diagnosis::Facts> factsOfSample(const std::string& model, const std::string& input)
{
    const std::filesystem::path samples = std::filesystem::path(RETRO_SOURCE_DIR) / "samples";
    const auto read = tests::made(engine::loadModel(samples / (model + ".onnx")));
    const auto& card = read->card;
    const engine::PictureOptions options = engine::pictureOptions(card ? &*card : nullptr);
    engine::ExplainRequest request;
    request.inputs = tests::made(engine::resolveInputs({(samples / input).string()}, *read, options));
    request.composite = card && !card->composite.empty() ? card->composite : "auto";
    const std::vector<std::string> labels = card ? card->labels : std::vector<std::string>();
    request.target = engine::parseTarget(card && !card->target.empty() ? card->target : "argmax", labels).value();
    return engine::factsOf(read, request);
}

} // namespace

class HealthyTest : public QObject
{
    Q_OBJECT

private slots:
    void soundSamplesHaveNothingBeyondANote_data()
    {
        QTest::addColumn<QString>("model");
        QTest::addColumn<QString>("input");
        const std::array<std::array<const char*, 2>, 13> kSound{{
            {"clever-hans/clever-hans", "clever-hans/jug.png"},
            {"clever-hans/control", "clever-hans/lamp-tagged.png"},
            {"clever-hans/control", "clever-hans/boat.png"},
            {"silent-groups/silent-groups", "silent-groups/stripes.png"},
            {"silent-groups/one-group", "silent-groups/stripes.png"},
            {"marked-step/marked-step", "marked-step/middle.npy"},
            {"planted-word/planted-word", "planted-word/good.npy"},
            {"planted-word/control", "planted-word/bad.npy"},
            {"lut-digits/lut-digits", "lut-digits/5.png"},
            {"lut-marked-byte/lut-marked-byte", "lut-marked-byte/a.npy"},
            {"lut-skips/lut-skips", "lut-skips/right.png"},
            {"one-segment/one-segment", "one-segment/scene-1.png"},
            {"one-segment/one-segment", "one-segment/scene-2.png"},
        }};
        for (const auto& [model, input] : kSound) {
            QTest::newRow(input) << model << input;
        }
    }

    void soundSamplesHaveNothingBeyondANote()
    {
        QFETCH(const QString, model);
        QFETCH(const QString, input);
        const Diagnosis found = diagnosed(*factsOfSample(model.toStdString(), input.toStdString()));
        QVERIFY(!found.failure);
        for (const Finding& finding : found.findings) {
            QVERIFY2(finding.level == Level::Note, finding.line().c_str());
        }
        for (const diagnosis::CheckRecord& record : found.checks) {
            const bool isJudged = record.isRun && record.check->threshold > 0 && !kNarrow.contains(record.check->id);
            const bool isNoted = std::ranges::any_of(
                found.findings, [&record](const Finding& finding) { return finding.id == record.check->id; });
            const std::string text =
                std::string(record.check->id) + " at " + record.largestAt + ": " + std::to_string(record.largest);
            QVERIFY2(!isJudged || isNoted || record.largest * kMargin <= record.check->threshold, text.c_str());
        }
    }

    void cleverHansLooksAtTheTag()
    {
        for (const char* picture : {"lamp-tagged", "mug-tagged", "jug-tagged"}) {
            const std::string input = std::string("clever-hans/") + picture + ".png";
            const Diagnosis found = diagnosed(*factsOfSample("clever-hans/clever-hans", input));
            QVERIFY(hasAll(firstText(found), {"warning image 9", "of positive relevance lies in 3.92 % of its area"}));
        }
    }

    void silentGroupsNameTheConvolutionAndItsBias()
    {
        const Diagnosis found = diagnosed(*factsOfSample("silent-groups/silent-groups", "silent-groups/stripes.png"));
        QVERIFY(hasAll(firstText(found), {"note /leaky/conv/Conv", "zero denominators", "bias"}));
        QVERIFY(hasAll(diagnosis::textOf(found)[2], {"/leaky/conv/Conv", "zero denominators", "zero bias"}));
    }

    void runToLostRelevanceStopsThere()
    {
        const std::filesystem::path samples = std::filesystem::path(RETRO_SOURCE_DIR) / "samples/silent-groups";
        RETRO_MADE(model, engine::loadModel(samples / "silent-groups.onnx"));
        RETRO_MADE(inputs, engine::resolveInputs({(samples / "stripes.png").string()}, **model,
                                                 engine::pictureOptions(&*(*model)->card)));
        engine::ExplainRequest request;
        request.inputs = *inputs;
        request.composite = (*model)->card->composite.empty() ? "auto" : (*model)->card->composite;
        request.record = true;
        const auto result = engine::explain(**model, request);
        QVERIFY(result.ok() && result->run != nullptr);
        const trace::Run& run = *result->run;
        trace::Breakpoint lost;
        lost.kind = trace::BreakKind::RelevanceLost;
        RETRO_MADE(stop, trace::nextStop(run, lost, 0));
        const auto row = static_cast<std::size_t>(run.events[*stop - 1].extra);
        QCOMPARE(run.graph->labelOf(base::NodeId(run.ledger[row].node)), std::string("/leaky/conv/Conv"));
    }
};

QTEST_GUILESS_MAIN(HealthyTest)
#include "healthytest.moc"
