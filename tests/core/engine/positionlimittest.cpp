// SPDX-License-Identifier: Apache-2.0
// How many positions a model of language knows: by a table of positions, by the caches of a rotation, by a file beside
// it; and that texts and steps beyond them are refused before anything runs.
#include "core/engine/language/positionlimit.h"
#include "core/base/file.h"
#include "core/engine/language/languagequestion.h"
#include "tests/core/rewrite/graphs.h"

#include <QtTest>

#include <QTemporaryDir>

using namespace retro;
using rewrite::testing::randomTensor;
using tensor::Tensor;

namespace
{

constexpr std::int64_t kWords = 9;
constexpr std::int64_t kWidth = 4;

enum class PlacedBy { Nothing, CountedTable, CutTable, GivenTable, Rotation, TypeTable, CutTypes, MadeTypes };

/// input_ids (1 × tokens) → logits, with a table of 5 rows, or caches of 5 rows, that say places.
class Speaking
{
public:
    explicit Speaking(PlacedBy by)
    {
        m_builder.setOpset("", 17);
        m_builder.setOpset("com.microsoft", 1);
        const std::vector<graph::Dimension> row{{1, ""}, {std::nullopt, "tokens"}};
        const auto ids = m_builder.addInput("input_ids", tensor::DType::Int64, row);
        auto x = node("Gather", "embedded", {constant("words", randomTensor({kWords, kWidth}, 1)), ids});
        if (by == PlacedBy::CountedTable) {
            const auto shape = node("Shape", "shape", {ids});
            const auto count = node("Gather", "count", {shape, constant("one", whole(1))});
            const auto all = node("Range", "all", {constant("begin", whole(0)), count, constant("step", whole(1))});
            x = node("Add", "placed", {x, node("Gather", "place", {table(), all})});
        } else if (by == PlacedBy::CutTable || by == PlacedBy::CutTypes) { // one number for each token of many
            const std::vector<std::int64_t> places{0, 1, 2, 3, 4};
            const std::vector<std::int64_t> kinds(64, 0);
            const auto numbers = constant("row", by == PlacedBy::CutTable ? Tensor::of<std::int64_t>({1, 5}, places)
                                                                          : Tensor::of<std::int64_t>({1, 64}, kinds));
            const auto one = constant("one", Tensor::of<std::int64_t>({1}, std::vector<std::int64_t>{1}));
            const auto none = constant("none", Tensor::of<std::int64_t>({1}, std::vector<std::int64_t>{0}));
            const auto count = node("Gather", "count", {node("Shape", "shape", {ids}), one});
            x = node("Add", "placed",
                     {x, node("Gather", "place", {table(), node("Slice", "cut", {numbers, none, count, one})})});
        } else if (by == PlacedBy::MadeTypes) {
            const auto kinds = node("ConstantOfShape", "kinds", {node("Shape", "shape", {ids})});
            const auto none = constant("none", whole(0));
            x = node("Add", "placed",
                     {x, node("Gather", "place",
                              {table(), node("Add", "whole", {node("Cast", "cast", {kinds}, {}, 7), none})})});
        } else if (by == PlacedBy::GivenTable || by == PlacedBy::TypeTable) {
            const char* const name = by == PlacedBy::GivenTable ? "position_ids" : "token_type_ids";
            const auto given = m_builder.addInput(name, tensor::DType::Int64, row);
            x = node("Add", "placed", {x, node("Gather", "place", {table(), given})});
        } else if (by == PlacedBy::Rotation) {
            const auto given = m_builder.addInput("position_ids", tensor::DType::Int64, row);
            x = node("RotaryEmbedding", "turned",
                     {x, given, constant("cos", randomTensor({kRows, kWidth / 2}, 3)),
                      constant("sin", randomTensor({kRows, kWidth / 2}, 4))},
                     "com.microsoft");
        }
        const auto logits = node("MatMul", "logits", {x, constant("head", randomTensor({kWidth, kWords}, 5))});
        m_builder.declare(logits, tensor::DType::Float32,
                          std::vector<graph::Dimension>{{1, ""}, {std::nullopt, "tokens"}, {kWords, ""}});
        m_builder.addOutput(logits);
    }

    static constexpr std::int64_t kRows = 5;

    [[nodiscard]] engine::LoadedModel loaded(const std::filesystem::path& folder) &&
    {
        engine::LoadedModel model;
        model.name = "model.onnx";
        model.path = folder / "model.onnx";
        model.read = std::make_shared<const graph::Graph>(std::move(m_builder).build().value());
        model.rewritten = rewrite::rewrite(model.read, {}).value();
        return model;
    }

private:
    static Tensor whole(std::int64_t number) { return Tensor::scalar<std::int64_t>(number); }
    base::ValueId table() { return constant("places", randomTensor({kRows, kWidth}, 2)); }
    base::ValueId constant(const std::string& name, Tensor data)
    {
        return m_builder.addConstant(name, std::move(data));
    }
    base::ValueId node(const std::string& op, const std::string& name, std::vector<base::ValueId> inputs,
                       const std::string& domain = {}, std::int64_t to = 0)
    {
        const auto result = m_builder.addResult(name);
        graph::Attributes attributes;
        if (to != 0) {
            attributes["to"] = to;
        }
        m_builder.addNode({op,
                           domain,
                           name + "_node",
                           "",
                           domain.empty() ? 17 : 1,
                           std::move(inputs),
                           {result},
                           std::move(attributes)});
        return result;
    }

