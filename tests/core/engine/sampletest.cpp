// SPDX-License-Identifier: Apache-2.0
// The shipped sample, end to end: every composite gives the same bits with promises, with everything saved, and in the
// oracle; the ledger adds up; stepping through the run and back gives the same bits; the relevance sits where the card
// says.
#include <QtTest>

#include "core/engine/explain/explain.h"
#include "core/engine/input/inputs.h"
#include "core/lrp/composite/composite.h"
#include "core/ops/algebra.h"
#include "core/ops/exactsums.h"
#include "core/trace/timeline.h"
#include "tests/core/engine/samplequestion.h"

#include <algorithm>
#include <array>

using namespace retro;

namespace
{

const std::filesystem::path kFolder = RETRO_SOURCE_DIR "/samples/clever-hans";

engine::LoadedModelPointer load(const char* name)
{
    auto model = engine::loadModel(kFolder / name);
    return model.ok() ? *model : nullptr;
}

engine::ExplainRequest requestFor(const engine::LoadedModel& model, const std::string& picture)
{
    engine::ExplainRequest request;
    auto inputs =
        engine::resolveInputs({(kFolder / picture).string()}, *model.graph(), engine::pictureOptions(&*model.card));
    if (inputs.ok()) {
        request.inputs = *inputs;
    }
    return request;
}

/// The samples, by folder and model.
constexpr std::array<const char*, 9> kSamples{
    "clever-hans/clever-hans",     "clever-hans/control",       "marked-step/marked-step",
    "one-segment/one-segment",     "planted-word/planted-word", "planted-word/control",
    "silent-groups/silent-groups", "silent-groups/one-group",   "lut-skips/lut-skips"};

/// The card's target on the first of its inputs.
base::Result<engine::ExplainRequest> questionOf(const engine::LoadedModel& model)
{
    engine::ExplainRequest request;
    const std::string file = (model.path.parent_path() / model.card->pictures.front().file).string();
    RETRO_TRY(request.inputs, engine::resolveInputs({file}, *model.graph(), engine::pictureOptions(&*model.card)));
    RETRO_TRY(request.target, engine::parseTarget(model.card->target, model.card->labels));
    return request;
}

/// Share of the positive relevance inside the tag's box, channels summed.
double shareOnTag(const tensor::Tensor& relevance, const std::array<int, 4>& box)
{
    const tensor::Tensor plain = relevance.contiguous();
    const std::int64_t height = plain.shape()[2];
    const std::int64_t width = plain.shape()[3];
    double all = 0;
    double inside = 0;
    for (std::int64_t y = 0; y < height; ++y) {
        for (std::int64_t x = 0; x < width; ++x) {
            double v = 0;
            for (std::int64_t c = 0; c < plain.shape()[1]; ++c) {
                v += plain.at((c * height + y) * width + x);
            }
            v = std::max(v, 0.0);
            all += v;
            const bool isInside = x >= box[0] && x < box[0] + box[2] && y >= box[1] && y < box[1] + box[3];
            inside += isInside ? v : 0;
        }
    }
    return inside / all;
}

} // namespace

class SampleTest : public QObject
{
    Q_OBJECT

private slots:
    void promiseAllAndOracleAgreeBitForBit_data()
    {
        QTest::addColumn<QString>("sample");
        QTest::addColumn<QString>("composite");
        for (const char* sample : kSamples) {
            for (const std::string& name : lrp::builtinNames()) {
                QTest::addRow("%s %s", sample, name.c_str()) << sample << QString::fromStdString(name);
            }
        }
    }

    void promiseAllAndOracleAgreeBitForBit()
    {
        QFETCH(QString, sample);
        QFETCH(QString, composite);
        RETRO_MADE(model, tests::loadSample(sample));
        RETRO_MADE(asked, questionOf(*model));
        engine::ExplainRequest request = *asked;
        request.composite = composite.toStdString();
        const auto promise = engine::explain(*model, request);
        if (!promise.ok() && promise.error().code == base::ErrorCode::Usage) { // refused by name
            const std::string text = promise.error().text();
            const bool namesTokens = text.find("tokens") != std::string::npos; // which have no magnitude
            QVERIFY2(namesTokens || text.find(request.composite) != std::string::npos, text.c_str());
            return;
        }
        RETRO_OK(promise);
        request.save = execute::SavePolicy::All;
        const auto all = engine::explain(*model, request);
        request.engine = engine::EngineKind::Oracle;
        const auto oracle = engine::explain(*model, request);
        QVERIFY(all.ok() && oracle.ok());
        QCOMPARE(all->counts.promises, 0U);
        QVERIFY(promise->counts.visitsMax <= 3);
        std::size_t compared = 0;
        for (std::size_t i = 0; i < promise->relevance.size(); ++i) {
            QVERIFY(promise->relevance[i].bitEqual(all->relevance[i]));
            QVERIFY(promise->relevance[i].bitEqual(oracle->relevance[i]));
            compared += promise->relevance[i].isValid() ? 1 : 0;
        }
        QVERIFY(compared > 5);
    }

