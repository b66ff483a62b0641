// SPDX-License-Identifier: Apache-2.0
// The memory of a recurrent layer: units by what they carry, steps in the order of time, and a layer that is asked to
// be opened once.
#include "core/engine/explain/explain.h"
#include "core/engine/model/loadmodel.h"
#include "core/engine/model/openfused.h"
#include "core/tensor/npy.h"
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/memory/memoryview.h"

#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include <cmath>
#include <filesystem>

using namespace retro;
using namespace retro::views;

namespace
{

FusedMember memberOf(const char* name, std::vector<double> relevance)
{
    FusedMember member{QString::fromLatin1(name), QStringLiteral("Add")};
    const auto units = static_cast<std::int64_t>(relevance.size() / 2); // two samples
    member.relevance = tensor::Tensor::of<double>({2, units}, relevance);
    return member;
}

/// The sample of a marked step, explained, with its LSTM open.
struct Sample
{
    std::shared_ptr<const trace::Run> run;
    FusedNodesPointer fused;

    Sample()
    {
        const std::filesystem::path folder = RETRO_SOURCE_DIR "/samples/marked-step";
        const auto model = *engine::loadModel(folder / "marked-step.onnx");
        engine::ExplainRequest request;
        request.inputs = {*tensor::readNpy(folder / "early.npy")};
        if (request.inputs[0].rank() == 2) {
            request.inputs[0] = request.inputs[0].reshaped({1, 24, 2});
        }
        request.composite = "gradient_x_input";
        request.record = request.keepValues = true;
        const auto result = engine::explain(*model, request);
        run = result->run;
        const auto opened = engine::openFused(*model, request, *result, {"/lstm/LSTM"});
        FusedNode node{*run->graph->findNode("/lstm/LSTM"), {}, true, true, {}};
        const graph::Graph& members = opened->front().opened.model->graph();
        for (std::size_t i = 0; i < members.nodeCount(); ++i) {
            const base::NodeId id(i);
            FusedMember member{QString::fromStdString(std::string(members.labelOf(id))), {}};
            for (const lrp::OpenedValue& value : opened->front().opened.values) {
                if (!value.isOperand && value.name == members.value(members.outputsOf(id).front()).name) {
                    member.value = value.value;
                    member.relevance = value.relevance;
                }
            }
            node.members.push_back(std::move(member));
        }
        fused = std::make_shared<const FusedNodes>(FusedNodes{std::move(node)});
    }

    [[nodiscard]] RunHandle handle() const
    {
        auto timeline = trace::Timeline::open(run);
        return {run, std::make_shared<trace::Timeline>(std::move(timeline).value()), std::make_shared<RunDerived>(run)};
    }
};

} // namespace

class MemoryViewTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void unitsAreRankedAndStepsAreInOrder()
    {
        FusedNode fused;
        fused.isOpen = true;
        fused.members = {memberOf("/l/LSTM/forward/10/new cell", {1, 0, 0, -4}),
                         memberOf("/l/LSTM/forward/2/new cell", {0.5, 1, 0.5, 1}),
                         memberOf("/l/LSTM/backward/0/new cell", {3, 0, 0, 0}),
                         memberOf("/l/LSTM/forward/2/new state", {9, 9, 9, 9}),
                         memberOf("/l/LSTM/forward/x/new cell", {9, 9, 9, 9})};
        const auto figures = memoryFigures(fused);
        QCOMPARE(figures.size(), std::size_t{2});
        const MemoryFigure& ahead = figures[0];
        QVERIFY(ahead.isCell && !ahead.isBackward && figures[1].isBackward);
        QCOMPARE(ahead.stepCount(), 11);
        QCOMPARE(ahead.units[0].index, std::int64_t{1}); // |2| + |−4| above |1| + |1|
        QCOMPARE(*ahead.at(0, 2), 2.0);
        QCOMPARE(*ahead.at(0, 10), -4.0);
        QCOMPARE(*ahead.at(1, 10), 1.0);
        QCOMPARE(ahead.carried[10], -3.0);
        QCOMPARE(ahead.carried[2], 3.0);
        QVERIFY(!ahead.at(2, 0) && !ahead.at(0, 11) && !ahead.at(-1, 0));
        fused.members.clear();
        QVERIFY(memoryFigures(fused).empty());
        fused.members = {memberOf("/g/GRU/forward/0/new state", {1, 1})};
        QVERIFY(!memoryFigures(fused).front().isCell);
    }

    /// The answer of the sample is known: the fourth step is marked, and what it wrote is kept to the end.
    void theMarkedStepWroteWhatIsCarried()
    {
        const Sample sample;
        Cursor cursor;
        Selection selection;
        RunModel model{cursor};
        model.setRun(sample.handle());
        MemoryView view(model, cursor, selection);
        view.setFused(sample.fused);
        view.flush();
        const MemoryFigure& figure = view.figure();
        QVERIFY(figure.isCell);
        QCOMPARE(figure.stepCount(), 24);
        QCOMPARE(figure.units.size(), std::size_t{16});
        // Of a start with one, another program had 0.748 there; this run starts with the score, 0.754.
        QVERIFY(std::abs(figure.carried[3] - 0.748 * 0.754) < 0.002);
        for (std::size_t step = 0; step < 3; ++step) {
            QVERIFY(std::abs(figure.carried[step]) < 0.1 * std::abs(figure.carried[3]));
        }
        for (std::size_t step = 4; step < 24; ++step) {
            QVERIFY(figure.carried[step] > 0.5 * figure.carried[3]);
        }
    }

    void aClosedLayerIsAskedForOnce()
    {
        const Sample sample;
        Cursor cursor;
        Selection selection;
        RunModel model{cursor};
        model.setRun(sample.handle());
        MemoryView view(model, cursor, selection);
        view.resize(700, 240);
        view.show();
        QSignalSpy wanted(&view, &MemoryView::openNodeRequested);
        FusedNodes closed = *sample.fused;
        closed.front().isOpen = false;
        closed.front().members.clear();
        for (int i = 0; i < 2; ++i) { // the second time somebody has closed it
            view.setFused(std::make_shared<const FusedNodes>(closed));
            view.flush();
            QCoreApplication::processEvents();
            QCOMPARE(wanted.size(), 1);
        }
        QVERIFY(view.figure().isEmpty());
        view.setFused(sample.fused);
        view.flush();
        QCOMPARE(view.figure().stepCount(), 24);
        QVERIFY(view.subject().contains(QStringLiteral("24")));
        const QTemporaryDir folder;
        for (const QString& ending : QStringLiteral("png svg pdf html csv").split(QLatin1Char(' '))) {
            QVERIFY(view.exportTo(folder.filePath(QStringLiteral("m.") + ending).toStdString()).ok());
        }
        QFile csv(folder.filePath(QStringLiteral("m.csv")));
        QVERIFY(csv.open(QIODevice::ReadOnly));
        QCOMPARE(csv.readAll().count('\n'), 1 + 16 * 24);
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            QVERIFY(tests::colorCount(tests::grab(view, {700, 240}, kind, QStringLiteral("memory"))) > 20);
        }
    }
};

QTEST_MAIN(MemoryViewTest)
#include "tst_memoryview.moc"
