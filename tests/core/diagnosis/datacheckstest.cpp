// SPDX-License-Identifier: Apache-2.0
// Checks of a folder of inputs: what the model says of each, and which class each has.
#include "tests/core/diagnosis/diagnosed.h"

#include "core/diagnosis/population.h"

using namespace retro;
using namespace retro::tests;

namespace
{

using diagnosis::Answers;
using diagnosis::Population;
using diagnosis::Watched;
using diagnosis::WatchedAs;

/// A picture of two channels → four classes.
SharedGraph classifier()
{
    Writer writer;
    const ValueId x = writer.input("image", {1, 2, 2, 2});
    const ValueId flat = writer.node("Flatten", "flat", {x});
    writer.output(writer.node("Gemm", "fc", {flat, writer.constant("w", randomTensor({8, 4}, 5))}));
    return writer.finish();
}

/// What a model says of samples, sure of each by so much.
Answers answers(const std::string& words, const std::string& option, const std::vector<std::int64_t>& best,
                double confidence = 0.9)
{
    Answers answers;
    answers.words = words;
    answers.option = option;
    answers.best = best;
    answers.confidence.assign(best.size(), confidence);
    return answers;
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
    all.asGiven = answers({}, {}, best);
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

/// What lost statistics make of the channels of a layer.
double lostFactor(std::size_t channel) { return 0.02 * static_cast<double>(channel + 1); }
float lostShift(std::size_t channel) { return static_cast<float>(channel) - 8; }

/// Classifiers as they were trained, or with one node as a conversion gets it wrong.
SharedGraph converted(const std::string& kind, bool isWrong)
{
    Writer writer;
    const auto weight = [&](const char* name, Tensor numbers, bool isTurned = false) {
        return writer.constant(name, isTurned ? numbers.permuted(Whole{1, 0}).contiguous() : numbers);
    };
    const ValueId x = writer.input("x", kind == "gates" ? Shape{5, 1, 2} : Shape{1, 1, 4, 4});
    ValueId last = x;
    if (kind == "gates") {
        // Blocks of i, o, f, c; where it is wrong, f and c are exchanged.
        const Tensor gates = randomTensor({24}, 1);
        std::vector<float> w(24);
        for (std::size_t i = 0; i < w.size(); ++i) {
            const std::size_t block = i / 6;
            const std::size_t from = isWrong && block > 1 ? 5 - block : block;
            w[i] = 2 * static_cast<float>(gates.at(static_cast<std::int64_t>(from * 6 + i % 6)));
        }
        const ValueId recurrent = writer.constant("r", floats({1, 12, 3}, std::vector<float>(36, 0.1F)));
        last = writer.node("LSTM", "lstm", {x, writer.constant("g", floats({1, 12, 2}, w)), recurrent},
                           {{"hidden_size", std::int64_t{3}}});
    } else if (kind == "kernel") {
        std::vector<float> kernel{3, -1, 0, 2, 1, 0, 0, -2, 1};
        if (isWrong) {
            std::ranges::reverse(kernel);
        }
        last = writer.node("Relu", "relu",
                           {writer.node("Conv", "conv", {x, writer.constant("k", floats({1, 1, 3, 3}, kernel))})});
    } else if (kind == "statistics") { // where it is wrong, each channel is lostFactor() times as large, and moved
        std::vector<float> w(256);
        std::vector<float> b(16, 0);
        const Tensor good = randomTensor({256}, 3);
        for (std::size_t i = 0; i < w.size(); ++i) {
            const std::size_t channel = i % 16;
            w[i] = static_cast<float>(good.at(static_cast<std::int64_t>(i)) * (isWrong ? lostFactor(channel) : 1));
            b[channel] = isWrong ? lostShift(channel) : 0;
        }
        const ValueId flat = writer.node("Flatten", "flat", {x});
        last = writer.node(
            "Relu", "relu",
            {writer.node("Gemm", "fc",
                         {flat, writer.constant("w", floats({16, 16}, w)), writer.constant("b", floats({16}, b))})});
    } else {
        const ValueId flat = writer.node("Flatten", "flat", {x});
        last = writer.node("Relu", "relu",
                           {writer.node("MatMul", "fc", {flat, weight("w", randomTensor({16, 16}, 3), isWrong)})});
    }
    const std::int64_t width = kind == "gates" ? 15 : kind == "kernel" ? 4 : 16;
    const ValueId rows = writer.node("Flatten", "rows", {last}, {{"axis", std::int64_t{kind == "gates" ? 0 : 1}}});
    writer.output(writer.node("MatMul", "head", {rows, weight("h", randomTensor({width, 4}, 7))}));
    return writer.finish();
}

/// What the model says of the inputs.
std::vector<std::int64_t> classesOf(const SharedGraph& graph, const std::vector<Tensor>& inputs)
{
    std::vector<std::int64_t> classes;
    for (const Tensor& input : inputs) {
        const auto facts = factsFor(graph, {{input}});
        const std::vector<double> scores = diagnosis::numbersIn(facts->value(facts->pass()->target));
        classes.push_back(std::ranges::max_element(scores) - scores.begin());
    }
    return classes;
}

/// x → BatchNormalization → Relu → BatchNormalization; means of 0, variances of 1.
SharedGraph normalised()
{
    Writer writer;
    const ValueId x = writer.input("x", {1, 2, 2, 2});
    writer.output(writer.batchNorm("bn2", writer.node("Relu", "relu", {writer.batchNorm("bn1", x, 2)}), 2));
    return writer.finish();
}

/// A value of 100 elements a channel, with these means and deviations.
Watched watched(WatchedAs as, const std::string& node, const std::vector<std::pair<double, double>>& channels)
{
    Watched one{as, node, node + "_value"};
    for (const auto& [mean, deviation] : channels) {
        one.channels.push_back({100, 60, 0, 100 * mean, 100 * (deviation * deviation + mean * mean)});
    }
    return one;
}

} // namespace

class DataChecksTest : public QObject
{
    Q_OBJECT

private slots:
    void otherPixelsThatAreRightAreNamed()
    {
        Population all = twelve({0, 1, 1, 1, 0, 3, 2, 0, 0, 0, 1, 2});
        all.otherwise = {answers("R and B exchanged", "--channels BGR", kRight),
                         answers("numbers from -1 to 1", "--mean 0.5 --std 0.5", std::vector<std::int64_t>(12, 1))};
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

    // Without labels, other numbers have to make the model surer, of other classes, and of as many.
    void otherPixelsThatMakeTheModelSureAreNamed()
    {
        const std::vector<std::int64_t> guesses{0, 1, 1, 1, 0, 3, 2, 0, 0, 0, 1, 2};
        const auto found = [&guesses](const Answers& other) {
            Population all = twelve(guesses);
            all.truth.clear();
            all.asGiven = answers({}, {}, guesses, 0.4);
            all.asGiven.onObject = 0.4;
            all.otherwise = {other};
            return diagnosedFolder(all, "data.preparation");
        };
        Answers sure = answers("R and B exchanged", "--channels BGR", kRight);
        sure.moved = kRight;
        QVERIFY(hasAll(firstText(found(sure)),
                       {"warning image with R and B exchanged, the model is surer of 12 inputs: its best class has "
                        "90 % on average; as given, 40 %",
                        "--channels BGR"}));
        sure.onObject = 0.7;
        QVERIFY(
            hasAll(firstText(found(sure)),
                   {"as given, 40 %; of its positive relevance 70 % lies on what the pictures show; as given, 40 %"}));
        sure.onObject = 0.2; // surer, but by what lies beside what the pictures show
        QVERIFY(isSilent(found(sure)));
        sure.onObject = 0.7;
        sure.moved = guesses; // the answers change when pictures are moved by a little
        QVERIFY(isSilent(found(sure)));
        QVERIFY(isSilent(found(answers("pixels from 0 to 255", "--scale 0,255", guesses)))); // the same, only sharper
        QVERIFY(isSilent(found(answers("numbers from -1 to 1", "", std::vector<std::int64_t>(12, 3)))));
        QVERIFY(isSilent(found(answers("R and B exchanged", "--channels BGR", kRight, 0.6))));
    }

    void anotherOutputThatIsRightIsNamed()
    {
        Population all = twelve({0, 1, 1, 1, 0, 3, 2, 0, 0, 0, 1, 2});
        all.otherwise = {answers("the output head", "--target head", kRight)};
        all.otherwise.front().output = "head";
        QVERIFY(hasAll(firstText(diagnosedFolder(all, "data.preparation")),
                       {"warning fc_out with the output head, 12 of 12 inputs get their class", "--target head"}));
    }

    void answersAsByChanceAreNamed()
    {
        const Diagnosis found = diagnosedFolder(twelve({1, 1, 0, 3, 2, 0, 2, 0, 3, 1, 3, 1}), "data.accuracy");
        QVERIFY(hasAll(firstText(found), {"warning fc_out 4 of 12 inputs are right, as many as by chance (4 classes); "
                                          "1 of class 0 (dot) get 1 (line)"}));
        QVERIFY(isDocumented(found));
        QVERIFY(isSilent(diagnosedFolder(twelve(kRight), "data.accuracy")));
        Population unknown = twelve(kRight);
        unknown.truth.clear();
        QVERIFY(isSilent(diagnosedFolder(unknown, "data.accuracy")));
        unknown.asGiven = answers({}, {}, kRight, 0.3);
        QVERIFY(hasAll(firstText(diagnosedFolder(unknown, "data.accuracy")),
                       {"note fc_out the best class of 12 inputs has 30 % on average"}));
    }

    void statisticsThatAreNotThoseOfTheFolderAreNamed()
    {
        Population all = twelve(kRight);
        all.model = std::make_shared<diagnosis::ModelFacts>(normalised());
        all.watchedSamples = 12;
        all.watched = {watched(WatchedAs::Normalised, "bn1", {{0.1, 1.1}, {-0.2, 0.9}}),
                       watched(WatchedAs::Normalised, "bn2", {{4, 1}, {5, 2}})};
        const Diagnosis found = diagnosedFolder(all, "data.statistics");
        QVERIFY(hasAll(firstText(found), {"warning bn2 its stored mean and variance are not those of 12 inputs: means "
                                          "lie 4.85 stored deviations away",
                                          "What bn1 reads is as in the training"}));
        QVERIFY(isDocumented(found));
        all.watched.pop_back();
        QVERIFY(isSilent(diagnosedFolder(all, "data.statistics")));
        all.watched.front() = watched(WatchedAs::Normalised, "bn1", {{0, 9}, {0, 8}});
        QVERIFY(hasAll(firstText(diagnosedFolder(all, "data.statistics")),
                       {"warning bn1", "deviations are 8.93 times", "its statistics were never loaded"}));
        Watched quantised = watched(WatchedAs::Quantised, "quantise", {{0, 1}});
        quantised.channels.front().beyond = 50;
        all.watched = {quantised};
        QVERIFY(hasAll(firstText(diagnosedFolder(all, "data.statistics")),
                       {"warning quantise 50 % of what it reads over 12 inputs lies beyond what its type holds"}));
        all.watched = {watched(WatchedAs::Prepared, "image", {{0.2, 1.1}, {-0.3, 0.8}})};
        QVERIFY(isSilent(diagnosedFolder(all, "data.statistics")));
        all.watched = {watched(WatchedAs::Prepared, "image", {{-1.6, 0.01}, {-1.5, 0.01}})};
        QVERIFY(hasAll(firstText(diagnosedFolder(all, "data.statistics")),
                       {"warning image 12 pictures, as the card prepares them, have a mean of 1.55"}));
        all.watchedSamples = 3;
        QVERIFY(!diagnosedFolder(all, "data.statistics").checks.front().isRun);
    }

    void channelsThatNeverFireAreNoted()
    {
        Population all = twelve(kRight);
        all.watchedSamples = 12;
        all.watched = {watched(WatchedAs::Rectified, "relu", std::vector<std::pair<double, double>>(8, {1, 1}))};
        QVERIFY(isSilent(diagnosedFolder(all, "data.silent")));
        for (std::size_t i = 0; i < 5; ++i) {
            all.watched.front().channels[i].fired = 0;
        }
        const Diagnosis found = diagnosedFolder(all, "data.silent");
        QVERIFY(hasAll(firstText(found), {"note relu 5 of 8 channels are 0 for all of 12 inputs"}));
        QVERIFY(isDocumented(found));
        for (diagnosis::ChannelSums& channel : all.watched.front().channels) {
            channel.fired = 0;
        }
        QVERIFY(hasAll(firstText(diagnosedFolder(all, "data.silent")), {"warning relu 8 of 8 channels are 0"}));
    }

    // Each node is tried as conversions get it wrong.
    void aNodeThatWasConvertedWronglyIsNamed()
    {
        const std::map<std::string, std::string> kinds{
            {"weights", "fc with inputs and outputs of its weights exchanged"},
            {"kernel", "conv with its kernel turned by half"},
            {"statistics", "fc with its channels at the mean and deviation that those of other layers have"},
            {"gates", "lstm with its gates read in the order i, o, c, f"}};
        for (const auto& [kind, words] : kinds) {
            std::vector<Tensor> inputs;
            for (unsigned i = 0; i < 16; ++i) {
                inputs.push_back(randomTensor(kind == "gates" ? Shape{5, 1, 2} : Shape{1, 1, 4, 4}, 100 + i));
            }
            const auto found = [&](bool isWrong) {
                const SharedGraph graph = converted(kind, isWrong);
                Population all;
                all.files.assign(inputs.size(), "x.npy");
                all.truth = classesOf(converted(kind, false), inputs);
                all.classes = 4;
                all.asGiven = answers({}, {}, classesOf(graph, inputs));
                for (const Tensor& input : inputs) {
                    all.inputs.push_back({input});
                }
                std::vector<std::pair<double, double>> lost;
                for (std::size_t channel = 0; kind == "statistics" && channel < 16; ++channel) {
                    lost.emplace_back(lostShift(channel), lostFactor(channel));
                }
                for (const char* other : {"before", "behind"}) {
                    all.watched.push_back(watched(WatchedAs::Linear, other, {{0, 1}}));
                }
                all.watched.push_back(watched(WatchedAs::Linear, "fc", lost));
                diagnosis::Sources sources = factsFor(graph, {{inputs.front()}})->sources();
                sources.population = std::make_shared<const Population>(std::move(all));
                return diagnosed(diagnosis::Facts(std::move(sources)), "data.repair");
            };
            const Diagnosis wrong = found(true);
            QVERIFY(hasAll(firstText(wrong), {"warning " + words, "16 of 16 inputs get their class; as it is, "}));
            QVERIFY(kind != "weights" || isDocumented(wrong));
            QVERIFY(!found(false).checks.front().isRun); // all are right
        }
    }

    void aMarkAtTheEdgeOfAllPicturesIsNamed()
    {
        std::vector<double> marked(25, 0.6 / 24);
        marked[20] = 0.4;
        Population all = twelve(kRight);
        all.fields.assign(4, marked);
        const Diagnosis found = diagnosedFolder(all, "data.place");
        QVERIFY(
            hasAll(firstText(found), {"warning image in 4 of 4 pictures of the folder", "row 5 of 5, column 1 of 5"}));
        QVERIFY(isDocumented(found));
        std::ranges::swap(marked[20], marked[12]); // in the middle, where things lie
        all.fields.assign(4, marked);
        QVERIFY(isSilent(diagnosedFolder(all, "data.place")));
        all.fields.resize(3);
        QVERIFY(!diagnosedFolder(all, "data.place").checks.front().isRun);
    }

    // Few right answers follow from what is wrong with the inputs.
    void fewRightAnswersFoldUnderTheirCause()
    {
        Population all = twelve(std::vector<std::int64_t>(12, 2));
        all.otherwise = {answers("R and B exchanged", "--channels BGR", kRight)};
        const Diagnosis found = diagnosedFolder(all, {});
        const auto isIt = [](const char* id) { return [id](const Finding& finding) { return finding.id == id; }; };
        const auto cause = std::ranges::find_if(found.findings, isIt("data.preparation"));
        QVERIFY(cause != found.findings.end());
        QVERIFY(std::ranges::any_of(cause->also, isIt("data.classes")));
        QVERIFY(std::ranges::any_of(cause->also, isIt("data.accuracy")));
        QVERIFY(std::ranges::none_of(found.findings, isIt("data.classes")));
    }

    // What holds as a whole stands before every finding.
    void aFolderIsSummedUpFirst()
    {
        const std::string line = diagnosis::headlineOf(diagnosedFolder(twelve(kRight), {}).head);
        QVERIFY(hasAll(line, {"Of the folder 12 of 12 inputs are right (100 %)",
                              "the best class of 12 inputs has 90 % on average"}));
        std::vector<std::int64_t> mistaken = kRight;
        mistaken[2] = mistaken[6] = 1;
        QVERIFY(
            hasAll(diagnosis::headlineOf(diagnosedFolder(twelve(mistaken), {}).head),
                   {"10 of 12 inputs are right (83 %), 2.png is taken for 1 (line), 6.png is taken for 1 (line), "}));
        mistaken[3] = mistaken[7] = mistaken[11] = 1; // more are summed up
        QVERIFY(hasAll(diagnosis::headlineOf(diagnosedFolder(twelve(mistaken), {}).head),
                       {"7 of 12 inputs are right (58 %), 3 of class 3 (cross) get 1 (line)"}));
        Population all = twelve(kRight);
        all.shown = "0.png";
        QVERIFY(hasAll(diagnosis::headlineOf(diagnosedFolder(all, {}).head), {"on average; 0.png: score "}));
    }

    void probabilitiesAreThoseOfASoftmax()
    {
        QCOMPARE(diagnosis::confidenceIn({0.2, 0.7, 0.1}), 0.7);
        QVERIFY(std::abs(diagnosis::confidenceIn({0, std::log(3.0)}) - 0.75) < 1e-12);
        QVERIFY(std::abs(diagnosis::probabilityIn({0, std::log(3.0)}, 0) - 0.25) < 1e-12);
        QCOMPARE(diagnosis::confidenceIn({}), 0.0);
    }
};

QTEST_APPLESS_MAIN(DataChecksTest)
#include "datacheckstest.moc"
