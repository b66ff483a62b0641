// SPDX-License-Identifier: Apache-2.0
// Many inputs on the command line: a folder or a list, each into a folder of its own, shared out, continued.
#include "tests/app/cli/cliprogram.h"

#include <QtTest>

#include "core/tensor/npy.h"

#include <QDateTime>
#include <QTemporaryDir>

namespace fs = std::filesystem;
using namespace retro;
using tests::Answer;
using tests::cli;

namespace
{

const QString kSample = QStringLiteral(RETRO_SOURCE_DIR "/samples/planted-word/");
const QString kModel = kSample + QStringLiteral("planted-word.onnx");

nlohmann::json readJson(const QString& path)
{
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? nlohmann::json::parse(file.readAll().toStdString(), nullptr, false)
                                          : nlohmann::json();
}

} // namespace

class BatchTest : public QObject
{
    Q_OBJECT
    QTemporaryDir m_folder;
    QString m_inputs;

    QString path(const QString& name) const { return m_folder.filePath(name); }

    Answer explain(const QString& input, const QString& output, const QStringList& more = {}) const
    {
        return cli(QStringList{"explain", kModel, "--input", input, "--output-dir", path(output)} + more);
    }

    bool hasSameRelevance(const QString& a, const QString& b) const
    {
        const auto left = tensor::readNpy((path(a) + "/relevance/tokens.npy").toStdString());
        const auto right = tensor::readNpy((path(b) + "/relevance/tokens.npy").toStdString());
        return left.ok() && right.ok() && left->bitEqual(*right);
    }

private slots:
    void initTestCase()
    {
        m_inputs = path(QStringLiteral("inputs"));
        QVERIFY(QDir().mkpath(m_inputs));
        for (const char* name : {"bad", "bad-sponsored", "good"}) {
            QVERIFY(QFile::copy(kSample + name + ".npy", m_inputs + "/" + name + ".npy"));
        }
    }

    void compiledGivesTheBitsOfTheOtherEngines()
    {
        const QString input = m_inputs + "/good.npy";
        for (const char* engine : {"promise", "compiled", "oracle"}) {
            const Answer answer = explain(input, engine, {"--engine", engine});
            QVERIFY2(answer.code == 0, qPrintable(answer.err));
            QCOMPARE(readJson(path(engine) + "/summary.json")["engine"].get<std::string>(), std::string(engine));
        }
        QVERIFY(hasSameRelevance("compiled", "promise"));
        QVERIFY(hasSameRelevance("compiled", "oracle"));
        const nlohmann::json summary = readJson(path("compiled/summary.json"));
        QVERIFY(summary["program"]["instructions"].get<int>() > 40);
        QVERIFY(summary["seconds"].contains("program"));
        QCOMPARE(explain(input, "no", {"--engine", "compiled", "--run", path("no.retro")}).code, 2);
    }

    void aFolderIsExplainedOneByOne()
    {
        const Answer answer = explain(m_inputs, "folder", {"--image", "heat.png"});
        QVERIFY2(answer.code == 0, qPrintable(answer.err));
        const QStringList rows = tests::linesOf(path("folder/index.csv"));
        QCOMPARE(rows.size(), 4);
        QVERIFY(rows[0].startsWith("name,input,status,output,index"));
        int reused = 0;
        for (const char* name : {"bad", "bad-sponsored", "good"}) {
            const QString alone = QStringLiteral("alone-") + name;
            QVERIFY(explain(m_inputs + "/" + name + ".npy", alone).code == 0);
            QVERIFY2(hasSameRelevance(QStringLiteral("folder/") + name, alone), name);
            QVERIFY(QFile::exists(path(QStringLiteral("folder/%1/heat.png").arg(name))));
            QVERIFY(rows.filter(QRegularExpression(QStringLiteral("^%1,.*,complete,logits,").arg(name))).size() == 1);
            const nlohmann::json summary = readJson(path(QStringLiteral("folder/%1/summary.json").arg(name)));
            QCOMPARE(summary["engine"].get<std::string>(), std::string("promise"));
            reused += summary["program"]["reused"].get<bool>() ? 1 : 0;
        }
        QVERIFY(reused >= 1 && reused <= 2); // reviews with as many words share a program
    }

    void whatIsCompleteIsSkipped()
    {
        QVERIFY(explain(m_inputs, "twice").code == 0);
        QVERIFY(QFile::remove(path("twice/good/summary.json")));
        const QString kept = path("twice/bad/summary.json");
        const QDateTime before = QFileInfo(kept).lastModified();
        const Answer answer = explain(m_inputs, "twice", {"--json"});
        QCOMPARE(answer.code, 0);
        const auto json = nlohmann::json::parse(answer.out.toStdString());
        QCOMPARE(json["explained"].get<int>(), 1);
        QCOMPARE(json["complete"].get<int>(), 3);
        QCOMPARE(QFileInfo(kept).lastModified(), before);
        // Another question is not answered by what lies there.
        const Answer other = explain(m_inputs, "twice", {"--json", "--composite", "gradient"});
        QCOMPARE(nlohmann::json::parse(other.out.toStdString())["explained"].get<int>(), 3);
    }

