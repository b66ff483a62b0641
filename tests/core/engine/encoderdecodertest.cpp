// SPDX-License-Identifier: Apache-2.0
// Questions about texts of models that are no plain language models: an encoder with a decoder, classifiers of texts
// and of their tokens, models that score the last token alone.
#include <QtTest>

#include "core/base/file.h"
#include "core/engine/explain/explain.h"
#include "core/engine/language/languagepage.h"
#include "core/engine/language/languagequestion.h"
#include "core/engine/question/resolve.h"
#include "core/tensor/npy.h"
#include "tests/core/rewrite/graphs.h"

#include <QTemporaryDir>

#include <fmt/format.h>

#include <cmath>
#include <numeric>

using namespace retro;
using rewrite::testing::randomTensor;
using rewrite::testing::SharedGraph;
using tensor::Tensor;

namespace
{

constexpr std::int64_t kWords = 20;
constexpr std::int64_t kWidth = 6;

class TextModel
{
public:
    TextModel() { m_builder.setOpset("", 17); }

    base::ValueId input(const std::string& name, const std::string& tokens)
    {
        return m_builder.addInput(name, tensor::DType::Int64,
                                  std::vector<graph::Dimension>{{std::nullopt, "batch"}, {std::nullopt, tokens}});
    }
    base::ValueId weight(const tensor::Shape& shape)
    {
        ++m_seed;
        return m_builder.addConstant(fmt::format("weight{}", m_seed), randomTensor(shape, m_seed));
    }
    base::ValueId constant(const Tensor& data)
    {
        return m_builder.addConstant(fmt::format("constant{}", ++m_seed), data);
    }

    base::ValueId node(const std::string& op, std::vector<base::ValueId> inputs, graph::Attributes attributes = {},
                       std::string name = {})
    {
        ++m_seed;
        name = name.empty() ? fmt::format("{}{}", op, m_seed) : name;
        return m_builder.addOp(op, name + "_node", std::move(inputs), name, std::move(attributes));
    }
    base::ValueId embedded(base::ValueId ids) { return node("Gather", {weight({kWords, kWidth}), ids}); }
    /// x + softmax(x · yᵀ) · y
    base::ValueId attended(base::ValueId x, base::ValueId y)
    {
        const auto turned = node("Transpose", {y}, {{"perm", std::vector<std::int64_t>{0, 2, 1}}});
        const auto shares = node("Softmax", {node("MatMul", {x, turned})}, {{"axis", std::int64_t{-1}}});
        return node("Add", {x, node("MatMul", {shares, y})});
    }
    void scores(base::ValueId x, std::vector<graph::Dimension> shape, std::int64_t classes)
    {
        const auto logits = node("MatMul", {x, weight({kWidth, classes})}, {}, "logits");
        shape.push_back({classes, ""});
        m_builder.declare(logits, tensor::DType::Float32, std::move(shape));
        m_builder.addOutput(logits);
    }

    engine::LoadedModelPointer load(const std::filesystem::path& folder)
    {
        const SharedGraph graph = std::make_shared<const graph::Graph>(std::move(m_builder).build().value());
        auto model = std::make_shared<engine::LoadedModel>();
        model->path = folder / "model.onnx";
        model->name = "model.onnx";
        model->rewritten = rewrite::rewrite(graph, {}).value();
        model->read = graph;
        return model;
    }

private:
    graph::GraphBuilder m_builder;
    unsigned m_seed = 0;
};

const std::vector<graph::Dimension> kRows{{std::nullopt, "batch"}, {std::nullopt, "decoded"}};

engine::LoadedModelPointer translator(const std::filesystem::path& folder)
{
    TextModel model;
    const auto source = model.input("input_ids", "read");
    const auto target = model.input("decoder_input_ids", "decoded");
    const auto read = model.attended(model.embedded(source), model.embedded(source));
    const auto own = model.embedded(target);
    const auto said = model.attended(own, own);
    model.scores(model.attended(said, read), kRows, kWords);
    return model.load(folder);
}

/// A class of the text, or of each token, by the mean over tokens of an attention.
engine::LoadedModelPointer classifier(const std::filesystem::path& folder, bool isOfTokens)
{
    TextModel model;
    const auto x = model.embedded(model.input("input_ids", "decoded"));
    const auto attended = model.attended(x, x);
    const graph::Attributes overTokens{{"axes", std::vector<std::int64_t>{1}}, {"keepdims", std::int64_t{0}}};
    model.scores(isOfTokens ? attended : model.node("ReduceMean", {attended}, overTokens),
                 isOfTokens ? kRows : std::vector<graph::Dimension>{kRows[0]}, 3);
    return model.load(folder);
}

struct Told
{
    engine::LanguageQuestion asked;
    engine::ExplainResult result;
    engine::LanguageReport report;
};

base::Result<Told> tell(const engine::LoadedModelPointer& model, engine::Question question)
{
    question.precision = "double";
    question.composite = "epsilon";
    Told told;
    RETRO_TRY(const auto asked, engine::languageQuestion(*model, question));
    if (!asked) {
        return base::usageError("no question about a text");
    }
    told.asked = *asked;
    RETRO_TRY(engine::ExplainRequest request, engine::resolve(engine::withoutLanguage(question, *asked), *model));
    RETRO_CHECK(engine::takeLanguage(*asked, request));
    RETRO_TRY(told.result, engine::explain(*model, request));
    RETRO_TRY(told.report, engine::reportOf(*asked, *model, question, told.result));
    RETRO_CHECK(engine::addGeneration(*asked, *model, question, request, told.result, told.report));
    return told;
}

std::size_t linesOf(const std::string& text) { return static_cast<std::size_t>(std::ranges::count(text, '\n')); }

std::string idsUpTo(std::int64_t count)
{
    std::string ids;
    for (std::int64_t i = 0; i < count; ++i) {
        ids += fmt::format("{}{}", i == 0 ? "" : ",", (3 * i + 1) % kWords);
    }
    return ids;
}

} // namespace

