// SPDX-License-Identifier: Apache-2.0
#include "tests/views/graph/graphruns.h"
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/heatmap/arrivedrow.h"
#include "views/heatmap/controlrow.h"
#include "views/heatmap/heatmapcanvas.h"
#include "views/heatmap/heatmapview.h"

#include <QCheckBox>
#include <QComboBox>
#include <QImageReader>
#include <QLineEdit>
#include <QMenu>
#include <QPainter>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

using namespace retro;
using namespace retro::views;

namespace
{

QAction* menuEntry(const QMenu& menu, const QString& text)
{
    for (QAction* action : menu.actions()) {
        if (action->text() == text) {
            return action;
        }
    }
    return nullptr;
}

} // namespace

class HeatmapViewTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void showsTheLayerThatArrivedLast()
    {
        tests::TinyContext context;
        HeatmapContent content = heatmapContent(context.model, {});
        QCOMPARE(content.value, context.model.graph().inputs().front());
        QVERIFY(content.isPicture);
        QCOMPARE(content.plane.width, tests::kTinySide);
        QCOMPARE(content.place, QStringLiteral("at the input"));
        context.cursor.moveTo(tests::endOfVisit(context.model, 0));
        content = heatmapContent(context.model, {});
        QVERIFY(!content.isPicture);
        QCOMPARE(content.plane.width, 3);
        QCOMPARE(content.place, QStringLiteral("at head/fc"));
        context.cursor.moveTo(0);
        content = heatmapContent(context.model, {});
        QVERIFY(!content.relevance.isValid());
        QVERIFY(!content.reason.isEmpty());
    }

    void saysWhenItHasNotArrived()
    {
        tests::TinyContext context;
        const base::NodeId conv(std::uint32_t{tests::kConv1});
        QVERIFY(heatmapContent(context.model, conv).relevance.isValid());
        context.cursor.moveTo(tests::endOfVisit(context.model, 3));
        const HeatmapContent content = heatmapContent(context.model, conv);
        QVERIFY(!content.relevance.isValid());
        QCOMPARE(content.reason,
                 QStringLiteral("The relevance of stem/conv1 has not arrived yet. It arrives at visit 9."));
        const auto weight = context.model.graph().findValue("stem.weight");
        QVERIFY(heatmapContent(context.model, *weight).reason.contains(QStringLiteral("constant")));
    }

    void smallLayersAreEnlarged()
    {
        const Plane small{2, 2, {1, 2, 3, 4}};
        const Plane large = enlargedPlane(small, 4, 6);
        QCOMPARE(large.values.size(), std::size_t{24});
        QCOMPARE(large.at(1, 2), 1.0);
        QCOMPARE(large.at(2, 2), 2.0);
        QCOMPARE(large.at(3, 5), 4.0);
    }

    /// A picture that grows says what it is of and how much of the score has arrived there.
    void whatArrivedIsAShareOfTheScore()
    {
        tests::TinyContext context;
        HeatmapView view(context.model, context.cursor, context.selection);
        view.resize(420, 420);
        view.show();
        auto* row = view.findChild<ArrivedRow*>();
        QVERIFY(row != nullptr && !row->isVisible());
        view.setGrowing(true);
        QVERIFY(row->isVisible());
        const trace::Run& run = context.model.run();
        const double start = StartedRelevance(run).sum;
        QVERIFY(start != 0);
        for (std::uint32_t visit = 0; visit < tests::kTinyVisits; ++visit) {
            context.cursor.moveTo(tests::endOfVisit(context.model, visit));
            view.flush();
            const base::NodeId node = context.model.state().current;
            const base::HandleId handle = context.model.relevanceHandle(context.model.graph().outputsOf(node).front());
            if (!handle.isValid()) {
                continue; // some of it at most
            }
            QVERIFY(row->share().has_value());
            QCOMPARE(*row->share(), run.handles[handle.index()].sum / start);
            QVERIFY2(row->words().startsWith(context.model.placeLabel(node)), qPrintable(row->words()));
        }
    }

    void aGradientHasNoShareOfTheScore()
    {
        tests::ViewContext context;
        context.model.setRun(tests::makeTinyGradientRun(), tests::makeTinyInput());
        HeatmapView view(context.model, context.cursor, context.selection);
        view.setGrowing(true);
        tests::showAt(view, 420, 420);
        QVERIFY(!view.findChild<ArrivedRow*>()->words().isEmpty());
        QVERIFY(!view.findChild<ArrivedRow*>()->share().has_value());
    }

    void relevanceAddsUp()
    {
        tests::TinyContext context;
        const HeatmapContent content = heatmapContent(context.model, {});
        double sum = 0;
        for (const double v : content.plane.values) {
            sum += v;
        }
        QVERIFY(std::abs(sum - 8.14) < 1e-3);
    }

    void placesThePicture()
    {
        HeatmapFigure figure;
        figure.plane = {10, 10, std::vector<double>(100, 0.5)};
        figure.bar.scale = symmetricScale(figure.plane.values);
        const QRectF area(0, 0, 400, 325);
        HeatmapPlacement placement = placeFigure(figure, {}, area);
        QCOMPARE(placement.pixel, 32.0);
        QCOMPARE(placement.picture.size(), QSizeF(320, 320));
        QVERIFY(placement.picture.right() < placement.bar.bar.left());
        QVERIFY(placement.bar.bar.right() < area.right());
        QCOMPARE(placement.valueAt(placement.picture.topLeft() + QPointF(33, 65)), QPoint(1, 2));
        QVERIFY(!placement.valueAt({395, 10}).has_value());
        placement = placeFigure(figure, {64, {0, 0}}, area);
        QVERIFY((placement.picture.center() - placement.room.center()).manhattanLength() <= 1);
        QVERIFY(placement.bar.bar.bottom() <= area.bottom());
    }

    void thePaneOfTheFirstScreenShowsSixPixelsPerValue()
    {
        tests::TinyContext context;
        HeatmapView view(context.model, context.cursor, context.selection);
        view.resize(689, 640); // its pane in a window of 1600 × 1000
        view.show();
        view.flush();
        const auto* canvas = view.findChild<HeatmapCanvas*>();
        QTRY_VERIFY_WITH_TIMEOUT(canvas->height() >= 96 * 6 + 3, 30'000);
        HeatmapFigure figure = canvas->figure();
        figure.plane = {96, 96, std::vector<double>(96 * 96, 0.028)};
        QCOMPARE(placeFigure(figure, {}, QRectF(3, 1, canvas->width() - 6, canvas->height() - 3)).pixel, 6.0);
    }

    void zoomStepsAreMonotone()
    {
        double pixel = 0.25;
        for (int i = 0; i < 20; ++i) {
            const double next = HeatmapCamera::larger(pixel);
            QVERIFY(next > pixel || next == 64);
            QVERIFY(HeatmapCamera::smaller(next) < next);
            QVERIFY(next < 1 || next == std::floor(next));
            pixel = next;
        }
    }

    void probeTellsTheValue()
    {
        tests::TinyContext context;
        HeatmapView view(context.model, context.cursor, context.selection);
        view.resize(500, 460);
        view.show();
        auto* canvas = view.findChild<HeatmapCanvas*>();
        QSignalSpy spy(canvas, &HeatmapCanvas::probed);
        QTest::keyClick(canvas, Qt::Key_Right);
        QTest::keyClick(canvas, Qt::Key_Right);
        QCOMPARE(spy.count(), 2);
        QCOMPARE(spy.last().first().toPoint(), QPoint(13, 12));
        const double before = canvas->camera().pixel;
        QTest::keyClick(canvas, Qt::Key_Plus);
        QVERIFY(canvas->camera().pixel > before);
        QTest::keyClick(canvas, Qt::Key_0);
        QCOMPARE(canvas->camera().pixel, 0.0);
    }

    void settingsComeBack()
    {
        tests::TinyContext context;
        HeatmapView view(context.model, context.cursor, context.selection);
        HeatmapSettings settings;
        settings.mode = HeatmapMode::SideBySide;
        settings.map = *ColorMap::find(QStringLiteral("seismic"));
        settings.percentile = 99;
        settings.gamma = 0.5;
        settings.isSmooth = true;
        view.setSettings(settings);
        HeatmapView other(context.model, context.cursor, context.selection);
        other.restoreState(view.saveState());
        QCOMPARE(other.settings().mode, HeatmapMode::SideBySide);
        QCOMPARE(other.settings().map.name(), QStringLiteral("seismic"));
        QCOMPARE(other.settings().percentile, 99.0);
        QCOMPARE(other.settings().gamma, 0.5);
        QVERIFY(other.settings().isSmooth);
        other.restoreState("nonsense");
        QCOMPARE(other.settings().percentile, 99.0);
        QVERIFY(!view.accessibleName().isEmpty());
    }

    void faintValuesAreLifted()
    {
        Scale scale;
        scale.limit = 4;
        QCOMPARE(scale.toUnit(-1), -0.25);
        scale.gamma = 0.5;
        QCOMPARE(scale.toUnit(-1), -0.5);
        QCOMPARE(scale.toUnit(9), 1.0);
        QCOMPARE(scale.toUnit(0), 0.0);
        // The colours of the bar are those of the values beside it.
        ColorBarSpec spec;
        spec.scale = scale;
        const ColorBarLayout layout = layoutColorBar(spec, QRectF(0, 0, 80, 300));
        QImage image(80, 300, QImage::Format_RGB32);
        QPainter painter(&image);
        paintColorBar(painter, spec, layout, Theme::of(ThemeKind::Light));
        painter.end();
        const double share = 0.75; // a quarter below the top: the middle between 0 and the limit
        const int y = static_cast<int>(layout.bar.bottom() - share * layout.bar.height());
        const QRgb drawn = image.pixel(static_cast<int>(layout.bar.center().x()), y);
        const QRgb wanted = spec.map.at(scale.toUnit(scale.limit / 2));
        QVERIFY(std::abs(qRed(drawn) - qRed(wanted)) < 6 && std::abs(qBlue(drawn) - qBlue(wanted)) < 6);
    }

    void smoothValuesRunIntoEachOther()
    {
        const Plane plane{2, 1, {0, 1}};
        const Plane square = enlargedPlane(plane, 8, 1);
        QCOMPARE(square.at(3, 0), 0.0);
        const Plane smooth = enlargedPlane(plane, 8, 1, true);
        QCOMPARE(smooth.at(0, 0), 0.0);
        QCOMPARE(smooth.at(3, 0), 0.375);
        QCOMPARE(smooth.at(4, 0), 0.625);
        QCOMPARE(smooth.at(7, 0), 1.0);
        tests::TinyContext context;
        HeatmapSettings settings;
        const HeatmapContent content = heatmapContent(context.model, {});
        const QImage sharp = renderFigure(heatmapFigure(context.model, content, settings));
        settings.isSmooth = true;
        QVERIFY(renderFigure(heatmapFigure(context.model, content, settings)) != sharp);
    }

    void ownColourStops()
    {
        tests::ViewContext context;
        HeatmapView view(context.model, context.cursor, context.selection);
        context.showTinyRun();
        tests::showAt(view, 700, 500);
        auto* stops = view.findChild<QLineEdit*>();
        QVERIFY(!stops->isVisible());
        QComboBox* colours = nullptr;
        for (auto* box : view.findChildren<QComboBox*>()) {
            colours = box->findText(QString::fromUtf8("Own stops…")) >= 0 ? box : colours;
        }
        QVERIFY(colours != nullptr);
        colours->setCurrentIndex(colours->count() - 1);
        QVERIFY(stops->isVisible());
        QCOMPARE(view.settings().map.name(), QStringLiteral("relevance")); // nothing is written yet
        QTest::keyClicks(stops, "00f,fff,0f0");
        QTest::keyClick(stops, Qt::Key_Return);
        QCOMPARE(view.settings().map.name(), QStringLiteral("00f,fff,0f0"));
        QCOMPARE(view.settings().map.at(1), QRgb(0xff00ff00));
        stops->clear();
        QTest::keyClicks(stops, "no colours");
        QTest::keyClick(stops, Qt::Key_Return);
        QCOMPARE(view.settings().map.name(), QStringLiteral("00f,fff,0f0")); // the one before stays
        QVERIFY2(stops->toolTip().contains("no colours"), qPrintable(stops->toolTip()));
        const QByteArray state = view.saveState();
        HeatmapView other(context.model, context.cursor, context.selection);
        other.restoreState(state);
        QCOMPARE(other.findChild<QLineEdit*>()->text(), QStringLiteral("00f,fff,0f0"));
        colours->setCurrentIndex(0);
        QVERIFY(!stops->isVisible());
        QCOMPARE(view.settings().map.name(), QStringLiteral("relevance"));
    }

    void controlsStepAsideWhereItIsNarrow()
    {
        tests::TinyContext context;
        HeatmapView view(context.model, context.cursor, context.selection);
        QVERIFY(view.minimumSizeHint().width() < 320);
        const auto* keep = view.findChild<QCheckBox*>();
        view.resize(1400, 400);
        view.show();
        QVERIFY(QTest::qWaitForWindowExposed(&view, 30'000));
        QVERIFY(keep->isVisible());
        view.resize(320, 400);
        QTRY_VERIFY_WITH_TIMEOUT(!keep->isVisible(), 30'000);
        view.resize(1400, 400);
        QTRY_VERIFY_WITH_TIMEOUT(keep->isVisible(), 30'000);
    }

    void whatStepsAsideIsInAMenuAndNothingIsSqueezed()
    {
        tests::TinyContext context;
        HeatmapView view(context.model, context.cursor, context.selection);
        view.show();
        RETRO_MADE(row, view.findChild<ControlRow*>());
        for (const int width : {1300, 900, 520, 420, 330, view.minimumSizeHint().width()}) {
            view.resize(width, 400);
            QCoreApplication::processEvents();
            int hidden = 0;
            for (const QComboBox* combo : view.findChildren<QComboBox*>()) {
                const bool isOfRow = combo->parentWidget()->isVisible(); // the choices of a region are shown with one
                hidden += combo->isVisible() || !isOfRow ? 0 : 1;
                QVERIFY2(!combo->isVisible() || combo->width() >= combo->sizeHint().width(),
                         qPrintable(combo->toolTip()));
            }
            QMenu menu;
            row->fillMenu(menu);
            int submenus = 0;
            for (const QAction* action : menu.actions()) {
                submenus += action->menu() != nullptr ? 1 : 0;
            }
            QCOMPARE(submenus, hidden);
            QVERIFY(width < 1300 || menu.isEmpty());
        }
        QMenu menu;
        row->fillMenu(menu);
        QAction* colours = menuEntry(menu, QStringLiteral("Colours"));
        QVERIFY(colours != nullptr && colours->menu() != nullptr);
        QVERIFY(colours->menu()->actions().front()->isChecked());
        menuEntry(*colours->menu(), QStringLiteral("seismic"))->trigger();
        QCOMPARE(view.settings().map.name(), QStringLiteral("seismic"));
        menuEntry(menu, QStringLiteral("Keep scale over layers"))->trigger();
        QVERIFY(view.settings().keptLimit.has_value());
        const auto* canvas = view.findChild<HeatmapCanvas*>();
        menuEntry(menu, QStringLiteral("Larger"))->trigger();
        QVERIFY(canvas->camera().pixel > 0);
    }

    void theOtherRunBeginsAtTheLine()
    {
        HeatmapFigure figure;
        figure.mode = HeatmapMode::Only;
        figure.plane = {4, 2, std::vector<double>(8, 1.0)};
        figure.bar.scale = symmetricScale(figure.plane.values);
        figure.wipe = HeatmapWipe{{4, 2, std::vector<double>(8, -1.0)}, {}, "other", 0.25, "here"};
        const QImage image = figureImage(figure);
        const ColorMap map;
        QCOMPARE(image.pixel(0, 1), map.at(1));
        QCOMPARE(image.pixel(1, 1), map.at(-1));
        QCOMPARE(image.pixel(3, 0), map.at(-1));
        figure.wipe->place = 1;
        QCOMPARE(figureImage(figure).pixel(3, 1), map.at(1));
        figure.wipe->place = 0;
        QCOMPARE(figureImage(figure).pixel(0, 0), map.at(-1));
    }

    void aRunThatIsHeldStaysAtItsEnd()
    {
        tests::TinyContext context;
        HeatmapView view(context.model, context.cursor, context.selection);
        tests::showAt(view, 900, 600);
        auto* canvas = view.findChild<HeatmapCanvas*>();
        QVERIFY(!canvas->figure().wipe.has_value());
        const std::vector<double> atTheInput = canvas->figure().plane.values;
        view.holdThisRun();
        QVERIFY(canvas->figure().wipe.has_value());
        QCOMPARE(canvas->figure().wipe->plane.values, atTheInput);
        // Earlier, the layer that was reached last is compared with the same layer of the other run.
        context.cursor.moveTo(tests::endOfVisit(context.model, 0));
        view.flush();
        QVERIFY(canvas->figure().wipe.has_value());
        QCOMPARE(canvas->figure().wipe->plane.values.size(), std::size_t{3});
        view.clearOther();
        QVERIFY(!canvas->figure().wipe.has_value());
    }

    // Another run has come and the view has not been refreshed yet: what it remembers is of another graph.
    void aRunIsHeldThatWasNotDrawnYet()
    {
        tests::ViewContext context;
        context.model.setRun(tests::makeTransformerRun());
        context.cursor.moveTo(tests::endOfVisit(context.model, 0));
        HeatmapView view(context.model, context.cursor, context.selection);
        view.flush();
        context.showTinyRun();
        view.holdThisRun();
        QVERIFY(view.findChild<HeatmapCanvas*>()->figure().wipe.has_value());
        context.model.setRun(tests::makeTransformerRun());
        view.clearOther();
        context.showTinyRun();
        QVERIFY(!view.exportTo("/no/such/folder/x.csv").ok());
    }

    void theBarNamesNoClassWhenTheHalvesSpeakForSeveral()
    {
        tests::TinyContext context;
        HeatmapView view(context.model, context.cursor, context.selection);
        view.flush();
        const auto* canvas = view.findChild<HeatmapCanvas*>();
        view.holdThisRun();
        QVERIFY2(canvas->figure().bar.upperWord.startsWith("for "), qPrintable(canvas->figure().bar.upperWord));
        RunHandle other = context.model.handleOfItsOwn();
        auto run = std::make_shared<trace::Run>(context.model.run());
        run->facts.targetIndex = {2};
        other.run = run;
        other.timeline = std::make_shared<trace::Timeline>(trace::Timeline::open(run).value());
        view.setOther(other, context.model.input(), "other");
        QCOMPARE(canvas->figure().bar.upperWord, QStringLiteral("for"));
    }

    void theLineIsMovedByMouseAndKeys()
    {
        tests::TinyContext context;
        HeatmapView view(context.model, context.cursor, context.selection);
        tests::showAt(view, 900, 600);
        view.holdThisRun();
        auto* canvas = view.findChild<HeatmapCanvas*>();
        const QRectF picture =
            placeFigure(canvas->figure(), canvas->camera(), QRectF(canvas->rect()).adjusted(2, 1, -2, -2)).picture;
        const QSignalSpy wiped(canvas, &HeatmapCanvas::wiped);
        const QPoint from = picture.center().toPoint();
        QTest::mousePress(canvas, Qt::LeftButton, {}, from);
        QTest::mouseMove(canvas, QPoint(static_cast<int>(picture.left() + picture.width() / 4), from.y()));
        QTest::mouseRelease(canvas, Qt::LeftButton, {}, from);
        QVERIFY(wiped.count() > 0);
        QVERIFY(std::abs(canvas->figure().wipe->place - 0.25) < 0.02);
        QVERIFY(canvas->camera().pan.isNull()); // the picture stayed
        QTest::keyClick(canvas, Qt::Key_Right, Qt::ShiftModifier);
        QVERIFY(std::abs(canvas->figure().wipe->place - 0.30) < 0.02);
        context.cursor.moveTo(0);
        context.cursor.moveTo(context.cursor.end());
        view.flush();
        QVERIFY(std::abs(canvas->figure().wipe->place - 0.30) < 0.02); // kept over steps
    }

    void theOtherRunIsChosenInTheRow()
    {
        tests::TinyContext context;
        HeatmapView view(context.model, context.cursor, context.selection);
        view.flush();
        QComboBox* against = nullptr;
        for (auto* box : view.findChildren<QComboBox*>()) {
            against = box->findText(QStringLiteral("This run alone")) >= 0 ? box : against;
        }
        QVERIFY(against != nullptr);
        const QSignalSpy wanted(&view, &HeatmapView::otherRunWanted);
        against->setCurrentIndex(2);
        QCOMPARE(wanted.count(), 1);
        QCOMPARE(against->currentIndex(), 0); // nothing was read yet
        against->setCurrentIndex(1);
        QCOMPARE(against->currentIndex(), 3);
        QVERIFY2(against->currentText().startsWith("Against held"), qPrintable(against->currentText()));
        QVERIFY(view.findChild<HeatmapCanvas*>()->figure().wipe.has_value());
        against->setCurrentIndex(0);
        QVERIFY(!view.findChild<HeatmapCanvas*>()->figure().wipe.has_value());
        QCOMPARE(against->count(), 3);
    }

    /// A map of another method is asked for, takes the place of relevance at the input, and goes with a new choice.
    void anotherMethodIsChosenInTheRow()
    {
        tests::TinyContext context;
        HeatmapView view(context.model, context.cursor, context.selection);
        view.flush();
        QComboBox* methods = nullptr;
        for (auto* box : view.findChildren<QComboBox*>()) {
            methods = box->findText(QStringLiteral("Grad-CAM++")) >= 0 ? box : methods;
        }
        QVERIFY(methods != nullptr);
        QSignalSpy wanted(&view, &HeatmapView::mapWanted);
        const std::vector<double> relevance = view.content().plane.values;
        methods->setCurrentIndex(1);
        QCOMPARE(wanted.count(), 1);
        QCOMPARE(wanted.front().front().toString(), QStringLiteral("gradcam"));
        QVERIFY(view.content().plane.values == relevance); // until it is there
        const base::ValueId input = context.model.graph().inputs().front();
        const QString name = QString::fromStdString(context.model.graph().value(input).name);
        const tensor::Shape shape = context.model.run().shapes[input.index()];
        const auto map = tensor::Tensor::full(tensor::DType::Float32, shape, 0.25);
        context.cursor.moveTo(0);                                       // no relevance has arrived
        view.setInputMap({QStringLiteral("gradcam++"), name, map, {}}); // not what is wanted now
        QVERIFY(!view.title().startsWith(QStringLiteral("Grad-CAM")));
        view.setInputMap({QStringLiteral("gradcam"), name, map, QStringLiteral("of conv")});
        QCOMPARE(view.content().plane.at(0, 0), 0.25 * static_cast<double>(shape[1]));
        QCOMPARE(view.content().place, QStringLiteral("of conv"));
        QVERIFY2(view.title().startsWith(QStringLiteral("Grad-CAM for")), qPrintable(view.title()));
        view.clearInputMap();
        QCOMPARE(methods->currentIndex(), 0);
        QVERIFY(view.title().startsWith(QStringLiteral("Relevance")));
        QCOMPARE(wanted.count(), 1);
    }

    void exportsWhatItShows()
    {
        tests::TinyContext context;
        HeatmapView view(context.model, context.cursor, context.selection);
        view.flush();
        const QTemporaryDir folder;
        for (const QString& format : QStringLiteral("png svg pdf html csv npy jpg").split(QLatin1Char(' '))) {
            const QString path = folder.filePath(QStringLiteral("heatmap.") + format);
            QVERIFY2(view.exportTo(path.toStdString()).ok(), qPrintable(format));
            QVERIFY(QFileInfo(path).size() > 500);
        }
        QCOMPARE(QImageReader(folder.filePath(QStringLiteral("heatmap.png"))).text(QStringLiteral("rules")),
                 QStringLiteral("epsilon_plus"));
        const QList<QByteArray> lines =
            tests::bytesIn(folder.filePath(QStringLiteral("heatmap.csv"))).trimmed().split('\n');
        QCOMPARE(lines.size(), qsizetype{1} + tests::kTinySide * tests::kTinySide);
        QCOMPARE(lines[0], QByteArray("x,y,relevance"));
        QVERIFY(lines[2].startsWith("1,0,"));
        context.model.clear();
        QVERIFY(!view.exportTo(folder.filePath(QStringLiteral("x.png")).toStdString()).ok());
    }

    void looks_data()
    {
        QTest::addColumn<bool>("isDark");
        QTest::addColumn<int>("visit");
        QTest::addColumn<int>("mode");
        for (const bool isDark : {false, true}) {
            const char* theme = isDark ? "dark" : "light";
            QTest::addRow("%s end", theme) << isDark << 9 << 0;
            QTest::addRow("%s score", theme) << isDark << 0 << 0;
            QTest::addRow("%s beside", theme) << isDark << 9 << 2;
            QTest::addRow("%s start", theme) << isDark << -1 << 0;
            QTest::addRow("%s wiped", theme) << isDark << 9 << 3;
        }
    }
    void looks()
    {
        QFETCH(bool, isDark);
        QFETCH(int, visit);
        QFETCH(int, mode);
        tests::TinyContext context;
        context.cursor.moveTo(visit < 0 ? 0 : tests::endOfVisit(context.model, static_cast<std::uint32_t>(visit)));
        HeatmapView view(context.model, context.cursor, context.selection);
        HeatmapSettings settings;
        settings.mode = static_cast<HeatmapMode>(mode % 3);
        settings.percentile = mode % 3 == 0 ? 99 : 100;
        view.setSettings(settings);
        view.flush();
        if (mode == 3) {
            view.holdThisRun();
        }
        const ThemeKind kind = isDark ? ThemeKind::Dark : ThemeKind::Light;
        const QImage image = tests::grab(view, {640, 500}, kind, QStringLiteral("heatmap-%1-%2").arg(visit).arg(mode));
        QVERIFY(tests::hasColor(image, Theme::of(kind)[Role::Base]));
        if (visit >= 0) {
            QVERIFY(tests::hasColor(image, QColor(ColorMap().at(1))));
        }
    }
};

QTEST_MAIN(HeatmapViewTest)
#include "tst_heatmapview.moc"