    graph::GraphBuilder m_builder;
};

/// What is wrong with a text of so many tokens and so many steps; empty: nothing.
std::string problem(const engine::LoadedModel& model, int tokens, int steps)
{
    engine::Question question;
    for (int i = 0; i < tokens; ++i) {
        question.ids += (i == 0 ? "" : ",") + std::to_string(i % kWords);
    }
    question.targets = {"1"};
    question.generate = steps > 0 ? std::to_string(steps) : std::string();
    const auto asked = engine::languageQuestion(model, question);
    return asked.ok() ? std::string() : asked.error().text();
}

} // namespace

class PositionLimitTest : public QObject
{
    Q_OBJECT

private slots:
    void rowsOfTablesAndCaches_data()
    {
        QTest::addColumn<int>("by");
        QTest::addColumn<QString>("source");
        QTest::newRow("table, counted") << static_cast<int>(PlacedBy::CountedTable) << "table of positions";
        QTest::newRow("table, cut") << static_cast<int>(PlacedBy::CutTable) << "table of positions";
        QTest::newRow("table, given") << static_cast<int>(PlacedBy::GivenTable) << "table of positions";
        QTest::newRow("rotation") << static_cast<int>(PlacedBy::Rotation) << "cos_cache";
    }
    void rowsOfTablesAndCaches()
    {
        QFETCH(const int, by);
        QFETCH(const QString, source);
        const engine::LoadedModel model = Speaking(static_cast<PlacedBy>(by)).loaded({});
        RETRO_MADE(limit, engine::positionLimit(model));
        QCOMPARE(limit->count, Speaking::kRows);
        RETRO_SAYS(limit->source, source.toStdString().c_str());
        QCOMPARE(problem(model, 5, 0), std::string());
        RETRO_SAYS(problem(model, 6, 0), "the text has 6 tokens, and the model has 5 positions");
    }

    void stepsAreCountedToo()
    {
        const engine::LoadedModel model = Speaking(PlacedBy::CountedTable).loaded({});
        QCOMPARE(problem(model, 3, 3), std::string()); // the last word is read by nobody
        const std::string text = problem(model, 3, 4);
        RETRO_SAYS(text, "the text has 3 tokens, 4 more are asked for, and the model has 5 positions");
        RETRO_SAYS(text, "ask for at most 3");
    }

    // A table of kinds of tokens, or of words, says nothing of places.
    void otherTablesSayNothing()
    {
        QVERIFY(!engine::positionLimit(Speaking(PlacedBy::Nothing).loaded({})));
        for (const PlacedBy by : {PlacedBy::TypeTable, PlacedBy::CutTypes, PlacedBy::MadeTypes}) {
            QVERIFY(!engine::positionLimit(Speaking(by).loaded({})));
        }
    }

    void aFileBesideTheModelSaysIt_data()
    {
        QTest::addColumn<QString>("file");
        QTest::addColumn<QString>("text");
        QTest::newRow("config") << "config.json"
                                << R"({"max_position_embeddings": 4})";
        QTest::newRow("config of GPT-2") << "config.json"
                                         << R"({"n_positions": 4})";
        QTest::newRow("config of a model that also sees") << "config.json"
                                                          << R"({"text_config": {"max_position_embeddings": 4}})";
        QTest::newRow("genai") << "genai_config.json"
                               << R"({"model": {"context_length": 4, "decoder": {}}})";
    }
    void aFileBesideTheModelSaysIt()
    {
        QFETCH(const QString, file);
        QFETCH(const QString, text);
        const QTemporaryDir folder;
        const std::filesystem::path path = folder.path().toStdString();
        QVERIFY(base::writeFile(path / file.toStdString(), text.toStdString()).ok());
        const engine::LoadedModel model = Speaking(PlacedBy::CountedTable).loaded(path);
        QCOMPARE(problem(model, 4, 1), std::string());
        RETRO_SAYS(problem(model, 5, 0), file.toStdString().c_str());
        RETRO_SAYS(problem(model, 4, 2), "4 positions");
    }

    void aFileThatMakesNoSenseIsPassedOver()
    {
        const QTemporaryDir folder;
        const std::filesystem::path path = folder.path().toStdString();
        for (const char* const text : {"", "[1]", "7", "{\"n_positions\": -3}", "{\"n_positions\": \"4\"}", "{"}) {
            QVERIFY(base::writeFile(path / "config.json", std::string(text)).ok());
            QCOMPARE(engine::positionLimit(Speaking(PlacedBy::CountedTable).loaded(path))->count, Speaking::kRows);
        }
    }
};

QTEST_GUILESS_MAIN(PositionLimitTest)
#include "positionlimittest.moc"