    void whatAKilledCallLeftBesideCompleteResultsGoes()
    {
        QVERIFY(explain(m_inputs, "tidied").code == 0);
        QProcess ended;
        ended.start("true", QStringList());
        const qint64 process = ended.processId();
        QVERIFY(ended.waitForFinished());
        const QString left = path("tidied") + QStringLiteral("/good/relevance/._a_b.%1-7.tmp.npy").arg(process);
        QFile file(left);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.close();
        QVERIFY(explain(m_inputs, "tidied").out.contains("0 explained now"));
        QVERIFY(!QFile::exists(left));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.close();
        QVERIFY(explain(m_inputs, "tidied", {"--jobs", "2"}).code == 0);
        QVERIFY(!QFile::exists(left));
    }

    /// The message, exit code 5, no signal at the end, and no torn file.
    void rowsWithoutRoomEndWithAMessage_data()
    {
        QTest::addColumn<QString>("ending");
        QTest::newRow("HDF5") << ".h5";
        QTest::newRow("Parquet") << ".parquet";
    }
    void rowsWithoutRoomEndWithAMessage()
    {
        QFETCH(QString, ending);
        const QString file = path("rows") + ending;
        QProcess limited;
        limited.start("bash", {"-c", "ulimit -f 1; exec \"$@\"", "bash", RETRO_BINARY_DIR "/bin/retrograde-cli",
                               "explain", kModel, "--input", m_inputs + "/good.npy", "--out", file});
        QVERIFY(limited.waitForFinished(120'000));
        const QByteArray said = limited.readAllStandardError();
        if (said.contains("libhdf5")) {
            QSKIP("libhdf5 is not installed");
        }
        QVERIFY2(limited.exitStatus() == QProcess::NormalExit && limited.exitCode() == 5, said.constData());
        QVERIFY2(said.contains(QFileInfo(file).fileName().toUtf8()), said.constData());
        QVERIFY(!QFile::exists(file));
    }

    void listsShardsAndJobsTogetherMakeTheWhole()
    {
        QFile list(path("list.txt"));
        QVERIFY(list.open(QIODevice::WriteOnly));
        list.write("# reviews\ninputs/bad.npy\n\ninputs/good.npy\ninputs/bad.npy\n");
        list.close();
        const QString input = "@" + list.fileName();
        QVERIFY(explain(input, "shards", {"--shard", "2/2"}).code == 0);
        QCOMPARE(tests::linesOf(path("shards/index.csv")).size(), 2);
        const Answer rest = explain(input, "shards", {"--shard", "1/2", "--jobs", "2"});
        QVERIFY2(rest.code == 0, qPrintable(rest.err));
        QCOMPARE(tests::linesOf(path("shards/index.csv")).size(), 4);
        QVERIFY(hasSameRelevance("shards/bad", "shards/bad~2"));
    }

    void aBadInputDoesNotStopTheOthers()
    {
        const QString mixed = path("mixed");
        QVERIFY(QDir().mkpath(mixed));
        QVERIFY(QFile::copy(m_inputs + "/good.npy", mixed + "/z.npy"));
        QFile broken(mixed + "/a.npy");
        QVERIFY(broken.open(QIODevice::WriteOnly));
        broken.write("no tensor");
        broken.close();
        for (const char* jobs : {"1", "2"}) {
            const QString output = QStringLiteral("mixed-out-") + jobs;
            const Answer answer = explain(mixed, output, {"--jobs", jobs});
            QCOMPARE(answer.code, 3);
            QVERIFY2(answer.err.contains("a.npy"), qPrintable(answer.err));
            const QStringList rows = tests::linesOf(path(output + "/index.csv"));
            QCOMPARE(rows.size(), 3);
            QVERIFY(rows[1].startsWith("a,") && rows[1].contains("failed: "));
            QVERIFY(rows[2].startsWith("z,") && rows[2].contains(",complete,"));
        }
    }

    void wrongUsageIsNamed()
    {
        const QString one = m_inputs + "/good.npy";
        QCOMPARE(explain(one, "u", {"--jobs", "2"}).code, 2);
        QCOMPARE(explain(m_inputs, "u", {"--shard", "3/2"}).code, 2);
        QCOMPARE(explain(m_inputs, "u", {"--shard", "0/2"}).code, 2);
        QCOMPARE(explain(m_inputs, "u", {"--shard", "x"}).code, 2);
        const QString empty = path("empty");
        QVERIFY(QDir().mkpath(empty));
        QCOMPARE(explain(empty, "u").code, 3);
        QCOMPARE(explain("@" + path("nothing.txt"), "u").code, 3);
    }

    void programOfARecordedRun()
    {
        const QString run = path("run.retro");
        QVERIFY(explain(m_inputs + "/good.npy", "recorded", {"--run", run}).code == 0);
        RETRO_RUNS(text, {"trace", run, "--program"});
        QVERIFY(text.out.contains("ARGS") && text.out.contains("REL") && text.out.contains("rule"));
        const Answer answer = cli({"trace", run, "--program", "--json"});
        QCOMPARE(answer.code, 0);
        const auto json = nlohmann::json::parse(answer.out.toStdString());
        const nlohmann::json summary = readJson(path("compiled/summary.json"));
        QCOMPARE(json["instructions"].size(), summary["program"]["instructions"].get<std::size_t>());
        QCOMPARE(json["key"].get<std::string>(), summary["program"]["key"].get<std::string>());
        QVERIFY(cli({"trace", QStringLiteral(RETRO_SOURCE_DIR "/tests/data/runs/version1.retro"), "--program"}).code ==
                3);
    }
};

QTEST_GUILESS_MAIN(BatchTest)
#include "batchtest.moc"
