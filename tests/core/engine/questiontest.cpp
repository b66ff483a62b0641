// SPDX-License-Identifier: Apache-2.0
#include "core/base/file.h"
#include "core/engine/question/combinations.h"
#include "core/engine/question/resolve.h"
#include "core/engine/results/resultkey.h"
#include "core/trace/documentrun.h"
#include "core/trace/run.h"

#include <QtTest>

#include <nlohmann/json.hpp>

using namespace retro;
using engine::Question;

namespace
{

/// A model with a card that says everything that a card can say of a question.
engine::LoadedModel modelWithCard()
{
    engine::LoadedModel model;
    model.rewritten.graph = std::make_shared<const graph::Graph>();
    formats::ModelCard card;
    card.labels = {"cat", "dog"};
    card.target = "dog";
    card.composite = "epsilon_plus";
    card.channels = "BGR";
    card.scale = {-1, 1};
    card.mean = {0.1, 0.2, 0.3};
    card.checkpoints = {"h"};
    card.stopsAtCheckpoints = true;
    model.card = card;
    return model;
}

/// Texts that a field takes, different from the usual.
std::vector<std::string> someTexts(const engine::QuestionField& field)
{
    const std::string one(field.choices.empty() ? "7" : field.choices.back().text);
    const bool isPair = field.name == "scale";
    return isPair ? std::vector<std::string>{"2", "3"} : std::vector<std::string>{one};
}

} // namespace

class QuestionTest : public QObject
{
    Q_OBJECT

private slots:
    void everyFieldIsToldApart()
    {
        for (const engine::QuestionField& field : engine::questionFields()) {
            Question question;
            QVERIFY(engine::textsOf(field, question).empty());
            engine::setTexts(field, someTexts(field), question);
            QVERIFY2(question != Question(), field.name.data());
            QVERIFY2(!engine::textsOf(field, question).empty(), field.name.data());
            QVERIFY2(!field.help.empty(), field.name.data());
            std::size_t changed = 0; // by another row only where it is the same member
            for (const engine::QuestionField& other : engine::questionFields()) {
                changed += !engine::textsOf(other, question).empty() && other.name != field.name ? 1 : 0;
            }
            QCOMPARE(changed, std::size_t{0});
        }
    }

    void textsAreChecked()
    {
        const auto isGood = [](const char* field, const char* text) {
            return engine::checkText(engine::questionField(field), text).ok();
        };
        QVERIFY(isGood("engine", "oracle") && !isGood("engine", "steam"));
        QVERIFY(isGood("start", "start.npy")); // open
        QVERIFY(isGood("plan-seconds", "0.5") && !isGood("plan-seconds", "0") && !isGood("plan-seconds", "soon"));
        QVERIFY(isGood("forward-budget", "2MB") && !isGood("forward-budget", "0"));
        QVERIFY(isGood("mean", "-0.5") && isGood("mean", "none") && !isGood("mean", "nan"));
        QVERIFY(isGood("plan-rows", "0") && !isGood("plan-rows", "-1"));
        QVERIFY(!isGood("seconds-per-cost", "0"));
    }

