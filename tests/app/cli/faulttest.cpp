// SPDX-License-Identifier: Apache-2.0
// What happens when the disk or memory ends: a library that is loaded before the program (faultinjector.c) makes one
// write or one allocation fail, at every place of a small run of each verb. The program must end with its exit code for
// that and never by a signal, and no half-written file may stand under its final name.
//
// Every write fails. Of the allocations a sample fails, at even distances: alone ("allocation"), or as the first of all
// that follow ("end"), so that the program must tidy up with what it gives back. With RETRO_FAULT_ALL=1 each chain of
// callers fails once, which takes long; RETRO_FAULT_ALL=50 takes every fiftieth of them. A chain that two verbs share,
// as those before the verb begins, fails in the first verb alone.
#include "tests/app/cli/cliprogram.h"

#include <QtTest>

#include <QDir>
#include <QDirIterator>
#include <QFileInfo>
#include <QProcess>
#include <QRegularExpression>
#include <QTemporaryDir>

#include <sys/personality.h>

#include <algorithm>
#include <limits>

namespace
{

const QString kProgram = QStringLiteral(RETRO_BINARY_DIR "/bin/retrograde-cli");
const QString kInjector = QStringLiteral(RETRO_BINARY_DIR "/tests/libfaultinjector.so");
const QString kSamples = QStringLiteral(RETRO_SOURCE_DIR "/samples/");
/// A run that tries every place may take long; more than this is a hang.
constexpr int kLongest = 3'600'000;
/// Allocations of each verb and kind that fail without RETRO_FAULT_ALL.
constexpr int kSampled = 6;

/// Where runs write: in memory where the system has such a folder and no other is set. Thousands of runs that wait
/// until a disk has what they wrote take hours.
QString folderTemplate()
{
    const QString memory = QStringLiteral("/dev/shm");
    const bool isMemory = qEnvironmentVariableIsEmpty("TMPDIR") && QFileInfo(memory).isWritable();
    return QDir(isMemory ? memory : QDir::tempPath()).filePath(QStringLiteral("faulttest-XXXXXX"));
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
    QTemporaryDir m_folder{folderTemplate()};

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
        // Without random addresses a chain of callers is the same one in every run.
        process.setChildProcessModifier([] { (void)personality(ADDR_NO_RANDOMIZE); });
        // One thread: a child of a process with more would have only the one that forked.
        process.start(kProgram, arguments + QStringList{"--threads", "1", "--quiet"});
        if (!process.waitForFinished(kLongest) || process.exitStatus() != QProcess::NormalExit) {
            return -1;
        }
        return process.exitCode();
    }

    /// Which allocations fail: every step-th from the first on, of all or of each chain of callers the first.
    struct Places
    {
        long first = 0;
        long step = 1;
        bool byStacks = true;
    };

    /// Chains of callers that failed in earlier runs with this kind of fault; where places are chains.
    QString seen(const QString& kind, const Places& places, const QString& ending = {}) const
    {
        return places.byStacks ? path("seen-" + kind + ending) : QString();
    }

    /// The environment of such a run. Even the number of variables counts: it moves what is met first. So a run that
    /// fails at one place alone has all that the run had which found the place.
    QStringList settings(const QString& kind, const Places& places, bool isAlone, const QString& number) const
    {
        return {"LD_PRELOAD=" + kInjector,
                "RETRO_FAULT_KIND=" + kind,
                "RETRO_FAULT_ALONE=" + QString::number(isAlone ? 1 : 0),
                "RETRO_FAULT_LOG=" + path("log"),
                "RETRO_FAULT_STEP=" + QString::number(places.step),
                "RETRO_FAULT_FIRST=" + number,
                "RETRO_FAULT_STACKS=" + QString::number(places.byStacks ? 1 : 0),
                "RETRO_FAULT_OUTPUT=" + path("out"),
                "RETRO_FAULT_REFERENCE=" + path("reference"),
                "RETRO_FAULT_SECONDS=3000",
                "RETRO_FAULT_SEEN=" + seen(kind, places),
                "RETRO_FAULT_SEEN_AFTER=" + seen(kind, places, "-after")};
    }

    /// Lets those allocations of the run fail, and returns the log.
    QStringList tryAllocations(const QString& arguments, const QString& kind, const Places& places) const
    {
        QFile::remove(path("log"));
        QDir(path("out")).removeRecursively();
        QDir().mkpath(path("out"));
        run(inFolders(arguments, path("out"), path("kept")),
            settings(kind, places, false, QString::number(places.first)));
        return retro::tests::linesOf(path("log"));
    }

