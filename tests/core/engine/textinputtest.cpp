// SPDX-License-Identifier: Apache-2.0
// Texts that are given as inputs: words become numbers by the card's vocabulary, everything else is refused with what
// to do.
#include "core/engine/input/textinput.h"

#include "core/base/file.h"
#include "core/engine/input/inputs.h"
#include "core/graph/graphbuilder.h"

#include <QTemporaryDir>
#include <QtTest>

#include <random>

using namespace retro;
using Tokens = std::vector<std::int64_t>;

namespace
{

formats::ModelCard cardOf(std::vector<std::string> vocabulary, std::string unknown = {})
{
    formats::ModelCard card;
    card.vocabulary = std::move(vocabulary);
    card.unknown = std::move(unknown);
    return card;
}

formats::ModelCard reviews() { return cardOf({"the", "film", "was", "good", "don't", "Paris", ",", "größer"}); }

/// A model whose input is a row of tokens of the declared shape.
graph::Graph reader(std::optional<std::vector<graph::Dimension>> declared, tensor::DType dtype = tensor::DType::Int64)
{
    graph::GraphBuilder builder("reader", 17);
    const auto x = builder.addInput("tokens", dtype, std::move(declared));
    const auto y = builder.addOp("Identity", "id", {x}, "y");
    builder.addOutput(y);
    return std::move(builder).build().value();
}

} // namespace

class TextInputTest : public QObject
{
    Q_OBJECT

    QTemporaryDir m_folder;

    std::string file(const char* name, const std::string& text) const
    {
        const std::string path = m_folder.filePath(name).toStdString();
        if (!base::writeFile(path, std::string_view(text)).ok()) {
            qFatal("%s", path.c_str());
        }
        return path;
    }

private slots:
    void wordsBecomeTheirNumbers_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addColumn<Tokens>("tokens");
        QTest::newRow("words") << "the film was good" << Tokens{0, 1, 2, 3};
        QTest::newRow("white space") << "\n the\t film\r\n\n" << Tokens{0, 1};
        QTest::newRow("upper case") << "The FILM" << Tokens{0, 1};
        QTest::newRow("as it stands first") << "Paris" << Tokens{5};
        QTest::newRow("punctuation around") << "\"The film\" was (good)!" << Tokens{0, 1, 2, 3};
        QTest::newRow("punctuation inside") << "don't" << Tokens{4};
        QTest::newRow("punctuation that is a word") << "film, the film" << Tokens{1, 6, 0, 1};
        QTest::newRow("punctuation alone") << "the - film" << Tokens{0, 1};
        QTest::newRow("letters of other scripts") << QStringLiteral("größer.") << Tokens{7};
        QTest::newRow("byte order mark") << QStringLiteral("\uFEFFthe") << Tokens{0};
    }

    void wordsBecomeTheirNumbers()
    {
        QFETCH(const QString, text);
        QFETCH(const Tokens, tokens);
        RETRO_MADE(found, engine::tokensOf(text.toStdString(), reviews()));
        QCOMPARE(*found, tokens);
    }

    void unknownWordsAreNamedOrBecomeTheWordForThem()
    {
        RETRO_REFUSED(engine::tokensOf("the Book was good", reviews()), "'Book'", "input.unknown");
        formats::ModelCard card = cardOf({"[UNK]", "good"}, "[UNK]");
        QCOMPARE(*engine::tokensOf("the Book, good", card), (Tokens{0, 0, 1}));
        const auto longWord = engine::tokensOf(std::string(10'000, 'x'), reviews());
        QVERIFY(!longWord.ok() && longWord.error().text().size() < 400);
    }

    void whatIsNoTextIsRefused()
    {
        QVERIFY(!engine::tokensOf("", reviews()).ok());
        QVERIFY(!engine::tokensOf(" \n ... ", reviews()).ok());
        QVERIFY(engine::tokensOf("\xff\xfe", reviews()).error().text().find("UTF-8") != std::string::npos);
        QVERIFY(engine::tokensOf("the", cardOf({})).error().text().find("vocabulary") != std::string::npos);
        std::string much;
        for (std::size_t i = 0; i <= engine::kMostTokens; ++i) {
            much += "the ";
        }
        QVERIFY(!engine::tokensOf(much, reviews()).ok());
        much.resize(much.size() - 4);
        QCOMPARE(engine::tokensOf(much, reviews())->size(), engine::kMostTokens);
    }

    void randomBytesNeverCrash()
    {
        std::mt19937 random(7);
        const formats::ModelCard card = cardOf({"a", "b", ".", "ü", "?"}, "?");
        const std::string letters = "ab.,?! \n\tü\xC3\xBC\xFFXY'-\0";
        int taken = 0;
        for (int i = 0; i < 20'000; ++i) {
            std::string text;
            for (std::size_t k = random() % 12; k > 0; --k) {
                text += letters[random() % letters.size()];
            }
            if (const auto tokens = engine::tokensOf(text, card)) {
                QVERIFY(std::all_of(tokens->begin(), tokens->end(), [](std::int64_t t) { return t >= 0 && t < 5; }));
                ++taken;
            }
        }
        QVERIFY(taken > 1000);
    }

    void aTextFileIsAnInput()
    {
        const formats::ModelCard card = reviews();
        const std::string path = file("review.txt", "The film was good.\n");
        const graph::Graph open = reader(std::vector<graph::Dimension>{{{}, "N"}, {{}, "words"}});
        RETRO_MADE(inputs, engine::resolveInputs({"tokens=" + path}, open, {}, &card));
        QCOMPARE(inputs->front().shape(), (tensor::Shape{1, 4}));
        QCOMPARE(inputs->front().dtype(), tensor::DType::Int64);
        QCOMPARE(inputs->front().at(3), 3.0);
        const auto flat =
            engine::resolveInputs({path}, reader(std::vector<graph::Dimension>{{{}, "words"}}), {}, &card);
        QVERIFY(flat.ok());
        QCOMPARE(flat->front().shape(), (tensor::Shape{4}));
        RETRO_MADE(narrow, engine::resolveInputs({path}, reader(std::nullopt, tensor::DType::Int32), {}, &card));
        QCOMPARE(narrow->front().dtype(), tensor::DType::Int32);
    }

    void aTextThatDoesNotFitIsRefused()
    {
        const formats::ModelCard card = reviews();
        const std::string path = file("review.txt", "The film was good.\n");
        const auto why = [&](const graph::Graph& graph, const formats::ModelCard* with) {
            const auto inputs = engine::resolveInputs({path}, graph, {}, with);
            return inputs.ok() ? std::string() : inputs.error().text();
        };
        const auto says = [](const std::string& text, const char* part) {
            return text.find(part) != std::string::npos;
        };
        const graph::Graph exact = reader(std::vector<graph::Dimension>{{1, ""}, {5, ""}});
        QVERIFY(says(why(exact, &card), "4 words") && says(why(exact, &card), "exactly 5"));
        QVERIFY(says(why(exact, &card), "review.txt"));
        QVERIFY(says(why(exact, nullptr), "no card"));
        QVERIFY(says(why(reader(std::vector<graph::Dimension>{{2, ""}, {4, ""}}), &card), "several rows"));
        QVERIFY(says(why(reader(std::nullopt, tensor::DType::Float32), &card), "row of integers"));
        QVERIFY(says(why(reader(std::nullopt, tensor::DType::Int8), &card), "row of integers"));
    }
};

QTEST_GUILESS_MAIN(TextInputTest)
#include "textinputtest.moc"
