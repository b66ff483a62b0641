// SPDX-License-Identifier: Apache-2.0
// What others do to a call: names and files that are made to harm, processes beside it, streams and disks that are
// full.
#include "tests/app/cli/cliprogram.h"

#include "core/base/folderlock.h"
#include "core/formats/modelfile.h"
#include "core/graph/graphbuilder.h"
#include "core/tensor/npy.h"

#include <QDir>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QXmlStreamReader>

#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <sys/stat.h>

namespace fs = std::filesystem;
using namespace retro;
using tests::Answer;
using tests::cli;
using tests::expectEnd;

namespace
{

const QString kModel = QStringLiteral(RETRO_SOURCE_DIR "/tests/data/golden/lrp/dwconv/model.onnx");
const QString kInput = QStringLiteral(RETRO_SOURCE_DIR "/tests/data/golden/lrp/dwconv/input.npy");
const QString kProgram = QStringLiteral(RETRO_BINARY_DIR "/bin/retrograde-cli");

/// x → a chain of Relu with these names of nodes and values; all values are outputs.
QString modelWith(const QString& path, const std::vector<std::string>& names)
{
    graph::GraphBuilder builder("g", 17);
    graph::ValueId value = builder.addInput("x", tensor::DType::Float32, tensor::Shape{1, 4});
    for (const std::string& name : names) {
        graph::Node node;
        node.op = "Relu";
        node.opset = 17;
        node.name = name;
        node.inputs = {value};
        value = builder.addResult(name);
        node.outputs = {value};
        builder.addNode(std::move(node));
        builder.addOutput(value);
    }
    const auto graph = std::move(builder).build();
    return graph.ok() && formats::writeModelFile(path.toStdString(), *graph).ok() ? path : QString();
}

/// Runs a line of the shell, in which $CLI is the program.
Answer shell(const QString& line, const QString& folder)
{
    QProcess process;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert("CLI", kProgram);
    process.setProcessEnvironment(environment);
    process.setWorkingDirectory(folder);
    process.start("/bin/bash", {"-c", line});
    Answer answer;
    if (process.waitForFinished(120'000)) {
        answer.code = process.exitCode();
    }
    answer.out = QString::fromUtf8(process.readAllStandardOutput());
    answer.err = QString::fromUtf8(process.readAllStandardError());
    return answer;
}

bool hasControl(const QByteArray& text)
{
    return std::ranges::any_of(text, [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return (byte < 0x20 && c != '\n') || byte == 0x7f;
    });
}

} // namespace

class SafetyTest : public QObject
{
    Q_OBJECT
    std::unique_ptr<QTemporaryDir> m_folder; // of one test
    QTemporaryDir m_shared;                  // with a run of the model

    QString path(const QString& name) const { return m_folder->filePath(name); }

private slots:
    void initTestCase()
    {
        QFile::copy(kModel, m_shared.filePath("m.onnx"));
        QFile::copy(kInput, m_shared.filePath("i.npy"));
        RETRO_RUNS(answer, {"explain", m_shared.filePath("m.onnx"), "--input", m_shared.filePath("i.npy"),
                            "--output-dir", m_shared.filePath("first"), "--run", m_shared.filePath("r.retro")});
    }

    void init()
    {
        m_folder = std::make_unique<QTemporaryDir>();
        QFile::copy(kModel, path("m.onnx"));
        QFile::copy(kInput, path("i.npy"));
    }

    void namesThatClashGetFilesOfTheirOwn()
    {
        const QString model = modelWith(path("clash.onnx"), {"a/b", "a:b", "a_b~2", "a\\b", ".."});
        RETRO_RUNS(run, {"run", model, "--input", "random:1", "--output-dir", path("o")});
        QCOMPARE(QDir(path("o")).entryList(QDir::Files, QDir::Name).size(), 5);
        RETRO_RUNS(explain, {"explain", model, "--input", "random:1", "--target", "a_b~2:0,0", "--checkpoint", "a/b",
                             "--checkpoint", "a:b", "--output-dir", path("e")});
        QCOMPARE(QDir(path("e/checkpoints")).entryList(QDir::Files).size(), 2);
    }

