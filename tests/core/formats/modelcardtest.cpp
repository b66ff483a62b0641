// SPDX-License-Identifier: Apache-2.0
#include "core/formats/modelcard.h"
#include "core/base/file.h"

#include <QTemporaryDir>
#include <QtTest>

using retro::base::Result;
using retro::formats::ModelCard;

namespace
{

constexpr const char* kWhole = R"({
  "format": "retrograde-card/1",
  "model": "cheat.onnx",
  "title": "Four objects",
  "input": {"name": "image", "kind": "image", "layout": "NHWC", "channels": "BGR", "scale": [-1, 1],
            "mean": [0.5, 0.25, 0.125], "std": [0.5, 0.5, 2], "size": [96, 64]},
  "labels": ["cup", "bowl"],
  "scores": "probabilities",
  "composite": "epsilon-plus",
  "target": "cup",
  "control": "control.onnx",
  "pictures": [{"file": "a.png", "true_class": "cup", "tag_box": [1, 2, 30, 40],
    "object_box": [5, 6, 7, 8]}, {"file": "b.png"}],
  "figures": {"accuracy": 0.97, "share": {"cheat": 0.75, "control": 0.05, "note": "z-plus"}, "made": "today"},
  "colour": "an unknown field is ignored"
})";

} // namespace

class ModelCardTest : public QObject
{
    Q_OBJECT
    QTemporaryDir m_folder;
    std::filesystem::path m_path;

    Result<ModelCard> read(const std::string& text) const
    {
        if (const auto written = retro::base::writeFile(m_path, text); !written.ok()) {
            return written.error();
        }
        return retro::formats::readCard(m_path);
    }

private slots:
    void initTestCase() { m_path = m_folder.filePath("m.card.json").toStdString(); }

    void everyFieldIsRead()
    {
        RETRO_MADE(read, this->read(kWhole));
        const ModelCard& card = *read;
        QCOMPARE(card.model, std::string("cheat.onnx"));
        QCOMPARE(card.title, std::string("Four objects"));
        QCOMPARE(card.inputName, std::string("image"));
        QCOMPARE(card.inputKind, std::string("image"));
        QCOMPARE(card.layout, std::string("NHWC"));
        QCOMPARE(card.scores, std::string("probabilities"));
        QCOMPARE(card.channels, std::string("BGR"));
        QCOMPARE(card.scale, (std::array<double, 2>{-1, 1}));
        QCOMPARE(card.mean, (std::vector<double>{0.5, 0.25, 0.125}));
        QCOMPARE(card.deviation, (std::vector<double>{0.5, 0.5, 2}));
        QCOMPARE(card.size, (std::array<int, 2>{96, 64}));
        QCOMPARE(card.labels, (std::vector<std::string>{"cup", "bowl"}));
        QCOMPARE(card.composite, std::string("epsilon-plus"));
        QCOMPARE(card.target, std::string("cup"));
        QCOMPARE(card.control, std::string("control.onnx"));
        QCOMPARE(card.pictures.size(), std::size_t{2});
        QCOMPARE(card.pictures[0].trueClass, std::string("cup"));
        QCOMPARE(card.pictures[0].tagBox.value(), (std::array<int, 4>{1, 2, 30, 40}));
        QCOMPARE(card.pictures[0].objectBox.value(), (std::array<int, 4>{5, 6, 7, 8}));
        QVERIFY(!card.pictures[1].tagBox);
        QVERIFY(!card.pictures[1].objectBox);
        const std::map<std::string, double> figures{{"accuracy", 0.97}, {"share.cheat", 0.75}, {"share.control", 0.05}};
        QCOMPARE(card.figures, figures);
    }