    /// Lets one allocation fail in a run of its own. What is wrong; empty: nothing is.
    QString wrongAlone(const QString& arguments, const QString& kind, const QString& number, const Places& places) const
    {
        QDir(path("out")).removeRecursively();
        QDir().mkpath(path("out"));
        const int code = run(inFolders(arguments, path("out"), path("kept")), settings(kind, places, true, number));
        const QString wrong = halfWritten();
        return wrong.isEmpty() && (code == 0 || code == 4)
                   ? QString()
                   : QStringLiteral("%1 %2 alone: exit %3 %4").arg(kind, number).arg(code).arg(wrong);
    }

    /// The first allocations of a run that end it in a wrong way.
    QStringList wrongAllocations(const QString& arguments, const QString& kind, const Places& places,
                                 int mostAlone) const
    {
        const QStringList log = tryAllocations(arguments, kind, places);
        if (!isWhole(log)) {
            return {QStringLiteral("the run did not come to its end")};
        }
        // A place is tried in a fork, which has one thread of many: what is wrong must show in a run of its own.
        QStringList wrong;
        for (const QString& one : wrongIn(log, 4)) {
            bool isPlace = false;
            const QString place = one.section(' ', 0, 0);
            (void)place.toLongLong(&isPlace);
            wrong.append(isPlace ? wrongAlone(arguments, kind, place, places) : one);
        }
        wrong.removeAll(QString());
        QStringList alone;
        for (const QString& line : log) {
            if (line.endsWith(QLatin1String(" alone"))) {
                alone.append(line.section(' ', 0, 0));
            }
        }
        const qsizetype each = std::max<qsizetype>(1, alone.size() / mostAlone);
        for (qsizetype i = 0; i < alone.size(); i += each) {
            const QString one = wrongAlone(arguments, kind, alone[i], places);
            if (!one.isEmpty()) {
                wrong.append(one);
            }
        }
        if (places.byStacks) {
            QFile::remove(seen(kind, places));
            QFile::rename(seen(kind, places, "-after"), seen(kind, places));
        }
        return wrong.mid(0, 20);
    }

    /// How many allocations a run has, or rather those before a thread of it makes the number vary.
    long allocationsOf(const QString& arguments) const
    {
        const long beyond = std::numeric_limits<int>::max();
        const QStringList log = tryAllocations(arguments, QStringLiteral("allocation"), {beyond, beyond, false});
        const QStringList total = log.filter(QRegularExpression(QStringLiteral("^total ")));
        return total.isEmpty() ? 0 : total.front().section(' ', 1, 1).toLong();
    }

    /// Lets each write of the run fail, in a run of its own: run files are written by a thread. The first thing that is
    /// wrong; empty: nothing is.
    QString wrongWrites(const QString& arguments, const QString& kind) const
    {
        for (int number = 0;; ++number) {
            QDir(path("out")).removeRecursively();
            QDir().mkpath(path("out"));
            QFile::remove(path("log"));
            const int code = run(inFolders(arguments, path("out"), path("kept")),
                                 {"LD_PRELOAD=" + kInjector, "RETRO_FAULT_KIND=" + kind, "RETRO_FAULT_STACKS=0",
                                  "RETRO_FAULT_ALONE=1", "RETRO_FAULT_LOG=" + path("log"),
                                  "RETRO_FAULT_FIRST=" + QString::number(number)});
            const QString wrong = halfWritten();
            if (!wrong.isEmpty() || (code != 0 && code != 5)) {
                return QStringLiteral("%1 %2: exit %3 %4").arg(kind).arg(number).arg(code).arg(wrong);
            }
            if (isWhole(retro::tests::linesOf(path("log")))) {
                return code == 0 ? QString() : QStringLiteral("exit %1 without a fault").arg(code);
            }
        }
    }

    /// True for texts and pictures that are whole, though perhaps without what a library could not draw.
    static bool hasItsEnd(const QString& name, QFile& file)
    {
        const QByteArray end = file.readAll().trimmed();
        return (name.endsWith(QLatin1String(".json")) && end.endsWith('}')) ||
               (name.endsWith(QLatin1String(".svg")) && end.endsWith("</svg>")) ||
               (name.endsWith(QLatin1String(".png")) && end.endsWith("IEND\xAE\x42\x60\x82"));
    }

