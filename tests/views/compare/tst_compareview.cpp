// SPDX-License-Identifier: Apache-2.0
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/compare/comparepane.h"
#include "views/compare/compareview.h"

#include <QFile>
#include <QLabel>
#include <QScrollArea>
#include <QTemporaryDir>
#include <QTest>

#include <cmath>

using namespace retro;
using namespace retro::views;

namespace
{

constexpr int kSide = tests::kTinySide;

/// Relevance of the tiny picture: `onTag` on each pixel of the tag, `elsewhere` on the others.
tensor::Tensor makeRelevance(float onTag, float elsewhere, int side = kSide)
{
    std::vector<float> values;
    for (int y = 0; y < side; ++y) {
        for (int x = 0; x < side; ++x) {
            values.push_back(QRect(17, 3, 5, 5).contains(x, y) ? onTag : elsewhere);
        }
    }
    return tensor::Tensor::of<float>({1, 1, side, side}, values);
}

ControlFacts makeControl(const tensor::Tensor& relevance)
{
    return {QStringLiteral("control.onnx"), relevance, QStringLiteral("jug"), 0.769};
}

ControlFacts makeControl() { return makeControl(makeRelevance(0.0F, 0.01F)); }

Plane makePlane(std::vector<double> values, int width)
{
    return {width, static_cast<int>(values.size()) / width, std::move(values)};
}

/// What the view says while it has nothing to compare; empty when it shows the comparison.
QString sentenceOf(const CompareView& view)
{
    if (view.findChild<ComparePane*>()->isVisibleTo(&view)) {
        return {};
    }
    for (const QLabel* label : view.findChildren<QLabel*>()) {
        if (label->isVisibleTo(&view) && !label->text().isEmpty()) {
            return label->text();
        }
    }
    return QStringLiteral("nothing at all");
}

double percentOf(QString text) { return text.remove(QStringLiteral(" %")).toDouble(); }

} // namespace

class CompareViewTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void sharesCountPositiveRelevanceOnly()
    {
        // A box on the two pixels at the right: 3 of 4 positive.
        const Plane plane = makePlane({1, 3, -9, -5}, 2);
        const EvidenceShare share = evidenceShare(plane, QRect(1, 0, 1, 2));
        QCOMPARE(share.inBox, 0.75);
        QCOMPARE(share.outside, 0.25);
        QCOMPARE(share.boxArea, 0.5);
    }

    void aBoxBeyondThePictureIsClipped()
    {
        const Plane plane = makePlane({1, 1, 1, 1}, 2);
        const EvidenceShare share = evidenceShare(plane, QRect(1, 1, 50, 50));
        QCOMPARE(share.inBox, 0.25);
        QCOMPARE(share.boxArea, 0.25);
        QCOMPARE(evidenceShare(plane, QRect(10, 10, 5, 5)).inBox, 0.0);
    }

    void nothingPositiveIsNoEvidence()
    {
        const EvidenceShare share = evidenceShare(makePlane({-1, 0, -1, 0}, 2), QRect(0, 0, 1, 1));
        QVERIFY(!share.hasEvidence());
        QCOMPARE(share.inBox, 0.0);
        QCOMPARE(share.outside, 0.0);
        QCOMPARE(evidenceTexts(share).sum, QStringLiteral("0.0 %"));
        QVERIFY(!evidenceShare(Plane(), QRect(0, 0, 1, 1)).hasEvidence());
    }

    void shownSharesAddUp()
    {
        // Both halves of a thousandth would be rounded up on their own.
        for (int i = 0; i <= 10'000; ++i) {
            EvidenceShare share;
            share.inBox = i / 10'000.0;
            share.outside = 1 - share.inBox;
            const EvidenceTexts texts = evidenceTexts(share);
            QCOMPARE(texts.sum, QStringLiteral("100.0 %"));
            if (!texts.inBox.startsWith(QLatin1Char('<')) && !texts.outside.startsWith(QLatin1Char('<'))) {
                const double sum = percentOf(texts.inBox) + percentOf(texts.outside);
                QVERIFY2(std::abs(sum - 100) < 1e-9, qPrintable(texts.inBox + QStringLiteral(" + ") + texts.outside));
            }
        }
    }

    void theObjectIsCountedOffTheBox()
    {
        // Box on the left pixel, object on the two in the middle and on the box itself.
        const Plane plane = makePlane({4, 3, 2, 1}, 4);
        const EvidenceShare share = evidenceShare(plane, QRect(0, 0, 1, 1), QRect(0, 0, 3, 1));
        QCOMPARE(share.inBox, 0.4);
        QCOMPARE(share.onObject.value(), 0.5);
        QCOMPARE(share.outside, 0.6);
        const EvidenceTexts texts = evidenceTexts(share);
        QCOMPARE(texts.onObject, QStringLiteral("50.0 %"));
        QCOMPARE(texts.outside, QStringLiteral("10.0 %"));
        QVERIFY(!evidenceShare(plane, QRect(0, 0, 1, 1)).onObject);
    }

    void threeShownSharesAddUp()
    {
        for (int box = 0; box <= 1000; box += 7) {
            for (int object = 0; object <= 1000 - box; object += 11) {
                EvidenceShare share;
                share.inBox = (box + 0.5) / 1001;
                share.outside = 1 - share.inBox;
                share.onObject = std::min((object + 0.5) / 1001, share.outside);
                const EvidenceTexts texts = evidenceTexts(share);
                const QString all =
                    texts.inBox + QStringLiteral(" + ") + texts.onObject + QStringLiteral(" + ") + texts.outside;
                if (!all.contains(QLatin1Char('<'))) {
                    const double sum = percentOf(texts.inBox) + percentOf(texts.onObject) + percentOf(texts.outside);
                    QVERIFY2(std::abs(sum - 100) < 1e-9, qPrintable(all));
                }
            }
        }
    }

    void whatIsTinyIsNotNothing()
    {
        EvidenceShare share;
        share.inBox = 0.0001;
        share.outside = 0.9999;
        QCOMPARE(evidenceTexts(share).inBox, QStringLiteral("< 0.1 %"));
        std::swap(share.inBox, share.outside);
        QCOMPARE(evidenceTexts(share).outside, QStringLiteral("< 0.1 %"));
    }

    void emptyUntilSomethingIsExplained()
    {
        tests::ViewContext context;
        CompareView view(context.model, context.cursor, context.selection);
        view.flush();
        QVERIFY(sentenceOf(view).contains(QStringLiteral("once something was explained")));
        QVERIFY(view.subject().isEmpty());
        QVERIFY(!view.exportTo("compare.png").ok());
    }

    void loadingAndErrorAreShown()
    {
        tests::ViewContext context;
        CompareView view(context.model, context.cursor, context.selection);
        context.model.setLoading(QStringLiteral("Reading the model"), 0.5);
        view.flush();
        QCOMPARE(sentenceOf(view), QStringLiteral("Reading the model"));
        context.model.setError(QStringLiteral("control.onnx is no model"), QStringLiteral("Name another one."));
        view.flush();
        QCOMPARE(sentenceOf(view), QStringLiteral("control.onnx is no model"));
        context.showTinyRun();
        view.setControl(makeControl());
        view.flush();
        QCOMPARE(sentenceOf(view), QString());
    }

    void withoutAControlTheReasonIsSaid()
    {
        tests::ViewContext context;
        CompareView view(context.model, context.cursor, context.selection);
        context.showTinyRun();
        view.setAwaited(true);
        view.flush();
        QVERIFY(sentenceOf(view).contains(QStringLiteral("is being asked")));
        view.setAwaited(false);
        view.flush();
        QVERIFY(sentenceOf(view).contains(QStringLiteral("names no control model")));
        view.setControl(makeControl());
        view.flush();
        QCOMPARE(sentenceOf(view), QString());
        view.setControl(std::nullopt);
        view.flush();
        QVERIFY(sentenceOf(view).contains(QStringLiteral("names no control model")));
    }

    void anotherKindOfInputCannotBeCompared()
    {
        tests::ViewContext context;
        CompareView view(context.model, context.cursor, context.selection);
        context.showTinyRun();
        const tensor::Tensor vector = tensor::Tensor::of<float>({1, 3}, std::vector<float>{1, 2, 3});
        const tensor::Tensor larger = makeRelevance(1.0F, 0.0F, 2 * kSide);
        for (const tensor::Tensor& relevance : {vector, larger}) {
            view.setControl(makeControl(relevance));
            view.flush();
            QVERIFY2(sentenceOf(view).contains(QStringLiteral("cannot be compared")), qPrintable(sentenceOf(view)));
        }
        view.setControl(makeControl());
        view.flush();
        QCOMPARE(sentenceOf(view), QString());
    }

    void theAnswerOfBothModels()
    {
        tests::ViewContext context;
        CompareView view(context.model, context.cursor, context.selection);
        context.showTinyRun();
        view.setControl(makeControl());
        view.flush();
        const CompareFigure& figure = view.findChild<ComparePane*>()->figure();
        QCOMPARE(figure.verdict, QStringLiteral("Control says jug"));
        QCOMPARE(figure.verdictFigure, QStringLiteral("76.9 %"));
        QCOMPARE(figure.picture.size(), QSize(kSide, kSide));
        QCOMPARE(*figure.box, QRect(17, 3, 5, 5));
        QCOMPARE(figure.control->inBox, 0.0);
        QVERIFY(figure.here->inBox > 0.5);
        QVERIFY(std::abs(figure.here->boxArea - 25.0 / (kSide * kSide)) < 1e-12);
        QVERIFY(figure.meaning.startsWith(QStringLiteral("The model reads the tag, not the object: ")));
        const QString spoken = view.findChild<ComparePane*>()->accessibleDescription();
        for (const QString& part :
             {figure.verdict, figure.verdictFigure, figure.meaning, evidenceTexts(*figure.here).inBox,
              QStringLiteral("control 0.0 %"), QStringLiteral("Elsewhere")}) {
            QVERIFY2(spoken.contains(part), qPrintable(part));
        }
        QCOMPARE(view.subject(), QStringLiteral("with the control"));
    }

    void stepsOfATextAreWords()
    {
        CompareFigure figure;
        figure.strip.words = {"the", "film", "was", "sponsored"};
        figure.strip.values = {0.1, -0.2, 0, 0.5};
        figure.strip.scale = symmetricScale(figure.strip.values);
        figure.verdict = QStringLiteral("Control says good");
        const CompareLayout wide = layoutCompare(figure, {600, 400});
        const CompareLayout narrow = layoutCompare(figure, {160, 400});
        QCOMPARE(wide.steps.size(), std::size_t{4});
        QCOMPARE(wide.steps.front().top(), wide.steps.back().top()); // one line
        QVERIFY(narrow.steps.back().top() > narrow.steps.front().bottom());
        QVERIFY(narrow.height > wide.height);
        for (const CompareLayout& layout : {wide, narrow}) {
            QVERIFY(layout.verdict.top() >= layout.picture.bottom());
            for (const QRectF& cell : layout.steps) {
                QVERIFY(layout.picture.contains(cell.translated(layout.picture.topLeft())));
            }
        }
        ComparePane pane;
        pane.setFigure(figure);
        const QImage drawn = tests::grab(pane, {300, 200}, ThemeKind::Light, QStringLiteral("compare-words"));
        QVERIFY(tests::hasColor(drawn, QColor(figure.strip.map.at(1)))); // the strongest word
    }

    void withoutATagThereAreNoShares()
    {
        tests::ViewContext context;
        InputInfo input = tests::makeTinyInput();
        input.tagBox.reset();
        context.model.setRun(tests::makeTinyRun(), input);
        CompareView view(context.model, context.cursor, context.selection);
        view.setControl(makeControl());
        view.flush();
        const CompareFigure& figure = view.findChild<ComparePane*>()->figure();
        QVERIFY(!figure.hasShares());
        QVERIFY(figure.meaning.isEmpty());
        const CompareLayout layout = layoutCompare(figure, {280, 400});
        QVERIFY(layout.shares.isEmpty());
        QVERIFY(layout.meaning.isEmpty());
        QCOMPARE(layout.height, layout.verdict.bottom() + 8);
    }

    /// A tag that is mostly negative is not "off the evidence": it speaks against the target.
    void evidenceThatIsNegativeIsCalledSo()
    {
        EvidenceShare share = evidenceShare(makePlane({4, -9, -1, 1}, 2), QRect(1, 0, 1, 1));
        QCOMPARE(share.speaksFor, 5.0);
        QCOMPARE(share.speaksAgainst, 10.0);
        QCOMPARE(share.netInBox, -9.0);
        QVERIFY(share.isAgainst());
        const QString tag = compareMeaning(share, QStringLiteral("tag"));
        QVERIFY2(tag.contains(QStringLiteral("speaks against the target")), qPrintable(tag));
        QVERIFY2(!tag.contains(QStringLiteral("lies off")), qPrintable(tag));
        share = evidenceShare(makePlane({1, 1, -9, 1}, 2), QRect(1, 0, 1, 1));
        const QString rest = compareMeaning(share, QStringLiteral("tag"));
        QVERIFY2(rest.startsWith(QStringLiteral("More speaks against")), qPrintable(rest));
        share = evidenceShare(makePlane({9, 1, -1, 1}, 2), QRect(1, 0, 1, 1));
        QVERIFY(compareMeaning(share, QStringLiteral("tag")).startsWith(QStringLiteral("Most evidence lies off")));
    }

    void theObjectHasItsOwnShare()
    {
        tests::TinyContext context;
        CompareView view(context.model, context.cursor, context.selection);
        ControlFacts control = makeControl();
        control.objectBox = QRect(4, 8, 12, 12);
        view.setControl(control);
        view.flush();
        const CompareFigure& figure = view.findChild<ComparePane*>()->figure();
        QVERIFY(figure.here->onObject && figure.control->onObject);
        QVERIFY(std::abs(*figure.control->onObject - 144.0 / (kSide * kSide - 25)) < 1e-6);
        const QString spoken = view.findChild<ComparePane*>()->accessibleDescription();
        RETRO_SAYS(spoken, QStringLiteral("Object: "), QStringLiteral("Rest: "));
        const CompareLayout three = layoutCompare(figure, {280, 600});
        CompareFigure two = figure;
        two.here->onObject.reset();
        two.control->onObject.reset();
        QVERIFY(three.shares.height() > layoutCompare(two, {280, 600}).shares.height());
    }

    void anObjectAloneIsEnough()
    {
        tests::ViewContext context;
        InputInfo input = tests::makeTinyInput();
        input.tagBox.reset();
        context.model.setRun(tests::makeTinyRun(), input);
        CompareView view(context.model, context.cursor, context.selection);
        ControlFacts control = makeControl();
        control.objectBox = QRect(4, 8, 12, 12);
        view.setControl(control);
        view.flush();
        const CompareFigure& figure = view.findChild<ComparePane*>()->figure();
        QVERIFY(figure.hasShares());
        QVERIFY(!figure.box);
        QVERIFY2(figure.meaning.contains(QStringLiteral("on the object")), qPrintable(figure.meaning));
    }

    void aControlThatFailsIsNoErrorOfTheRun()
    {
        tests::ViewContext context;
        CompareView view(context.model, context.cursor, context.selection);
        context.showTinyRun();
        view.setAbsent(QStringLiteral("control.onnx: the file is missing"));
        view.flush();
        RETRO_SAYS(sentenceOf(view), QStringLiteral("control.onnx: the file is missing"));
        QCOMPARE(context.model.loadState(), LoadState::Ready);
        view.setControl(makeControl());
        view.flush();
        QCOMPARE(sentenceOf(view), QString());
    }

    void theCursorChangesNothing()
    {
        tests::ViewContext context;
        CompareView view(context.model, context.cursor, context.selection);
        context.showTinyRun();
        view.setControl(makeControl());
        view.flush();
        const double share = view.findChild<ComparePane*>()->figure().here->inBox;
        context.cursor.moveTo(0);
        view.flush();
        view.setControl(makeControl());
        view.flush();
        QCOMPARE(view.findChild<ComparePane*>()->figure().here->inBox, share);
    }

    void wordsGetWhatTheyNeed_data()
    {
        QTest::addColumn<QSizeF>("size");
        QTest::newRow("roomy") << QSizeF(320, 900);
        QTest::newRow("usual") << QSizeF(293, 620);
        QTest::newRow("narrow") << QSizeF(220, 620);
        QTest::newRow("low") << QSizeF(220, 100);
    }

    void wordsGetWhatTheyNeed()
    {
        QFETCH(const QSizeF, size);
        CompareFigure figure;
        figure.picture = QImage(kSide, kSide, QImage::Format_RGB32);
        figure.here = EvidenceShare{0.776, 0.224, 0.016};
        figure.control = EvidenceShare{0.002, 0.998, 0.016};
        figure.boxName = QStringLiteral("tag");
        figure.meaning = QStringLiteral("The model reads the tag, not the object: 77.6 % of its positive relevance "
                                        "sits on the tag, which covers 1.6 % of the pixels.");
        const CompareLayout layout = layoutCompare(figure, size);
        QCOMPARE(layout.pixel, std::floor(layout.pixel));
        QCOMPARE(layout.picture.width(), kSide * layout.pixel);
        QVERIFY(layout.picture.left() >= 0 && layout.picture.right() <= size.width());
        QVERIFY(layout.verdict.top() >= layout.picture.bottom());
        QVERIFY(layout.shares.top() >= layout.verdict.bottom());
        QVERIFY(layout.meaning.top() >= layout.shares.bottom());
        QCOMPARE(layout.height, layout.meaning.bottom());
        const bool isLow = size.height() < 200;
        QCOMPARE(layout.height > size.height(), isLow);
        // One more pixel per value would not fit.
        const double more = (layout.pixel + 1) * kSide;
        QVERIFY(more > size.width() - 24 || layout.height + kSide > size.height());
    }

    void aLowPaneScrolls()
    {
        tests::ViewContext context;
        CompareView view(context.model, context.cursor, context.selection);
        context.showTinyRun();
        view.setControl(makeControl());
        tests::showAt(view, 240, 200);
        QApplication::sendPostedEvents();
        const auto* area = view.findChild<QScrollArea*>();
        const auto* pane = view.findChild<ComparePane*>();
        QVERIFY(pane->height() > area->viewport()->height());
        QVERIFY(pane->height() >= layoutCompare(pane->figure(), QSizeF(pane->width(), 0)).height);
        QCOMPARE(pane->width(), area->viewport()->width());
    }

    void exports()
    {
        tests::ViewContext context;
        CompareView view(context.model, context.cursor, context.selection);
        context.showTinyRun();
        view.setControl(makeControl());
        view.resize(300, 600);
        view.flush();
        const QTemporaryDir folder;
        for (const QString& format : QStringLiteral("png svg pdf").split(QLatin1Char(' '))) {
            const QString path = folder.filePath(QStringLiteral("c.") + format);
            QVERIFY(view.exportTo(path.toStdString()).ok());
            QVERIFY2(QFile(path).size() > 500, qPrintable(format));
        }
        QVERIFY(!view.exportTo(folder.filePath(QStringLiteral("c.txt")).toStdString()).ok());
    }

    void looks()
    {
        tests::ViewContext context;
        CompareView view(context.model, context.cursor, context.selection);
        context.showTinyRun();
        view.setControl(makeControl());
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            const QImage image = tests::grab(view, {293, 640}, kind, QStringLiteral("compare"));
            QVERIFY(tests::hasColor(image, Theme::of(kind)[Role::Accent]));
            QVERIFY(tests::hasColor(image, Theme::of(kind)[Role::Strong]));
        }
    }
};

QTEST_MAIN(CompareViewTest)
#include "tst_compareview.moc"
