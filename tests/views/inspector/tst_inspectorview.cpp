// SPDX-License-Identifier: Apache-2.0
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/inspector/inspectorpanes.h"
#include "views/inspector/inspectorview.h"

#include <QTemporaryDir>
#include <QTest>

#include <limits>
#include <numeric>

using namespace retro;
using namespace retro::views;

namespace
{

tensor::Tensor rowOf(const std::vector<float>& values)
{
    return tensor::Tensor::of<float>({static_cast<std::int64_t>(values.size())}, values);
}

const base::NodeId kConvNode(std::uint32_t{tests::kConv2});

} // namespace

class InspectorViewTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void figures()
    {
        const float nan = std::numeric_limits<float>::quiet_NaN();
        const float infinity = std::numeric_limits<float>::infinity();
        const TensorStats stats = statsOf(rowOf({3, -4, nan, infinity, 0}));
        QCOMPARE(stats.count, 5);
        QCOMPARE(stats.sum, -1.0);
        QCOMPARE(stats.smallest, -4.0);
        QCOMPARE(stats.largest, 3.0);
        QCOMPARE(stats.norm, 5.0);
        QCOMPARE(stats.mean, -1.0 / 3);
        QCOMPARE(stats.nan, 1);
        QCOMPARE(stats.infinite, 1);
        const TensorStats none = statsOf(rowOf({nan}));
        QCOMPARE(none.largest, 0.0);
        QCOMPARE(none.mean, 0.0);
    }

    void histogramCountsEverything()
    {
        const tensor::Tensor values = rowOf({-1, -0.2F, 0, 0, 0, 0.2F, 2});
        const Histogram histogram = histogramOf(values, statsOf(values), 5);
        QCOMPARE(histogram.low, -2.0);
        QCOMPARE(histogram.high, 2.0);
        QCOMPARE(histogram.counts, (std::vector<std::int64_t>{0, 1, 5, 0, 1}));
        QCOMPARE(histogram.valueOf(2), 0.0);
        QCOMPARE(histogram.heightOf(2), 1.0);
        QVERIFY(histogram.heightOf(1) > 0.2 && histogram.heightOf(1) < 1);
        const tensor::Tensor same = rowOf({3, 3, 3});
        const Histogram flat = histogramOf(same, statsOf(same), 5);
        QCOMPARE(std::accumulate(flat.counts.begin(), flat.counts.end(), std::int64_t{0}), 3);
    }

    void factsFollowTheCursor()
    {
        tests::TinyContext context;
        NodeFacts facts = nodeFacts(context.model, kConvNode);
        QCOMPARE(facts.name, QStringLiteral("block1/conv2"));
        QCOMPARE(facts.rule, QStringLiteral("Conv · rule z-plus · chosen by type Conv"));
        QCOMPARE(facts.visit, QStringLiteral("visited 2 times"));
        QCOMPARE(facts.mode, event::Mode::Fulfilment);
        QCOMPARE(facts.shape, QStringLiteral("1 × 4 × 24 × 24"));
        QCOMPARE(facts.balance.size(), std::size_t{4});
        context.cursor.moveTo(tests::endOfVisit(context.model, 4));
        facts = nodeFacts(context.model, {});
        QCOMPARE(facts.node, kConvNode);
        QCOMPARE(facts.visit, QStringLiteral("visited now"));
        QVERIFY(facts.balance.empty());
        context.cursor.moveTo(0);
        QVERIFY(!nodeFacts(context.model, {}).node.isValid());
        QCOMPARE(nodeFacts(context.model, kConvNode).visit, QStringLiteral("not visited yet"));
        QCOMPARE(nodeFacts(context.model, kConvNode).noBalance, QStringLiteral("Its rule has not been applied yet."));
    }

    /// "Yet" promises that something is to come.
    void whatIsNeverReachedIsNotStillToCome()
    {
        const views::RunHandle tiny = tests::makeTinyRun();
        auto stopped = std::make_shared<trace::Run>(*tiny.run);
        stopped->events.resize(tiny.run->endOfVisit(1));
        tests::ViewContext context;
        context.model.setRun({stopped, std::make_shared<trace::Timeline>(trace::Timeline::open(stopped).value())});
        for (const std::uint64_t position : {context.cursor.end(), std::uint64_t{0}}) {
            context.cursor.moveTo(position);
            const NodeFacts facts = nodeFacts(context.model, base::NodeId(std::uint32_t{tests::kImage}));
            QCOMPARE(facts.visit, QStringLiteral("never visited in this run"));
            QCOMPARE(facts.noBalance, QStringLiteral("Its rule is not applied: no relevance comes here."));
        }
    }

    void balanceAddsUp()
    {
        tests::TinyContext context;
        for (std::uint32_t node = 0; node < tests::kImage; ++node) {
            const std::vector<BalanceLine> lines = balanceOf(context.model, base::NodeId(node));
            QVERIFY(!lines.empty());
            double rest = lines.front().amount;
            for (std::size_t i = 1; i < lines.size(); ++i) {
                rest -= lines[i].amount;
            }
            QVERIFY(std::abs(rest) < 1e-9);
            QCOMPARE(lines.front().share, 1.0);
            QCOMPARE(lines.back().kind, BalanceLine::Kind::Unexplained);
        }
    }

    void largeTensorsAreReadAside()
    {
        const views::RunHandle tiny = tests::makeTinyRun();
        auto run = std::make_shared<trace::Run>(*tiny.run);
        std::vector<float> values(1 << 19, 1.0F);
        values[7] = 3;
        const auto count = static_cast<std::int64_t>(values.size());
        run->values[run->graph->inputs()[0].index()] = tensor::Tensor::of<float>({1, count}, values);
        RETRO_MADE(timeline, trace::Timeline::open(run));
        tests::ViewContext context;
        context.model.setRun({run, std::make_shared<trace::Timeline>(std::move(timeline).value())});
        InspectorView view(context.model, context.cursor, context.selection);
        view.setTab(InspectorView::Tab::Value);
        context.selection.selectNode(base::NodeId(std::uint32_t{tests::kImage}));
        view.flush();
        QVERIFY(view.isComputing());
        const auto* stats = view.findChild<StatsPane*>();
        QVERIFY(stats->accessibleDescription().isEmpty());
        QTRY_VERIFY_WITH_TIMEOUT(!view.isComputing(), 30'000);
        RETRO_SAYS(stats->accessibleDescription(), QLatin1String("maximum 3"));
        view.setTab(InspectorView::Tab::Relevance); // a small tensor, at once
        QVERIFY(!view.isComputing());
    }

    void slicePictureFits()
    {
        Plane plane{100, 10, std::vector<double>(1000)};
        QCOMPARE(SlicePane::pictureSize(plane, 330, 170), QSizeF(300, 30));
        QCOMPARE(SlicePane::pictureSize(plane, 50, 170), QSizeF(50, 5));
        plane = {1, 1, {0}};
        QCOMPARE(SlicePane::pictureSize(plane, 330, 170), QSizeF(24, 24));
        QVERIFY(SlicePane::pictureSize({}, 330, 170).isEmpty());
    }

    void tabsAndExports()
    {
        tests::TinyContext context;
        InspectorView view(context.model, context.cursor, context.selection);
        context.selection.selectNode(base::NodeId(std::uint32_t{tests::kImage}));
        view.flush();
        const QTemporaryDir folder;
        for (const QString& format : QStringLiteral("npy csv").split(QLatin1Char(' '))) {
            QVERIFY(view.exportTo(folder.filePath(QStringLiteral("r.") + format).toStdString()).ok());
        }
        view.setTab(InspectorView::Tab::Value);
        QVERIFY(view.exportTo(folder.filePath(QStringLiteral("v.npy")).toStdString()).ok());
        InspectorView other(context.model, context.cursor, context.selection);
        other.restoreState(view.saveState());
        QCOMPARE(other.tab(), InspectorView::Tab::Value);
        context.selection.selectNode(kConvNode);
        view.flush();
        QVERIFY(!view.exportTo(folder.filePath(QStringLiteral("none.npy")).toStdString()).ok()); // not kept
        QVERIFY(view.canShow(kConvNode));
    }

    void everyPaneHasTheHeightForItsWidth()
    {
        tests::TinyContext context;
        context.cursor.moveTo(context.cursor.end());
        InspectorView view(context.model, context.cursor, context.selection);
        context.selection.selectNode(kConvNode);
        view.show();
        for (const int width : {340, 420, 520, 640, 760}) {
            view.resize(width, 900);
            view.flush();
            QCoreApplication::processEvents();
            for (const auto* pane : view.findChildren<InspectorPane*>()) {
                if (pane->isVisible()) {
                    QVERIFY2(pane->height() == pane->heightForWidth(pane->width()),
                             qPrintable(QStringLiteral("%1 at %2: %3, not %4")
                                            .arg(pane->accessibleName())
                                            .arg(width)
                                            .arg(pane->height())
                                            .arg(pane->heightForWidth(pane->width()))));
                }
            }
        }
    }

    void looks_data()
    {
        QTest::addColumn<int>("visit");
        QTest::newRow("end") << 9;
        QTest::newRow("before") << 4;
    }
    void looks()
    {
        QFETCH(int, visit);
        tests::TinyContext context;
        context.cursor.moveTo(tests::endOfVisit(context.model, static_cast<std::uint32_t>(visit)));
        InspectorView view(context.model, context.cursor, context.selection);
        context.selection.selectNode(kConvNode);
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            const QImage image = tests::grab(view, {380, 560}, kind, QStringLiteral("inspector-%1").arg(visit));
            QVERIFY(tests::hasColor(image, Theme::of(kind)[Role::Sel]));
            QVERIFY(tests::hasColor(image, Theme::of(kind)[visit == 9 ? Role::Accent : Role::NormalTint]));
        }
    }
};

QTEST_MAIN(InspectorViewTest)
#include "tst_inspectorview.moc"
