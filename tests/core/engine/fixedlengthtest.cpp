// SPDX-License-Identifier: Apache-2.0
// Texts for a classifier whose input has a fixed length: filled up with padding that the mask leaves out, or cut.
#include <QtTest>

#include "core/base/file.h"
#include "core/engine/explain/explain.h"
#include "core/engine/language/languagepage.h"
#include "core/engine/language/languagequestion.h"
#include "tests/core/engine/relevancenetworks.h"

#include <QTemporaryDir>

using namespace retro;
using namespace retro::engine::testing;
using tensor::DType;

namespace
{

constexpr std::int64_t kLength = 6;

/// input_ids and attention_mask (1 × length; 0 = free) → mean of what is not masked → scores of two classes.
SharedGraph classifier(std::int64_t length)
{
    graph::GraphBuilder builder;
    builder.setOpset("", 17);
    const graph::Dimension tokens =
        length > 0 ? graph::Dimension{length, ""} : graph::Dimension{std::nullopt, "tokens"};
    const std::vector<graph::Dimension> row{{1, ""}, tokens};
    const auto node = [&](const std::string& op, const std::string& name, std::vector<ValueId> inputs,
                          graph::Attributes attributes = {}) {
        const auto result = builder.addResult(name);
        builder.addNode({op, "", name + "_node", "", 17, std::move(inputs), {result}, std::move(attributes)});
        return result;
    };
    const auto ids = builder.addInput("input_ids", DType::Int64, row);
    const auto mask = builder.addInput("attention_mask", DType::Int64, row);
    const auto rows = node("Gather", "rows", {builder.addConstant("table", randomTensor({7, 4}, 1)), ids});
    const auto counts = node("Cast", "counts", {mask}, {{"to", std::int64_t{1}}});
    const auto line =
        node("Unsqueeze", "line", {counts, builder.addConstant("axis", Tensor::of<std::int64_t>({1}, Ints{1}))});
    const auto sum = node("MatMul", "sum", {line, node("Tanh", "bent", {rows})});
    const auto scores = node("MatMul", "all", {sum, builder.addConstant("weight", randomTensor({4, 2}, 2))});
    const auto logits =
        node("Reshape", "logits", {scores, builder.addConstant("shape", Tensor::of<std::int64_t>({2}, Ints{1, 2}))});
    builder.declare(logits, DType::Float32, std::vector<graph::Dimension>{{1, ""}, {2, ""}});
    builder.addOutput(logits);
    return std::make_shared<const graph::Graph>(std::move(builder).build().value());
}

class Folder
{
public:
    explicit Folder(const std::string& padding = "'padding':{'pad_id':5},")
    {
        std::string contents =
            "{" + padding +
            "'model':{'type':'BPE','vocab':{'a':0,'b':1,'c':2,'[CLS]':3,'[SEP]':4,'[END]':5},'merges':[]},"
            "'post_processor':{'type':'BertProcessing','sep':['[SEP]',4],'cls':['[CLS]',3]},"
            "'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':false},'decoder':{'type':'ByteLevel'}}";
        std::ranges::replace(contents, '\'', '"');
        m_isThere = base::writeFile(path() / "tokenizer.json", contents).ok();
    }
    [[nodiscard]] bool isThere() const { return m_isThere; }
    [[nodiscard]] std::filesystem::path path() const { return m_folder.path().toStdString(); }
    [[nodiscard]] engine::LoadedModelPointer model(std::int64_t length) const
    {
        auto model = std::make_shared<engine::LoadedModel>(*modelOf(classifier(length)));
        model->path = path() / "model.onnx";
        return model;
    }

private:
    QTemporaryDir m_folder;
    bool m_isThere = false;
};

base::Result<engine::LanguageReport> reported(const engine::LoadedModel& model, const std::string& text,
                                              engine::LanguageQuestion& asked)
{
    engine::Question question;
    question.text = text;
    question.composite = "epsilon";
    question.precision = "double";
    question.targets = {"1"};
    RETRO_TRY(auto found, engine::languageQuestion(model, question));
    RETRO_TRY(engine::ExplainRequest request, engine::resolveWithInputs(question, model));
    RETRO_TRY(const engine::ExplainResult result, engine::explain(model, request));
    asked = std::move(*found);
    return engine::reportOf(asked, model, question, result);
}

Ints numbersOf(const Tensor& tensor)
{
    Ints numbers;
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
        numbers.push_back(static_cast<std::int64_t>(tensor.at(i)));
    }
    return numbers;
}

} // namespace

class FixedLengthTest : public QObject
{
    Q_OBJECT
private slots:
    void shortTextsAreFilledUp()
    {
        const Folder folder;
        QVERIFY(folder.isThere());
        engine::LanguageQuestion asked;
        const auto padded = reported(*folder.model(kLength), "ab", asked);
        QVERIFY2(padded.ok(), padded.ok() ? "" : padded.error().text().c_str());
        QCOMPARE(numbersOf(asked.inputs[0]), (Ints{3, 0, 1, 4, 5, 5}));
        QCOMPARE(numbersOf(asked.inputs[1]), (Ints{1, 1, 1, 1, 0, 0}));
        QVERIFY(asked.warnings.empty());
        engine::LanguageQuestion plain;
        RETRO_MADE(expected, reported(*folder.model(0), "ab", plain));
        QCOMPARE(expected->tokens.size(), std::size_t{4});
        for (std::size_t i = 0; i < padded->tokens.size(); ++i) {
            QVERIFY(std::abs(padded->relevance[i] - (i < 4 ? expected->relevance[i] : 0)) < 1e-12);
        }
        std::string lines;
        for (const std::string& line : engine::reportLines(*padded)) {
            lines += line + "\n";
        }
        QVERIFY2(lines.find("[SEP]") != std::string::npos && lines.find("[END]") == std::string::npos, lines.c_str());
        QVERIFY2(lines.find("2 tokens of padding") != std::string::npos, lines.c_str());
        QVERIFY(engine::languagePage(*padded).find("[END]") == std::string::npos);
        QVERIFY(engine::tokensCsv(*padded).find("5,5,[END]") != std::string::npos);
    }

    void longTextsAreCutAndItIsSaid()
    {
        const Folder folder;
        engine::LanguageQuestion asked;
        const auto cut = reported(*folder.model(kLength), "abcabcabc", asked);
        QVERIFY2(cut.ok(), cut.ok() ? "" : cut.error().text().c_str());
        QCOMPARE(numbersOf(asked.inputs[0]), (Ints{3, 0, 1, 2, 0, 4}));
        QCOMPARE(asked.warnings.size(), std::size_t{1});
        QVERIFY2(asked.warnings.front().find("11 tokens, and the model reads 6: the last 5") != std::string::npos,
                 asked.warnings.front().c_str());
    }

    void withoutATokenOfPaddingItIsRefused()
    {
        const Folder folder("");
        engine::LanguageQuestion asked;
        const auto refused = reported(*folder.model(kLength), "ab", asked);
        QVERIFY(!refused.ok());
        QVERIFY2(refused.error().text().find("pad_token_id") != std::string::npos, refused.error().text().c_str());
        QVERIFY(base::writeFile(folder.path() / "config.json", "{\"pad_token_id\": 2}").ok());
        QVERIFY(reported(*folder.model(kLength), "ab", asked).ok());
        QCOMPARE(numbersOf(asked.inputs[0]), (Ints{3, 0, 1, 4, 2, 2}));
    }
};

QTEST_GUILESS_MAIN(FixedLengthTest)
#include "fixedlengthtest.moc"
