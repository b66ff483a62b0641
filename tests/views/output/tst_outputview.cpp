// SPDX-License-Identifier: Apache-2.0
// Outputs with more than one row of classes: segments are those that --target segment=K explains, a click asks for one,
// and every number of another dense output can be chosen.
#include "core/engine/explain/explain.h"
#include "core/engine/model/loadmodel.h"
#include "core/trace/targetplace.h"
#include "tests/core/engine/loopmodel.h"
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/classes/classesview.h"
#include "views/classes/classscores.h"
#include "views/common/run/segments.h"
#include "views/output/outputview.h"

#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include <cmath>

using namespace retro;
using namespace retro::views;

namespace
{

/// Its first output has one score per class; the mask is of the second one, "scores".
engine::LoadedModel sample() { return **engine::loadModel(RETRO_SOURCE_DIR "/samples/one-segment/one-segment.onnx"); }

/// Bright shapes of several colours on a dark ground.
tensor::Tensor scene()
{
    std::vector<double> values(std::size_t{3} * 40 * 40, 0.1);
    for (int y = 0; y < 40; ++y) {
        for (int x = 0; x < 40; ++x) {
            const std::size_t at = static_cast<std::size_t>(y) * 40 + static_cast<std::size_t>(x);
            const bool isDisc = std::hypot(x - 10, y - 10) < 7;
            const bool isBox = x > 24 && x < 36 && y > 24 && y < 36;
            values[at] = isDisc ? 0.9 : isBox ? 0.5 : 0.1;
            values[at + 1600] = isDisc ? 0.4 : isBox ? 0.35 : 0.1;
            values[at + 3200] = isDisc ? 0.9 : isBox ? 0.35 : 0.15;
        }
    }
    return tensor::Tensor::of<double>({1, 3, 40, 40}, values).to(tensor::DType::Float32);
}

std::shared_ptr<const trace::Run> runOf(const engine::LoadedModel& model, std::vector<tensor::Tensor> inputs,
                                        const std::string& target)
{
    engine::ExplainRequest request;
    request.inputs = std::move(inputs);
    request.composite = "epsilon";
    request.record = request.keepValues = true;
    const auto asked = engine::parseTarget(target);
    request.target = *asked;
    const auto result = engine::explain(model, request);
    if (!result.ok()) {
        qWarning("%s", result.error().text().c_str());
        return nullptr;
    }
    return result->run;
}

/// x → Conv → 1 × 3 × 6 numbers: three tokens of six classes.
engine::LoadedModel taggerModel()
{
    rewrite::testing::Writer w;
    const auto x = w.input("x", {1, 3, 4});
    const auto weights = w.constant("w", rewrite::testing::randomTensor({4, 6}, 3));
    w.output(w.node("MatMul", "tags", {x, weights}));
    return tests::modelOf(w.finish());
}

struct Shown
{
    Cursor cursor;
    Selection selection;
    RunModel model{cursor};

    void show(const std::shared_ptr<const trace::Run>& run)
    {
        auto timeline = trace::Timeline::open(run);
        model.setRun(
            {run, std::make_shared<trace::Timeline>(std::move(timeline).value()), std::make_shared<RunDerived>(run)});
    }
};

} // namespace

class OutputViewTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void segmentsAreThoseThatAreExplained()
    {
        const engine::LoadedModel model = sample();
        RETRO_MADE(first, runOf(model, {scene()}, "scores:row=10,column=10"));
        const Segments segments(*first);
        QCOMPARE(segments.width(), 40);
        QCOMPARE(segments.height(), 40);
        QCOMPARE(segments.classes(), std::int64_t{4});
        QVERIFY(!segments.asked());
        std::int64_t all = 0;
        for (const Segments::One& one : segments.found()) {
            all += one.places;
            RETRO_MADE(run, runOf(model, {scene()}, "scores:segment=" + std::to_string(one.index)));
            QCOMPARE(trace::segmentOf(*run), std::optional(one.index));
            QCOMPARE(trace::targetCode(*run), "segment=" + std::to_string(one.index));
            QVERIFY(std::abs(run->facts.targetLogit.front() - one.score) <= 1e-4 * std::abs(one.score));
            QVERIFY(std::abs(run->facts.numbers.at("relevance_start") - one.score) <= 1e-4 * std::abs(one.score));
            QVERIFY(!segments.outline(one.index).isEmpty());
        }
        QCOMPARE(all, std::int64_t{1600});
        QVERIFY(segments.found().size() > 1);
    }

    void aClickAsksForASegmentOrAPlace()
    {
        Shown shown;
        shown.show(runOf(sample(), {scene()}, "scores:row=10,column=10"));
        OutputView view(shown.model, shown.cursor, shown.selection);
        tests::showAt(view, 300, 400);
        QVERIFY(view.figure().hasSegments());
        QSignalSpy asked(&view, &OutputView::placeWanted);
        const int one = view.figure().segments->classAt(10, 10);
        view.choose({10, 10});
        QCOMPARE(asked.takeFirst().front().toString(), QStringLiteral("segment=%1").arg(one));
        QCOMPARE(view.figure().codeAt({10, 12}), QStringLiteral("row=12,column=10,class=%1").arg(one));
        view.choose({-1, 3});
        QCOMPARE(asked.count(), 0);
        double share = 0;
        for (const SegmentShare& part : view.figure().shares) {
            QVERIFY(part.share);
            share += *part.share;
        }
        QVERIFY(std::abs(share - 1) < 1e-9); // every pixel is of one of them
        QVERIFY(tests::colorCount(tests::grab(view, {300, 400}, ThemeKind::Light, "output-segments")) > 20);
        // The list of classes is one of segments, and asks the same.
        ClassesView classes(shown.model, shown.cursor, shown.selection);
        classes.show();
        classes.flush();
        QCOMPARE(classes.title(), QStringLiteral("Segments"));
        const ClassAnswer answer = classAnswer(shown.model);
        QVERIFY(answer.isSegments && answer.best.size() == view.figure().segments->found().size());
        // Every kind of file.
        QTemporaryDir folder;
        for (const QString& ending : QStringLiteral("png svg pdf html csv").split(QLatin1Char(' '))) {
            const auto written = view.exportTo(folder.filePath("output." + ending).toStdString());
            QVERIFY2(written.ok(), written ? "" : written.error().text().c_str());
            QVERIFY(QFileInfo(folder.filePath("output." + ending)).size() > 100);
        }
    }

    /// Of a class in a row of its own: the mask is that of the output that has one.
    void theMaskOfAnotherOutputIsShown()
    {
        Shown shown;
        shown.show(runOf(sample(), {scene()}, "1"));
        OutputView view(shown.model, shown.cursor, shown.selection);
        tests::showAt(view, 300, 400);
        const DenseFigure& figure = view.figure();
        QVERIFY(figure.hasSegments());
        QCOMPARE(shown.model.label(figure.value), QStringLiteral("scores"));
        QCOMPARE(figure.segments->asked(), std::optional<std::int64_t>(1)); // the class in as many classes
        const int one = figure.segments->classAt(30, 30);
        QCOMPARE(figure.segmentAt({30, 30}), QStringLiteral("scores:segment=%1").arg(one));
        QCOMPARE(figure.codeAt({30, 31}), QStringLiteral("scores:row=31,column=30,class=%1").arg(one));
        ClassesView classes(shown.model, shown.cursor, shown.selection);
        classes.show();
        classes.flush();
        QCOMPARE(classes.title(), QStringLiteral("Classes")); // those that are explained
        // What is explained inside has places of its own.
        Shown inside;
        inside.show(runOf(sample(), {scene()}, "scores"));
        QCOMPARE(maskValue(inside.model.run()), inside.model.run().facts.targetValue);
    }

    void anyNumberOfATaggerIsChosen()
    {
        Shown shown;
        shown.show(runOf(taggerModel(), {rewrite::testing::randomTensor({1, 3, 4}, 5)}, "token=1,class=4"));
        OutputView view(shown.model, shown.cursor, shown.selection);
        tests::showAt(view, 300, 300);
        const DenseFigure& figure = view.figure();
        QVERIFY(!figure.hasSegments() && !figure.isEmpty());
        QCOMPARE(figure.askedCell, std::optional(QPoint(4, 1)));
        const tensor::Tensor* output = shown.model.forwardValue(shown.model.run().facts.targetValue);
        for (int token = 0; token < 3; ++token) {
            for (int one = 0; one < 6; ++one) {
                QCOMPARE(figure.codeAt({one, token}), QStringLiteral("token=%1,class=%2").arg(token).arg(one));
                QCOMPARE(figure.grid.plane.at(one, token), output->at(token * 6 + one));
            }
        }
        // Rows of numbers are as wide as the pane, however many they are.
        const QRectF high = placeDense(figure, QRectF(0, 0, 240, 30));
        QCOMPARE(high.size(), QSizeF(240, 30));
        QCOMPARE(cellBox(figure, high, {4, 1}), QRectF(160, 10, 40, 10));
        QSignalSpy asked(&view, &OutputView::placeWanted);
        view.choose({2, 0});
        QCOMPARE(asked.takeFirst().front().toString(), QStringLiteral("token=0,class=2"));
    }
};

QTEST_MAIN(OutputViewTest)
#include "tst_outputview.moc"
