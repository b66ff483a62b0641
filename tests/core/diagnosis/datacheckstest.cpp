// SPDX-License-Identifier: Apache-2.0
// Checks of a folder of inputs: what the model says of each, and which class each has.
#include "tests/core/diagnosis/diagnosed.h"

#include "core/diagnosis/population.h"

using namespace retro;
using namespace retro::tests;

namespace
{

using diagnosis::Population;

/// A picture of two channels → four classes.
SharedGraph classifier()
{
    Writer writer;
    const ValueId x = writer.input("image", {1, 2, 2, 2});
    const ValueId flat = writer.node("Flatten", "flat", {x});
    writer.output(writer.node("Gemm", "fc", {flat, writer.constant("w", randomTensor({8, 4}, 5))}));
    return writer.finish();
}

/// Twelve inputs of four classes, three each, and what the model says of them.
Population twelve(const std::vector<std::int64_t>& best)
{
    Population all;
    for (std::int64_t i = 0; i < 12; ++i) {
        all.files.push_back(std::to_string(i) + ".png");
        all.truth.push_back(i % 4);
    }
    all.classes = 4;
    all.asGiven.best = best;
    return all;
}

const std::vector<std::int64_t> kRight{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3};

Diagnosis diagnosedFolder(Population all, const std::string& check)
{
    auto model = std::make_shared<engine::LoadedModel>(*loaded(classifier()));
    model->card = formats::ModelCard();
    model->card->labels = {"dot", "line", "ring", "cross"};
    const Asked asked{{randomTensor({1, 2, 2, 2}, 1)}};
    diagnosis::Sources sources = engine::factsOf(model, asked.request())->sources();
    sources.pixels = {{"image"}};
    sources.population = std::make_shared<const Population>(std::move(all));
    return diagnosed(diagnosis::Facts(std::move(sources)), check);
}

} // namespace

class DataChecksTest : public QObject
{
    Q_OBJECT

private slots:
    void otherPixelsThatAreRightAreNamed()
    {
        Population all = twelve({0, 1, 1, 1, 0, 3, 2, 0, 0, 0, 1, 2});
        all.otherwise = {{"R and B exchanged", "--channels BGR", kRight},
                         {"numbers from -1 to 1", "--mean 0.5 --std 0.5", std::vector<std::int64_t>(12, 1)}};
        const Diagnosis found = diagnosedFolder(all, "data.preparation");
        QVERIFY(hasAll(firstText(found), {"warning image with R and B exchanged, 12 of 12 inputs get their class; as "
                                          "given, 5",
                                          "--channels BGR"}));
        QVERIFY(isDocumented(found));
        all.asGiven.best = kRight;
        QVERIFY(isSilent(diagnosedFolder(all, "data.preparation")));
    }

    void labelsThatMeanOtherClassesAreNamed()
    {
        std::vector<std::int64_t> moved = kRight;
        for (std::int64_t& best : moved) {
            best = (best + 3) % 4;
        }
        const Diagnosis found = diagnosedFolder(twelve(moved), "data.labels");
        QVERIFY(
            hasAll(firstText(found), {"warning fc_out with labels in another order (0 (dot) read as class 3), 12 of "
                                      "12 inputs get their class; as given, 0"}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosedFolder(twelve(kRight), "data.labels")));
        moved[4] = moved[8] = moved[1]; // of one label it mistakes two of three
        QVERIFY(hasAll(firstText(diagnosedFolder(twelve(moved), "data.labels")), {"10 of 12 inputs get their class"}));
        // A model that gives one class has no order of labels.
        QVERIFY(isSilent(diagnosedFolder(twelve(std::vector<std::int64_t>(12, 1)), "data.labels")));
        Population few = twelve(kRight);
        few.truth.resize(4);
        few.asGiven.best.resize(4);
        QVERIFY(!diagnosedFolder(few, "data.labels").checks.front().isRun);
    }

    void oneClassForMostIsNamed()
    {
        const Diagnosis found = diagnosedFolder(twelve({2, 2, 2, 2, 2, 2, 2, 3, 2, 2, 2, 2}), "data.classes");
        QVERIFY(hasAll(firstText(found), {"warning fc_out 11 of 12 inputs get the class 2 (ring), 3 have it; 4 are "
                                          "right"}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosedFolder(twelve(kRight), "data.classes")));
        // Nobody says what they are.
        Population unknown = twelve(std::vector<std::int64_t>(12, 2));
        unknown.truth.clear();
        QCOMPARE(diagnosedFolder(unknown, "data.classes").findings.front().level, Level::Note);
        QVERIFY(!diagnosedFolder(unknown, "data.labels").checks.front().isRun);
    }
};

QTEST_APPLESS_MAIN(DataChecksTest)
#include "datacheckstest.moc"
