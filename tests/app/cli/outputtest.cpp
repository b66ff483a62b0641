// SPDX-License-Identifier: Apache-2.0
// No output is written over an input of the same call, nor over another output: every verb, every option that names a
// file to write. The options are those that --help says, so that a new one is tried as well.
#include "tests/app/cli/cliprogram.h"

#include "core/tensor/npy.h"

#include <QtTest>

#include <QDir>
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QRegularExpression>
#include <QTemporaryDir>

#include <filesystem>

namespace fs = std::filesystem;
using namespace retro;
using tests::Answer;
using tests::cli;
using tests::expectEnd;

namespace
{

const QString kSample = QStringLiteral(RETRO_SOURCE_DIR "/samples/clever-hans/");

QByteArray contentOf(const QString& path)
{
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

/// The long name and the rest of the line of each option of a verb.
QMap<QString, QString> optionsOf(const QString& verb)
{
    static const QRegularExpression kOption(QStringLiteral("^ +(?:-., ?)?(--[a-z-]+)(?:,--[a-z-]+)* *(.*)$"));
    QMap<QString, QString> found;
    QString name;
    for (const QString& line : cli({verb, "--help"}).out.split(QLatin1Char('\n'))) {
        const QRegularExpressionMatch match = kOption.match(line);
        if (match.hasMatch()) {
            name = match.captured(1);
            found[name] = match.captured(2);
        } else if (line.startsWith(QLatin1String("    ")) && !name.isEmpty()) {
            found[name] += QLatin1Char(' ') + line.trimmed(); // the sentence goes on
        }
    }
    return found;
}

bool isOutput(const QString& rest) { return rest.startsWith(QLatin1String("OUTPUT")); }

} // namespace

class OutputTest : public QObject
{
    Q_OBJECT
    QTemporaryDir m_folder;
    QMap<QString, QStringList> m_calls; ///< by verb: what is read, and nothing is written but into a folder

    QString path(const QString& name) const { return m_folder.filePath(name); }

    /// The files of this test that a call names.
    QStringList inputsOf(const QStringList& call) const
    {
        QStringList found;
        for (const QString& word : call) {
            if (QFileInfo(word).isFile()) {
                found << word;
            }
        }
        found.removeDuplicates();
        return found;
    }

    void isRefused(const QStringList& call, const QString& option, const QString& output, const QString& input)
    {
        const QByteArray before = contentOf(input);
        const Answer answer = cli(call + QStringList{option, output});
        const QString place = (call + QStringList{option, output}).join(QLatin1Char(' ')) + ": ";
        QVERIFY2(answer.code == 2, qPrintable(place + QString::number(answer.code) + answer.err));
        QVERIFY2(answer.err.contains("would be written over") && answer.err.contains("choose another name"),
                 qPrintable(place + answer.err));
        QVERIFY2(answer.err.contains(option + " " + output), qPrintable(place + answer.err));
        QVERIFY2(contentOf(input) == before && !before.isEmpty(), qPrintable(place + "the input is gone"));
    }

private slots:
    void initTestCase()
    {
        for (const char* name : {"clever-hans.onnx", "clever-hans.card.json", "jug-tagged.png", "control.onnx"}) {
            QVERIFY(QFile::copy(kSample + name, path(name)));
        }
        QVERIFY(QFile::copy(RETRO_SOURCE_DIR "/samples/graphs/lstm.json", path("g.json")));
        QVERIFY(QFile::copy(RETRO_SOURCE_DIR "/tests/data/golden/lut/fc_seq_tiny.json", path("case.json")));
        const QString model = path("clever-hans.onnx");
        const QString picture = path("jug-tagged.png");
        QCOMPARE(cli({"explain", model, "--input", picture, "--rules", "--save-composite", path("c.json")}).code, 0);
        QCOMPARE(cli({"explain", model, "--input", picture, "--output-dir", path("o"), "--run", path("r.retro")}).code,
                 0);
        const QStringList asked{"--input", picture, "--output-dir", path("o")};
        m_calls["info"] = {"info", model};
        m_calls["explain"] = QStringList{"explain", model, "--composite", path("c.json")} + asked;
        m_calls["grad"] = QStringList{"grad", model} + asked;
        m_calls["plan"] = {"plan", path("g.json")};
        m_calls["compare"] = {"compare", path("r.retro"), path("r.retro")};
        QVERIFY(QFile::copy(path("r.retro"), path("run.svg"))); // a name that a heatmap may have
        m_calls["export"] = {"export", path("run.svg"), "heatmap"};
        m_calls["lut"] = {"lut", path("case.json")};
    }

