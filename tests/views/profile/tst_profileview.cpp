// SPDX-License-Identifier: Apache-2.0
#include <QtTest>

#include "core/base/file.h"
#include "core/trace/profile.h"
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/profile/profilechart.h"
#include "views/profile/profilemodel.h"
#include "views/profile/profileview.h"

#include <QTableView>
#include <QTemporaryDir>

using namespace retro;
using namespace retro::views;

namespace
{

/// The tiny run with a profile by hand: a second per node forward, two backward, and conv1 once more.
RunHandle profiledRun()
{
    RunHandle handle = tests::makeTinyRun();
    auto run = std::make_shared<trace::Run>(*handle.run);
    auto profile = std::make_shared<trace::Profile>();
    double at = 0;
    const auto add = [&](std::uint32_t node, event::Half half, bool isRepeat, double seconds, std::uint64_t step) {
        profile->rows.push_back({base::NodeId(node), {half, isRepeat, seconds, 1e6 * (node + 1), 1024}, at, step});
        at += seconds;
    };
    for (std::uint32_t node = tests::kConv1; node <= tests::kFc; ++node) {
        add(node, event::Half::Forward, false, 0.001, 0);
    }
    for (std::uint32_t node = tests::kFc + 1; node-- > tests::kConv1;) {
        add(node, event::Half::Reverse, false, 0.002, 5 * (tests::kFc - node) + 5);
    }
    add(tests::kConv1, event::Half::Forward, true, 0.005, run->eventCount());
    profile->decisions.push_back({run->graph->node(base::NodeId(std::uint32_t{tests::kConv1})).outputs[0],
                                  event::MemoryChoice::Recompute, 4096, "a rule reads it", at, run->eventCount()});
    run->profile = std::move(profile);
    handle.timeline = std::make_shared<trace::Timeline>(std::move(trace::Timeline::open(run)).value());
    handle.run = std::move(run);
    handle.derived.reset();
    return handle;
}

} // namespace

class ProfileViewTest : public QObject
{
    Q_OBJECT

private slots:
    void nodesComeByWhatTheyTook()
    {
        tests::ViewContext context;
        ProfileView view(context.model, context.cursor, context.selection);
        context.model.setRun(profiledRun(), tests::makeTinyInput());
        view.resize(700, 420);
        view.flush();
        QCOMPARE(view.items().rowCount(), 7);
        QCOMPARE(view.items().at(0).node.value, std::uint32_t{tests::kConv1}); // 8 ms: once more than the others
        QCOMPARE(view.items().index(0, ProfileTableModel::AgainColumn).data().toString(), QStringLiteral("5.000"));
        QCOMPARE(view.items().index(1, ProfileTableModel::AgainColumn).data().toString(), QStringLiteral("–"));
        // 1 MFLOP, three times, with four significant digits as figures have everywhere
        QCOMPARE(view.items().index(0, ProfileTableModel::OperationsColumn).data().toString(), QStringLiteral("3.000"));
        view.items().sort(ProfileTableModel::OperationsColumn, Qt::DescendingOrder);
        QCOMPARE(view.items().at(0).node.value, std::uint32_t{tests::kFc});
        QVERIFY(view.subject().contains(QStringLiteral("7")));
    }

    void aBarGoesToItsStep()
    {
        tests::ViewContext context;
        ProfileView view(context.model, context.cursor, context.selection);
        context.model.setRun(profiledRun(), tests::makeTinyInput());
        tests::showAt(view, 900, 500);
        const trace::Profile& profile = *context.model.run().profile;
        const QRectF bar = view.chart().barOf(9);
        QTest::mouseClick(&view.chart(), Qt::LeftButton, {}, bar.center().toPoint());
        QCOMPARE(context.cursor.position(), profile.rows[9].step);
        QCOMPARE(context.selection.node().value().value, profile.rows[9].node.value);
        view.flush(); // the table follows with the next refresh
        QCOMPARE(view.items().at(view.table().currentIndex().row()).node, profile.rows[9].node);
        QVERIFY(view.chart().tipAt(view.chart().barOf(14).center()).contains(QStringLiteral("a rule reads it")));
        // The node of a row is selected; the cursor stays.
        view.table().setCurrentIndex(view.items().index(
            view.items().rowWith(&trace::NodeTotal::node, base::NodeId(std::uint32_t{tests::kPool})), 0));
        QCOMPARE(context.selection.node().value().value, std::uint32_t{tests::kPool});
        QCOMPARE(context.cursor.position(), profile.rows[9].step);
    }

    void heightsAreOfTheMeasure()
    {
        tests::ViewContext context;
        ProfileView view(context.model, context.cursor, context.selection);
        context.model.setRun(profiledRun(), tests::makeTinyInput());
        tests::showAt(view, 900, 500);
        QVERIFY(view.chart().barOf(14).height() > 2 * view.chart().barOf(8).height()); // 5 ms, 2 ms
        view.setMeasure(ProfileMeasure::Bytes);
        QCOMPARE(view.chart().barOf(14).height(), view.chart().barOf(8).height());
        const QByteArray state = view.saveState();
        ProfileView other(context.model, context.cursor, context.selection);
        other.restoreState(state);
        QCOMPARE(other.saveState(), state);
        other.restoreState("nonsense");
        QCOMPARE(other.saveState(), state);
    }

    void aRunWithoutOneSaysSo()
    {
        tests::ViewContext context;
        ProfileView view(context.model, context.cursor, context.selection);
        context.showTinyRun();
        view.flush();
        QTemporaryDir folder;
        const auto refused = view.exportTo((folder.path() + "/p.csv").toStdString());
        QVERIFY(!refused.ok() && refused.error().code == base::ErrorCode::Usage);
        context.model.setRun(profiledRun(), tests::makeTinyInput());
        view.flush();
        for (const char* ending : {"csv", "json"}) {
            const QString path = folder.path() + "/p." + ending;
            QVERIFY(view.exportTo(path.toStdString()).ok());
            QFile file(path);
            QVERIFY(file.open(QIODevice::ReadOnly));
            QVERIFY(file.readAll().contains("conv1"));
        }
    }
};

QTEST_MAIN(ProfileViewTest)
#include "tst_profileview.moc"
