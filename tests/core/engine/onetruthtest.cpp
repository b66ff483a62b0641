// SPDX-License-Identifier: Apache-2.0
// What is said of one run in several places is one thing: the answer, its recorded run, the ledger, the events, the
// frontier, and the diagnosis of the answer and of the run. Sixty runs: every sample under many composites.
#include <QtTest>

#include "core/diagnosis/diagnosis.h"
#include "core/engine/diagnose.h"
#include "core/engine/input/inputs.h"
#include "core/trace/describe.h"
#include "core/trace/ledgersummary.h"
#include "core/trace/meantrelevance.h"
#include "core/trace/timeline.h"
#include "tests/core/engine/samplequestion.h"

#include <algorithm>
#include <cmath>

using namespace retro;
using event::EventKind;

namespace
{

constexpr double kWithin = 1e-5; // of the largest number: sums are added in other orders

bool isNear(double a, double b, double scale)
{
    return std::abs(a - b) <= kWithin * std::max({std::abs(a), std::abs(b), scale});
}

/// Ids with places, in order.
std::vector<std::string> namesOf(const diagnosis::Diagnosis& found)
{
    std::vector<std::string> names;
    for (const diagnosis::Finding& finding : found.findings) {
        names.push_back(finding.id + " " + finding.place.name);
    }
    return names;
}

std::string faultOfSums(const trace::Run& run, const engine::ExplainResult& answer)
{
    const trace::LedgerSummary ledger = trace::summarise(run);
    const double scale = std::abs(answer.relevanceStart);
    if (!isNear(ledger.start, answer.relevanceStart, scale) ||
        !isNear(run.facts.numbers.at("relevance_start"), ledger.start, scale)) {
        return "the start";
    }
    double arrived = 0;
    for (const base::ValueId input : run.graph->inputs()) {
        const tensor::Tensor& relevance = answer.relevance[input.index()];
        for (std::int64_t i = 0; relevance.isValid() && i < relevance.size(); ++i) {
            arrived += relevance.at(i);
        }
    }
    const bool isSame = isNear(arrived, answer.relevanceInputs, scale) && isNear(ledger.leaves, arrived, scale);
    return isSame ? std::string()
                  : fmt::format("what arrived: {}, {}, {}", arrived, answer.relevanceInputs, ledger.leaves);
}

/// Every event has words; where the relevance of an input is known, they name the sum that the ledger counts.
std::string faultOfWords(const trace::Run& run)
{
    double told = 0;
    for (std::uint64_t step = 0; step < run.eventCount(); ++step) {
        if (trace::describe(run, step).empty()) {
            return fmt::format("no words for event {}", step);
        }
        const trace::Event& event = run.events[step];
        const bool isAtInput = event.node < run.graph->runNodeCount() && run.graph->isInput(base::NodeId(event.node));
        told += event.kind == EventKind::Relevance && isAtInput ? trace::sumIn(run, event) : 0;
    }
    const trace::LedgerSummary ledger = trace::summarise(run);
    return isNear(told, ledger.leaves, std::abs(ledger.start)) ? std::string() : "the sums of events";
}

/// The frontier is empty at the end, never less than its members, and never a constant.
std::string faultOfFrontier(const std::shared_ptr<const trace::Run>& run)
{
    auto timeline = trace::Timeline::open(run);
    if (!timeline) {
        return timeline.error().text();
    }
    timeline->seek(run->eventCount());
    if (timeline->state().frontierBytes.sum() != 0 || !timeline->state().frontier().empty()) {
        return "something is left in the frontier";
    }
    for (std::uint32_t visit = 0; visit < run->visitCount(); ++visit) {
        if (timeline->series().most[visit].sum() < timeline->series().frontierBytes[visit]) {
            return fmt::format("the most of visit {} is less than what it ended with", visit);
        }
    }
    return {};
}

/// A run that lost a quarter of what started to biases and constants is not passed over in silence.
std::string faultOfSilence(const trace::Run& run, const diagnosis::Diagnosis& found, bool isGradient)
{
    const trace::LedgerSummary ledger = trace::summarise(run);
    const auto amount = [&](event::Cause cause) { return ledger.causes[static_cast<std::size_t>(cause)]; };
    const double lost = std::abs(amount(event::Cause::Bias) + amount(event::Cause::Constant));
    const bool isMuch = !isGradient && std::abs(ledger.start) > 1e-3 && lost > 0.25 * std::abs(ledger.start);
    return isMuch && found.findings.empty()
               ? fmt::format("{:.0f} % are lost, and nothing is found", 100 * lost / std::abs(ledger.start))
               : std::string();
}

} // namespace

class OneTruthTest : public QObject
{
    Q_OBJECT

private slots:
    void oneRunIsOneTruth_data()
    {
        QTest::addColumn<QString>("sample");
        QTest::addColumn<QString>("composite");
        for (const char* sample : {"clever-hans/clever-hans", "clever-hans/control", "marked-step/marked-step",
                                   "one-segment/one-segment", "planted-word/planted-word", "planted-word/control",
                                   "silent-groups/silent-groups", "silent-groups/one-group", "lut-skips/lut-skips"}) {
            for (const char* composite : {"auto", "epsilon", "epsilon_plus", "epsilon_plus_flat", "epsilon:bias=zero",
                                          "gradient", "gradient_x_input", "attnlrp"}) {
                QTest::addRow("%s %s", sample, composite) << QString(sample) << QString(composite);
            }
        }
    }

    void oneRunIsOneTruth()
    {
        QFETCH(QString, sample);
        QFETCH(QString, composite);
        const engine::LoadedModelPointer model = tests::loadSample(sample);
        QVERIFY(model);
        engine::ExplainRequest request;
        request.composite = composite.toStdString();
        request.record = request.keepValues = request.keepsForward = request.goesOnWhenNotFinite = true;
        const std::string file = (model->path.parent_path() / model->card->pictures.front().file).string();
        RETRO_MADE(inputs, engine::resolveInputs({file}, *model->graph(), engine::pictureOptions(&*model->card),
                                                 &*model->card));
        request.inputs = *inputs;
        RETRO_MADE(target, engine::parseTarget(model->card->target, model->card->labels));
        request.target = *target;
        auto answer = engine::explain(*model, request);
        if (!answer) {
            QVERIFY2(answer.error().code == base::ErrorCode::Input || answer.error().code == base::ErrorCode::Usage,
                     answer.error().text().c_str());
            return; // a rule that does not fit is refused
        }
        const std::shared_ptr<const trace::Run> run = answer->run;
        for (const std::string& fault : {faultOfSums(*run, *answer), faultOfWords(*run), faultOfFrontier(run)}) {
            QVERIFY2(fault.empty(), fault.c_str());
        }
        RETRO_MADE(ofAnswer, diagnosis::diagnose(*engine::factsOf(*model, request, *answer), {}));
        RETRO_MADE(ofRun, diagnosis::diagnose(*engine::factsOf(run, model, "r.retro"), {}));
        QCOMPARE(namesOf(*ofRun), namesOf(*ofAnswer));
        const std::string silence = faultOfSilence(*run, *ofRun, engine::passOf(*answer).isGradient);
        QVERIFY2(silence.empty(), silence.c_str());
    }
};

QTEST_GUILESS_MAIN(OneTruthTest)
#include "onetruthtest.moc"
