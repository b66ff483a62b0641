// SPDX-License-Identifier: Apache-2.0
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/common/paint/fonts.h"
#include "views/layers/layerstrip.h"
#include "views/layers/layersview.h"

#include <QFile>
#include <QTemporaryDir>
#include <QTest>

using namespace retro;
using namespace retro::views;

class LayersViewTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void chainOfTheTinyRun()
    {
        tests::TinyContext context;
        const std::vector<Layer> layers = layerChain(context.model);
        QStringList names;
        for (const Layer& layer : layers) {
            names.append(layer.name + QLatin1Char('=') + context.model.placeLabel(layer.node));
        }
        QCOMPARE(names, (QStringList{QStringLiteral("Class scores=head/fc"), QStringLiteral("Block 1=block1/add"),
                                     QStringLiteral("Stem=stem/relu1"), QStringLiteral("Input=image")}));
        QCOMPARE(layers.front().share, 1.0);
        QVERIFY(std::abs(layers.back().share - 8.14 / 8.42) < 1e-4);
        for (std::size_t i = 1; i < layers.size(); ++i) {
            QVERIFY(layers[i].position > layers[i - 1].position);
        }
    }

    void aGradientHasMagnitudesAndNoShares()
    {
        tests::ViewContext context;
        views::RunHandle handle = tests::makeTinyGradientRun();
        context.model.setRun(handle, tests::makeTinyInput());
        const std::vector<Layer> layers = layerChain(context.model);
        for (const Layer& layer : layers) {
            const tensor::Tensor* gradient = context.model.tensor(layer.relevance);
            double magnitude = 0;
            for (std::int64_t i = 0; gradient != nullptr && i < gradient->size(); ++i) {
                magnitude += std::abs(gradient->at(i));
            }
            QVERIFY(layer.magnitude.has_value());
            QVERIFY(std::abs(*layer.magnitude - magnitude) <= 1e-5 * magnitude);
            QCOMPARE(layer.share, 0.0);
        }
        LayersView view(context.model, context.cursor, context.selection);
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            (void)tests::grab(view, {700, 150}, kind, QStringLiteral("layers-gradient"));
        }
        QVERIFY(view.hint().contains(QStringLiteral("A gradient is not conserved")));
        QVERIFY(!view.subject().contains(QStringLiteral("share")));
        const QTemporaryDir folder;
        QFile file(folder.filePath(QStringLiteral("l.csv")));
        QVERIFY(view.exportTo(file.fileName().toStdString()).ok());
        QVERIFY(file.open(QIODevice::ReadOnly));
        QVERIFY(file.readAll().startsWith("layer,node,magnitude\n"));
        // Multiplied with the input, what counts there is the product.
        auto product = std::make_shared<trace::Run>(*handle.run);
        product->facts.numbers["times_input"] = 1;
        handle.run = product;
        handle.timeline = std::make_shared<trace::Timeline>(trace::Timeline::open(product).value());
        context.model.setRun(handle, tests::makeTinyInput());
        const Layer input = layerChain(context.model).back();
        const tensor::Tensor composed = layerTensor(context.model, input);
        const tensor::Tensor& gradient = *context.model.tensor(input.relevance);
        const tensor::Tensor& pixels = *context.model.forwardValue(input.value);
        for (std::int64_t i = 0; i < gradient.size(); ++i) {
            QVERIFY(std::abs(composed.at(i) - gradient.at(i) * pixels.at(i)) < 1e-6);
        }
    }

    void aLongChainIsThinned()
    {
        tests::TinyContext context;
        const std::vector<Layer> layers = layerChain(context.model, 3);
        QCOMPARE(layers.size(), std::size_t{3});
        QCOMPARE(layers.front().name, QStringLiteral("Class scores"));
        QCOMPARE(layers.back().name, QStringLiteral("Input"));
    }

    void namesForPeople()
    {
        QCOMPARE(layerName(QStringLiteral("block3/conv1"), QString()), QStringLiteral("Block 3"));
        QCOMPARE(layerName(QStringLiteral("layer.2/x"), QString()), QStringLiteral("Layer 2"));
        QCOMPARE(layerName(QString(), QStringLiteral("a/pool")), QStringLiteral("Pool"));
        QCOMPARE(layerName(QString(), QString()), QString());
    }

    void stripLayout()
    {
        const StripLayout layout = layoutStrip(5, {8, 0, 600, 140});
        QCOMPARE(layout.cells.size(), std::size_t{5});
        for (std::size_t i = 0; i < 5; ++i) {
            const StripLayout::Cell& cell = layout.cells[i];
            QVERIFY(cell.cell.contains(cell.picture));
            QVERIFY(cell.share.top() >= cell.picture.bottom());
            QVERIFY(cell.knob.y() > cell.cell.bottom());
            QVERIFY(cell.knob.y() < 140);
            QCOMPARE(layout.cellAt(cell.knob.x()), static_cast<int>(i));
        }
        QCOMPARE(layout.cellAt(-100), 0);
        QCOMPARE(layout.cellAt(10'000), 4);
        QCOMPARE(layoutStrip(0, {0, 0, 100, 100}).cellAt(3), -1);
    }

    void picturesShowSigns()
    {
        const std::vector<float> values{1, -1};
        const tensor::Tensor row = tensor::Tensor::of<float>({1, 2}, values);
        const QImage image = layerPicture(&row, 20, false);
        QVERIFY(qRed(image.pixel(3, 5)) > qBlue(image.pixel(3, 5)));
        QVERIFY(qBlue(image.pixel(15, 15)) > qRed(image.pixel(15, 15)));
        QVERIFY(layerPicture(nullptr, 20, false).isNull());
    }

    void choosingMovesTheCursor()
    {
        tests::TinyContext context;
        LayersView view(context.model, context.cursor, context.selection);
        view.resize(600, 150);
        view.show();
        QVERIFY(QTest::qWaitForWindowExposed(&view, 30'000));
        auto* strip = view.findChild<LayerStrip*>();
        QCOMPARE(strip->arrived(), 4);
        QTest::mouseClick(strip, Qt::LeftButton, {}, {30, 40});
        QCOMPARE(context.cursor.position(), strip->layers().front().position);
        view.flush();
        QCOMPARE(strip->arrived(), 1);
        QTest::keyClick(strip, Qt::Key_Right);
        QCOMPARE(context.cursor.position(), strip->layers()[1].position);
        QVERIFY(view.canShow(strip->layers()[1].node));
    }

    void namesFit()
    {
        const QFont font = fonts::label();
        const auto fit = [&](const char* name, const char* room) {
            return fittingName(QString::fromLatin1(name), font, fonts::widthOf(font, QString::fromLatin1(room)) + 1);
        };
        QCOMPARE(fit("Class scores", "Class scores"), QStringLiteral("Class scores"));
        QCOMPARE(fit("Class scores", "Class sco"), QStringLiteral("Scores"));
        QVERIFY(fit("Bottleneck", "Bottle").contains(QChar(0x2026)));
        QVERIFY(fit("Block 42", "Block 4") != QStringLiteral("42")); // a number alone names nothing
    }

    void exports()
    {
        tests::TinyContext context;
        LayersView view(context.model, context.cursor, context.selection);
        view.flush();
        const QTemporaryDir folder;
        for (const QString& format : QStringLiteral("png svg pdf csv").split(QLatin1Char(' '))) {
            QVERIFY(view.exportTo(folder.filePath(QStringLiteral("l.") + format).toStdString()).ok());
        }
        QVERIFY(tests::bytesIn(folder.filePath(QStringLiteral("l.csv")))
                    .startsWith("layer,node,share\nClass scores,head/fc,1\n"));
    }

    void looks_data()
    {
        QTest::addColumn<int>("visit");
        QTest::newRow("end") << 9;
        QTest::newRow("middle") << 5;
    }
    void looks()
    {
        QFETCH(int, visit);
        tests::TinyContext context;
        context.cursor.moveTo(tests::endOfVisit(context.model, static_cast<std::uint32_t>(visit)));
        LayersView view(context.model, context.cursor, context.selection);
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            const QImage image = tests::grab(view, {620, 150}, kind, QStringLiteral("layers-%1").arg(visit));
            QVERIFY(tests::hasColor(image, Theme::of(kind)[Role::Sel]));
            QVERIFY(tests::hasColor(image, Theme::of(kind)[Role::Accent]));
        }
    }
};

QTEST_MAIN(LayersViewTest)
#include "tst_layersview.moc"
