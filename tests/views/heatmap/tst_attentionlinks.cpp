// SPDX-License-Identifier: Apache-2.0
// Links between words: they add up to the relevance of the attention's result, and the planted word has the largest.
#include "core/engine/explain/explain.h"
#include "core/engine/model/loadmodel.h"
#include "core/tensor/npy.h"
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/heatmap/attentionlinks.h"
#include "views/heatmap/heatmapcanvas.h"
#include "views/heatmap/heatmapview.h"

#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include <cmath>

using namespace retro;
using namespace retro::views;

namespace
{

constexpr std::size_t kWords = 10;
constexpr std::size_t kPlanted = 5; // "sponsored"

struct ShownText
{
    Cursor cursor;
    Selection selection;
    RunModel model{cursor};

    explicit ShownText(bool isFused = false)
    {
        engine::LoadOptions options;
        options.rewrites.fuseAttention = isFused; // else the steps of an attention are nodes
        const auto loaded = engine::loadModel(RETRO_SOURCE_DIR "/samples/planted-word/planted-word.onnx", options);
        const auto words = tensor::readNpy(RETRO_SOURCE_DIR "/samples/planted-word/bad-sponsored.npy");
        engine::ExplainRequest request;
        request.inputs = {*words};
        request.composite = "attnlrp";
        request.record = request.keepValues = true;
        const auto result = engine::explain(**loaded, request);
        auto timeline = trace::Timeline::open(result->run);
        InputInfo info;
        info.layout = QStringLiteral("NT");
        for (std::size_t i = 0; i < kWords; ++i) {
            info.words << QStringLiteral("word%1").arg(i);
        }
        model.setRun({result->run, std::make_shared<trace::Timeline>(std::move(timeline).value()),
                      std::make_shared<RunDerived>(result->run)},
                     info);
    }
};

} // namespace

class AttentionLinksTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void linksAddUp_data()
    {
        QTest::addColumn<bool>("isFused");
        QTest::newRow("its steps are nodes") << false;
        QTest::newRow("one node") << true;
    }

    void linksAddUp()
    {
        QFETCH(const bool, isFused);
        ShownText shown(isFused);
        const auto places = attentionsOf(shown.model, kWords);
        QCOMPARE(places.size(), std::size_t{2}); // two blocks
        for (const AttentionPlace& place : places) {
            QCOMPARE(place.heads, std::int64_t{2});
            const tensor::Tensor* arrived = shown.model.tensor(shown.model.relevanceHandle(place.result));
            QVERIFY(arrived);
            const std::int64_t features = arrived->shape().back();
            std::vector<double> readers(kWords, 0);
            std::vector<double> wanted(kWords, 0);
            double magnitude = 0;
            for (std::int64_t i = 0; i < arrived->size(); ++i) {
                wanted[static_cast<std::size_t>(i / features) % kWords] += arrived->at(i);
                magnitude += std::abs(arrived->at(i));
            }
            for (const AttentionLink& link : attentionLinks(shown.model, place, -1)) {
                readers[link.reader] += link.relevance;
            }
            for (std::size_t i = 0; i < kWords; ++i) {
                QVERIFY2(std::abs(readers[i] - wanted[i]) <= 1e-4 * magnitude,
                         qPrintable(QStringLiteral("%1 %2").arg(readers[i]).arg(wanted[i])));
            }
            // All heads together are the heads one by one.
            double together = 0;
            double apart = 0;
            for (const AttentionLink& link : attentionLinks(shown.model, place, -1)) {
                together += link.relevance;
            }
            for (std::int64_t head = 0; head < place.heads; ++head) {
                for (const AttentionLink& link : attentionLinks(shown.model, place, head)) {
                    apart += link.relevance;
                }
            }
            QVERIFY(std::abs(together - apart) <= 1e-9 * magnitude);
        }
        const auto links = attentionLinks(shown.model, places.front(), -1);
        QCOMPARE(links.front().source, kPlanted);
        QVERIFY(attentionsOf(shown.model, kWords + 1).empty());
        // Before relevance has arrived there are none.
        shown.cursor.moveTo(1);
        QVERIFY(attentionLinks(shown.model, places.front(), -1).empty());
    }

    void theyAreDrawnAndWritten()
    {
        ShownText shown;
        HeatmapView view(shown.model, shown.cursor, shown.selection);
        tests::showAt(view, 700, 560);
        auto* canvas = view.findChild<HeatmapCanvas*>();
        QVERIFY(!canvas->chart().links.empty());
        const QImage picture = tests::grab(view, {700, 560}, ThemeKind::Light, "heatmap-links"); // lays out its parts
        QVERIFY(!canvas->placement().chart.links.isEmpty());
        QVERIFY(tests::colorCount(picture) > 20);
        QTemporaryDir folder;
        for (const QString& ending : QStringLiteral("png svg pdf html csv npy jpg").split(QLatin1Char(' '))) {
            RETRO_MADE(written, view.exportTo(folder.filePath("text." + ending).toStdString()));
            QVERIFY(QFileInfo(folder.filePath("text." + ending)).size() > 100);
        }
        const QByteArray text = tests::bytesIn(folder.filePath(QStringLiteral("text.html")));
        QVERIFY(text.contains("<svg") && text.contains("<td>word5</td>"));
    }

    /// A click marks a word or takes its mark away; a stroke takes the place of what was marked.
    void wordsAreMarkedByClicks()
    {
        ShownText shown;
        HeatmapView view(shown.model, shown.cursor, shown.selection);
        tests::showAt(view, 700, 560);
        view.setMarking(true);
        view.flush();
        QTest::qWait(20);
        auto* canvas = view.findChild<HeatmapCanvas*>();
        QSignalSpy marked(&view, &HeatmapView::regionMarked);
        const auto at = [&](int word) {
            const HeatmapPlacement& placement = canvas->placement();
            return (placement.picture.topLeft() + placement.steps[static_cast<std::size_t>(word)].center()).toPoint();
        };
        const auto words = [&] {
            const auto mask = marked.last()[1].value<tensor::Tensor>();
            std::vector<int> all;
            for (std::int64_t i = 0; i < mask.size(); ++i) {
                if (mask.at(i) != 0) {
                    all.push_back(static_cast<int>(i));
                }
            }
            return all;
        };
        QTest::mouseClick(canvas, Qt::LeftButton, {}, at(2));
        QCOMPARE(words(), (std::vector<int>{2}));
        QTest::mouseClick(canvas, Qt::LeftButton, {}, at(5));
        QCOMPARE(words(), (std::vector<int>{2, 5}));
        QTest::mouseClick(canvas, Qt::LeftButton, {}, at(2));
        QCOMPARE(words(), (std::vector<int>{5}));
        QTest::mousePress(canvas, Qt::LeftButton, {}, at(7));
        QTest::mouseMove(canvas, at(8));
        QTest::mouseMove(canvas, at(9));
        QTest::mouseRelease(canvas, Qt::LeftButton, {}, at(9));
        QCOMPARE(words(), (std::vector<int>{7, 8, 9}));
    }
};

QTEST_MAIN(AttentionLinksTest)
#include "tst_attentionlinks.moc"