class EncoderDecoderTest : public QObject
{
    Q_OBJECT
private slots:
    void positionsAreThoseOfTheDecoder_data()
    {
        QTest::addColumn<int>("read");
        QTest::addColumn<int>("decoded");
        QTest::newRow("longer") << 4 << 6;
        QTest::newRow("shorter") << 6 << 3;
        QTest::newRow("equal") << 5 << 5;
    }

    void positionsAreThoseOfTheDecoder()
    {
        QFETCH(int, read);
        QFETCH(int, decoded);
        const auto model = translator(path());
        RETRO_MADE(told, tell(model, questionOf(read, decoded)));
        const engine::LanguageReport& report = told->report;
        QCOMPARE(report.position, std::int64_t{decoded - 1});
        QCOMPARE(report.source, static_cast<std::size_t>(read));
        QCOMPARE(report.relevance.size(), static_cast<std::size_t>(read + decoded));
        const Tensor& scores = told->result.outputs[0];
        std::int64_t best = 0;
        for (std::int64_t i = 0; i < kWords; ++i) {
            const std::int64_t row = (decoded - 1) * kWords;
            best = scores.at(row + i) > scores.at(row + best) ? i : best;
        }
        QCOMPARE(report.target.id, best);

        double reached = std::accumulate(report.relevance.begin(), report.relevance.end(), 0.0);
        QVERIFY(std::abs(report.reached - reached) < 1e-12);
        for (const auto& [cause, amount] : report.losses) {
            reached += amount;
        }
        QVERIFY(std::abs(reached - report.started) < 1e-9 * std::abs(report.started));

        QVERIFY(report.layers.isValid());
        QCOMPARE(report.layers.shape(), (tensor::Shape{2, decoded})); // what reads the encoder is no layer of its own
        QTemporaryDir out;
        const std::filesystem::path folder = out.path().toStdString();
        QVERIFY(engine::writeReport(folder, report).ok());
        const std::string csv = base::readTextFile(folder / "layers.csv", 1U << 20).value();
        QVERIFY(csv.starts_with("layer,0 #1,"));
        const std::string tokens = engine::tokensCsv(report);
        QCOMPARE(linesOf(tokens), static_cast<std::size_t>(read + decoded + 1));
        QVERIFY(tokens.find(",decoder_input_ids") != std::string::npos);
        const std::vector<std::string> lines = engine::reportLines(report);
        QVERIFY(lines.front().find(fmt::format("at position {} of {}", decoded - 1, decoded)) != std::string::npos);
        QVERIFY(!engine::languagePage(report).empty());

        const trace::RunText kept = engine::runText(report);
        QCOMPARE(kept.source, static_cast<std::size_t>(read));
        QCOMPARE(kept.steps.front().position, std::int64_t{read + decoded - 1});
        QCOMPARE(kept.steps.front().layers.shape(), (tensor::Shape{2, read + decoded}));
    }

    void aPositionInTheTextOfTheDecoder()
    {
        const auto model = translator(path());
        engine::Question question = questionOf(6, 3);
        question.position = "1";
        RETRO_MADE(told, tell(model, question));
        QCOMPARE(told->report.position, std::int64_t{1});
        question.position = "3";
        const auto refused = tell(model, question);
        QVERIFY(!refused.ok() && refused.error().text().find("3 tokens") != std::string::npos);
    }

