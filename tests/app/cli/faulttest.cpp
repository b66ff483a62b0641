// SPDX-License-Identifier: Apache-2.0
// What happens when memory or the disk ends: a library that is loaded before the program (faultinjector.c) makes one
// allocation or one write fail, at every place of a small run of each verb. The program must end with its exit code for
// that and never by a signal, and no half-written file may stand under its final name.
//
// Unless RETRO_FAULT_ALL is set, some twenty places of each verb are tried, spread over the run; with it all of them,
// each once for every chain of callers.
#include <QtTest>

#include <QDir>
#include <QProcess>
#include <QTemporaryDir>

namespace
{

const QString kProgram = QStringLiteral(RETRO_BINARY_DIR "/bin/retrograde-cli");
const QString kInjector = QStringLiteral(RETRO_BINARY_DIR "/tests/libfaultinjector.so");
const QString kSamples = QStringLiteral(RETRO_SOURCE_DIR "/samples/");
constexpr int kPlaces = 20;
/// A run that tries every place may take long; more than this is a hang.
constexpr int kLongest = 3'600'000;

QStringList linesOf(const QString& path)
{
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()).split('\n', Qt::SkipEmptyParts)
                                          : QStringList();
}

/// The arguments with OUT and KEPT replaced by folders.
QStringList inFolders(const QString& arguments, const QString& out, const QString& kept)
{
    QStringList words = arguments.split(' ', Qt::SkipEmptyParts);
    for (QString& word : words) {
        word.replace(QStringLiteral("SAMPLES/"), kSamples);
        word.replace(QStringLiteral("OUT"), out);
        word.replace(QStringLiteral("KEPT"), kept);
    }
    return words;
}

} // namespace

class FaultTest : public QObject
{
    Q_OBJECT
    QTemporaryDir m_folder;

    QString path(const QString& name) const { return m_folder.filePath(name); }

    /// Runs the program; with a kind of fault, under the injector. Returns its exit code, -1 for a signal.
    int run(const QStringList& arguments, const QStringList& settings = {}) const
    {
        QProcess process;
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        for (const QString& setting : settings) {
            environment.insert(setting.section('=', 0, 0), setting.section('=', 1));
        }
        process.setProcessEnvironment(environment);
        process.setStandardOutputFile(QProcess::nullDevice());
        // One thread: a child of a process with more would have only the one that forked.
        process.start(kProgram, arguments + QStringList{"--threads", "1", "--quiet"});
        if (!process.waitForFinished(kLongest) || process.exitStatus() != QProcess::NormalExit) {
            return -1;
        }
        return process.exitCode();
    }

    /// Tries `places` of the run (0: all), and returns the log.
    QStringList tryFaults(const QString& arguments, const QString& kind, long step) const
    {
        const QString log = path("log");
        QFile::remove(log);
        QDir(path("out")).removeRecursively();
        QDir().mkpath(path("out"));
        run(inFolders(arguments, path("out"), path("kept")),
            {"LD_PRELOAD=" + kInjector, "RETRO_FAULT_KIND=" + kind, "RETRO_FAULT_LOG=" + log,
             "RETRO_FAULT_STEP=" + QString::number(step), "RETRO_FAULT_OUTPUT=" + path("out"),
             "RETRO_FAULT_REFERENCE=" + path("reference"), "RETRO_FAULT_SECONDS=3000"});
        return linesOf(log);
    }

    static long totalOf(const QStringList& log)
    {
        for (const QString& line : log) {
            if (line.startsWith(QLatin1String("total "))) {
                return line.mid(6).toLong();
            }
        }
        return 0;
    }

    /// Lines of the log that say something wrong. A run may also go on where a library does without what it asked for.
    static QStringList wrongIn(const QStringList& log, int expectedCode)
    {
        QStringList wrong;
        for (const QString& line : log) {
            bool isNumber = false;
            const int status = line.section(' ', 1, 1).toInt(&isNumber);
            const bool isGood =
                line.startsWith(QLatin1String("total")) || (isNumber && (status == 0 || status == expectedCode));
            if (!isGood) {
                wrong.append(line);
            }
        }
        return wrong;
    }

private slots:
    void initTestCase()
    {
        QVERIFY(QFile::exists(kInjector));
        QDir().mkpath(path("kept"));
        const QString explain =
            "explain SAMPLES/silent-groups/silent-groups.onnx --input SAMPLES/silent-groups/ring.png "
            "--output-dir KEPT/explain --run KEPT/";
        QCOMPARE(run(inFolders(explain + "run.retro", {}, path("kept"))), 0);
        QCOMPARE(run(inFolders(explain + "other.retro --composite epsilon", {}, path("kept"))), 0);
        QCOMPARE(
            run(inFolders("plan SAMPLES/graphs/chain-48.json --budget 70% --out KEPT/plan.json", {}, path("kept"))), 0);
    }

    void verbs_data()
    {
        QTest::addColumn<QString>("arguments");
        const QString model = "SAMPLES/silent-groups/silent-groups.onnx --input SAMPLES/silent-groups/ring.png ";
        QTest::newRow("ops") << QString("ops");
        QTest::newRow("info") << QString("info SAMPLES/silent-groups/silent-groups.onnx");
        QTest::newRow("run") << "run " + model + "--output-dir OUT";
        QTest::newRow("explain") << "explain " + model + "--output-dir OUT --run OUT/run.retro --image OUT/map.png";
        QTest::newRow("explain --parameters") << "explain " + model + "--parameters --output-dir OUT";
        QTest::newRow("grad") << "grad " + model + "--output-dir OUT";
        QTest::newRow("verify") << "verify " + model;
        QTest::newRow("trace") << QString("trace KEPT/run.retro");
        QTest::newRow("audit") << QString("audit KEPT/run.retro");
        QTest::newRow("compare") << QString("compare KEPT/run.retro KEPT/other.retro");
        QTest::newRow("export graph") << QString("export KEPT/run.retro graph --out OUT/graph.svg");
        QTest::newRow("export heatmap") << QString("export KEPT/run.retro heatmap --out OUT/map.png");
        QTest::newRow("export ledger") << QString("export KEPT/run.retro ledger --out OUT/ledger.csv");
        QTest::newRow("analyze") << QString("analyze SAMPLES/graphs/chain-48.json");
        QTest::newRow("plan") << QString("plan SAMPLES/graphs/chain-48.json --budget 70% --out OUT/plan.json");
        QTest::newRow("simulate") << QString("simulate SAMPLES/graphs/chain-48.json KEPT/plan.json");
    }

    void verbs()
    {
        QFETCH(QString, arguments);
        const QString reference = path("reference");
        QDir(reference).removeRecursively();
        QDir().mkpath(reference);
        QCOMPARE(run(inFolders(arguments, reference, path("kept"))), 0);
        const bool isAll = qEnvironmentVariableIsSet("RETRO_FAULT_ALL");
        for (const auto& [kind, code] : {std::pair<QString, int>{"allocation", 4}, {"write", 5}, {"short", 5}}) {
            const long total = isAll ? 0 : totalOf(tryFaults(arguments, kind, 1'000'000'000));
            const QStringList log = tryFaults(arguments, kind, isAll ? 1 : std::max(1L, total / kPlaces));
            QVERIFY2(totalOf(log) > 0 || kind != "allocation", qPrintable(kind));
            const QStringList wrong = wrongIn(log, code);
            QVERIFY2(wrong.isEmpty(), qPrintable(kind + ":\n" + wrong.mid(0, 20).join('\n')));
        }
    }
};

QTEST_GUILESS_MAIN(FaultTest)
#include "faulttest.moc"
