// SPDX-License-Identifier: Apache-2.0
// How the relevance of one element came to be: rows that add up, numbers that multiply out to the part, and what is
// missing said by name.
#include <QtTest>

#include "core/base/memoryaccount.h"
#include "core/engine/explain/explain.h"
#include "core/engine/region/history.h"
#include "core/engine/region/recordedhistory.h"
#include "tests/core/engine/samplequestion.h"

#include <cmath>

using namespace retro;

namespace
{

struct Recorded
{
    engine::LoadedModelPointer model;
    std::shared_ptr<const trace::Run> run;
    std::string input;
};

Recorded recorded(const char* composite)
{
    auto question = tests::questionOf<engine::ExplainRequest>("clever-hans/clever-hans");
    engine::ExplainRequest request = question.request;
    request.composite = composite;
    request.precision = execute::Precision::Double;
    request.record = request.keepValues = true;
    const auto made = engine::explain(*question.model, request);
    const graph::Graph& graph = *question.model->graph();
    return {question.model, made.ok() ? made->run : nullptr, graph.value(graph.inputs()[0]).name};
}

double numberOf(const engine::HistoryLastStep& step, const char* name)
{
    for (const engine::HistoryNumber& number : step.numbers) {
        if (number.name == name) {
            return number.value;
        }
    }
    return std::nan("");
}

} // namespace

class ElementHistoryTest : public QObject
{
    Q_OBJECT

private slots:
    void rowsAddUp_data()
    {
        QTest::addColumn<QString>("composite");
        QTest::newRow("epsilon") << "epsilon";
        QTest::newRow("epsilon_plus") << "epsilon_plus";
    }

    void rowsAddUp()
    {
        QFETCH(const QString, composite);
        const Recorded one = recorded(qPrintable(composite));
        QVERIFY(one.run);
        RETRO_MADE(historian, engine::Historian::open(one.run, one.model));
        RETRO_MADE(history, historian->of({one.input, {0, 1, 40, 41}}));
        QVERIFY(history->rows.size() > 5);
        QVERIFY(history->apart <= 1e-9);
        const engine::HistoryRow& score = history->rows.front();
        QCOMPARE(score.value, one.run->facts.targetValue);
        QVERIFY(score.isWhole);
        QVERIFY(std::abs(score.sum - history->relevance) <= 1e-9 * score.magnitude);
        const engine::HistoryRow& own = history->rows.back();
        QCOMPARE(own.value, history->value);
        QCOMPARE(own.elements, std::int64_t{1});
        QCOMPARE(own.largest.front().index, history->index);
        QCOMPARE(own.largest.front().way, 1.0);
        double all = 0;
        for (const engine::HistoryLastStep& step : history->last) {
            all += step.all;
        }
        QVERIFY(std::abs(all - history->relevance) <= 1e-9 * score.magnitude);
        for (const engine::HistoryRow& row : history->rows) {
            QVERIFY(row.step.has_value());
            QVERIFY(row.rule.empty() || !row.formula.empty());
        }
    }

    /// Under epsilon the printed numbers give the part: x·W·R / stab(z).
    void theNumbersMultiplyOut()
    {
        const Recorded one = recorded("epsilon");
        QVERIFY(one.run);
        RETRO_MADE(historian, engine::Historian::open(one.run, one.model));
        RETRO_MADE(history, historian->of({one.input, {0, 0, 30, 50}}));
        QCOMPARE(history->last.size(), std::size_t{1});
        const engine::HistoryLastStep& step = history->last.front();
        const double z = numberOf(step, "z");
        const double part = numberOf(step, "x·W") * numberOf(step, "R") / (z + (z < 0 ? -1e-6 : 1e-6));
        QVERIFY(std::abs(numberOf(step, "x·W") - numberOf(step, "x") * numberOf(step, "W")) <= 1e-15);
        QVERIFY2(std::abs(part - step.part) <= 1e-9 * std::abs(step.part),
                 qPrintable(QString("%1 %2").arg(part).arg(step.part)));
    }

