// SPDX-License-Identifier: Apache-2.0
// Every sample by plans, gradient and relevance: at each step the bytes that the simulator says.
#include <QtTest>

#include "core/engine/input/inputs.h"
#include "core/engine/plan/carriedplan.h"
#include "core/engine/plan/plannedgradient.h"
#include "core/engine/ways/plannedrelevance.h"
#include "tests/core/engine/samplequestion.h"

#include <algorithm>
#include <filesystem>

using namespace retro;

namespace
{

/// Names of all sample models below samples/, without ending.
QStringList samples()
{
    QStringList names;
    const std::filesystem::path root = std::filesystem::path(RETRO_SOURCE_DIR) / "samples";
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
        if (entry.path().extension() == ".onnx") {
            names << QString::fromStdString(
                std::filesystem::relative(entry.path(), root).replace_extension().generic_string());
        }
    }
    names.sort();
    return names;
}

/// The first step at which the two differ; empty where none does.
QString difference(const runtime::PlanRun& run)
{
    for (const runtime::StepRecord& row : run.steps) {
        if (row.predicted.transient != row.measured.transient || row.predicted.after != row.measured.after) {
            return QStringLiteral("step %1: %2 bytes predicted, %3 measured")
                .arg(row.index)
                .arg(row.predicted.transient)
                .arg(row.measured.transient);
        }
    }
    return run.peak == run.predicted.peak ? QString() : QStringLiteral("another peak");
}

/// With its inputs, each by its name.
template <class Request>
tests::SampleQuestion<Request> questionOf(const QString& sample)
{
    tests::SampleQuestion<Request> question = tests::questionOf<Request>(qPrintable(sample));
    // Tokens, of any number, come from a file beside the model.
    const auto path = std::filesystem::path(RETRO_SOURCE_DIR) / "samples" / sample.toStdString();
    const auto given = path.parent_path() / "good.npy";
    std::vector<std::string> drawn;
    for (const base::ValueId input : question.model->graph()->inputs()) {
        const std::string data = std::filesystem::exists(given) ? given.string() : "random:1";
        drawn.push_back(question.model->graph()->value(input).name + "=" + data);
    }
    const auto inputs = engine::resolveInputs(drawn, *question.model->graph(), {});
    question.request.inputs = inputs.ok() ? *inputs : std::vector<tensor::Tensor>();
    return question;
}

bool hasFloatingInput(const engine::LoadedModel& model)
{
    const graph::Graph& graph = *model.graph();
    return std::ranges::any_of(graph.inputs(),
                               [&](base::ValueId input) { return tensor::isFloating(graph.value(input).dtype); });
}

} // namespace

class SamplePeaksTest : public QObject
{
    Q_OBJECT

private slots:
    void predictedIsMeasured_data()
    {
        QTest::addColumn<QString>("sample");
        QTest::addColumn<QString>("strategy");
        QVERIFY(samples().size() >= 10);
        for (const QString& sample : samples()) {
            for (const char* strategy : {"store_all", "recompute_all", "chen_sqrt"}) {
                QTest::addRow("%s by %s", qPrintable(sample), strategy) << sample << QString(strategy);
            }
        }
    }

    void predictedIsMeasured()
    {
        QFETCH(QString, sample);
        QFETCH(QString, strategy);
        engine::PlanOptions wish;
        wish.strategy = strategy.toStdString();
        wish.budget = "1000%"; // what a strategy gives is what is looked at
        const auto relevance = questionOf<engine::ExplainRequest>(sample);
        QVERIFY(relevance.model && !relevance.request.inputs.empty());
        RETRO_MADE(explained, engine::plannedRelevance(*relevance.model, relevance.request, wish));
        QVERIFY2(difference(*explained->carried->run).isEmpty(), qPrintable(difference(*explained->carried->run)));
        if (!hasFloatingInput(*relevance.model)) {
            return; // tokens have no gradient
        }
        const auto gradient = questionOf<engine::GradientRequest>(sample);
        RETRO_MADE(made, engine::plannedGradient(*gradient.model, gradient.request, wish));
        QVERIFY2(difference(made->run).isEmpty(), qPrintable(difference(made->run)));
    }
};

QTEST_GUILESS_MAIN(SamplePeaksTest)
#include "samplepeakstest.moc"
