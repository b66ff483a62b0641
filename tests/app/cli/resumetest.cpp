// SPDX-License-Identifier: Apache-2.0
// A folder that was explained or evaluated before: what no longer answers the question is done again, the rest is not.
#include "tests/app/cli/cliprogram.h"

#include "core/engine/evaluate/randomisation.h"
#include "core/engine/model/loadmodel.h"
#include "core/formats/onnx.h"
#include "core/tensor/npy.h"

#include <QtTest>

#include <QTemporaryDir>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace fs = std::filesystem;
using namespace retro;
using tests::Answer;
using tests::cli;

namespace
{

const QString kModels = QStringLiteral(RETRO_SOURCE_DIR "/tests/data/golden/lrp/dwconv/");
const QString kPictures = QStringLiteral(RETRO_SOURCE_DIR "/samples/clever-hans/");

void writeText(const QString& path, const std::string& text)
{
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(text.data(), static_cast<qint64>(text.size()));
}

/// As a file that was copied with the time that it had.
void makeOld(const QString& path)
{
    fs::last_write_time(path.toStdString(), fs::file_time_type::clock::now() - std::chrono::hours(72));
}

/// The same network with other weights, in place of the file.
void shuffleWeights(const QString& path)
{
    RETRO_MADE(model, engine::loadModel(path.toStdString()));
    RETRO_MADE(changed, engine::withShuffledLayers(**model, 2, 3));
    RETRO_MADE(bytes, formats::toOnnx(*(*changed)->rewritten.before));
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(reinterpret_cast<const char*>(bytes->data()), static_cast<qint64>(bytes->size()));
}

/// A composite file of the epsilon rule.
std::string epsilonRule(double epsilon)
{
    const nlohmann::json rule{{"name", "epsilon"}, {"params", {{"epsilon", epsilon}}}};
    const nlohmann::json linear{{"match", {{"structure", "linear map"}}}, {"rule", rule}};
    const nlohmann::json others{{"rule", {{"name", "gradient"}}}};
    return nlohmann::json{{"format", "retrograde-composite/1"}, {"entries", {linear, others}}}.dump();
}

} // namespace

class ResumeTest : public QObject
{
    Q_OBJECT
    std::unique_ptr<QTemporaryDir> m_folder;

    QString path(const QString& name) const { return m_folder->filePath(name); }

    /// How many inputs a call did now; −1 when it failed.
    int doneBy(const QStringList& call, int skipped) const
    {
        const Answer answer = cli(call + QStringList{"--json"});
        const auto json = nlohmann::json::parse(answer.out.toStdString(), nullptr, false);
        if (answer.code != 0 || !json.is_object()) {
            qWarning() << answer.err;
            return -1;
        }
        const char* done = call.front() == QStringLiteral("explain") ? "explained" : "evaluated";
        return json.value("skipped", -1) == skipped ? json.value(done, -1) : -2;
    }

    static void addVerbs()
    {
        QTest::addColumn<QString>("verb");
        QTest::newRow("explain") << "explain";
        QTest::newRow("evaluate") << "evaluate";
    }

    /// A call over two inputs in a fresh folder.
    QStringList callOf(const QString& verb)
    {
        if (!QDir().mkpath(path("inputs"))) {
            return {};
        }
        QFile::copy(kModels + "model.onnx", path("model.onnx"));
        QFile::copy(kModels + "input.npy", path("inputs/a.npy"));
        QFile::copy(kModels + "input.npy", path("inputs/b.npy"));
        QStringList call{verb, path("model.onnx"), "--input", path("inputs"), "--output-dir", path("out")};
        return verb == QStringLiteral("evaluate") ? call + QStringList{"--steps", "2", "--random-orders", "1"} : call;
    }

private slots:
    void init() { m_folder = std::make_unique<QTemporaryDir>(); }

    void anEditedComposite_data() { addVerbs(); }
    void anEditedComposite()
    {
        QFETCH(QString, verb);
        const QStringList call = callOf(verb) + QStringList{"--composite", path("c.json")};
        writeText(path("c.json"), epsilonRule(0.1));
        QCOMPARE(doneBy(call, 0), 2);
        QCOMPARE(doneBy(call, 2), 0);
        writeText(path("c.json"), epsilonRule(9.5));
        makeOld(path("c.json"));
        QCOMPARE(doneBy(call, 0), 2);
    }

    void anEditedStart_data() { addVerbs(); }
    void anEditedStart()
    {
        QFETCH(QString, verb);
        const QStringList call = callOf(verb) + QStringList{"--start", path("st.npy")};
        RETRO_MADE(outputs, engine::loadModel(path("model.onnx").toStdString()));
        const graph::Graph& graph = *(*outputs)->graph();
        tensor::Shape shape;
        for (const graph::Dimension& one : *graph.value(graph.outputs().front()).shape) {
            shape.push_back(one.extent.value_or(1));
        }
        std::vector<double> numbers(static_cast<std::size_t>(tensor::elementCount(shape)), 1.0);
        QVERIFY(tensor::writeNpy(path("st.npy").toStdString(), tensor::Tensor::of<double>(shape, numbers)).ok());
        QCOMPARE(doneBy(call, 0), 2);
        QCOMPARE(doneBy(call, 2), 0);
        numbers.front() = 5;
        QVERIFY(tensor::writeNpy(path("st.npy").toStdString(), tensor::Tensor::of<double>(shape, numbers)).ok());
        QCOMPARE(doneBy(call, 0), 2);
    }

