// SPDX-License-Identifier: Apache-2.0
// How the relevance of one element came to be: rows that add up, numbers that multiply out to the part, and what is
// missing said by name.
#include <QtTest>

#include "core/engine/explain/explain.h"
#include "core/engine/region/history.h"
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
        const auto historian = engine::Historian::open(one.run, one.model);
        QVERIFY2(historian.ok(), historian.ok() ? "" : historian.error().text().c_str());
        const auto history = historian->of({one.input, {0, 1, 40, 41}});
        QVERIFY2(history.ok(), history.ok() ? "" : history.error().text().c_str());
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
        const auto historian = engine::Historian::open(one.run, one.model);
        QVERIFY(historian.ok());
        const auto history = historian->of({one.input, {0, 0, 30, 50}});
        QVERIFY(history.ok());
        QCOMPARE(history->last.size(), std::size_t{1});
        const engine::HistoryLastStep& step = history->last.front();
        const double z = numberOf(step, "z");
        const double part = numberOf(step, "x·W") * numberOf(step, "R") / (z + (z < 0 ? -1e-6 : 1e-6));
        QVERIFY(std::abs(numberOf(step, "x·W") - numberOf(step, "x") * numberOf(step, "W")) <= 1e-15);
        QVERIFY2(std::abs(part - step.part) <= 1e-9 * std::abs(step.part),
                 qPrintable(QString("%1 %2").arg(part).arg(step.part)));
    }

    void whatIsMissingIsNamed()
    {
        const Recorded one = recorded("epsilon");
        QVERIFY(one.run);
        const auto withoutModel = engine::Historian::open(one.run, nullptr);
        QVERIFY(!withoutModel.ok());
        QVERIFY(withoutModel.error().text().find("clever-hans.onnx") != std::string::npos);
        trace::Run bare = *one.run;
        bare.values[one.run->graph->inputs()[0].index()] = {};
        const auto withoutInput = engine::Historian::open(std::make_shared<trace::Run>(bare), one.model);
        QVERIFY(!withoutInput.ok());
        QVERIFY(withoutInput.error().text().find(one.input) != std::string::npos);
        const auto historian = engine::Historian::open(one.run, one.model);
        QVERIFY(historian.ok());
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