    /// A file that is not as it is after a run that nothing disturbed; also a temporary one that stayed.
    QString halfWritten() const
    {
        QDirIterator walk(path("out"), QDir::Files | QDir::Hidden, QDirIterator::Subdirectories);
        while (walk.hasNext()) {
            const QString file = walk.next();
            if (walk.fileName().startsWith('.')) {
                if (file.contains(QLatin1String(".tmp"))) {
                    return file;
                }
                continue;
            }
            QFile is(file);
            QFile shall(path("reference") + file.mid(path("out").size()));
            const bool isResult = file.endsWith(QLatin1String(".npy")) || file.endsWith(QLatin1String(".csv"));
            const bool isGood = is.open(QIODevice::ReadOnly) && (is.size() == shall.size() || hasItsEnd(file, is));
            const bool isSame =
                !isGood || !isResult || (shall.open(QIODevice::ReadOnly) && is.readAll() == shall.readAll());
            if (!isGood || !isSame) {
                return file;
            }
        }
        return {};
    }

    /// True when the run came to its end: the last line counts the places.
    static bool isWhole(const QStringList& log)
    {
        return std::any_of(log.begin(), log.end(), [](const QString& line) { return line.startsWith("total "); });
    }

    /// Lines of the log that say something wrong. A run may also go on where a library does without what it asked for.
    static QStringList wrongIn(const QStringList& log, int expectedCode)
    {
        QStringList wrong;
        for (const QString& line : log) {
            bool isNumber = false;
            const int status = line.section(' ', 1, 1).toInt(&isNumber);
            const bool isGood = line.startsWith(QLatin1String("total")) || line.endsWith(QLatin1String(" alone")) ||
                                (isNumber && (status == 0 || status == expectedCode));
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

    /// Those before the program is ready to end in an orderly way; a sample seldom meets them.
    void firstAllocations()
    {
        constexpr int kFirst = 12;
        for (const char* kind : {"allocation", "end"}) {
            for (int number = 0; number < kFirst; ++number) {
                const QString wrong = wrongAlone("ops", kind, QString::number(number), {0, 1, false});
                QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
            }
        }
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
        QTest::newRow("explain --graph-out") << "explain " + model + "--graph-out OUT/explainer.onnx";
        QTest::newRow("explain --region-box") << "explain " + model + "--region-box 1:3,1:3 --output-dir OUT";
        QTest::newRow("evaluate") << "evaluate " + model + "--output-dir OUT";
        QTest::newRow("diagnose") << "diagnose " + model;
        QTest::newRow("grad") << "grad " + model + "--output-dir OUT";
        QTest::newRow("verify") << "verify " + model;
        QTest::newRow("trace") << QString("trace KEPT/run.retro");
        QTest::newRow("trace --history") << QString(
            "trace KEPT/run.retro --history image:0,0,3,3 --model SAMPLES/silent-groups/silent-groups.onnx");
        QTest::newRow("audit") << QString("audit KEPT/run.retro");
        QTest::newRow("compare") << QString("compare KEPT/run.retro KEPT/other.retro");
        QTest::newRow("export graph") << QString("export KEPT/run.retro graph --out OUT/graph.svg");
        QTest::newRow("export heatmap") << QString("export KEPT/run.retro heatmap --out OUT/map.png");
        QTest::newRow("export ledger") << QString("export KEPT/run.retro ledger --out OUT/ledger.csv");
        QTest::newRow("export report") << QString("export KEPT/run.retro report --out OUT/report.html");
        QTest::newRow("lut") << QString("lut " RETRO_SOURCE_DIR
                                        "/tests/data/golden/lut/fc_seq_tiny.json --run OUT/lut.retro");
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
        for (const char* kind : {"write", "short"}) {
            const QString wrong = wrongWrites(arguments, kind);
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
        const int every = qEnvironmentVariableIntValue("RETRO_FAULT_ALL");
        const bool isWhole = every > 0;
        const long step = isWhole ? every : allocationsOf(arguments) / kSampled;
        QVERIFY(step > 0);
        for (const char* kind : {"allocation", "end"}) {
            const Places places{(step - 1) / 2, step, isWhole};
            const QStringList wrong = wrongAllocations(arguments, kind, places, isWhole ? 100 : 2);
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong.join('\n')));
        }
    }
};

QTEST_GUILESS_MAIN(FaultTest)
#include "faulttest.moc"
