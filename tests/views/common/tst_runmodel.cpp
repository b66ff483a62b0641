// SPDX-License-Identifier: Apache-2.0
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/common/run/runindex.h"
#include "views/common/view.h"

#include <QLabel>
#include <QSignalSpy>
#include <QTest>

using namespace retro;
using namespace retro::views;

namespace
{

/// Counts its refreshes.
class CountingView final : public View
{
public:
    CountingView(RunModel& model, Cursor& cursor, Selection& selection) : View(model, cursor, selection)
    {
        setBody(new QLabel(QStringLiteral("body"), this));
    }
    [[nodiscard]] QString title() const override { return QStringLiteral("Counting"); }
    [[nodiscard]] bool canShow(const SelectedThing&) const override { return true; }
    int refreshes = 0;
    Changes last;

protected:
    void refresh(Changes changes) override
    {
        ++refreshes;
        last = changes;
    }
};

} // namespace

class RunModelTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    /// What has no elements (a past without tokens) is not what arrived last: there is nothing to see of it.
    void whatIsEmptyDidNotArrive()
    {
        const RunHandle handle = tests::makeTinyRun();
        const std::uint64_t end = handle.run->events.size();
        const RunIndex whole(*handle.run);
        const base::ValueId last = whole.lastArrived(end);
        QVERIFY(last.isValid());
        trace::Run run = *handle.run;
        for (const event::Event& event : run.events) {
            const bool isIt = event.kind == event::EventKind::Relevance &&
                              run.graph->outputsOf(base::NodeId(event.node))[event.slot] == last;
            if (isIt) {
                run.handles[event.handle].bytes = 0;
            }
        }
        const base::ValueId other = RunIndex(run).lastArrived(end);
        QVERIFY(other.isValid() && other != last);
    }

    void stateFollowsTheCursor()
    {
        tests::ViewContext context;
        QSignalSpy runs(&context.model, &RunModel::runChanged);
        QSignalSpy states(&context.model, &RunModel::stateChanged);
        context.showTinyRun();
        QCOMPARE(runs.count(), 1);
        QCOMPARE(states.count(), 1);
        QCOMPARE(context.cursor.position(), context.model.run().eventCount());
        QVERIFY(context.model.state().isFinished);
        context.cursor.moveTo(tests::endOfVisit(context.model, 5));
        QCOMPARE(states.count(), 2);
        QCOMPARE(context.model.position(), context.cursor.position());
        QCOMPARE(context.model.state().current, base::NodeId(std::uint32_t{tests::kRelu1}));
        QCOMPARE(context.model.state().mode, event::Mode::Search);
        context.cursor.moveTo(context.cursor.position());
        QCOMPARE(states.count(), 2);
        context.cursor.moveTo(1'000'000);
        QCOMPARE(context.cursor.position(), context.cursor.end());
    }

    void theTinyRunIsWhole()
    {
        tests::TinyContext context;
        QCOMPARE(context.model.run().visitCount(), tests::kTinyVisits);
        const trace::RunState& state = context.model.state();
        QCOMPARE(state.frontierLanded, 0U);
        QCOMPARE(state.promises.size(), std::size_t{2});
        for (const trace::PromiseState& promise : state.promises) {
            QVERIFY(promise.isComplete);
        }
        for (std::size_t i = 0; i < tests::kTinyNodes; ++i) {
            QVERIFY(state.nodes[i].visits > 0);
            QVERIFY(!state.nodes[i].relevance.empty());
        }
    }

    void questionsAreAnswered()
    {
        tests::TinyContext context;
        const RunModel& model = context.model;
        const base::NodeId image(std::uint32_t{tests::kImage});
        const base::NodeId conv(std::uint32_t{tests::kConv1});
        const base::ValueId pixels = model.graph().inputs().front();
        QCOMPARE(model.label(conv), QStringLiteral("stem/conv1"));
        QCOMPARE(model.op(image), QStringLiteral("Input"));
        QCOMPARE(model.shapeText(pixels), QStringLiteral("1 × 3 × 24 × 24"));
        QCOMPARE(model.shortShapeText(pixels), QStringLiteral("3×24×24"));
        QCOMPARE(model.className(1), QStringLiteral("jug"));
        QCOMPARE(model.className(9), QStringLiteral("class 9"));
        QVERIFY(model.tensor(model.relevanceHandle(pixels)) != nullptr);
        QVERIFY(model.forwardValue(pixels) != nullptr);
        QCOMPARE(model.nodeOf(base::PromiseId(std::uint32_t{1})), base::NodeId(std::uint32_t{tests::kRelu1}));
        QCOMPARE(model.valueOf(image), pixels);
        QCOMPARE(model.nodeOf(base::NodeId(std::uint32_t{99})), base::NodeId());
        context.cursor.moveTo(*model.relevanceStep(image));
        QVERIFY(model.relevanceHandle(pixels).isValid());
        context.cursor.moveTo(*model.relevanceStep(image) - 1);
        QVERIFY(!model.relevanceHandle(pixels).isValid());
        QVERIFY(!model.relevanceStep(image, 1).has_value());
    }

    void selectionTellsOnce()
    {
        Selection selection;
        QSignalSpy spy(&selection, &Selection::changed);
        selection.selectNode(base::NodeId(std::uint32_t{3}));
        selection.selectNode(base::NodeId(std::uint32_t{3}));
        QCOMPARE(spy.count(), 1);
        selection.selectPromise(base::PromiseId(std::uint32_t{3}));
        QVERIFY(!selection.node() && selection.promise());
        selection.clear();
        QVERIFY(selection.isEmpty());
        QCOMPARE(spy.count(), 3);
    }

    void viewsMergeAndSleep()
    {
        tests::ViewContext context;
        CountingView view(context.model, context.cursor, context.selection);
        context.showTinyRun();
        QCOMPARE(view.refreshes, 0); // hidden
        view.show();
        QCOMPARE(view.refreshes, 1);
        QCOMPARE(view.last, Changes(Change::All));
        context.cursor.moveTo(3);
        context.cursor.moveTo(4);
        context.selection.selectNode(base::NodeId(std::uint32_t{1}));
        QCOMPARE(view.refreshes, 1);
        QTRY_COMPARE_WITH_TIMEOUT(view.refreshes, 2, 30'000);
        QCOMPARE(view.last, Changes(Change::State | Change::Selection));
        view.hide();
        context.cursor.moveTo(9);
        view.show();
        QCOMPARE(view.refreshes, 3);
        QCOMPARE(view.last, Changes(Change::State));
    }

    void oldContentStaysWhileLoading()
    {
        tests::ViewContext context;
        context.model.setLoading(QStringLiteral("Reading the model"), 0.5);
        QCOMPARE(context.model.loadState(), LoadState::Loading);
        context.showTinyRun();
        QCOMPARE(context.model.loadState(), LoadState::Ready);
        context.model.setLoading(QStringLiteral("Explaining"), -1);
        QVERIFY(context.model.hasRun());
        context.model.endLoading();
        QCOMPARE(context.model.loadState(), LoadState::Ready);
        context.model.clear();
        QCOMPARE(context.model.loadState(), LoadState::Empty);
        context.model.setError(QStringLiteral("a.onnx: not a model"), QStringLiteral("Open another file."));
        QCOMPARE(context.model.errorRemedy(), QStringLiteral("Open another file."));
    }
};

QTEST_MAIN(RunModelTest)
#include "tst_runmodel.moc"