    /// A folder holds the files of the last question alone, and what a person laid beside them.
    void whatAnotherQuestionLeftGoes()
    {
        const QString folder = path("used");
        const QStringList asked{"explain", path("clever-hans.onnx"), "--input", path("jug-tagged.png"),
                                "--quiet", "--output-dir",           folder,    "--composite",
                                "epsilon"};
        const auto files = [&folder] { return QDir(folder + "/relevance").entryList(QDir::Files); };
        QCOMPARE(cli(asked).code, 0);
        const qsizetype ofAll = files().size();
        QFile own(folder + "/relevance/own.npy");
        QVERIFY(own.open(QIODevice::WriteOnly));
        own.close();
        QFile summary(folder + "/summary.json");
        QVERIFY(summary.open(QIODevice::ReadOnly));
        QByteArray text = summary.readAll();
        summary.close();
        QVERIFY(text.contains("\"relevance/image.npy\""));
        QFile outside(path("outside.npy"));
        QVERIFY(outside.open(QIODevice::WriteOnly));
        outside.close();
        text.replace("\"relevance/logits.npy\"",
                     "\"../outside.npy\", \"" + outside.fileName().toUtf8() + "\", \"relevance/logits.npy\"");
        QVERIFY(summary.open(QIODevice::WriteOnly) && summary.write(text) == text.size());
        summary.close();
        QCOMPARE(cli(asked + QStringList{"--inputs-only"}).code, 0);
        QVERIFY(ofAll > 10);
        QCOMPARE(files(), (QStringList{"image.npy", "own.npy"}));
        QVERIFY(outside.exists());
    }

    void anErrorIsTheAnswerForMachines()
    {
        const Answer answer = cli({"explain", kSample + "clever-hans.onnx", "--input", kSample + "jug.png", "--target",
                                   "nothing[0]", "--output-dir", path("refused"), "--json"});
        QVERIFY(answer.code != 0 && !answer.err.isEmpty());
        const QJsonObject error = QJsonDocument::fromJson(answer.out.toUtf8()).object();
        QCOMPARE(error.value("exit").toInt(), answer.code);
        QVERIFY2(answer.err.contains(error.value("error").toString()), qPrintable(answer.out));
        QVERIFY2(answer.err.contains(error.value("place").toString()), qPrintable(answer.out));
        QVERIFY2(error.contains("remedy"), qPrintable(answer.out));
        const Answer page = cli({"info", kSample + "clever-hans.onnx", "--md"});
        QVERIFY2(page.code == 0 && page.out.startsWith("# retrograde-cli info ") && page.out.contains("\n|---|"),
                 qPrintable(page.out));
    }

    void helpFitsATerminalOfEightyColumns()
    {
        for (const QString& verb : {QString(), QStringLiteral("explain"), QStringLiteral("plan"),
                                    QStringLiteral("export"), QStringLiteral("compare")}) {
            const QString help = cli(QStringList(verb.isEmpty() ? QStringList() : QStringList{verb}) << "--help").out;
            for (const QString& line : help.split(QLatin1Char('\n'))) {
                QVERIFY2(line.size() <= 80 || line.startsWith("  /"), qPrintable(verb + ": " + line)); // a folder
            }
        }
        const QString explain = cli({"explain", "--help"}).out;
        const QStringList groups{"\nInput:\n", "\nRules:\n", "\nEngine and memory:\n", "\nOutput:\n", "\nGeneral:\n"};
        qsizetype last = 0;
        for (const QString& group : groups) {
            QVERIFY2(explain.indexOf(group) > last, qPrintable(group));
            last = explain.indexOf(group);
        }
    }

    void everyOptionThatWritesIsKnown()
    {
        static const QRegularExpression kVerb(QStringLiteral("^  ([a-z]+)  "));
        static const QRegularExpression kWrites(
            QStringLiteral("\\b(Write |Also write|Record |Also record|Draw |Also draw|File to write|appends a row)"));
        QStringList verbs;
        for (const QString& line : cli({"--help"}).out.split(QLatin1Char('\n'))) {
            const QRegularExpressionMatch match = kVerb.match(line);
            if (match.hasMatch()) {
                verbs << match.captured(1);
            }
        }
        QVERIFY2(verbs.size() > 10, qPrintable(verbs.join(' ')));
        for (const QString& verb : verbs) {
            const QMap<QString, QString> options = optionsOf(verb);
            QVERIFY2(!options.isEmpty(), qPrintable(verb));
            for (auto option = options.begin(); option != options.end(); ++option) {
                const bool writes = kWrites.match(*option).hasMatch() && option->startsWith(QLatin1String("TEXT"));
                QVERIFY2(!writes, qPrintable(verb + ' ' + option.key() + " names no output: Context::addOutput"));
                QVERIFY2(!isOutput(*option) || m_calls.contains(verb), qPrintable(verb + " has no call in this test"));
            }
        }
    }