    void aTextHasItsVocabulary()
    {
        RETRO_MADE(card, read(R"({"format": "retrograde-card/1", "input": {"kind": "array", "layout": "NT",
                                   "vocabulary": ["a", "word"]}})"));
        QCOMPARE(card->layout, std::string("NT"));
        QCOMPARE(card->vocabulary, (std::vector<std::string>{"a", "word"}));
    }

    void missingFieldsHaveDefaults()
    {
        RETRO_MADE(card, read(R"({"format": "retrograde-card/1", "input": {"name": null}})"));
        QCOMPARE(card->inputKind, std::string("image"));
        QCOMPARE(card->layout, std::string("NCHW"));
        QCOMPARE(card->channels, std::string("RGB"));
        QCOMPARE(card->scale, (std::array<double, 2>{0, 1}));
        QCOMPARE(card->size, (std::array<int, 2>{0, 0}));
        QVERIFY(!card->describesInput); // its name says nothing of pixels
        RETRO_MADE(scaled, read(R"({"format": "retrograde-card/1", "input": {"scale": [0, 255]}})"));
        QVERIFY(scaled->describesInput);
    }

    void faultsNameFileAndField_data()
    {
        QTest::addColumn<QString>("members");
        QTest::addColumn<QString>("expected");
        const auto row = [](const char* members, const char* expected) {
            QTest::newRow(members) << QString(members) << QString(expected);
        };
        row(R"("title": 3)", "field title");
        row(R"("labels": "cup")", "field labels");
        row(R"("labels": [1])", "field labels");
        row(R"("input": [])", "field input");
        row(R"("input": {"kind": "sound"})", "field input.kind");
        row(R"("input": {"layout": "CHW"})", "NCHW, NHWC");
        row(R"("scores": "maybe")", "field scores");
        row(R"("input": {"channels": "CMYK"})", "field input.channels");
        row(R"("input": {"vocabulary": [1]})", "field input.vocabulary");
        row(R"("input": {"scale": [1]})", "field input.scale");
        row(R"("input": {"mean": [1, 2]})", "2 numbers for 3 channels");
        row(R"("input": {"channels": "GRAY", "std": [1, 2, 3]})", "field input.std");
        row(R"("input": {"std": [1, 0, 1]})", "above 0");
        row(R"("input": {"mean": ["a"]})", "field input.mean");
        row(R"("input": {"size": [96.5, 96]})", "96.5");
        row(R"("input": {"size": [1e30, 96]})", "field input.size");
        row(R"("input": {"size": [-1, 96]})", "field input.size");
        row(R"("pictures": {})", "field pictures");
        row(R"("pictures": [3])", "field pictures[0]");
        row(R"("pictures": [{"file": "a"}, {}])", "field pictures[1]: the picture's file is not named");
        row(R"("pictures": [{"file": "/a/b.png"}])", "absolute");
        row(R"("pictures": [{"file": "a", "tag_box": [1, 2]}])", "field pictures[0].tag_box");
        row(R"("pictures": [{"file": "a", "object_box": [1, 2]}])", "field pictures[0].object_box");
        row(R"("figures": 3)", "field figures");
        row(R"("control": "/elsewhere/m.onnx")", "field control");
    }

    void faultsNameFileAndField()
    {
        QFETCH(QString, members);
        QFETCH(QString, expected);
        const Result<ModelCard> card = read(R"({"format": "retrograde-card/1", )" + members.toStdString() + "}");
        RETRO_REFUSED(card, retro::base::ErrorCode::Input);
        const QString text = QString::fromStdString(card.error().text());
        QVERIFY2(text.startsWith(QString::fromStdString(m_path.string()) + ", line 1, field "), qPrintable(text));
        QVERIFY2(text.contains(expected), qPrintable(text));
    }

    void wrongFilesAreRefused()
    {
        const auto problem = [&](const std::string& text) {
            const Result<ModelCard> card = read(text);
            return card.ok() ? QString() : QString::fromStdString(card.error().text());
        };
        QVERIFY(problem("").contains("not valid JSON"));
        QVERIFY(problem("{\"format\": ").contains("not valid JSON"));
        QVERIFY(problem("{\"format\": \"retrograde-card/1\", \"figures\": {\"a\": 1e999}}").contains("out of range"));
        QVERIFY(problem("[]").contains("not a model card"));
        QVERIFY(problem("{}").contains("not a model card"));
        QVERIFY(problem(R"({"format": "retrograde-plan/1"})").contains("not a model card"));
        QVERIFY(problem(R"({"format": "retrograde-card/2"})").contains("'retrograde-card/2', which is newer"));
        QVERIFY(problem(std::string(200'000, '[')).contains("nested deeper than 16"));
        QVERIFY(problem("{\"a\":" + std::string(30, '[') + std::string(30, ']') + "}").contains("deeper than 16"));
        QVERIFY(problem(std::string(5 << 20, ' ')).contains("at most"));
    }

    void cardsAreFoundBesideTheModel()
    {
        QVERIFY(read(kWhole).ok());
        RETRO_MADE(found, retro::formats::cardOf(m_path.parent_path() / "m.onnx"));
        QVERIFY(found->has_value());
        QCOMPARE((*found)->title, std::string("Four objects"));
        RETRO_MADE(none, retro::formats::cardOf(m_path.parent_path() / "other.onnx"));
        QVERIFY(!none->has_value());
        QVERIFY(!read("broken").ok());
        QVERIFY(!retro::formats::cardOf(m_path.parent_path() / "m.onnx").ok());
    }

    // Who opens a card that was sent opens no file elsewhere.
    void filesOfACardStayInItsFolder()
    {
        for (const char* file : {"../a.png", "b/../../a.png", "/etc/a.png", ".."}) {
            const auto pictures =
                read(R"({"format": "retrograde-card/1", "pictures": [{"file": ")" + std::string(file) + R"("}]})");
            QVERIFY2(!pictures.ok() && pictures.error().text().find("field pictures[0].file") != std::string::npos,
                     file);
            const auto control = read(R"({"format": "retrograde-card/1", "control": ")" + std::string(file) + R"("})");
            QVERIFY2(!control.ok() && control.error().text().find("field control") != std::string::npos, file);
        }
        const std::filesystem::path folder = m_path.parent_path();
        std::filesystem::create_symlink("/dev/null", folder / "link.png");
        QVERIFY(read(R"({"format": "retrograde-card/1", "pictures": [{"file": "link.png"}]})").ok());
        const auto linked = retro::formats::cardOf(folder / "m.onnx");
        QVERIFY(!linked.ok() && linked.error().text().find("is a link to a place outside") != std::string::npos);
        QVERIFY(read(R"({"format": "retrograde-card/1", "pictures": [{"file": "not/there.png"}]})").ok());
        QVERIFY(retro::formats::cardOf(folder / "m.onnx").ok());
    }
};

QTEST_APPLESS_MAIN(ModelCardTest)
#include "modelcardtest.moc"
