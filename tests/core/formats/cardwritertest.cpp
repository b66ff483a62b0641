// SPDX-License-Identifier: Apache-2.0
#include "core/formats/cardwriter.h"
#include "core/base/file.h"

#include <QTemporaryDir>
#include <QtTest>

using namespace retro;
using formats::ModelCard;

namespace
{

ModelCard choices()
{
    ModelCard card;
    card.layout = "NHWC";
    card.channels = "BGR";
    card.scale = {0, 255};
    card.mean = {1, 2, 3};
    card.deviation = {4, 5, 6};
    card.composite = "epsilon:epsilon=0.1";
    card.target = std::string("1");
    card.noRewrite = {"fuse-linear", "merge-batchnorm"};
    card.checkpoints = {"/block1/add"};
    card.stopsAtCheckpoints = true;
    return card;
}

} // namespace

class CardWriterTest : public QObject
{
    Q_OBJECT
    QTemporaryDir m_folder;

    [[nodiscard]] std::filesystem::path inFolder(const char* name) const
    {
        return m_folder.filePath(QLatin1String(name)).toStdString();
    }

private slots:
    void aNewCardReadsBack()
    {
        RETRO_MADE(written, formats::saveCardChoices(inFolder("new.onnx"), choices()));
        QVERIFY(*written);
        RETRO_MADE(card, formats::readCard(inFolder("new.card.json")));
        QCOMPARE(card->model, std::string("new.onnx"));
        QCOMPARE(card->layout, std::string("NHWC"));
        QCOMPARE(card->channels, std::string("BGR"));
        QCOMPARE(card->scale, (std::array<double, 2>{0, 255}));
        QCOMPARE(card->mean, (std::vector<double>{1, 2, 3}));
        QCOMPARE(card->deviation, (std::vector<double>{4, 5, 6}));
        QCOMPARE(card->composite, std::string("epsilon:epsilon=0.1"));
        QCOMPARE(card->target, std::string("1"));
        QCOMPARE(card->noRewrite, (std::vector<std::string>{"fuse-linear", "merge-batchnorm"}));
        QCOMPARE(card->checkpoints, std::vector<std::string>{"/block1/add"});
        QVERIFY(card->stopsAtCheckpoints);
        RETRO_MADE(again, formats::saveCardChoices(inFolder("new.onnx"), choices()));
        QVERIFY(!*again);
    }

    /// What is taken where nobody says how pixels become numbers would stand there as what somebody knows.
    void whatNobodyChoseOfPixelsIsNotWritten()
    {
        formats::ModelCard card = choices();
        card.describesInput = false;
        QVERIFY(formats::saveCardChoices(inFolder("usual.onnx"), card).ok());
        RETRO_MADE(read, formats::readCard(inFolder("usual.card.json")));
        QVERIFY(!read->describesInput && read->composite == card.composite);
        QCOMPARE(read->layout, std::string("NHWC")); // chosen: they are not the usual ones
        QCOMPARE(read->channels, std::string("BGR"));
    }

    void whatWeDoNotKnowStays()
    {
        const std::string before = R"({
  "colour": {"of": ["what", 1, null]},
  "format": "retrograde-card/1",
  "model": "elsewhere.onnx",
  "labels": ["cup", "bowl"],
  "input": {"name": "image", "size": [96, 64], "sharpened": true, "mean": [9]},
  "pictures": [{"file": "a.png", "tag_box": [1, 2, 3, 4], "answer": "cup"}]
})";
        QVERIFY(base::writeFile(inFolder("old.card.json"), before).ok());
        QVERIFY(formats::saveCardChoices(inFolder("old.onnx"), choices()).ok());
        RETRO_MADE(text, base::readTextFile(inFolder("old.card.json"), 1 << 20));
        QString shown = QString::fromStdString(*text);
        for (const char* kept :
             {"\"sharpened\": true", "\"answer\": \"cup\"", "\"elsewhere.onnx\"", "\"what\"", "null"}) {
            QVERIFY2(shown.contains(QLatin1String(kept)), kept);
        }
        QVERIFY(shown.indexOf(QStringLiteral("colour")) < shown.indexOf(QStringLiteral("format")));
        RETRO_MADE(card, formats::readCard(inFolder("old.card.json")));
        QCOMPARE(card->mean, (std::vector<double>{1, 2, 3}));
        QCOMPARE(card->size, (std::array<int, 2>{96, 64}));
        QCOMPARE(card->pictures.size(), std::size_t{1});
    }

    void whatIsNoCardIsNotTouched()
    {
        for (const char* text : {"not JSON", R"({"format": "retrograde-card/9"})", "[]"}) {
            QVERIFY(base::writeFile(inFolder("bad.card.json"), std::string_view(text)).ok());
            QVERIFY(!formats::saveCardChoices(inFolder("bad.onnx"), choices()).ok());
            const auto after = base::readTextFile(inFolder("bad.card.json"), 1 << 20);
            QCOMPARE(after.value(), std::string(text));
        }
    }

    void aCompositeOfAnotherFolderIsNotKept()
    {
        formats::ModelCard card = choices();
        for (const char* const composite : {"/elsewhere/c.json", "../c.json | op:Conv=stop"}) {
            card.composite = composite;
            QVERIFY(!formats::saveCardChoices(inFolder("apart.onnx"), card).ok());
        }
        card.composite = "c.json";
        QVERIFY(formats::saveCardChoices(inFolder("apart.onnx"), card).ok());
    }

    void aFolderThatIsNotThereIsSaid()
    {
        QVERIFY(!formats::saveCardChoices(inFolder("no/such/model.onnx"), choices()).ok());
    }
};

QTEST_GUILESS_MAIN(CardWriterTest)
#include "cardwritertest.moc"