    void noOutputIsWrittenOverAnInput_data()
    {
        QTest::addColumn<QString>("verb");
        QTest::addColumn<QString>("option");
        for (auto call = m_calls.begin(); call != m_calls.end(); ++call) {
            const QMap<QString, QString> options = optionsOf(call.key());
            for (auto option = options.begin(); option != options.end(); ++option) {
                if (isOutput(*option)) {
                    QTest::addRow("%s %s", qPrintable(call.key()), qPrintable(option.key()))
                        << call.key() << option.key();
                }
            }
        }
    }
    void noOutputIsWrittenOverAnInput()
    {
        QFETCH(QString, verb);
        QFETCH(QString, option);
        const QStringList call = m_calls[verb];
        const QStringList inputs = inputsOf(call);
        QVERIFY(!inputs.isEmpty());
        for (const QString& input : inputs) {
            // What is asked together, and the endings of some, are looked at when the model is there.
            const bool isAsked = QStringList{"--run", "--image", "--save-composite"}.contains(option);
            if (input != inputs.front() && !isAsked) {
                continue;
            }
            isRefused(call, option, input, input);
            const QString hard = path("hard.") + QFileInfo(input).suffix();
            const QString soft = path("soft.") + QFileInfo(input).suffix();
            std::error_code failed;
            fs::create_hard_link(input.toStdString(), hard.toStdString(), failed);
            fs::create_symlink(input.toStdString(), soft.toStdString(), failed);
            QVERIFY(!failed);
            isRefused(call, option, hard, input);
            isRefused(call, option, soft, input);
            isRefused(call, option, path("o/../") + QFileInfo(input).fileName(), input);
            QVERIFY(QFile::remove(hard) && QFile::remove(soft));
        }
    }

    void filesThatAModelBringsAreInputsToo()
    {
        const QStringList call = m_calls["explain"];
        isRefused(call, "--run", path("clever-hans.card.json"), path("clever-hans.card.json"));
    }

    void resultsOfAFolderAreNotWrittenOverInputs()
    {
        const QString model = path("clever-hans.onnx");
        QCOMPARE(cli({"run", model, "--input", path("jug-tagged.png"), "--output-dir", path("first")}).code, 0);
        const QStringList made = QDir(path("first")).entryList({"*.npy"});
        QCOMPARE(made.size(), 1);
        const auto shape = tensor::Tensor::zeros(tensor::DType::Float32, {1, 3, 96, 96});
        const QString input = path("first/") + made.front();
        QVERIFY(tensor::writeNpy(input.toStdString(), shape).ok());
        const QByteArray before = contentOf(input);
        expectEnd({"run", model, "--input", input, "--output-dir", path("first")}, 2,
                  {made.front(), "would be written over"});
        QVERIFY(contentOf(input) == before);
        QCOMPARE(cli({"explain", model, "--input", input, "--output-dir", path("e")}).code, 0);
        const QStringList relevance = QDir(path("e/relevance")).entryList({"image.npy"});
        QCOMPARE(relevance.size(), 1);
        const QByteArray old = contentOf(path("e/relevance/image.npy"));
        expectEnd({"explain", model, "--input", path("e/relevance/image.npy"), "--output-dir", path("e")}, 2,
                  {"image.npy", "would be written over"});
        QVERIFY(contentOf(path("e/relevance/image.npy")) == old);
    }

    void twoOutputsHaveTwoNames()
    {
        const QStringList call = m_calls["explain"];
        expectEnd(call + QStringList{"--run", path("same"), "--image", path("o/../same")}, 2,
                  {"--image", "--run", "writes this file as well"});
        QVERIFY(!QFile::exists(path("same")));
        expectEnd(call + QStringList{"--run", path("o/summary.json")}, 2, {"--run", "has this name as well"});
        expectEnd({"plan", path("g.json"), "--out", path("p.svg"), "--picture", path("p.svg")}, 2, {"--picture"});
    }

    void theSameCallMayBeMadeAgain()
    {
        const QStringList call =
            m_calls["explain"] + QStringList{"--run", path("again.retro"), "--image", path("a.png")};
        QCOMPARE(cli(call).code, 0);
        RETRO_RUNS(again, call);
        const QStringList rows = m_calls["explain"] + QStringList{"--out", path("rows.parquet")};
        QCOMPARE(cli(rows).code, 0);
        RETRO_RUNS(more, rows);
    }
};

QTEST_GUILESS_MAIN(OutputTest)
#include "outputtest.moc"