    void theDecoderStartsAsTheConfigSays()
    {
        const auto model = translator(path());
        engine::Question question;
        question.ids = "1,2,3";
        const auto refused = tell(model, question);
        QVERIFY(!refused.ok() && refused.error().text().find("decoder_start_token_id") != std::string::npos);
        QVERIFY(base::writeFile(path() / "config.json", std::string(R"({"decoder_start_token_id": 0})")).ok());
        question.generate = "3";
        const auto told = tell(model, question);
        std::filesystem::remove(path() / "config.json");
        RETRO_OK(told);
        QCOMPARE(told->report.position, std::int64_t{0});
        QCOMPARE(told->report.generated.size(), std::size_t{3});
        QCOMPARE(told->report.generated[2].position, std::int64_t{2});
        QCOMPARE(told->report.generated[2].relevance.size(), std::size_t{3 + 3});
    }

    void classifiersOfTexts()
    {
        const auto model = classifier(path(), false);
        engine::Question question;
        question.ids = "4,11,7,2";
        RETRO_MADE(told, tell(model, question));
        QCOMPARE(told->report.position, std::int64_t{-1});
        QVERIFY(told->report.otherTarget.starts_with("class "));
        QCOMPARE(told->report.relevance.size(), std::size_t{4});
        engine::ExplainRequest plain;
        plain.precision = execute::Precision::Double;
        plain.composite = "epsilon";
        plain.inputs = {Tensor::of<std::int64_t>({1, 4}, std::vector<std::int64_t>{4, 11, 7, 2})};
        RETRO_MADE(expected, engine::explain(*model, plain));
        const Tensor& relevance = expected->relevance[expected->model->graph().inputs()[0].index()];
        for (std::size_t i = 0; i < 4; ++i) {
            QCOMPARE(told->report.relevance[i], relevance.at(static_cast<std::int64_t>(i)));
        }
        question.position = "2";
        const auto refused = tell(model, question);
        QVERIFY(!refused.ok() && refused.error().text().find("classes of the whole text") != std::string::npos);
        question.position.clear();
        question.generate = "2";
        QVERIFY(!tell(model, question).ok());
    }

    void classesOfTokens()
    {
        const auto model = classifier(path(), true);
        engine::Question question;
        question.ids = "4,11,7,2";
        question.position = "1";
        question.targets = {"2"};
        RETRO_MADE(told, tell(model, question));
        QCOMPARE(told->report.position, std::int64_t{1});
        QCOMPARE(told->report.target.id, std::int64_t{2});
        QCOMPARE(told->report.scored, std::string("class"));
        question.targets.clear();
        question.position.clear();
        const auto best = tell(model, question); // of all tokens, as of any output with several rows
        RETRO_OK(best);
        const Tensor& scores = best->result.outputs[0];
        for (std::int64_t i = 0; i < scores.size(); ++i) {
            QVERIFY(scores.at(i) <= best->report.score + 1e-12);
        }
    }

    void theLastTokenAloneIsScored()
    {
        TextModel made;
        const auto x = made.embedded(made.input("input_ids", "decoded"));
        const auto attended = made.attended(x, x);
        const auto last = made.node("Gather", {attended, lastPlace(made)}, {{"axis", std::int64_t{1}}});
        made.scores(last, {{std::nullopt, "batch"}, {1, ""}}, kWords);
        const auto model = made.load(path());
        engine::Question question;
        question.ids = "4,11,7,2";
        RETRO_MADE(told, tell(model, question));
        QCOMPARE(told->report.position, std::int64_t{3});
        question.position = "3";
        QVERIFY(tell(model, question).ok());
        question.position = "0";
        const auto refused = tell(model, question);
        QVERIFY(!refused.ok() && refused.error().text().find("the last token alone") != std::string::npos);
        question.position.clear();
        question.generate = "2";
        RETRO_MADE(grown, tell(model, question));
        QCOMPARE(grown->report.generated[1].position, std::int64_t{4});
    }

private:
    [[nodiscard]] std::filesystem::path path() const { return m_folder.path().toStdString(); }

    static base::ValueId lastPlace(TextModel& model)
    {
        return model.constant(Tensor::of<std::int64_t>({1}, std::vector<std::int64_t>{-1}));
    }

    [[nodiscard]] engine::Question questionOf(std::int64_t read, std::int64_t decoded) const
    {
        std::vector<std::int64_t> ids;
        for (std::int64_t i = 0; i < decoded; ++i) {
            ids.push_back((2 * i + 1) % kWords);
        }
        const std::filesystem::path file = path() / "decoder.npy";
        if (!tensor::writeNpy(file, Tensor::of<std::int64_t>({1, decoded}, ids)).ok()) {
            qFatal("no file can be written");
        }
        engine::Question question;
        question.ids = idsUpTo(read);
        question.inputs = {"decoder_input_ids=" + file.string()};
        return question;
    }

    QTemporaryDir m_folder;
};

QTEST_GUILESS_MAIN(EncoderDecoderTest)
#include "encoderdecodertest.moc"
