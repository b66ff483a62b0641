// SPDX-License-Identifier: Apache-2.0
// The lens of the timeline: single visits around the cursor, below a run that has more of them than pixels.
#include <QtTest>

#include "tests/views/graph/graphruns.h"
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/timeline/timelinepane.h"
#include "views/timeline/timelineview.h"

#include <QPainter>

using namespace retro;
using tests::ViewContext;

namespace
{

/// The timeline over a run with many visits and promises.
struct Stage : ViewContext
{
    explicit Stage(int nodes = 1200)
    {
        model.setRun(tests::makeResidualRun(nodes));
        tests::showAt(view, 760, 460);
        view.pane().resize(760, 440);
    }
    [[nodiscard]] QImage picture(double moment)
    {
        cursor.glideTo(moment);
        view.flush();
        QImage image(view.pane().size(), QImage::Format_RGB32);
        QPainter painter(&image);
        view.pane().paint(painter, QSizeF(image.size()), views::Theme::of(views::ThemeKind::Light));
        return image;
    }
    views::TimelineView view{model, cursor, selection};
};

} // namespace

class TimelineLensTest : public QObject
{
    Q_OBJECT
private slots:
    void initTestCase() { tests::installLook(); }

    void theCursorIsInItWhereverItStands()
    {
        constexpr std::uint32_t kVisits = 1000;
        views::LensRange before = views::lensAround(0, kVisits);
        int moves = 0;
        for (double place = 0; place < kVisits; place += 0.25) {
            const views::LensRange range = views::lensAround(place, kVisits);
            QCOMPARE(range.last - range.first, views::kLensVisits);
            QVERIFY(range.last <= kVisits);
            QVERIFY(range.first <= place && place < range.last);
            moves += range == before ? 0 : 1;
            before = range;
        }
        QVERIFY(moves <= 1000 / 20); // it rests in between
        QCOMPARE(views::lensAround(5, 12).last, 12U);
    }

    void everyPromiseThatLivesThereIsShownOrCounted()
    {
        Stage stage;
        const views::PromiseBars& all = stage.view.pane().promises();
        QVERIFY(all.bars.size() > 100);
        std::uint32_t shown = 0;
        for (std::uint32_t first = 0; first + views::kLensVisits < stage.model.run().visitCount(); first += 37) {
            const views::LensRange range{first, first + views::kLensVisits};
            const views::LensBars lens = views::lensBars(all, range);
            const auto living = std::ranges::count_if(
                all.bars, [&](const auto& bar) { return bar.from < range.last && bar.to >= range.first; });
            QCOMPARE(static_cast<std::ptrdiff_t>(lens.bars.size() + lens.others), living);
            shown += static_cast<std::uint32_t>(lens.bars.size());
            for (std::size_t i = 0; i < lens.bars.size(); ++i) {
                QVERIFY(lens.bars[i].row < views::kLensRows);
                for (std::size_t j = 0; j < i; ++j) {
                    const views::PromiseBar& a = lens.bars[i];
                    const views::PromiseBar& b = lens.bars[j];
                    QVERIFY(a.row != b.row || a.from > b.to + 1 || b.from > a.to + 1);
                }
            }
        }
        QVERIFY(shown > 100);
    }

    /// Below everything else and within the pane; a short run and a low pane have none.
    void itHasItsRoom()
    {
        for (const double scale : {1.0, 1.25, 2.0}) {
            for (double height = 120; height < 900; height += 20) {
                const views::TimelineTracks tracks = views::layoutTracks(700, height, scale, 8, views::kLensRows);
                if (tracks.lens.isEmpty()) {
                    QVERIFY(height < 420 * scale);
                    continue;
                }
                QVERIFY(tracks.promises.isEmpty()); // they are in it
                QVERIFY(tracks.lens.top() > tracks.bottom());
                QVERIFY(tracks.lensPromises.top() >= tracks.lens.bottom());
                QVERIFY(tracks.lensAxis.bottom() <= height);
                QVERIFY(tracks.frontier.height() >= 15 * scale);
            }
        }
        QVERIFY(views::layoutTracks(700, 600, 1, 8, 0).lens.isEmpty());
        const Stage small(40);
        QVERIFY(small.view.pane().tracks().lens.isEmpty());
    }

