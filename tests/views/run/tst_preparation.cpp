// SPDX-License-Identifier: Apache-2.0
#include "tests/views/support/grabs.h"
#include "views/run/preparationfields.h"
#include "views/run/rulefields.h"

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QSignalSpy>
#include <QSlider>
#include <QTest>

using namespace retro;
using namespace retro::views;

namespace
{

/// Chooses as a person does.
void pick(QWidget& panel, const char* name, const char* text)
{
    for (QComboBox* box : panel.findChildren<QComboBox*>()) {
        if (box->accessibleName() == QLatin1String(name)) {
            const int at = box->findText(QString::fromUtf8(text));
            QVERIFY2(at >= 0, text);
            box->setCurrentIndex(at);
            emit box->activated(at);
            return;
        }
    }
    QFAIL(name);
}

QLineEdit* line(QWidget& panel, const char* name)
{
    for (QLineEdit* edit : panel.findChildren<QLineEdit*>()) {
        if (edit->accessibleName() == QLatin1String(name)) {
            return edit;
        }
    }
    return nullptr;
}

bool says(const QWidget& panel, const char* text)
{
    for (const QLabel* label : panel.findChildren<QLabel*>()) {
        if (label->isVisibleTo(&panel) && label->text().contains(QString::fromUtf8(text))) {
            return true;
        }
    }
    return false;
}

} // namespace

class PreparationTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void presetsAreFoundAgainOnEveryScale()
    {
        for (const QString& channels : {QStringLiteral("RGB"), QStringLiteral("BGR")}) {
            for (const double high : {1.0, 255.0}) {
                for (const auto preset : {Normalisation::None, Normalisation::ImageNet, Normalisation::Centred}) {
                    Preparation preparation;
                    preparation.channels = channels;
                    preparation.high = high;
                    normalise(preparation, preset);
                    QCOMPARE(normalisationOf(preparation), preset);
                }
            }
        }
        Preparation zeros;
        zeros.mean = {0, 0, 0};
        zeros.deviation = {1, 1, 1};
        QCOMPARE(normalisationOf(zeros), Normalisation::None);
        zeros.mean = {0.1};
        QCOMPARE(normalisationOf(zeros), Normalisation::Custom);
    }

    void imageNetFollowsTheOrderOfTheColours()
    {
        Preparation preparation;
        preparation.channels = QStringLiteral("BGR");
        preparation.high = 255;
        normalise(preparation, Normalisation::ImageNet);
        QCOMPARE(preparation.mean.front(), 0.406 * 255);
        QCOMPARE(preparation.deviation.back(), 0.229 * 255);
    }

    void numbersAreReadOrRefused()
    {
        std::vector<double> numbers{7};
        QVERIFY(parseNumbers(QStringLiteral(" 0.5, 0.25 1e-1 "), numbers));
        QCOMPARE(numbers, (std::vector<double>{0.5, 0.25, 0.1}));
        QVERIFY(parseNumbers({}, numbers));
        QVERIFY(numbers.empty());
        for (const char* bad : {"1, 2", "1 2 3 4", "a", "nan", "inf", "1,5,x"}) {
            QVERIFY2(!parseNumbers(QLatin1String(bad), numbers), bad);
        }
    }

    void choicesMakeAPreparation()
    {
        PreparationFields fields;
        fields.setTakesPictures(true);
        const QSignalSpy changed(&fields, &PreparationFields::changed);
        pick(fields, "Layout", "channels last (NHWC)");
        pick(fields, "Values", "BGR, 0 to 255");
        pick(fields, "Mean, std", "−1 to 1");
        QCOMPARE(changed.count(), 3);
        QCOMPARE(fields.preparation().layout, QStringLiteral("NHWC"));
        QCOMPARE(fields.preparation().channels, QStringLiteral("BGR"));
        QCOMPARE(fields.preparation().mean, (std::vector<double>{127.5}));
        pick(fields, "Values", "RGB, 0 to 1"); // the preset keeps its meaning
        QCOMPARE(fields.preparation().deviation, (std::vector<double>{0.5}));
    }

    void aQuestionKeepsItsFrame()
    {
        PreparationFields fields;
        for (const char* frame : {"letterbox", "crop=0.9", "stretch"}) { // a card may say any part
            engine::Question asked;
            asked.frame = frame;
            fields.setPreparation(preparationOf(asked, {}));
            engine::Question again;
            setPreparation(fields.preparation(), again);
            QCOMPARE(again.frame, asked.frame);
        }
        pick(fields, "Frame", "the middle");
        QCOMPARE(fields.preparation().frame, QStringLiteral("crop"));
    }

    void ownNumbersAreCheckedWhileTyping()
    {
        PreparationFields fields;
        fields.setTakesPictures(true);
        QVERIFY(!line(fields, "Mean")->isVisibleTo(&fields));
        pick(fields, "Mean, std", "own numbers");
        QVERIFY(line(fields, "Mean")->isVisibleTo(&fields));
        QTest::keyClicks(line(fields, "Mean"), QStringLiteral("0.1, 0.2, 0.3"));
        QVERIFY(fields.problem().isEmpty());
        QCOMPARE(fields.preparation().mean, (std::vector<double>{0.1, 0.2, 0.3}));
        QTest::keyClicks(line(fields, "Std"), QStringLiteral("0"));
        QVERIFY(says(fields, "above 0"));
        QTest::keyClicks(line(fields, "Std"), QStringLiteral(".5"));
        QVERIFY(fields.problem().isEmpty());
        QCOMPARE(fields.preparation().deviation, (std::vector<double>{0.5}));
    }

    void unusualScalesOfACardAreKept()
    {
        PreparationFields fields;
        Preparation odd;
        odd.low = -1;
        odd.mean = {0.3};
        odd.deviation = {2};
        fields.setPreparation(odd);
        QVERIFY(fields.preparation() == odd);
        pick(fields, "Layout", "channels last (NHWC)");
        QCOMPARE(fields.preparation().low, -1.0);
        QCOMPARE(fields.preparation().mean, (std::vector<double>{0.3}));
    }

    void previewOrReasonIsShown()
    {
        PreparationFields fields;
        QImage picture(8, 8, QImage::Format_RGB32);
        picture.fill(Qt::red);
        fields.setPreview({picture, QStringLiteral("3 × 8 × 8, values −1 to 1"), {}});
        QVERIFY(says(fields, "values −1 to 1"));
        fields.setPreview({{}, {}, QStringLiteral("the input wants 5 channels")});
        QVERIFY(says(fields, "wants 5 channels"));
        QVERIFY(!says(fields, "values"));
    }

    void settingsOfComposites()
    {
        QCOMPARE(settingsOf(QStringLiteral("epsilon_gamma_box")).size(), std::size_t{2});
        QVERIFY(settingsOf(QStringLiteral("gradient")).empty());
        const RuleSetting epsilon = settingsOf(QStringLiteral("epsilon")).front();
        QCOMPARE(epsilon.at(epsilon.positionOf(1e-6)), 1e-6);
        QCOMPARE(epsilon.at(0), epsilon.least);
        QCOMPARE(epsilon.at(kSliderSteps), epsilon.most);
        for (int i = 1; i <= kSliderSteps; ++i) {
            QVERIFY(epsilon.at(i) >= epsilon.at(i - 1));
        }
    }

    void specificationsKeepWhatTheyDoNotTurn()
    {
        const QString text = QStringLiteral("epsilon_plus:bias=zero,epsilon=0.1");
        QCOMPARE(baseOf(text), QStringLiteral("epsilon_plus"));
        QCOMPARE(*settingIn(text, QStringLiteral("epsilon")), 0.1);
        QVERIFY(!settingIn(text, QStringLiteral("gamma")));
        QCOMPARE(withSetting(text, QStringLiteral("epsilon"), 1e-5),
                 QStringLiteral("epsilon_plus:bias=zero,epsilon=1e-05"));
        QCOMPARE(withSetting(QStringLiteral("epsilon:epsilon=1"), QStringLiteral("epsilon"), std::nullopt),
                 QStringLiteral("epsilon"));
    }

    void slidersTurnNumbers()
    {
        RuleFields fields;
        fields.setSpecification(QStringLiteral("epsilon_gamma_box"));
        const auto sliders = fields.findChildren<QSlider*>();
        QCOMPARE(sliders.size(), 2);
        const QSignalSpy changed(&fields, &RuleFields::changed);
        sliders[1]->setValue(kSliderSteps / 2);
        QCOMPARE(changed.count(), 1);
        QCOMPARE(fields.specification(), QStringLiteral("epsilon_gamma_box:gamma=1.5"));
        sliders[1]->setValue(settingsOf(QStringLiteral("epsilon_gamma_box"))[1].positionOf(0.25));
        QCOMPARE(fields.specification(), QStringLiteral("epsilon_gamma_box"));
        fields.setSpecification(QStringLiteral("gradient"));
        QVERIFY(fields.isHidden());
    }
};

QTEST_MAIN(PreparationTest)
#include "tst_preparation.moc"