    /// * adds up the places along an axis, and every row with them.
    /// Without the model: the element's relevance, when it was known, and who handed it on.
    void whatTheRunAloneSays()
    {
        const Recorded all = recorded("epsilon");
        QVERIFY(all.run);
        const auto place = engine::parseHistoryPlace(all.input + ":0,*,12,86");
        RETRO_MADE(alone, engine::recordedHistory(*all.run, *place));
        const auto historian = engine::Historian::open(all.run, all.model);
        const auto whole = historian->of(*place);
        QCOMPARE(alone->relevance, whole->relevance);
        QCOMPARE(alone->start, whole->start);
        QCOMPARE(alone->rows.size(), std::size_t{1});
        QCOMPARE(alone->rows.front().step, whole->rows.back().step);
        QCOMPARE(alone->rows.front().largest.size(), std::size_t{3});
        QCOMPARE(alone->last.size(), whole->last.size());
        double sum = 0;
        for (const engine::HistoryLastStep& step : alone->last) {
            sum += step.part;
            QVERIFY(!step.rule.empty());
        }
        QVERIFY(std::abs(sum - whole->relevance) <= 1e-12);
        QVERIFY(!engine::recordedHistory(*all.run, *engine::parseHistoryPlace(all.input + ":0,9,0,0")).ok());
        QVERIFY(!engine::recordedHistory(*all.run, *engine::parseHistoryPlace("nowhere:0")).ok());
    }

    void placesAlongAnAxisAreAddedUp()
    {
        const Recorded one = recorded("epsilon_plus");
        QVERIFY(one.run);
        RETRO_MADE(historian, engine::Historian::open(one.run, one.model));
        RETRO_MADE(place, engine::parseHistoryPlace(one.input + ":0,*,12,86"));
        RETRO_MADE(whole, historian->of(*place));
        double sum = 0;
        for (std::int64_t channel = 0; channel < 3; ++channel) {
            RETRO_MADE(single, historian->of({one.input, {0, channel, 12, 86}}));
            sum += single->relevance;
        }
        QVERIFY(std::abs(whole->relevance - sum) <= 1e-12 * std::abs(sum));
        QVERIFY(whole->apart <= 1e-9);
        for (const engine::HistoryRow& row : whole->rows) {
            double along = 0;
            for (const engine::HistoryChannel& channel : row.channels) {
                along += channel.part;
            }
            QVERIFY(row.channels.size() > 7 || std::abs(along - row.sum) <= 0.02 * row.magnitude);
        }
        QVERIFY(!engine::parseHistoryPlace(one.input + ":0,**,1,1").ok());
        QVERIFY(!historian->of({one.input, {0, -2, 1, 1}}).ok());
    }

    /// A pass that is still bound gives the same numbers as its run and its model.
    void whatIsBoundIsNotPreparedAgain()
    {
        auto question = tests::questionOf<engine::ExplainRequest>("clever-hans/clever-hans");
        engine::ExplainRequest request = question.request;
        request.composite = "epsilon_plus";
        request.record = request.keepValues = true;
        RETRO_MADE(made, engine::explain(*question.model, request));
        RETRO_MADE(bound, engine::Historian::of({made->run, made->model, made->assigned}));
        RETRO_MADE(opened, engine::Historian::open(made->run, question.model));
        const graph::Graph& graph = *question.model->graph();
        const engine::HistoryPlace place{graph.value(graph.inputs()[0]).name, {0, 1, 12, 86}};
        const auto a = bound->of(place);
        const auto b = opened->of(place);
        QVERIFY(a.ok() && b.ok());
        QCOMPARE(a->rows.size(), b->rows.size());
        for (std::size_t i = 0; i < a->rows.size(); ++i) {
            QCOMPARE(a->rows[i].sum, b->rows[i].sum);
        }
        // A region of that one element has what the history says of it.
        engine::RegionRequest region;
        const tensor::Shape shape = made->run->shapes[graph.inputs()[0].index()];
        std::vector<double> mask(static_cast<std::size_t>(tensor::elementCount(shape)), 0);
        mask[static_cast<std::size_t>((1 * shape[2] + 12) * shape[3] + 86)] = 1;
        region.given = {tensor::Tensor::of<double>(shape, mask)};
        RETRO_MADE(asked, bound->region(region, "NCHW"));
        QVERIFY(std::abs(asked->total - a->relevance) <= 1e-9 * std::abs(a->relevance));
    }

    /// What is made once is made beforehand: a question keeps nothing that was not there, and its numbers are the same.
    void theFirstQuestionFindsAllPrepared_data()
    {
        QTest::addColumn<QString>("sample");
        for (const char* sample : {"clever-hans/clever-hans", "marked-step/marked-step", "one-segment/one-segment",
                                   "silent-groups/silent-groups"}) {
            QTest::newRow(sample) << sample;
        }
    }