    void aModelWithOtherWeights_data() { addVerbs(); }
    void aModelWithOtherWeights()
    {
        QFETCH(QString, verb);
        const QStringList call = callOf(verb);
        QCOMPARE(doneBy(call, 0), 2);
        shuffleWeights(path("model.onnx"));
        makeOld(path("model.onnx"));
        QCOMPARE(doneBy(call, 0), 2);
        QCOMPARE(doneBy(call, 2), 0);
    }

    void anOlderInput_data() { addVerbs(); }
    void anOlderInput()
    {
        QFETCH(QString, verb);
        const QStringList call = callOf(verb);
        QCOMPARE(doneBy(call, 0), 2);
        makeOld(path("inputs/b.npy"));
        QCOMPARE(doneBy(call, 1), 1);
        QCOMPARE(doneBy(call, 2), 0);
    }

    void otherWishesOfEvaluate()
    {
        const QStringList call = callOf("evaluate");
        QCOMPARE(doneBy(call, 0), 2);
        QCOMPARE(doneBy(call + QStringList{"--plot", "png"}, 0), 2);
        QVERIFY(QFile::exists(path("out/a/curves.png")));
        QCOMPARE(doneBy(call + QStringList{"--plot", "png"}, 2), 0);
    }

    void otherWishesOfExplain()
    {
        const QStringList call = callOf("explain");
        QCOMPARE(doneBy(call, 0), 2);
        QCOMPARE(doneBy(call + QStringList{"--image", "heat.png"}, 0), 2);
        QVERIFY(QFile::exists(path("out/a/heat.png")));
        QCOMPARE(doneBy(call + QStringList{"--image", "heat.png"}, 2), 0);
        QCOMPARE(doneBy(call + QStringList{"--inputs-only"}, 0), 2);
        QCOMPARE(doneBy(call + QStringList{"--inputs-only", "--rule", "op:Conv=epsilon:epsilon=3"}, 0), 2);
    }

    void otherPreparationOfPictures_data() { addVerbs(); }
    void otherPreparationOfPictures()
    {
        QFETCH(QString, verb);
        QStringList call = callOf(verb);
        QVERIFY(QFile::remove(path("inputs/a.npy")) && QFile::remove(path("inputs/b.npy")));
        QVERIFY(QFile::copy(kPictures + "jug.png", path("inputs/jug.png")));
        call[1] = kPictures + "clever-hans.onnx";
        QCOMPARE(doneBy(call, 0), 1);
        QCOMPARE(doneBy(call + QStringList{"--mean", "0.25"}, 0), 1);
        QCOMPARE(doneBy(call + QStringList{"--mean", "0.25"}, 1), 0);
        QCOMPARE(doneBy(call + QStringList{"--mean", "0.25", "--std", "0.5"}, 0), 1);
    }

    // A call that is cut short between two files leaves no complete answer of an earlier question behind.
    void anInterruptedRepetition_data() { addVerbs(); }
    void anInterruptedRepetition()
    {
        QFETCH(QString, verb);
        const QStringList call = callOf(verb);
        QCOMPARE(doneBy(call, 0), 2);
        const bool explains = verb == QStringLiteral("explain");
        // A folder in the way of a file: the repetition under another question fails half way.
        const QString blocked = path(explains ? "out/a/heat.png" : "out/a/curves.png");
        QVERIFY(QDir().mkpath(blocked + "/x"));
        const QStringList other = explains ? QStringList{"--image", "heat.png"} : QStringList{"--plot", "png"};
        QVERIFY(cli(call + other).code != 0);
        QVERIFY(QDir(blocked).removeRecursively());
        QCOMPARE(doneBy(call, 0), 2);
        QCOMPARE(QDir(path("out/a")).entryList({"*.tmp*", ".*~*"}, QDir::Files | QDir::Hidden), QStringList());
    }

    /// A result that somebody changed is none: it is done again.
    void aChangedResult_data()
    {
        QTest::addColumn<QString>("verb");
        QTest::addColumn<QString>("member");
        for (const char* member : {"question", "sources", "target", "seconds"}) {
            QTest::addRow("explain %s", member) << "explain" << member;
        }
        for (const char* member : {"question", "sources", "target", "methods", "random"}) {
            QTest::addRow("evaluate %s", member) << "evaluate" << member;
        }
    }
    void aChangedResult()
    {
        QFETCH(QString, verb);
        QFETCH(QString, member);
        const QStringList call = callOf(verb);
        QCOMPARE(doneBy(call, 0), 2);
        const QString file = path(verb == QStringLiteral("explain") ? "out/a/summary.json" : "out/a/evaluation.json");
        QFile result(file);
        QVERIFY(result.open(QIODevice::ReadOnly));
        auto json = nlohmann::json::parse(result.readAll().toStdString());
        result.close();
        QVERIFY(json.contains(member.toStdString()));
        json[member.toStdString()] = 5;
        writeText(file, json.dump());
        QCOMPARE(doneBy(call, 1), 1);
    }

    void thePeopleAreTold()
    {
        const QStringList call = callOf("explain");
        QCOMPARE(doneBy(call, 0), 2);
        QVERIFY(QFile::remove(path("out/b/summary.json")));
        const Answer answer = cli(call);
        QVERIFY2(answer.out.contains("1 explained now, 1 was there already, 2 of 2 complete"), qPrintable(answer.out));
    }
};

QTEST_GUILESS_MAIN(ResumeTest)
#include "resumetest.moc"