    void aClickGoesToTheVisitAndTheTipNamesIt()
    {
        Stage stage;
        stage.cursor.moveTo(stage.model.run().endOfVisit(400));
        stage.view.flush();
        views::TimelinePane& pane = stage.view.pane();
        const views::TimelineTracks tracks = pane.tracks();
        QVERIFY(!tracks.lens.isEmpty());
        const views::LensRange range = views::lensAround(400.5, stage.model.run().visitCount());
        const double wide = tracks.lens.width() / views::kLensVisits;
        for (const std::uint32_t cell : {3U, 31U, 58U}) {
            const QPointF at(tracks.lens.left() + (cell + 0.5) * wide, tracks.lens.center().y());
            const std::uint32_t visit = views::lensAround(stage.model.run().visitOf(stage.cursor.position() - 1) + 0.5,
                                                          stage.model.run().visitCount())
                                            .first +
                                        cell;
            QVERIFY2(pane.tipAt(at).startsWith(QStringLiteral("Visit %1:").arg(visit + 1)), qPrintable(pane.tipAt(at)));
            QTest::mouseClick(&pane, Qt::LeftButton, {}, at.toPoint());
            QCOMPARE(stage.cursor.position(), stage.model.run().endOfVisit(visit));
            stage.view.flush();
        }
        QVERIFY(range.first > 0);
        bool isNamed = false; // a promise says where it was opened
        for (double y = tracks.lensPromises.top() + 3; y < tracks.lensPromises.bottom(); y += 12) {
            for (double x = tracks.lens.left(); x < tracks.lens.right(); x += 5) {
                isNamed = isNamed || pane.tipAt({x, y}).contains(QStringLiteral("opened at visit"));
            }
        }
        QVERIFY(isNamed);
    }

    /// Between two steps the line alone moves: the lens is not painted again for it.
    void itRestsBetweenTwoSteps()
    {
        Stage stage;
        const std::uint64_t step = stage.model.run().endOfVisit(300);
        stage.cursor.glideTo(static_cast<double>(step));
        stage.view.flush();
        static_cast<void>(stage.view.pane().grab());
        const int before = stage.view.pane().lens().paintings();
        QVERIFY(before > 0);
        QVERIFY(stage.view.pane().still().paintings() > 0); // it lies below
        for (int i = 1; i < 9; ++i) {
            stage.cursor.glideTo(static_cast<double>(step) + i * 0.1);
            stage.view.flush();
            static_cast<void>(stage.view.pane().grab());
        }
        QVERIFY(stage.view.pane().lens().paintings() <= before + 2);
    }

    /// The pane shows what paint() makes without what is kept.
    void whatIsKeptIsWhatIsPainted()
    {
        Stage stage;
        const double start = static_cast<double>(stage.model.run().endOfVisit(300));
        for (int i = 0; i < 60; ++i) {
            const QImage wanted = stage.picture(start + i * 0.75);
            const QImage shown = stage.view.pane().grab().toImage().convertToFormat(QImage::Format_RGB32);
            QCOMPARE(shown.size(), wanted.size());
            QCOMPARE(shown, wanted);
        }
    }

    /// What is painted depends on the moment alone.
    void forwardAndBackwardAgree()
    {
        Stage stage;
        std::vector<QImage> forward;
        const double start = static_cast<double>(stage.model.run().endOfVisit(300));
        for (int i = 0; i < 40; ++i) {
            forward.push_back(stage.picture(start + i * 7.5));
        }
        for (int i = 40; i-- > 0;) {
            QCOMPARE(stage.picture(start + i * 7.5), forward[static_cast<std::size_t>(i)]);
        }
        QVERIFY(forward.front() != forward.back());
    }
};

QTEST_MAIN(TimelineLensTest)
#include "timelinelenstest.moc"