    void theFirstQuestionFindsAllPrepared()
    {
        QFETCH(const QString, sample);
        auto question = tests::questionOf<engine::ExplainRequest>(qPrintable(sample));
        engine::ExplainRequest request = question.request;
        request.record = request.keepValues = true;
        RETRO_MADE(made, engine::explain(*question.model, request));
        const graph::Graph& graph = *question.model->graph();
        const base::ValueId input = graph.inputs()[0];
        const std::vector<std::int64_t> first(made->run->shapes[input.index()].size(), 0);
        const engine::HistoryPlace place{graph.value(input).name, first};
        engine::RegionRequest region;
        region.given = {tensor::Tensor::full(tensor::DType::Float32, made->run->shapes[input.index()], 1)};
        region.arrives = true;
        const auto bare = engine::Historian::of({made->run, made->model, made->assigned});
        const auto prepared = engine::Historian::of({made->run, made->model, made->assigned});
        QVERIFY2(bare.ok() && prepared.ok(), bare.ok() ? "" : bare.error().text().c_str());
        std::stop_source stopped;
        stopped.request_stop();
        QCOMPARE(prepared->makeReady(stopped.get_token()).error().code, base::ErrorCode::Cancelled);
        QVERIFY(prepared->makeReady().ok());
        std::optional<engine::History> histories[2];
        std::int64_t kept[2];
        for (const auto& [at, historian] : {std::pair(0, &*bare), std::pair(1, &*prepared)}) {
            const std::int64_t before = base::MemoryAccount::tensors().live();
            RETRO_MADE(history, historian->of(place));
            histories[at] = *history;
            QVERIFY(historian->region(region, "NCHW").ok());
            kept[at] = base::MemoryAccount::tensors().live() - before;
        }
        std::int64_t pictures = 0; // of the rows, which the answer has
        for (const engine::HistoryRow& row : histories[1]->rows) {
            pictures += row.where.isValid() ? row.where.bytes() : 0;
        }
        QVERIFY(kept[0] > kept[1]);
        QCOMPARE(kept[1], pictures);
        QCOMPARE(histories[0]->rows.size(), histories[1]->rows.size());
        for (std::size_t i = 0; i < histories[0]->rows.size(); ++i) {
            QCOMPARE(histories[0]->rows[i].sum, histories[1]->rows[i].sum);
            QCOMPARE(histories[0]->rows[i].magnitude, histories[1]->rows[i].magnitude);
        }
    }

    /// The model is rewritten as it was for the run.
    void otherRewritesAreFound()
    {
        auto question = tests::questionOf<engine::ExplainRequest>("clever-hans/clever-hans");
        rewrite::RewriteOptions options = question.model->rewritten.options;
        options.mergeBatchNorm = false;
        RETRO_MADE(unmerged, engine::withRewrites(question.model, options));
        engine::ExplainRequest request = question.request;
        request.record = request.keepValues = true;
        RETRO_MADE(made, engine::explain(**unmerged, request));
        QVERIFY(made->run->graph->nodeCount() != question.model->graph()->nodeCount());
        RETRO_MADE(historian, engine::Historian::open(made->run, question.model));
        const graph::Graph& graph = *made->run->graph;
        const auto history = historian->of({graph.value(graph.inputs()[0]).name, {0, 1, 12, 86}});
        QVERIFY(history.ok() && history->rows.size() > 5);
    }

    void whatIsMissingIsNamed()
    {
        const Recorded one = recorded("epsilon");
        QVERIFY(one.run);
        RETRO_REFUSED(engine::Historian::open(one.run, nullptr), "clever-hans.onnx");
        trace::Run bare = *one.run;
        bare.values[one.run->graph->inputs()[0].index()] = {};
        RETRO_REFUSED(engine::Historian::open(std::make_shared<trace::Run>(bare), one.model), one.input);
        RETRO_MADE(historian, engine::Historian::open(one.run, one.model));
        QVERIFY(!historian->of({"no such value", {0}}).ok());
        QVERIFY(!historian->of({one.input, {0, 0, 0, 4000}}).ok());
        QVERIFY(!historian->of({one.input, {0}}).ok());
        QVERIFY(engine::parseHistoryPlace("a:b:0,3").ok());
        QCOMPARE(engine::parseHistoryPlace("a:b:0,3")->value, std::string("a:b"));
        for (const char* text : {"", "x", "x:", "x:1,", "x:-1", ":1"}) {
            QVERIFY2(!engine::parseHistoryPlace(text).ok(), text);
        }
    }
};

QTEST_GUILESS_MAIN(ElementHistoryTest)
#include "elementhistorytest.moc"