    void theCardSaysWhatNobodySaid()
    {
        const engine::LoadedModel model = modelWithCard();
        const Question asked = engine::completed({}, &*model.card);
        QCOMPARE(asked.composite, std::string("epsilon_plus"));
        QCOMPARE(asked.targets, std::vector<std::string>{"dog"});
        QCOMPARE(asked.start, std::string("logit"));
        for (const char* composite :
             {"gradient", "gradient_x_input", "guided_backprop", "deconvnet", "beta_smooth:beta=5"}) {
            Question slope;
            slope.composite = composite;
            QCOMPARE(engine::completed(slope, nullptr).start, std::string("one"));
            slope.start = "logit";
            QCOMPARE(engine::completed(slope, nullptr).start, std::string("logit"));
            slope.start.clear();
            slope.rules = {"op:Gemm=epsilon"};
            QCOMPARE(engine::completed(slope, nullptr).start, std::string("logit"));
        }
        for (const char* composite : {"epsilon", "excitation_backprop", "attnlrp:form=gradient_x_input", "dynamic"}) {
            Question relevance;
            relevance.composite = composite;
            QCOMPARE(engine::completed(relevance, nullptr).start, std::string("logit"));
        }
        QVERIFY(asked.checkpoints.empty()); // the window's alone
        const Question opened = engine::openedWith(*model.card);
        QCOMPARE(opened.checkpoints, std::vector<std::string>{"h"});
        QVERIFY(opened.stopAtCheckpoints);
        Question own;
        own.targets = {"argmax"};
        own.composite = "epsilon";
        own.rules = {"op:Conv=stop"};
        const Question kept = engine::completed(own, &*model.card);
        QCOMPARE(kept.targets, std::vector<std::string>{"argmax"});
        QVERIFY(kept.composite.starts_with("epsilon | ") && kept.rules.empty());
        QCOMPARE(engine::completed(kept, &*model.card), kept);
    }

    // What the window and the command line used to read apart.
    void aLabelIsATarget()
    {
        const engine::LoadedModel model = modelWithCard();
        const auto ofCard = engine::resolve({}, model);
        QVERIFY(ofCard.ok() && ofCard->target.classIndex == 1);
        Question cat;
        cat.targets = {"cat"};
        const auto request = engine::resolve(cat, model);
        QVERIFY(request.ok() && request->target.kind == engine::TargetRequest::Kind::Class);
        QCOMPARE(request->target.classIndex, std::int64_t{0});
        QCOMPARE(engine::usualTarget(&*model.card), std::string("1"));
        QCOMPARE(engine::usualTarget(nullptr), std::string("argmax"));
    }

    void picturesArePreparedAsTyped()
    {
        const engine::LoadedModel model = modelWithCard();
        const auto usual = engine::pictureOptions(Question(), &*model.card);
        QVERIFY(usual.ok() && usual->channels == "BGR" && usual->low == -1 && usual->mean.size() == 3);
        Question own;
        own.mean = {"none"};
        own.scale = {"0", "255"};
        const auto options = engine::pictureOptions(own, &*model.card);
        QVERIFY(options.ok() && options->mean.empty() && options->high == 255 && options->channels == "BGR");
        Question written;
        engine::setPreparation(*usual, written);
        RETRO_MADE(again, engine::pictureOptions(written, nullptr));
        QCOMPARE(again->mean, usual->mean); // without loss
        Question half;
        half.scale = {"1"};
        QVERIFY(!engine::pictureOptions(half, nullptr).ok());
    }

    void aCardKeepsTheQuestion()
    {
        const engine::LoadedModel model = modelWithCard();
        formats::ModelCard card;
        engine::keepQuestion(engine::openedWith(*model.card), card);
        QCOMPARE(card.target, model.card->target);
        QCOMPARE(card.composite, model.card->composite);
        QCOMPARE(card.mean, model.card->mean);
        QVERIFY(card.scale == model.card->scale && card.channels == "BGR" && card.stopsAtCheckpoints);
        Question other;
        other.start = "one";
        QVERIFY(engine::isSameInCard({}, other)); // a start is of one run
        other.rules = {"op:Conv=stop"};
        QVERIFY(!engine::isSameInCard({}, other));
    }

    /// Read from the folder of the card, wherever the program was started, and written as it stands in the card.
    void aCardNamesItsCompositeFromItsFolder()
    {
        formats::ModelCard card;
        card.file = "models/m.card.json";
        card.composite = "below/c.json | op:Conv=stop";
        const Question opened = engine::openedWith(card);
        QCOMPARE(opened.composite, std::string("models/below/c.json | op:Conv=stop"));
        QCOMPARE(engine::completed({}, &card).composite, opened.composite);
        engine::keepQuestion(opened, card);
        QCOMPARE(card.composite, std::string("below/c.json | op:Conv=stop"));
        Question other;
        other.composite = "elsewhere/c.json";
        engine::keepQuestion(other, card);
        QCOMPARE(card.composite, std::filesystem::absolute(other.composite).string()); // nobody keeps it
    }