    // A folder has one item for every file, whatever the files are called, and none outside it.
    void filesOfABatchThatClash()
    {
        QVERIFY(QDir().mkpath(path("in")));
        for (const char* name : {"a.npy", "a~2.npy", "...npy", "index.csv.npy"}) {
            QVERIFY(QFile::copy(kInput, path(QStringLiteral("in/") + name)));
        }
        QFile list(path("list.txt"));
        QVERIFY(list.open(QIODevice::WriteOnly));
        list.write("in/a.npy\nin/a.npy\nin/a~2.npy\nin/...npy\nin/index.csv.npy\n");
        list.close();
        RETRO_RUNS(answer, {"explain", path("m.onnx"), "--input", "@" + path("list.txt"), "--output-dir", path("sub/o"),
                            "--json"});
        QCOMPARE(nlohmann::json::parse(answer.out.toStdString())["complete"].get<int>(), 5);
        QCOMPARE(QDir(path("sub/o")).entryList(QDir::Dirs | QDir::NoDotAndDotDot).size(), 5);
        QCOMPARE(QDir(path("sub")).entryList(QDir::AllEntries | QDir::NoDotAndDotDot), QStringList("o"));
        QVERIFY(QFileInfo(path("sub/o/index.csv")).isFile());
    }

    void controlCharactersAreShown()
    {
        const QString model = modelWith(path("esc.onnx"), {"n\x1b]0;owned\x07", "two\nlines",
                                                           "c\xc2\x9b"
                                                           "2J\x7f"});
        QVERIFY(cli({"explain", model, "--input", "random:1", "--target", "0", "--output-dir", path("o"), "--run",
                     path("r.retro")})
                    .code == 0);
        const QString run = path("r.retro");
        const std::vector<QStringList> calls{
            {"info", model},
            {"info", model, "--json"},
            {"trace", run},
            {"trace", run, "--at", "1"},
            {"audit", run},
            {"analyze", model},
            {"explain", model, "--input", "random:1", "--rules"},
            {"explain", model, "--input", "random:1", "--target", "x\x1b[2J", "--output-dir", path("o")},
            {"run", model, "--input", "y\x1b[2J=zeros", "--output-dir", path("o")}};
        for (const QStringList& call : calls) {
            QProcess process;
            process.start(kProgram, call);
            QVERIFY(process.waitForFinished(60'000));
            const QByteArray said = process.readAllStandardOutput() + process.readAllStandardError();
            QVERIFY2(!hasControl(said) && !said.contains("\xc2\x9b"), qPrintable(call.join(' ')));
        }
        QVERIFY(cli({"info", model}).out.contains("\\x1b]0;owned\\x07") ||
                cli({"trace", run}).out.contains("\\x1b]0;owned\\x07"));
    }

    void exportsOfSuchNamesAreWellFormed_data()
    {
        QTest::addColumn<QStringList>("what");
        QTest::newRow("graph svg") << QStringList{"graph", "g.svg"};
        QTest::newRow("ledger svg") << QStringList{"ledger", "l.svg"};
        QTest::newRow("heatmap svg") << QStringList{"heatmap", "h.svg"};
        QTest::newRow("graph dot") << QStringList{"graph", "g.dot"};
        QTest::newRow("graph json") << QStringList{"graph", "g.json"};
        QTest::newRow("ledger csv") << QStringList{"ledger", "l.csv"};
        QTest::newRow("log csv") << QStringList{"log", "log.csv"};
        QTest::newRow("report") << QStringList{"report", "r.html"};
    }
    void exportsOfSuchNamesAreWellFormed()
    {
        QFETCH(QStringList, what);
        const QString model = modelWith(path("esc.onnx"), {"n\x1b]0;owned\x07", "<two>&\x02"});
        QVERIFY(cli({"explain", model, "--input", "random:1", "--target", "0", "--output-dir", path("o"), "--run",
                     path("r.retro")})
                    .code == 0);
        RETRO_RUNS(answer, {"export", path("r.retro"), what[0], "--out", path(what[1])});
        const QByteArray bytes = tests::bytesIn(path(what[1]));
        QVERIFY2(!hasControl(bytes), what[1].toUtf8().constData());
        if (what[1].endsWith("svg") || what[1].endsWith("html")) {
            QXmlStreamReader xml(bytes);
            while (!xml.atEnd()) {
                xml.readNext();
            }
            QVERIFY2(!xml.hasError(), qPrintable(xml.errorString()));
        }
    }

    void standardOutputThatIsFullOrClosed_data()
    {
        QTest::addColumn<QString>("call");
        QTest::addColumn<QString>("where");
        const std::vector<std::pair<const char*, const char*>> calls{{"info", "info m.onnx"},
                                                                     {"json", "info m.onnx --json"},
                                                                     {"ops", "ops"},
                                                                     {"help", "info --help"},
                                                                     {"version", "--version"},
                                                                     {"trace", "trace r.retro"},
                                                                     {"audit", "audit r.retro"},
                                                                     {"run", "run m.onnx --input i.npy --output-dir o"},
                                                                     {"analyze", "analyze m.onnx"},
                                                                     {"compare", "compare r.retro r.retro"}};
        for (const auto& [name, call] : calls) {
            QTest::addRow("%s full", name) << QString(call) << QStringLiteral("> /dev/full");
            QTest::addRow("%s closed", name) << QString(call) << QStringLiteral(">&-");
        }
    }
    void standardOutputThatIsFullOrClosed()
    {
        QFETCH(QString, call);
        QFETCH(QString, where);
        const Answer answer = shell(QStringLiteral("set -o pipefail; $CLI %1 %2").arg(call, where), m_shared.path());
        QVERIFY2(answer.code == 5, qPrintable(QString::number(answer.code) + answer.err));
        RETRO_SAYS(answer.err, "standard output: what was to be printed could not be written");
    }

    void aReaderThatHasSeenEnoughIsNoFault()
    {
        for (const char* call : {"ops", "explain --help", "info m.onnx --json"}) {
            const Answer answer =
                shell(QStringLiteral("set -o pipefail; $CLI %1 | (exec <&-; sleep 0.2)").arg(QLatin1String(call)),
                      m_shared.path());
            QVERIFY2(answer.code == 0 && answer.err.isEmpty(), qPrintable(answer.err));
        }
    }

    // A closed stream's number is not given to a file of results.
    void nothingIsPrintedIntoResults()
    {
        const Answer answer =
            shell("$CLI explain m.onnx --input i.npy --output-dir o --run r.retro >&- 2>&-", m_folder->path());
        QCOMPARE(answer.code, 5);
        QVERIFY(cli({"trace", path("r.retro")}).code == 0);
    }

    void namesThatAreNotUtf8()
    {
        const fs::path root = m_folder->path().toStdString();
        fs::create_directories(root / "inu\xff");
        fs::copy_file(root / "i.npy", root / "inu\xff" / "ok.npy");
        fs::copy_file(root / "i.npy", root / "inu\xff" / "i\xff.npy");
        fs::copy_file(root / "m.onnx", root / "m\xff.onnx");
        for (const int skipped : {0, 2}) {
            const Answer batch =
                shell("$CLI explain m.onnx --input inu$'\\xff' --output-dir b$'\\xff' --json", m_folder->path());
            QVERIFY2(batch.code == 0, qPrintable(batch.err));
            const auto json = nlohmann::json::parse(batch.out.toStdString());
            QCOMPARE(json["complete"].get<int>(), 2);
            QCOMPARE(json["skipped"].get<int>(), skipped);
        }
        for (const char* call :
             {"explain m$'\\xff'.onnx --input i.npy --output-dir o$'\\xff' --json --run r$'\\xff'.retro",
              "run m$'\\xff'.onnx --input i.npy --output-dir o$'\\xff' --json",
              "grad m$'\\xff'.onnx --input i.npy --output-dir o$'\\xff' --json",
              "export r$'\\xff'.retro graph --out o$'\\xff'/g.json --json"}) {
            const Answer answer = shell(QStringLiteral("$CLI ") + call, m_folder->path());
            QVERIFY2(answer.code == 0, qPrintable(answer.err));
            QVERIFY(nlohmann::json::accept(answer.out.toStdString()));
        }
        const Answer missing = shell("$CLI info none$'\\xff'.onnx", m_folder->path());
        QCOMPARE(missing.code, 3);
        QVERIFY2(missing.err.contains("none\\xff.onnx"), qPrintable(missing.err));
        for (const auto& entry : fs::directory_iterator(root)) {
            fs::remove_all(entry.path()); // which the library for temporary folders cannot
        }
    }

    void aFolderThatAnotherProcessHolds()
    {
        QVERIFY(QDir().mkpath(path("o")));
        RETRO_MADE(held, base::FolderLock::alone(path("o").toStdString()));
        for (const char* verb : {"run", "explain", "grad", "evaluate"}) {
            expectEnd({verb, path("m.onnx"), "--input", path("i.npy"), "--output-dir", path("o")}, 5,
                      {"another process", "writes results into this folder", "name another folder"});
        }
        QCOMPARE(QDir(path("o")).entryList(QDir::AllEntries | QDir::NoDotAndDotDot), QStringList());
    }

    void twoQuestionsInOneFolderOfABatch()
    {
        QVERIFY(QDir().mkpath(path("in")) && QDir().mkpath(path("o")));
        QVERIFY(QFile::copy(kInput, path("in/a.npy")));
        const QStringList call{"explain", path("m.onnx"), "--input", path("in"), "--output-dir", path("o")};
        {
            RETRO_MADE(held, base::FolderLock::together(path("o").toStdString(), "another question"));
            expectEnd(call, 5, {"results of another question"});
        }
        QCOMPARE(cli(call).code, 0);
        QVERIFY(!QFile::exists(path("o/.retrograde.lock")) && !QFile::exists(path("o/a/.retrograde.lock")));
    }

    void whatAKilledCallLeftGoesWhenItIsTakenUp()
    {
        QVERIFY(QDir().mkpath(path("in")) && QDir().mkpath(path("o/a/relevance")));
        QVERIFY(QFile::copy(kInput, path("in/a.npy")));
        QProcess dead;
        dead.start("/bin/true", QStringList());
        QVERIFY(dead.waitForStarted());
        const QString number = QString::number(dead.processId());
        QVERIFY(dead.waitForFinished());
        for (const char* name : {"o/a/.r.%1-0.tmp.retro", "o/a/relevance/._.%1-12.tmp.npy", "o/.index.%1-1.tmp.csv"}) {
            QVERIFY(QFile::copy(kInput, path(QString(name).arg(number))));
        }
        const Answer answer =
            cli({"explain", path("m.onnx"), "--input", path("in"), "--output-dir", path("o"), "--run", "r.retro"});
        QVERIFY2(answer.code == 0, qPrintable(answer.err));
        for (const char* folder : {"o", "o/a", "o/a/relevance"}) {
            QCOMPARE(QDir(path(folder)).entryList({".*"}, QDir::Files | QDir::Hidden), QStringList());
        }
    }

    void outputsThatAreNoFiles()
    {
        QVERIFY(QFile::copy(m_shared.filePath("r.retro"), path("r.retro")));
        const std::string pipe = path("p.svg").toStdString();
        QCOMPARE(::mkfifo(pipe.c_str(), 0600), 0);
        expectEnd({"export", path("r.retro"), "ledger", "--out", path("p.svg")}, 5, {"a pipe or a device"});
        QVERIFY(fs::is_fifo(pipe));
        for (const char* const rows : {"rows.parquet", "rows.h5"}) {
            ::mkfifo(path(rows).toStdString().c_str(), 0600);
            expectEnd({"explain", path("m.onnx"), "--input", path("i.npy"), "--out", path(rows)}, 5,
                      {"a pipe or a device"});
            QVERIFY(fs::is_fifo(path(rows).toStdString()));
        }
        QVERIFY(QDir().mkpath(path("kept")));
        const std::string summary = path("kept/summary.json").toStdString();
        ::mkfifo(summary.c_str(), 0600);
        expectEnd({"explain", path("m.onnx"), "--input", path("i.npy"), "--output-dir", path("kept")}, 5,
                  {"a pipe or a device"});
        QVERIFY(fs::is_fifo(summary));
        for (const char* ending : {"p.onnx", "p.json", "p.retro", "p.npy", "p.png", "p.npz"}) {
            const QString file = path(ending);
            ::mkfifo(file.toStdString().c_str(), 0600);
            const QStringList call =
                file.endsWith("onnx") || file.endsWith("json") ? QStringList{"info", file}
                : file.endsWith("retro")                       ? QStringList{"trace", file}
                : file.endsWith("npz")                         ? QStringList{"compare", path("r.retro"), file}
                                       : QStringList{"run", path("m.onnx"), "--input", file, "--output-dir", path("o")};
            expectEnd(call, 3, {"not a file"});
        }
    }

    /// What a card names lies in its folder, and what it says of an explanation can be.
    void cardsAreReadInTheirFolder()
    {
        const auto card = [this](const QByteArray& field, const QByteArray& value) {
            QFile file(path("m.card.json"));
            QVERIFY(file.open(QIODevice::WriteOnly | QIODevice::Truncate));
            file.write("{\"format\": \"retrograde-card/1\", \"" + field + "\": \"" + value + "\"}");
        };
        const QStringList call{"explain", path("m.onnx"), "--input", path("i.npy"), "--output-dir", path("o")};
        QVERIFY(QDir().mkpath(path("below")));
        QFile rules(path("below/c.json"));
        QVERIFY(rules.open(QIODevice::WriteOnly));
        rules.write("{\"format\": \"retrograde-composite/1\", \"entries\": [{\"rule\": {\"name\": \"gradient\"}}]}");
        rules.close();
        card("composite", "below/c.json");
        RETRO_RUNS(inside, call);
        for (const char* const broken : {"{\"format\": ", R"({"format": "retrograde-composite/1", "entries": 5})",
                                         R"({"format": "retrograde-composite/1", "entries": [{"rule": "nope"}]})"}) {
            QFile file(path("broken.json"));
            QVERIFY(file.open(QIODevice::WriteOnly | QIODevice::Truncate));
            file.write(broken);
            file.close();
            card("composite", "broken.json");
            expectEnd(call, 3, {"m.card.json", "field 'composite'", "broken.json", "line 1"});
        }
        card("composite", "../c.json");
        expectEnd(call, 3, {"m.card.json", "field 'composite'", "not inside the card's folder"});
        card("composite", path("below/c.json").toUtf8());
        expectEnd(call, 3, {"m.card.json", "field 'composite'", "not inside the card's folder"});
        QVERIFY(QFile::link(kModel, path("link.json")));
        card("composite", "link.json");
        expectEnd(call, 3, {"m.card.json", "field 'composite'", "not inside the card's folder"});
        card("composite", "gone.json");
        expectEnd(call, 3, {"m.card.json", "field 'composite'", "there is no file"});
        card("composite", "nope");
        expectEnd(call, 3, {"m.card.json", "field 'composite'", "there is no composite"});
        card("composite", "epsilon:nope=1");
        expectEnd(call, 3, {"m.card.json", "field 'composite'"});
        for (const char* const target : {"zz", "-1", "100000"}) {
            card("target", target);
            expectEnd(call, 3, {"m.card.json", "field 'target'"});
        }
    }

    void numbersThatAreNone()
    {
        const QStringList call{"explain", path("m.onnx"), "--input", path("i.npy"), "--output-dir", path("o")};
        expectEnd(call + QStringList{"--mean", "1,,2"}, 2, {"--mean"});
        expectEnd(call + QStringList{"--mean", "1,2"}, 2, {"2 numbers for 3 channels"});
        expectEnd(call + QStringList{"--std", "0"}, 2, {"above 0"});
        expectEnd(call + QStringList{"--std", "inf"}, 2, {"--std"});
        expectEnd(call + QStringList{"--memory", "200%"}, 2, {"at most 100%"});
        const QString run = m_shared.filePath("r.retro");
        expectEnd({"compare", run, run, "--tolerance", "nan"}, 2, {"--tolerance"});
        expectEnd({"compare", run, run, "--most", "-1"}, 2, {"--most"});
    }

    void aJobThatIsKilled()
    {
        QVERIFY(QDir().mkpath(path("in")));
        for (int i = 0; i < 40; ++i) {
            QVERIFY(QFile::copy(kInput, path(QStringLiteral("in/a%1.npy").arg(i))));
        }
        // The first of the two children is ended as soon as it is there.
        const Answer answer = shell("$CLI explain m.onnx --input in --output-dir o --jobs 2 & parent=$!\n"
                                    "while ! child=$(pgrep -P $parent | head -1) || [ -z \"$child\" ]; do :; done\n"
                                    "kill -9 $child\nwait $parent",
                                    m_folder->path());
        QVERIFY2(answer.code == 4, qPrintable(QString::number(answer.code) + answer.err));
        QVERIFY2(answer.err.contains(
                     QRegularExpression("job [12] of 2 was ended by signal 9 \\(out of memory\\?\\); run the "
                                        "call again to go on")),
                 qPrintable(answer.err));
        QVERIFY(QFile::exists(path("o/index.csv")));
        QCOMPARE(cli({"explain", path("m.onnx"), "--input", path("in"), "--output-dir", path("o"), "--jobs", "2"}).code,
                 0);
    }

    void jobsEndWithTheirParent()
    {
        QVERIFY(QDir().mkpath(path("in")));
        for (int i = 0; i < 40; ++i) {
            QVERIFY(QFile::copy(kInput, path(QStringLiteral("in/a%1.npy").arg(i))));
        }
        const Answer answer =
            shell("$CLI explain m.onnx --input in --output-dir o --jobs 2 & parent=$!\n"
                  "while ! children=$(pgrep -P $parent) || [ $(wc -w <<< $children) -lt 2 ]; do :; done\n"
                  "kill -9 $parent; wait $parent 2> /dev/null\n"
                  "for i in $(seq 600); do alive=0\n"
                  "  for c in $children; do kill -0 $c 2> /dev/null && alive=1; done\n"
                  "  [ $alive = 0 ] && exit 0; sleep 0.1\ndone; exit 1",
                  m_folder->path());
        QCOMPARE(answer.code, 0);
    }

    void aDiskThatIsFull()
    {
        for (const char* call :
             {"explain m.onnx --input i.npy --output-dir o", "run m.onnx --input i.npy --output-dir o",
              "explain m.onnx --input i.npy --output-dir o --inputs-only --run r.retro"}) {
            const Answer answer =
                shell(QStringLiteral("trap '' XFSZ; ulimit -f 0; $CLI %1").arg(call), m_folder->path());
            QVERIFY2(answer.code == 5 || answer.code == 2, qPrintable(QString::number(answer.code) + answer.err));
            QVERIFY(!QFile::exists(path("r.retro")) && !QFile::exists(path("o/summary.json")));
        }
    }
};

QTEST_GUILESS_MAIN(SafetyTest)
#include "safetytest.moc"