    void ledgerAddsUpInDouble_data() { promiseAllAndOracleAgreeBitForBit_data(); }

    void ledgerAddsUpInDouble()
    {
        QFETCH(QString, sample);
        QFETCH(QString, composite);
        RETRO_MADE(model, tests::loadSample(sample));
        engine::ExplainRequest request = questionOf(*model).value();
        request.composite = composite.toStdString();
        request.precision = execute::Precision::Double;
        const auto result = engine::explain(*model, request);
        if (!result.ok()) {
            return; // refused, which the other test looks at
        }
        base::ExactSum rest(result->relevanceStart);
        for (const event::LedgerEntry& row : result->ledger) {
            for (const double amount : row.causes) {
                rest.add(-amount);
            }
            QVERIFY2(std::abs(row.unexplained()) <= 1e-9 * std::max(row.magnitude, std::abs(row.handedOn)) + 1e-300,
                     result->model->graph().labelOf(base::NodeId(row.node)).c_str());
        }
        if (result->composite.timesInput) {
            return; // a gradient's books are those of the gradient, which the result no longer is
        }
        for (const base::ValueId input : result->model->graph().inputs()) {
            if (result->relevance[input.index()].isValid()) {
                rest.subtract(ops::algebra::exactSum(result->relevance[input.index()]));
            }
        }
        QVERIFY2(std::abs(rest.value()) <= 1e-9 * std::abs(result->relevanceStart),
                 qPrintable(QStringLiteral("leaves and causes miss the start, %1, by %2")
                                .arg(result->relevanceStart)
                                .arg(rest.value())));
    }

    void steppingThereAndBackAndThereGivesTheSameBits()
    {
        const auto model = load("clever-hans.onnx");
        engine::ExplainRequest request = requestFor(*model, model->card->pictures.front().file);
        request.record = true;
        RETRO_MADE(result, engine::explain(*model, request));
        RETRO_MADE(timeline, trace::Timeline::open(result->run));
        const auto relevanceAtEnd = [&] {
            std::vector<tensor::Tensor> tensors;
            for (const auto& node : timeline->state().nodes) {
                for (const base::HandleId handle : node.relevance) {
                    tensors.push_back(handle.isValid() ? result->run->tensors[handle.index()] : tensor::Tensor());
                }
            }
            return tensors;
        };
        const trace::RunState start = timeline->state();
        while (timeline->forward()) {
        }
        const trace::RunState end = timeline->state();
        const auto first = relevanceAtEnd();
        while (timeline->back()) {
        }
        QVERIFY(timeline->state() == start);
        while (timeline->forward()) {
        }
        QVERIFY(timeline->state() == end);
        const auto second = relevanceAtEnd();
        QCOMPARE(first.size(), second.size());
        std::size_t valid = 0;
        for (std::size_t i = 0; i < first.size(); ++i) {
            QVERIFY(first[i].bitEqual(second[i]));
            valid += first[i].isValid() ? 1 : 0;
        }
        QVERIFY(valid > 20);
        QVERIFY(end.isFinished);
        QCOMPARE(end.frontierHeld, 0U);
    }

    void relevanceSitsOnTheTagInTheCheatOnly()
    {
        const auto cheat = load("clever-hans.onnx");
        const auto control = load("control.onnx");
        QVERIFY(cheat && control);
        int pictures = 0;
        for (const formats::CardPicture& picture : cheat->card->pictures) {
            if (!picture.tagBox) {
                continue;
            }
            ++pictures;
            engine::ExplainRequest request = requestFor(*cheat, picture.file);
            request.composite = "epsilon_plus";
            const auto here = engine::explain(*cheat, request);
            const auto there = engine::explain(*control, request);
            QVERIFY(here.ok() && there.ok());
            const std::size_t input = cheat->graph()->inputs()[0].index();
            const std::size_t controlInput = control->graph()->inputs()[0].index();
            QVERIFY2(shareOnTag(here->relevance[input], *picture.tagBox) >
                         3 * shareOnTag(there->relevance[controlInput], *picture.tagBox),
                     picture.file.c_str());
        }
        QVERIFY(pictures > 0);
    }
};

QTEST_GUILESS_MAIN(SampleTest)
#include "sampletest.moc"
