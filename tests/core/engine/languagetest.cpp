// SPDX-License-Identifier: Apache-2.0
// Questions about texts: which word at which position is explained, contrasts, steps of a generation, and what is
// written of them. The model has one causal attention over a table of words; its tokeniser has one word for each.
#include <QtTest>

#include "core/base/file.h"
#include "core/engine/explain/explain.h"
#include "core/engine/language/languagepage.h"
#include "core/engine/language/languageparts.h"
#include "core/engine/language/languagequestion.h"
#include "core/engine/question/resolve.h"
#include "core/event/observer.h"
#include "core/tensor/npy.h"
#include "tests/core/engine/samplequestion.h"
#include "tests/core/engine/smalllanguagemodel.h"
#include "tests/core/rewrite/graphs.h"

#include <QTemporaryDir>
#include <QXmlStreamReader>

#include <algorithm>
#include <cmath>

using namespace retro;
using rewrite::testing::randomTensor;
using rewrite::testing::SharedGraph;
using tensor::Tensor;

namespace
{

constexpr std::int64_t kWords = 7;
constexpr std::int64_t kWidth = 6;

/// ids (1 × tokens) and attention_mask → logits (1 × tokens × words); `lengths` of both inputs: none = free.
SharedGraph speaking(bool isCausal = true)
{
    graph::GraphBuilder builder({}, 17);
    const std::vector<graph::Dimension> row{{1, ""}, {std::nullopt, "tokens"}};
    const auto ids = builder.addInput("input_ids", tensor::DType::Int64, row);
    const auto attended = builder.addInput("attention_mask", tensor::DType::Int64, row);
    const auto constant = [&](const std::string& name, Tensor data) {
        return builder.addConstant(name, std::move(data));
    };
    const auto node = [&](const std::string& op, const std::string& name, std::vector<base::ValueId> inputs,
                          graph::Attributes attributes = {}) {
        return builder.addOp(op, name + "_node", std::move(inputs), name, std::move(attributes));
    };
    const auto x = node("Gather", "embedded", {constant("table", randomTensor({kWords, kWidth}, 1)), ids});
    const auto q = node("MatMul", "q", {x, constant("wq", randomTensor({kWidth, kWidth}, 2))});
    const auto turned = node("Transpose", "turned", {x}, {{"perm", std::vector<std::int64_t>{0, 2, 1}}});
    const auto scores = node("MatMul", "scores", {q, turned});
    const auto plain = node("Cast", "ones", {attended}, {{"to", std::int64_t{1}}});
    const auto column = node("Unsqueeze", "column",
                             {plain, constant("axis", Tensor::of<std::int64_t>({1}, std::vector<std::int64_t>{2}))});
    const auto line = node("Unsqueeze", "line",
                           {plain, constant("axis1", Tensor::of<std::int64_t>({1}, std::vector<std::int64_t>{1}))});
    const auto square = node("Mul", "square", {column, line});
    const auto lower = isCausal ? node("Trilu", "lower", {square}, {{"upper", std::int64_t{0}}}) : square;
    const auto missing = node("Sub", "missing", {constant("one", Tensor::full(tensor::DType::Float32, {1}, 1)), lower});
    const auto mask = node("Mul", "mask", {missing, constant("far", Tensor::full(tensor::DType::Float32, {1}, -1e9))});
    const auto masked = node("Add", "masked", {scores, mask});
    const auto weights = node("Softmax", "weights", {masked}, {{"axis", std::int64_t{-1}}});
    const auto mixed = node("MatMul", "mixed", {weights, x});
    const auto stream = node("Add", "stream", {x, mixed});
    builder.addOutput(node("MatMul", "logits", {stream, constant("head", randomTensor({kWidth, kWords}, 3))}));
    auto built = std::move(builder).build();
    return built.ok() ? std::make_shared<const graph::Graph>(std::move(built).value()) : nullptr;
}

/// JSON with single quotes.
std::string json(std::string text)
{
    std::ranges::replace(text, '\'', '"');
    return text;
}

/// A folder with the tokeniser of the model: a, b, c … with and without a space before.
class Folder
{
public:
    Folder()
    {
        const std::string contents =
            "{'model':{'type':'BPE','vocab':{'a':0,'b':1,'c':2,'Ġa':3,'Ġ':4,'<':5,'ab':6},'merges':['Ġ a','a b']},"
            "'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':false},'decoder':{'type':'ByteLevel'}}";
        m_isThere = base::writeFile(path() / "tokenizer.json", json(contents)).ok();
    }
    [[nodiscard]] bool isThere() const { return m_isThere; }
    [[nodiscard]] std::filesystem::path path() const { return m_folder.path().toStdString(); }
    [[nodiscard]] engine::LoadedModelPointer model(bool isCausal = true) const
    {
        const SharedGraph graph = speaking(isCausal);
        auto rewritten = rewrite::rewrite(graph, {});
        if (graph == nullptr || !rewritten) {
            qFatal("the graph of the test is wrong");
        }
        auto model = std::make_shared<engine::LoadedModel>();
        model->path = path() / "model.onnx";
        model->name = "model.onnx";
        model->rewritten = std::move(rewritten).value();
        model->read = graph;
        return model;
    }

private:
    QTemporaryDir m_folder;
    bool m_isThere = false;
};

/// Counts the nodes that forward passes compute for the first time.
class ForwardNodes final : public event::PerformanceObserver
{
public:
    void onNodeProcessed(base::NodeId, const event::NodeWork& work) override
    {
        m_count += work.half == event::Half::Forward && !work.isRepeat ? 1 : 0;
    }
    void onMemoryDecision(base::ValueId, event::MemoryChoice, std::int64_t, std::string_view) override {}
    [[nodiscard]] std::size_t count() const { return m_count; }

private:
    std::size_t m_count = 0;
};

struct Answer
{
    engine::LanguageQuestion asked;
    engine::ExplainRequest request;
    engine::ExplainResult result;
    engine::LanguageReport report;
};

base::Result<Answer> answer(const engine::LoadedModel& model, engine::Question question)
{
    question.precision = "double";
    question.composite = question.composite.empty() ? "attnlrp:epsilon=0" : question.composite;
    RETRO_TRY(const auto asked, engine::languageQuestion(model, question));
    if (!asked) {
        return base::usageError("no question about a text");
    }
    Answer all;
    all.asked = *asked;
    RETRO_TRY(all.request, engine::resolve(engine::withoutLanguage(question, *asked), model));
    RETRO_CHECK(engine::takeLanguage(*asked, all.request));
    const bool goesOn = asked->positions.size() > 1;
    engine::Explainer explainer(engine::LoadedModelPointer(std::shared_ptr<void>(), &model));
    all.request.keepsPass = goesOn;
    RETRO_TRY(all.result, goesOn ? explainer.explain(all.request) : engine::explain(model, all.request));
    RETRO_TRY(all.report, engine::reportOf(*asked, model, question, all.result));
    const engine::LayerWish wish = engine::LayerWish::of(*asked, question);
    RETRO_CHECK(engine::addPositions(*asked, explainer, question, all.request, all.report, {}, wish));
    RETRO_CHECK(engine::addGeneration(*asked, model, question, all.request, all.result, all.report));
    return all;
}

engine::Question about(const std::string& text)
{
    engine::Question question;
    question.text = text;
    return question;
}

bool areNear(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(1.0, std::abs(b)); }

} // namespace

class LanguageTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { QVERIFY(m_folder.isThere()); }

    // The best word is the best of its row, not of all rows.
    void argmaxIsOfThePosition()
    {
        const auto model = m_folder.model();
        for (std::int64_t position = -4; position < 4; ++position) {
            engine::Question question = about("ab ca");
            question.position = std::to_string(position);
            RETRO_MADE(all, answer(*model, question));
            const auto tokens = std::ssize(all->report.tokens);
            QCOMPARE(tokens, 4);
            QCOMPARE(all->report.position, position < 0 ? position + tokens : position);
            const Tensor& scores = all->result.outputs.front();
            for (std::int64_t word = 0; word < kWords; ++word) {
                QVERIFY(scores.at(all->report.position * kWords + word) <= all->report.best.score);
            }
            QCOMPARE(all->report.target.id, all->report.best.id);
            for (std::int64_t i = all->report.position + 1; i < tokens; ++i) {
                QCOMPARE(all->report.relevance[static_cast<std::size_t>(i)], 0.0);
            }
        }
    }

    void wordsAndNumbers()
    {
        const auto model = m_folder.model();
        engine::Question question = about("abc");
        question.targets = {" a"};
        RETRO_MADE(word, answer(*model, question));
        QCOMPARE(word->report.target.id, 3);
        QCOMPARE(word->report.position, 1);
        RETRO_SAYS(engine::reportLines(word->report).front(), "\" a\" (3) at position 1 of 2");
        question.targets = {"3"};
        question.text.clear();
        question.ids = "6,2";
        RETRO_MADE(number, answer(*model, question));
        QCOMPARE(number->report.relevance, word->report.relevance);
        question.targets = {"Ġa"};
        QCOMPARE(answer(*model, question)->report.target.id, 3);
    }

    void refusals()
    {
        const auto model = m_folder.model();
        engine::Question question = about("abc");
        question.targets = {"ca"};
        RETRO_REFUSED(answer(*model, question), "this word is 2 tokens: \"c\" (2), \"a\" (0)");
        question.targetTokens = true;
        QCOMPARE(answer(*model, question)->report.target.id, 2);
        question.targets = {"9"};
        RETRO_REFUSED(answer(*model, question), "there is no token of this number; the model has 7");
        question.targets.clear();
        question.position = "2";
        RETRO_REFUSED(answer(*model, question), "no position 2 in a text of 2 tokens");
        question = about("ab");
        question.text = "a\xFF";
        RETRO_REFUSED(answer(*model, question), "byte 0xff at offset 1");
        question = {};
        question.ids = "1,x";
        RETRO_REFUSED(answer(*model, question), "write the numbers of the tokens");
        question.ids = "1,7";
        RETRO_REFUSED(answer(*model, question), "token 1 has the number 7");
        question.ids.clear();
        question.position = "0";
        RETRO_REFUSED(answer(*model, question), "no text; add --text");
        question = about("ab");
        question.position = "0";
        question.targets = {"stream:0,0,1"};
        RETRO_REFUSED(answer(*model, question), "belong to a target that is a word");
        question.position.clear();
        QCOMPARE(answer(*model, question)->report.position, -1);
        question.targets = {"argmax", "1"};
        RETRO_REFUSED(answer(*model, question), "a text is asked for one word");
    }

    // Where the relevance of the tokens alone is wanted, one row of the scores is made.
    void theTokensAloneHaveTheSameAnswer()
    {
        const auto model = m_folder.model();
        for (const char* const position : {"0", "1", "-1"}) {
            engine::Question question = about("ab cab");
            question.targets = {"1"};
            question.position = position;
            const auto whole = answer(*model, question);
            question.inputsOnly = true;
            RETRO_MADE(alone, answer(*model, question));
            QCOMPARE(alone->report.position, whole->report.position);
            QCOMPARE(alone->report.score, whole->report.score);
            QCOMPARE(alone->report.best.id, whole->report.best.id);
            QCOMPARE(alone->report.best.score, whole->report.best.score);
            QCOMPARE(alone->report.relevance, whole->report.relevance);
        }
    }

    void aWordIsNotSetAgainstItself()
    {
        const auto model = m_folder.model();
        engine::Question question = about("ab cab");
        question.targets = {"1"};
        question.contrast = {"1"};
        RETRO_REFUSED(answer(*model, question), "set against itself");
        question.contrast = {"1", "2"};
        QVERIFY(answer(*model, question).ok());
        question.targets.clear(); // the best word, which the contrast names
        question.contrast.clear();
        RETRO_MADE(best, answer(*model, question));
        question.contrast = {std::to_string(best->report.best.id)};
        RETRO_REFUSED(answer(*model, question), "set against itself");
    }

    // +logit(A) - logit(B): the difference of the two answers, in the form of relevance and of a gradient.
    void contrastIsTheDifference()
    {
        const auto model = m_folder.model();
        for (const char* const composite : {"attnlrp:epsilon=0", "attnlrp:form=gradient_x_input", "gradient"}) {
            engine::Question question = about("ab cab");
            question.composite = composite;
            question.targets = {"1"};
            const auto one = answer(*model, question);
            question.targets = {"2"};
            const auto two = answer(*model, question);
            question.targets = {"5"};
            const auto five = answer(*model, question);
            question.targets = {"1"};
            question.contrast = {"2", "5"};
            RETRO_MADE(all, answer(*model, question));
            QVERIFY(one.ok() && two.ok() && five.ok());
            for (std::size_t i = 0; i < all->report.relevance.size(); ++i) {
                const double others = (two->report.relevance[i] + five->report.relevance[i]) / 2;
                QVERIFY(areNear(all->report.relevance[i], one->report.relevance[i] - others));
            }
            QVERIFY(areNear(all->report.score, one->report.score - (two->report.score + five->report.score) / 2));
        }
    }

    // A step is the answer for its prefix alone.
    void stepsAreAnswersForPrefixes()
    {
        const auto model = m_folder.model();
        engine::Question question = about("ab");
        question.generate = "4";
        RETRO_MADE(all, answer(*model, question));
        QCOMPARE(all->report.generated.size(), std::size_t{4});
        std::string ids = "6";
        for (const engine::GeneratedStep& step : all->report.generated) {
            engine::Question prefix;
            prefix.ids = ids;
            RETRO_MADE(alone, answer(*model, prefix));
            QCOMPARE(step.token.id, alone->report.best.id);
            QCOMPARE(step.relevance, alone->report.relevance);
            ids += "," + std::to_string(step.token.id);
        }
        question.generate.clear();
        question.continuation = "c a";
        RETRO_MADE(given, answer(*model, question));
        QCOMPARE(given->report.generatedTokens.size(), std::size_t{2});
        QCOMPARE(given->report.generated[1].token.id, 3);
        QCOMPARE(given->report.generated[1].position, 1);
    }

    // Words chosen by the caches of a model, and explained over one pass; where two words are equally good, each step
    // is asked by itself. Both say of a step what its prefix alone does.
    void cachesChooseTheSameWords_data()
    {
        QTest::addColumn<bool>("hasTwins");
        QTest::newRow("one word is the best") << false;
        QTest::newRow("two words are") << true;
    }
    void cachesChooseTheSameWords()
    {
        QFETCH(const bool, hasTwins);
        const QTemporaryDir folder;
        RETRO_MADE(path, tests::SmallLanguageModel(2, tests::AttentionAs::Cached,
                                                   hasTwins ? tests::Scores::Twins : tests::Scores::Own)
                             .write(folder.path().toStdString()));
        RETRO_MADE(model, engine::loadModel(path.value()));
        engine::Question question;
        question.ids = "1,2,3,4";
        question.generate = "5";
        question.inputsOnly = true;
        ForwardNodes nodes;
        RETRO_MADE(all, [&] {
            const event::ObserverScope observed(&nodes);
            return answer(*model.value(), question);
        }());
        QCOMPARE(all->report.generated.size(), std::size_t{5});
        std::size_t alones = 0;
        question.generate.clear();
        for (const engine::GeneratedStep& step : all->report.generated) {
            ForwardNodes ofOne;
            RETRO_MADE(alone, [&] {
                const event::ObserverScope observed(&ofOne);
                return answer(*model.value(), question);
            }());
            alones += ofOne.count();
            QCOMPARE(step.token.id, alone->report.best.id);
            QCOMPARE(step.token.id % 2 != 0 && hasTwins, false); // of equals the first
            QCOMPARE(step.relevance.size(), alone->report.relevance.size());
            for (std::size_t i = 0; i < step.relevance.size(); ++i) {
                QVERIFY(areNear(step.relevance[i], alone->report.relevance[i]));
            }
            question.ids += "," + std::to_string(step.token.id);
        }
        qInfo("%zu nodes, %zu with a question for each step", nodes.count(), alones);
        QCOMPARE(nodes.count() > alones, hasTwins); // the chosen words were of no use
    }

    // Words that are given: each answer is that for its prefix, over one forward pass where the model is causal.
    void givenWordsShareAForwardPass_data()
    {
        QTest::addColumn<bool>("isCausal");
        QTest::addColumn<bool>("inputsOnly");
        QTest::addColumn<std::size_t>("passes");
        QTest::newRow("causal") << true << false << std::size_t{2}; // of the text, and of all of it
        QTest::newRow("causal, inputs only") << true << true << std::size_t{2};
        QTest::newRow("sees what follows") << false << false << std::size_t{6}; // all of it once, in vain
    }
    void givenWordsShareAForwardPass()
    {
        QFETCH(const bool, isCausal);
        QFETCH(const bool, inputsOnly);
        QFETCH(const std::size_t, passes);
        const auto model = m_folder.model(isCausal);
        engine::Question question = about("ab");
        question.continuation = "c abc";
        question.inputsOnly = inputsOnly;
        ForwardNodes nodes;
        RETRO_MADE(all, [&] {
            const event::ObserverScope observed(&nodes);
            return answer(*model, question);
        }());
        QCOMPARE(all->report.generated.size(), std::size_t{4});
        QCOMPARE(nodes.count(), passes * all->result.model->graph().nodeCount());
        std::string ids = "6";
        for (const engine::GeneratedStep& step : all->report.generated) {
            engine::Question prefix;
            prefix.ids = ids;
            prefix.targets = {std::to_string(step.token.id)};
            prefix.inputsOnly = inputsOnly;
            RETRO_MADE(alone, answer(*model, prefix));
            QCOMPARE(step.relevance.size(), alone->report.relevance.size());
            QCOMPARE(step.best.id, alone->report.best.id);
            for (std::size_t i = 0; i < step.relevance.size(); ++i) {
                QVERIFY(areNear(step.relevance[i], alone->report.relevance[i]));
            }
            QCOMPARE(step.parts.layers.isValid(), alone->report.layers.isValid());
            QVERIFY(!step.parts.layers.isValid() || step.parts.layers.shape() == alone->report.layers.shape());
            ids += "," + std::to_string(step.token.id);
        }
    }

    // Each position is the answer of --position, over one forward pass; also where tokens see those behind them.
    void positionsShareAForwardPass_data()
    {
        QTest::addColumn<bool>("isCausal");
        QTest::addColumn<bool>("inputsOnly");
        QTest::addColumn<bool>("isContrast");
        QTest::newRow("causal") << true << false << false;
        QTest::newRow("causal, inputs only") << true << true << false;
        QTest::newRow("causal, contrast") << true << false << true;
        QTest::newRow("sees what follows") << false << false << false;
        QTest::newRow("sees what follows, inputs only") << false << true << true;
    }
    void positionsShareAForwardPass()
    {
        QFETCH(const bool, isCausal);
        QFETCH(const bool, inputsOnly);
        QFETCH(const bool, isContrast);
        const auto model = m_folder.model(isCausal);
        engine::Question question = about("ab cab");
        question.inputsOnly = inputsOnly;
        if (isContrast) {
            question.targets = {"1"};
            question.contrast = {"2", "5"};
        }
        question.positions = "2,0,-1";
        ForwardNodes nodes;
        RETRO_MADE(all, [&] {
            const event::ObserverScope observed(&nodes);
            return answer(*model, question);
        }());
        QVERIFY(inputsOnly || nodes.count() == all->result.model->graph().nodeCount());
        QVERIFY(nodes.count() < 2 * all->result.model->graph().nodeCount());
        const std::vector<engine::PositionAnswer>& positions = all->report.positions;
        QCOMPARE(positions.size(), std::size_t{3});
        QCOMPARE(positions[0].relevance, all->report.relevance);
        question.positions.clear();
        const std::int64_t expected[] = {2, 0, 3};
        for (std::size_t i = 0; i < positions.size(); ++i) {
            question.position = std::to_string(expected[i]);
            RETRO_MADE(alone, answer(*model, question));
            QCOMPARE(positions[i].position, expected[i]);
            QCOMPARE(positions[i].relevance, alone->report.relevance);
            QCOMPARE(positions[i].token.id, alone->report.target.id);
            QCOMPARE(positions[i].best.id, alone->report.best.id);
            QCOMPARE(positions[i].best.score, alone->report.best.score);
            QCOMPARE(positions[i].score, alone->report.score);
            QCOMPARE(positions[i].contrast.size(), alone->report.contrast.size());
            QCOMPARE(positions[i].started, alone->report.started);
            QCOMPARE(positions[i].losses, alone->report.losses);
        }
    }

    // Also of an engine that keeps no pass.
    void positionsByAnotherEngine()
    {
        const auto model = m_folder.model();
        engine::Question question = about("ab cab");
        question.positions = "2,0";
        const auto promise = answer(*model, question);
        for (const char* const engine : {"compiled", "oracle"}) {
            question.engine = engine;
            RETRO_MADE(all, answer(*model, question));
            QCOMPARE(all->report.positions[1].relevance, promise->report.positions[1].relevance);
        }
    }

    void positionsAreChecked()
    {
        const auto model = m_folder.model();
        engine::Question question = about("ab cab");
        question.positions = "0,4";
        RETRO_REFUSED(answer(*model, question), "there is no position 4 in a text of 4 tokens");
        question.positions = "-5";
        RETRO_REFUSED(answer(*model, question), "there is no position -5 in a text of 4 tokens");
        question.positions = "3,0,-1";
        RETRO_REFUSED(answer(*model, question), "position 3 is asked for twice: as 3 and as -1");
        question.positions = "0,1";
        question.position = "1";
        RETRO_REFUSED(answer(*model, question), "the first of the positions is that of the question");
        question.position.clear();
        question.generate = "2";
        RETRO_REFUSED(answer(*model, question), "the positions are those of the text as it is given");
        question.generate.clear();
        question.targets = {"stream:0,0,1"};
        RETRO_REFUSED(answer(*model, question), "belong to a target that is a word");
        const auto isGood = [](const char* text) {
            return engine::checkText(engine::questionField("positions"), text).ok();
        };
        QVERIFY(isGood("3") && isGood("3,7,-1") && isGood("-1,0"));
        QVERIFY(!isGood("") && !isGood("1,") && !isGood(",1") && !isGood("1,,2") && !isGood("1 2") && !isGood("a"));
    }

    void positionsAreWritten()
    {
        const auto model = m_folder.model();
        engine::Question question = about("ab cab");
        question.targets = {"1"};
        question.contrast = {"2"};
        question.positions = "1,-1";
        RETRO_MADE(all, answer(*model, question));
        const std::filesystem::path folder = m_folder.path() / "positions";
        QVERIFY(base::makeFolder(folder).ok());
        QVERIFY(engine::writeReport(folder, all->report).ok());
        RETRO_MADE(rows, tensor::readNpy(folder / "positions.npy"));
        QCOMPARE(rows->shape(), (tensor::Shape{2, 4}));
        for (std::int64_t i = 0; i < 8; ++i) {
            const engine::PositionAnswer& of = all->report.positions[static_cast<std::size_t>(i / 4)];
            QCOMPARE(rows->at(i), of.relevance[static_cast<std::size_t>(i % 4)]);
        }
        const std::string table = base::readTextFile(folder / "positions.csv", 1U << 20).value();
        RETRO_SAYS(table, "position,id,text,score,0 ab,1 ␣,2 c,3 ab\r\n1,1,b,");
        const std::string found = base::readTextFile(folder / "tokens.json", 1U << 20).value();
        RETRO_SAYS(found, "\"positions\": [");
        RETRO_SAYS(engine::languagePage(all->report), ">at 3: b</button>");
        RETRO_SAYS(engine::reportLines(all->report).back(), "position 3   \"b\" (1) instead of \"c\" (2), score ");
    }

    void layersComeFromAFile()
    {
        const auto model = m_folder.model();
        const std::filesystem::path file = m_folder.path() / "layers.json";
        QVERIFY(base::writeFile(file, json("{'streams':['embedded','stream'],"
                                           "'heads':[{'value':'mixed','count':2}]}"))
                    .ok());
        engine::Question question = about("ab ca");
        question.layers = file.string();
        RETRO_MADE(all, answer(*model, question));
        QCOMPARE(all->report.layers.shape(), (tensor::Shape{2, 4}));
        QCOMPARE(all->report.heads.shape(), (tensor::Shape{1, 4, 2}));
        double first = 0;
        for (std::int64_t i = 0; i < 4; ++i) {
            QVERIFY(areNear(all->report.layers.at(i), all->report.relevance[static_cast<std::size_t>(i)]));
            first += all->report.layers.at(4 + i);
        }
        QVERIFY(areNear(first, all->report.score)); // the head has no bias
        QVERIFY(base::writeFile(file, json("{'streams':['nothing']}")).ok());
        RETRO_REFUSED(answer(*model, question), "the model has no value 'nothing'");
    }

    void filesAreWritten()
    {
        const auto model = m_folder.model();
        engine::Question question = about("ab c");
        question.generate = "2";
        RETRO_MADE(all, answer(*model, question));
        const std::filesystem::path folder = m_folder.path() / "out";
        QVERIFY(base::makeFolder(folder).ok());
        QVERIFY(engine::writeReport(folder, all->report).ok());
        RETRO_MADE(steps, tensor::readNpy(folder / "generation.npy"));
        QCOMPARE(steps->shape(), (tensor::Shape{2, 4})); // nothing is asked behind the last word
        QVERIFY(std::isnan(steps->at(3)) && !std::isnan(steps->at(2)) && !std::isnan(steps->at(7)));
        const std::string table = base::readTextFile(folder / "generation.csv", 1U << 20).value();
        QCOMPARE(QString::fromStdString(table.substr(0, table.find('\r'))).count(QLatin1Char(',')), 4 + 4);
        const std::string csv = base::readTextFile(folder / "tokens.csv", 1U << 20).value();
        RETRO_SAYS(csv, "position,id,text,start,end,relevance,share\r\n0,6,ab,0,2,");
        const auto layers = tensor::readNpy(folder / "layers.npy"); // its one head has three axes
        QVERIFY(layers.ok());
        QCOMPARE(layers->shape(), (tensor::Shape{2, 3}));
    }

    /// Of a run whose answer is a class and no word: which class, as the card names it.
    void theClassOfATextIsNamed()
    {
        auto question = tests::questionOf<engine::ExplainRequest>("planted-word/planted-word");
        QVERIFY(question.model);
        RETRO_MADE(review, tensor::readNpy(RETRO_SOURCE_DIR "/samples/planted-word/bad-sponsored.npy"));
        question.request.inputs = {*review};
        question.request.record = question.request.keepValues = true;
        RETRO_MADE(made, engine::explain(*question.model, question.request));
        RETRO_MADE(report, engine::reportOf(*made->run, std::nullopt));
        QCOMPARE(report->otherTarget, std::string("good of logits"));
        const QString page = QString::fromStdString(engine::languagePage(*report));
        QVERIFY(page.contains(QStringLiteral("dir=\"auto\">good of logits, score 1.42")));
    }

    // Whatever the tokens are, the page is well-formed and shows them.
    void pagesAreWellFormed()
    {
        engine::LanguageReport report;
        const std::vector<std::string> words{"<b>&\"'", " ",    "\n",   "\x01",     "]]>",
                                             "\u202E",  "שלום", "a\tb", "</script>"};
        for (const std::string& word : words) {
            report.tokens.push_back({static_cast<text::TokenId>(report.tokens.size()), word, std::nullopt});
            report.relevance.push_back(report.tokens.size() % 2 == 0 ? 1.0 : -0.5);
        }
        report.position = 3;
        report.target = {1, "</title><script>", 2};
        report.generatedTokens.push_back({3, "<i>", std::nullopt});
        report.generated.push_back({{3, "<i>", 1}, 8, report.relevance});
        report.layers = Tensor::zeros(tensor::DType::Float64, {2, std::ssize(words)});
        QXmlStreamReader reader(QString::fromStdString(engine::languagePage(report)));
        QString text;
        int buttons = 0;
        while (!reader.atEnd()) {
            reader.readNext();
            buttons += reader.isStartElement() && reader.name() == QLatin1String("button") ? 1 : 0;
            text += reader.isCharacters() ? reader.text().toString() : QString();
            for (const QXmlStreamAttribute& attribute : reader.attributes()) {
                QVERIFY(!attribute.value().startsWith(QLatin1String("http")) ||
                        attribute.name() == QLatin1String("xmlns"));
            }
        }
        QVERIFY2(!reader.hasError(), qPrintable(reader.errorString()));
        QCOMPARE(buttons, 2);
        for (const char* const shown : {"<b>&\"'", "␣", "⏎", "\\x01", "]]>", "\\u202e", "שלום", "</script>", "<i>"}) {
            QVERIFY2(text.contains(QString::fromUtf8(shown)), shown);
        }
    }

private:
    Folder m_folder;
};

QTEST_APPLESS_MAIN(LanguageTest)
#include "languagetest.moc"