    void everyPairIsRefusedWithItsReason()
    {
        for (const engine::Exclusion& pair : engine::exclusions()) {
            const std::vector<engine::Asked> both{{std::string(pair.one), "this"}, {std::string(pair.other), "that"}};
            RETRO_REFUSED(engine::checkTogether(both), base::ErrorCode::Usage, std::string(pair.reason));
            QVERIFY(engine::checkTogether(std::span(both).first(1)).ok());
        }
    }

    void asksAreThoseOfTheFields()
    {
        Question question;
        question.engine = "oracle";
        question.budget = "50%";
        QVERIFY(engine::asksFor(question, "planned") && engine::asksFor(question, "alone-by-plan"));
        QVERIFY(!engine::asksFor(question, "engine=oracle")); // a way of its own
        QVERIFY(engine::checkTogether(engine::asksOf(question)).ok());
        QVERIFY(engine::checkTogether(engine::asksOf(question, true)).ok());
        question.checkOracle = true;
        const auto batch = engine::checkTogether(engine::asksOf(question, true));
        QVERIFY(!batch.ok() && batch.error().where.find("@list.txt") != std::string::npos);
        question.checkOracle = false;
        question.forward = "store";
        const auto refused = engine::checkTogether(engine::asksOf(question));
        QVERIFY(!refused.ok());
        QCOMPARE(refused.error().where, std::string("--forward and --budget"));
        QVERIFY(engine::resolve(question, modelWithCard()).error().code == base::ErrorCode::Usage);
    }

    void aTraversalByTheDocumentIsKnownFromItsRun()
    {
        trace::Run run;
        engine::keepQuestion({}, run.facts);
        QCOMPARE(engine::recordedQuestion(run).traversal, std::string());
        run.facts.numbers[trace::kDocumentNumber] = 1;
        QCOMPARE(engine::recordedQuestion(run).traversal, std::string("document"));
    }

    void aStoredResultAnswersOneQuestion()
    {
        const QTemporaryDir folder;
        const std::filesystem::path file = folder.filePath("summary.json").toStdString();
        const engine::ResultKey key{"abc", {}};
        QVERIFY(engine::storedResult(file, key).is_null()); // no file
        nlohmann::ordered_json result{{"token", 1}, {"class", 2}};
        engine::addKey(key, result);
        const auto isStored = [&](const std::string& text) {
            return base::writeFile(file, text).ok() && !engine::storedResult(file, key).is_null();
        };
        QVERIFY(isStored(result.dump()));
        QVERIFY(engine::storedResult(file, key) == result); // members in their order
        QVERIFY(engine::storedResult(file, {"abd", {}}).is_null());
        QVERIFY(!isStored("[1]") && !isStored("{") && !isStored(R"({"question": 1})"));
        QVERIFY(!isStored(R"({"question": "abc", "x": )" + std::string(40, '[') + std::string(40, ']') + "}"));
        QVERIFY(!isStored(R"({"question": "abd", "question": "abc"})"));
    }

    void forwardingAndPlansAreRead()
    {
        Question question;
        question.forward = "optimal";
        question.forwardBudget = "2kB";
        question.forwardValues = {"a=b=rebuild"};
        question.checkpointEvery = "3";
        const auto wish = engine::forwardingOptions(question);
        QVERIFY(wish.ok() && wish->budget == 2000 && wish->checkpointEvery == 3U);
        QVERIFY(wish->choices.at("a=b") == engine::ForwardForm::Rebuild);
        question.forward = "store";
        QVERIFY(!engine::forwardingOptions(question).ok());
        Question tier;
        tier.tier = "disk=5MB";
        QVERIFY(!engine::planOptions(tier).ok()); // without the seconds that set it beside the rest
        tier.secondsPerCost = "1e-9";
        QVERIFY(engine::planOptions(tier).ok());
    }
};

QTEST_GUILESS_MAIN(QuestionTest)
#include "questiontest.moc"
