// SPDX-License-Identifier: Apache-2.0
// The command line as a stranger meets it: every verb once on the sample, and every way in which an input can be bad,
// each with its exit code and a message that says what is wrong and what to do.
#include "tests/app/cli/cliprogram.h"

#include <QtTest>

#include "core/base/file.h"
#include "core/formats/modelfile.h"
#include "core/formats/onnx.h"
#include "core/graph/graphbuilder.h"
#include "core/tensor/npy.h"

#include <QDirIterator>
#include <QImage>
#include <QTemporaryDir>
#include <QXmlStreamReader>

namespace fs = std::filesystem;
using namespace retro;
using tests::Answer;
using tests::cli;
using tests::expectEnd;

namespace
{

const QString kSample = QStringLiteral(RETRO_SOURCE_DIR "/samples/clever-hans/");

QStringList filesUnder(const QString& folder)
{
    QStringList files;
    QDirIterator walk(folder, QDir::Files | QDir::Hidden, QDirIterator::Subdirectories);
    while (walk.hasNext()) {
        files.append(walk.next());
    }
    return files;
}

} // namespace

class CliTest : public QObject
{
    Q_OBJECT
    QTemporaryDir m_folder;

    QString path(const QString& name) const { return m_folder.filePath(name); }
    QString writeText(const QString& name, const QByteArray& text) const
    {
        QFile file(path(name));
        if (!file.open(QIODevice::WriteOnly)) {
            return {};
        }
        file.write(text);
        return path(name);
    }
    /// A run of the sample, made once.
    QString recorded()
    {
        const QString file = path(QStringLiteral("recorded.retro"));
        if (!QFile::exists(file)) {
            cli({"explain", kSample + "clever-hans.onnx", "--input", kSample + "jug-tagged.png", "--output-dir",
                 path(QStringLiteral("recorded")), "--run", file});
        }
        return file;
    }

private slots:
    void missingFile() { expectEnd({"info", path("nowhere.onnx")}, 3, {"nowhere.onnx", "no such file"}); }

    void truncatedOnnx()
    {
        const QByteArray data = tests::bytesIn(kSample + "clever-hans.onnx");
        const QString file = writeText("cut.onnx", data.left(data.size() / 2));
        expectEnd({"info", file}, 3, {"cut.onnx", "ends"});
    }

    void textNamedOnnx()
    {
        const QString file = writeText("notes.onnx", "These are my notes on the model.\nThey are not a model.\n");
        expectEnd({"info", file}, 3, {"notes.onnx"});
        const Answer answer = cli({"info", file});
        QVERIFY(answer.err.contains("ONNX"));
    }

    void wrongInputShape()
    {
        const QString file = path("small.npy");
        QVERIFY(
            tensor::writeNpy(file.toStdString(), tensor::Tensor::zeros(tensor::DType::Float32, {1, 3, 5, 96})).ok());
        expectEnd({"run", kSample + "clever-hans.onnx", "--input", file, "--output-dir", path("never")}, 3,
                  {"image", "1 × 3 × 5 × 96"});
        QVERIFY(!QFile::exists(path("never")));
    }

    void unsupportedOperator()
    {
        graph::GraphBuilder builder("strange", 13);
        const auto input = builder.addInput("x", tensor::DType::Float32, tensor::Shape{1, 4});
        const auto output = builder.addResult("y");
        graph::Node node;
        node.op = "Frobnicate";
        node.name = "mystery";
        node.opset = 13;
        node.inputs = {input};
        node.outputs = {output};
        builder.addNode(node);
        builder.addOutput(output);
        RETRO_MADE(graph, std::move(builder).build());
        RETRO_MADE(bytes, formats::toOnnx(*graph));
        QVERIFY(base::writeFile(path("strange.onnx").toStdString(), *bytes).ok());
        expectEnd({"explain", path("strange.onnx"), "--input", "random:1", "--output-dir", path("never")}, 3,
                  {"Frobnicate", "mystery", "13"});
        const Answer info = cli({"info", path("strange.onnx")});
        QCOMPARE(info.code, 0);
        QVERIFY(info.out.contains("Frobnicate"));
        const Answer passed = cli({"explain", path("strange.onnx"), "--pass-through", "--quiet", "--input", "random:1",
                                   "--output-dir", path("passed")});
        QCOMPARE(passed.code, 0);
        RETRO_SAYS(passed.err, "warning", "mystery");
    }

    void aRefusalByANodeNamesTheFile()
    {
        graph::GraphBuilder builder("pick", 13);
        const auto rows = builder.addInput("rows", tensor::DType::Float32, tensor::Shape{3});
        const auto place = builder.addInput("place", tensor::DType::Int64, tensor::Shape{1});
        const auto picked = builder.addOp("Gather", "pick", {rows, place}, "picked");
        builder.addOutput(picked);
        RETRO_MADE(graph, std::move(builder).build());
        QVERIFY(formats::writeModelFile(path("pick.onnx").toStdString(), *graph).ok());
        const std::int64_t beyond = 7;
        const auto index = tensor::Tensor::of<std::int64_t>({1}, std::span(&beyond, 1));
        QVERIFY(tensor::writeNpy(path("place.npy").toStdString(), index).ok());
        for (const QString& verb : {QStringLiteral("run"), QStringLiteral("explain"), QStringLiteral("verify")}) {
            QStringList words{verb,      path("pick.onnx"),           "--input", "rows=random:1",
                              "--input", "place=" + path("place.npy")};
            if (verb != QStringLiteral("verify")) {
                words << "--output-dir" << path("picked");
            }
            expectEnd(words, 3, {"pick.onnx: ", "'pick'", "7"});
        }
    }

    void unwritableOutput()
    {
        const QString blocked = writeText("file", "in the way");
        expectEnd({"run", kSample + "clever-hans.onnx", "--input", "random:1", "--output-dir", blocked + "/out"}, 5,
                  {"file"});
        expectEnd({"explain", kSample + "clever-hans.onnx", "--input", "random:1", "--output-dir", path("good"),
                   "--image", path("nofolder/heat.png")},
                  5, {"nofolder"});
        for (const QString& name : filesUnder(m_folder.path())) {
            QVERIFY2(!name.contains(".tmp"), qPrintable(name));
        }
    }

    void wrongUsage()
    {
        expectEnd({"explain", kSample + "clever-hans.onnx", "--nonsense"}, 2, {"nonsense"});
        expectEnd({"frobnicate"}, 2, {});
        expectEnd({"explain", kSample + "clever-hans.onnx", "--input", "random:1", "--composite", "no_such_composite",
                   "--output-dir", path("c")},
                  2, {"no_such_composite", "epsilon_plus"});
        expectEnd({"explain", kSample + "clever-hans.onnx", "--input", "random:1", "--target", "99999", "--output-dir",
                   path("t")},
                  2, {"99999"});
        for (const QStringList& more :
             {QStringList{"--colormap", "hot"}, {"--overlay"}, {"--image", path("h.png"), "--colormap", "nosuch"}}) {
            const QStringList asked{"explain",    kSample + "clever-hans.onnx", "--input", "random:1", "--output-dir",
                                    path("drawn")};
            expectEnd(asked + more, 2, {more.size() < 3 ? "--image" : "nosuch"});
        }
    }

    void everyVerbOnTheSample()
    {
        const QString model = kSample + "clever-hans.onnx";
        const QString picture = kSample + "jug-tagged.png";
        const QString run = path("sample.retro");
        RETRO_RUNS(explained, {"explain", model, "--input", picture, "--output-dir", path("out"), "--run", run,
                               "--image", path("heat.png"), "--overlay", "--check-oracle", "--json"});
        const auto summary = nlohmann::json::parse(explained.out.toStdString(), nullptr, false);
        QCOMPARE(summary["oracle"]["equal"].get<int>(), 30);
        QCOMPARE(summary["oracle"]["values"].get<int>(), 30);
        for (const char* key :
             {"target", "start", "composite", "engine", "nodes", "steps", "events", "visits_max", "promises", "modes",
              "relevance_start", "relevance_inputs", "causes", "seconds", "peak_bytes"}) {
            QVERIFY2(summary.contains(key), key);
        }
        QVERIFY(summary["visits_max"].get<int>() <= 3);
        QVERIFY(summary["promises"].get<int>() > 0);
        QVERIFY(std::abs(summary["causes"]["unexplained"].get<double>()) <
                1e-3 * std::abs(summary["relevance_start"].get<double>()));
        QVERIFY(QFile::exists(path("out/summary.json")));
        QVERIFY(QFile::exists(path("out/relevance/image.npy")));
        QVERIFY(QFile(path("heat.png")).size() > 1000);
        for (const QStringList& verb :
             {QStringList{"ops"}, QStringList{"info", model}, QStringList{"trace", run, "--from", "0", "--to", "20"},
              QStringList{"trace", run, "--at", "40"}, QStringList{"audit", run}, QStringList{"analyze", model},
              QStringList{"explain", model, "--input", picture, "--rules"}}) {
            const Answer answer = cli(verb);
            QVERIFY2(answer.code == 0, qPrintable(verb.join(' ') + ": " + answer.err));
            QVERIFY2(answer.out.count('\n') > 5, qPrintable(verb.join(' ')));
            const Answer asJson = cli(verb + QStringList{"--json"});
            QVERIFY2(nlohmann::json::accept(asJson.out.toStdString()), qPrintable(verb.join(' ') + " --json"));
        }
        for (const char* file : {"h.png", "h.svg", "h.pdf", "h.npy", "h.csv"}) {
            const Answer answer = cli({"export", run, "heatmap", "--out", path(file)});
            QVERIFY2(answer.code == 0 && QFile(path(file)).size() > 100, qPrintable(QString(file) + answer.err));
        }
        for (const char* file : {"g.png", "g.svg", "g.pdf", "g.dot", "g.json"}) {
            const Answer answer = cli({"export", run, "graph", "--out", path(file)});
            QVERIFY2(answer.code == 0 && QFile(path(file)).size() > 100, qPrintable(QString(file) + answer.err));
        }
    }

    // One input, then a folder of which one is done: it is skipped.
    void explanationsAreEvaluated()
    {
        const QString model = QStringLiteral(RETRO_SOURCE_DIR "/tests/data/golden/lrp/dwconv/");
        QVERIFY(QDir().mkpath(path("inputs")));
        QVERIFY(QFile::copy(model + "input.npy", path("inputs/one.npy")));
        const QStringList question{
            "evaluate", model + "model.onnx", "--input", path("inputs"), "--steps",        "3", "--random-orders",
            "1",        "--randomise",        "1",       "--output-dir", path("evaluated")};
        RETRO_RUNS(first, question);
        QVERIFY2(QString(first.out).contains("area between"), qPrintable(first.out));
        for (const char* name : {"one/evaluation.json", "one/curves.csv", "one/curves.svg", "index.csv"}) {
            QVERIFY2(QFile::exists(path("evaluated/") + name), name);
        }
        const QDateTime written = QFileInfo(path("evaluated/one/evaluation.json")).lastModified();
        const Answer second = cli(question);
        QVERIFY(second.code == 0 && !QString(second.out).contains("evaluated    one"));
        QCOMPARE(QFileInfo(path("evaluated/one/evaluation.json")).lastModified(), written);
        expectEnd({"evaluate", model + "model.onnx", "--input", model + "input.npy", "--method", "lime", "--output-dir",
                   path("evaluated")},
                  2, {"there is no method \"lime\"", "known are lrp"});
    }

    /// What is misspelt, or in the place of something else, is said with what was meant maybe.
    void whatWasMeantIsSaid()
    {
        const QString model = kSample + "clever-hans.onnx";
        const QString picture = kSample + "jug-tagged.png";
        const QStringList ask{"explain", model, picture, "--quiet", "--output-dir", path("meant")};
        const QList<std::pair<QStringList, QString>> mistakes{
            {{"explan", model}, "there is no verb explan; did you mean explain or plan?"},
            {ask + QStringList{"--compsite", "epsilon"}, "explain has no option --compsite; did you mean --composite?"},
            {ask + QStringList{"--composite", "epsilonplus"}, "did you mean epsilon_plus?"},
            {ask + QStringList{"--rule", "op:Conv=zplus"}, "did you mean z-plus?"},
            {ask + QStringList{"--rule", "op:Conv=gamma:gama=1"}, "did you mean gamma?"},
            {ask + QStringList{"--target", "jugg"}, "did you mean jug or mug"},
            {ask + QStringList{"--target", "logit"}, "did you mean logits?"},
        };
        for (const auto& [call, words] : mistakes) {
            expectEnd(call, 2, {words});
        }
        expectEnd({"explain", picture, model, "--output-dir", path("meant")}, 3, {"this is a picture, no model"});
        const auto target = [&](const QString& word) {
            const Answer answer = cli(ask + QStringList{"--json", "--target", word});
            return answer.code == 0 ? nlohmann::json::parse(answer.out.toStdString())["target"][0]["index"].get<int>()
                                    : -1;
        };
        QVERIFY(target("mug") >= 0);
        QCOMPARE(target("MUG"), target("mug"));
        const Answer said = cli({"explain", model, picture, "--output-dir", path("meant"), "--run", path("m.retro")});
        QVERIFY2(said.out.contains("written      " + path("meant/summary.json")) && said.out.contains(path("m.retro")),
                 qPrintable(said.out));
    }

    void checkpointsAndSeveralTargets()
    {
        const QString model = kSample + "clever-hans.onnx";
        const QString value = QStringLiteral("/block2/Add_output_0");
        const QStringList ask{
            "explain", model,          "--input", kSample + "jug-tagged.png", "--target", "0", "--target",
            "1",       "--checkpoint", value,     "--stop-at-checkpoints",    "--json"};
        RETRO_RUNS(stopped, ask + QStringList{"--output-dir", path("taken"), "--run", path("taken.retro")});
        const auto summary = nlohmann::json::parse(stopped.out.toStdString());
        QCOMPARE(summary["target"].size(), std::size_t{2});
        QVERIFY(summary["stopped_early"].get<bool>());
        QCOMPARE(summary["checkpoints"].size(), std::size_t{1});
        QVERIFY(QFile::exists(
            path("taken/" + QString::fromStdString(summary["checkpoints"][0]["file"].get<std::string>()))));
        QVERIFY(cli({"trace", path("taken.retro")}).out.contains("snapshot"));
        const Answer state = cli({"trace", path("taken.retro"), "--at", "60", "--json"});
        const auto known = nlohmann::json::parse(state.out.toStdString());
        for (const char* key : {"normal_stack", "search_stack", "queue", "promises", "nodes", "frontier"}) {
            QVERIFY2(known.contains(key), key);
        }
        for (const char* key : {"pending", "in_edges", "relevance", "waits_for"}) {
            QVERIFY2(known["nodes"][0].contains(key), key);
        }
        expectEnd({"explain", model, "--input", "random:1", "--checkpoint", "no_such_value", "--output-dir", path("x")},
                  2, {"no_such_value"});
    }

    void viewsAreWrittenWithoutAWindow()
    {
        const QString run = recorded();
        for (const char* view : {"timeline", "ledger"}) {
            for (const char* ending : {"svg", "png", "pdf", "csv"}) {
                const QString file = path(QStringLiteral("%1.%2").arg(QLatin1String(view), QLatin1String(ending)));
                const Answer answer = cli({"export", run, view, "--out", file});
                QVERIFY2(answer.code == 0 && QFile(file).size() > 100, qPrintable(file + answer.err));
            }
        }
        for (const QString view : {"promises", "log"}) {
            QCOMPARE(cli({"export", run, view, "--out", path(view + ".csv")}).code, 0);
            QCOMPARE(cli({"export", run, view, "--out", path(view + ".json")}).code, 0);
            QFile table(path(view + ".csv"));
            QFile text(path(view + ".json"));
            QVERIFY(table.open(QIODevice::ReadOnly) && text.open(QIODevice::ReadOnly));
            const nlohmann::json all = nlohmann::json::parse(text.readAll().toStdString());
            const nlohmann::json& rows = all.at(view == "log" ? "events" : "promises");
            QVERIFY(rows.size() > 3);
            QCOMPARE(static_cast<qsizetype>(rows.size()), table.readAll().count('\n') - 1); // one line of titles
            QVERIFY(all.at("run").contains("model_hash"));
        }
        QFile timeline(path("timeline.csv"));
        QVERIFY(timeline.open(QIODevice::ReadOnly));
        const QList<QByteArray> visits = timeline.readAll().trimmed().split('\n').mid(1);
        QVERIFY(visits.size() > 10);
        for (const QByteArray& line : visits) { // who came in which mode adds up to who is there
            const QList<QByteArray> cells = line.split(',');
            QCOMPARE(cells.size(), 11);
            QCOMPARE(cells[5].toInt() + cells[6].toInt() + cells[7].toInt(), cells[3].toInt() + cells[4].toInt());
        }
        QCOMPARE(cli({"export", run, "timeline", "--out", path("small.png"), "--size", "900x300"}).code, 0);
        QCOMPARE(QImage(path("small.png")).size(), QSize(1800, 600)); // two pixels per point
        QCOMPARE(cli({"export", run, "timeline", "--out", path("dark.png"), "--theme", "dark"}).code, 0);
        const QImage dark(path("dark.png"));
        const QImage light(path("timeline.png"));
        QCOMPARE(dark.size(), light.size());
        QVERIFY(qGray(dark.pixel(5, 5)) < 100 && qGray(light.pixel(5, 5)) > 200);
        // Another position, another line of the cursor.
        QCOMPARE(cli({"export", run, "timeline", "--out", path("early.png"), "--at", "10"}).code, 0);
        QVERIFY(QImage(path("early.png")) != light);
    }

    void aPlainHeatmapHasOnlyItsPixels()
    {
        const QString run = recorded();
        QCOMPARE(cli({"export", run, "timeline", "--out", path("t.png"), "--visits", "3..5"}).code, 0);
        for (const char* frame : {"t-0003.png", "t-0004.png", "t-0005.png"}) {
            QVERIFY2(QFile::exists(path(frame)), frame);
        }
        QVERIFY(!QFile::exists(path("t-0006.png")));
        expectEnd({"export", run, "timeline", "--out", path("t.png"), "--visits", "5..3"}, 2, {"FIRST..LAST"});
        expectEnd({"export", run, "timeline", "--out", path("t.png"), "--visits", "1..9999999"}, 2, {"FIRST..LAST"});
        QCOMPARE(cli({"export", run, "heatmap", "--out", path("plain.png"), "--plain"}).code, 0);
        QCOMPARE(cli({"export", run, "heatmap", "--out", path("framed.png")}).code, 0);
        const QSize plain = QImage(path("plain.png")).size();
        QCOMPARE(plain, QSize(480, 480)); // 96 values, five pixels each
        QVERIFY(QImage(path("framed.png")).width() > plain.width());
        QCOMPARE(
            cli({"export", run, "heatmap", "--out", path("stops.png"), "--plain", "--colormap", "00f,fff,f00"}).code,
            0);
        QVERIFY(QImage(path("stops.png")) != QImage(path("plain.png")));
    }

    void picturesSayWhereTheyComeFrom()
    {
        const QString run = recorded();
        QCOMPARE(cli({"explain", kSample + "clever-hans.onnx", "--input", kSample + "jug-tagged.png", "--output-dir",
                      path("said"), "--image", path("said.png")})
                     .code,
                 0);
        QCOMPARE(cli({"export", run, "heatmap", "--out", path("exported.png")}).code, 0);
        QCOMPARE(cli({"export", run, "heatmap", "--out", path("deep.png"), "--bits", "16"}).code, 0);
        const QImage said(path("said.png"));
        for (const char* file : {"said.png", "exported.png", "deep.png"}) {
            const QImage image(path(QLatin1String(file)));
            for (const char* key : {"model", "model_hash", "target", "rules", "step", "visit", "software", "scale"}) {
                QVERIFY2(!image.text(QLatin1String(key)).isEmpty(), key);
                if (QLatin1String(key) != QLatin1String("scale")) {
                    QVERIFY2(image.text(QLatin1String(key)).section(' ', -1).remove('(').remove(')') ==
                                 said.text(QLatin1String(key)).section(' ', -1).remove('(').remove(')'),
                             qPrintable(QLatin1String(file) + " " + key + ": " + image.text(QLatin1String(key))));
                }
            }
            QCOMPARE(image.text("model"), QStringLiteral("clever-hans.onnx"));
            QCOMPARE(image.text("model_hash").size(), 16);
            QVERIFY(image.text("step").toULongLong() > 0);
            QVERIFY(image.text("software").startsWith("Retrograde "));
        }
    }

    void levelsOf16Bits()
    {
        const QString run = recorded();
        QCOMPARE(cli({"export", run, "heatmap", "--out", path("levels.png"), "--bits", "16"}).code, 0);
        const QImage levels(path("levels.png"));
        QCOMPARE(levels.format(), QImage::Format_Grayscale16);
        QCOMPARE(levels.size(), QSize(96, 96));
        QCOMPARE(cli({"export", run, "heatmap", "--out", path("levels.csv")}).code, 0);
        QFile csv(path("levels.csv"));
        QVERIFY(csv.open(QIODevice::ReadOnly));
        const double scale = levels.text("scale").toDouble();
        for (int y = 0; y < levels.height(); ++y) {
            const QList<QByteArray> cells = csv.readLine().trimmed().split(',');
            const auto* row = reinterpret_cast<const quint16*>(levels.constScanLine(y));
            for (int x = 0; x < levels.width(); ++x) {
                QVERIFY(std::abs((row[x] - 32768) * scale / 32767 - cells[x].toDouble()) <= scale / 32767);
            }
        }
        expectEnd({"export", run, "heatmap", "--out", path("l.svg"), "--bits", "16"}, 2, {"--bits 16", ".png"});
        expectEnd({"export", run, "heatmap", "--out", path("l.png"), "--bits", "16", "--overlay"}, 2, {"--overlay"});
        expectEnd({"export", run, "graph", "--out", path("l.png"), "--bits", "16"}, 2, {"heatmap"});
        expectEnd({"export", run, "heatmap", "--out", path("l.png"), "--bits", "12"}, 2, {"--bits"});
    }

    void aTextIsAnInput()
    {
        const QString model = QStringLiteral(RETRO_SOURCE_DIR "/samples/planted-word/planted-word.onnx");
        const QString text = writeText("review.txt", "The acting was cold, and sponsored the plot felt dull.\n");
        const QString run = path("text.retro");
        const QString folder = path("text");
        const Answer answer =
            cli({"explain", model, "--input", "tokens=" + text, "--output-dir", folder, "--run", run});
        QVERIFY2(answer.code == 0, qPrintable(answer.err));
        RETRO_MADE(relevance, tensor::readNpy((folder + "/relevance/tokens.npy").toStdString()));
        QCOMPARE(relevance->shape(), (tensor::Shape{1, 10}));
        QCOMPARE(cli({"export", run, "heatmap", "--out", path("text.svg")}).code, 0);
        QFile svg(path("text.svg"));
        QVERIFY(svg.open(QIODevice::ReadOnly) && svg.readAll().contains("sponsored"));
        const QString other = writeText("unknown.txt", "the acting was loud like a xylophone");
        expectEnd({"explain", model, "--input", other, "--output-dir", folder}, 3, {"unknown.txt", "'like'"});
        expectEnd({"run", kSample + "clever-hans.onnx", "--input", text, "--output-dir", folder}, 3,
                  {"row of integers"});
    }

    void anAnimationIsAPicturePerStep()
    {
        const QString run = recorded();
        QCOMPARE(cli({"export", run, "animation", "--out", path("frames"), "--steps", "3..5"}).code, 0);
        QCOMPARE(QDir(path("frames")).entryList(QDir::Files),
                 (QStringList{"graph-0003.png", "graph-0004.png", "graph-0005.png"}));
        QVERIFY(QImage(path("frames/graph-0003.png")) != QImage(path("frames/graph-0005.png")));
        QCOMPARE(QImage(path("frames/graph-0003.png")).size(), QImage(path("frames/graph-0005.png")).size());
        QCOMPARE(
            cli({"export", run, "animation", "--of", "heatmap", "--out", path("step.svg"), "--steps", "6..7"}).code, 0);
        QVERIFY(QFile(path("step-0006.svg")).size() > 200 && QFile(path("step-0007.svg")).size() > 200);
        QVERIFY(!QFile::exists(path("step.svg")) && !QFile::exists(path("step-0008.svg")));
        expectEnd({"export", run, "animation", "--out", path("frames"), "--steps", "0..2"}, 2, {"FIRST..LAST"});
        expectEnd({"export", run, "animation", "--of", "log", "--out", path("frames")}, 2, {"--of"});
        expectEnd({"export", run, "graph", "--of", "heatmap", "--out", path("g.png")}, 2, {"animation"});
        expectEnd({"export", run, "animation", "--of", "heatmap", "--value", "image", "--steps", "1..1", "--out",
                   path("none")},
                  2, {"image", "no relevance"});
    }

    void aReportIsOnePage()
    {
        const QString model = path("a <b>&'c'.onnx"); // names may be anything
        const QString run = path("odd.retro");
        QVERIFY(QFile::copy(kSample + "clever-hans.onnx", model));
        const Answer explained =
            cli({"explain", model, "--input", "random:3", "--output-dir", path("odd"), "--run", run});
        QVERIFY2(explained.code == 0, qPrintable(explained.err));
        RETRO_RUNS(answer, {"export", run, "report", "--out", path("r.html")});
        const QByteArray html = tests::bytesIn(path("r.html"));
        QXmlStreamReader reader(html);
        QString text;
        while (!reader.atEnd()) {
            if (reader.readNext() == QXmlStreamReader::Characters) {
                text += reader.text();
            }
        }
        QVERIFY2(!reader.hasError(), qPrintable(reader.errorString()));
        QVERIFY2(text.contains("a <b>&'c'.onnx"), qPrintable(text.left(500)));
        QVERIFY(html.contains("src=\"data:image/png;base64,") && html.contains("src=\"data:image/svg+xml;base64,"));
        QVERIFY(text.contains("reached the inputs"));
        expectEnd({"export", run, "report", "--out", path("r.pdf")}, 2, {".html"});
        expectEnd({"export", run, "report", "--out", path("q.html"), "--steps", "1..2"}, 2, {"report"});
        expectEnd({"export", run, "report", "--out", path("q.html"), "--value", "nowhere"}, 2, {"nowhere"});
        expectEnd({"export", run, "report", "--out", path("no/such/q.html")}, 5, {"q.html"});
        QVERIFY(!QFile::exists(path("r.pdf")) && !QFile::exists(path("q.html")));
    }

    void aPartOfTheGraph()
    {
        const QString run = recorded();
        QCOMPARE(cli({"export", run, "graph", "--out", path("whole.png")}).code, 0);
        for (const char* ending : {"png", "svg", "pdf"}) {
            const QString file = path(QStringLiteral("part.") + QLatin1String(ending));
            QCOMPARE(cli({"export", run, "graph", "--out", file, "--select", "image"}).code, 0);
            QVERIFY(QFileInfo(file).size() > 200);
        }
        QVERIFY(QImage(path("part.png")).height() < QImage(path("whole.png")).height() / 4);
        expectEnd({"export", run, "graph", "--out", path("p.svg"), "--select", "kitchen"}, 2, {"kitchen"});
        expectEnd({"export", run, "graph", "--out", path("p.json"), "--select", "image"}, 2, {".svg"});
        expectEnd({"export", run, "timeline", "--out", path("p.svg"), "--select", "image"}, 2, {"--select"});
    }

    void badExportsAreRefused()
    {
        const QString run = recorded();
        expectEnd({"export", run, "timeline", "--out", path("t.gif")}, 2, {"t.gif", ".svg"});
        expectEnd({"export", run, "promises", "--out", path("p.png")}, 2, {".csv", ".json"});
        expectEnd({"export", run, "timeline", "--out", path("t.png"), "--size", "big"}, 2,
                  {"--size big", "WIDTHxHEIGHT"});
        expectEnd({"export", run, "heatmap", "--out", path("h.png"), "--colormap", "nosuch"}, 2, {"nosuch"});
        expectEnd({"export", run, "plans", "--out", path("p.svg")}, 2, {"plans"});
        QVERIFY(!QFile::exists(path("t.gif")) && !QFile::exists(path("p.png")));
    }

    void graphsGoOutAndComeBack()
    {
        const QString model = kSample + "clever-hans.onnx";
        const QString json = path("graph.json");
        QCOMPARE(cli({"info", model, "--graph-out", json}).code, 0);
        QCOMPARE(cli({"run", model, "--input", "random:1", "--output-dir", path("fromOnnx")}).code, 0);
        QCOMPARE(cli({"run", json, "--input", "random:1", "--output-dir", path("fromJson")}).code, 0);
        const QStringList files = filesUnder(path("fromOnnx"));
        QVERIFY(!files.isEmpty());
        for (const QString& file : files) {
            QFile first(file);
            QFile second(path("fromJson/" + QFileInfo(file).fileName()));
            QVERIFY(first.open(QIODevice::ReadOnly) && second.open(QIODevice::ReadOnly));
            QVERIFY(first.readAll() == second.readAll());
        }
        expectEnd({"info", writeText("bad.json", "{\n\"format\": 3}")}, 3, {"bad.json, line 2, field format"});
        expectEnd({"info", model, "--graph-out", path("graph.png")}, 2, {"graph.png", ".json or .onnx"});
        RETRO_RUNS(shapes, {"info", json, "--shapes"});
        QVERIFY(shapes.out.contains("shape"));
    }

    void promiseAndOracleWriteTheSameBytes()
    {
        const QString model = kSample + "clever-hans.onnx";
        const QString picture = kSample + "jug-tagged.png";
        QCOMPARE(cli({"explain", model, "--input", picture, "--output-dir", path("p"), "--engine", "promise"}).code, 0);
        QCOMPARE(cli({"explain", model, "--input", picture, "--output-dir", path("o"), "--engine", "oracle"}).code, 0);
        QCOMPARE(cli({"explain", model, "--input", picture, "--output-dir", path("a"), "--save", "all"}).code, 0);
        const QStringList files = filesUnder(path("p/relevance"));
        QVERIFY(files.size() > 20);
        for (const QString& file : files) {
            const QByteArray bytes = tests::bytesIn(file);
            for (const char* other : {"o", "a"}) {
                QFile second(path(QString(other) + "/relevance/" + QFileInfo(file).fileName()));
                QVERIFY2(second.open(QIODevice::ReadOnly), qPrintable(second.fileName()));
                QVERIFY2(second.readAll() == bytes, qPrintable(second.fileName()));
            }
        }
        QCOMPARE(cli({"explain", model, "--input", picture, "--output-dir", path("i"), "--inputs-only"}).code, 0);
        const QStringList alone = filesUnder(path("i/relevance"));
        QCOMPARE(alone.size(), 1);
        QFile input(alone.front());
        QFile whole(path("p/relevance/" + QFileInfo(input).fileName()));
        QVERIFY(input.open(QIODevice::ReadOnly) && whole.open(QIODevice::ReadOnly));
        QVERIFY(input.readAll() == whole.readAll());
        expectEnd(
            {"explain", model, "--input", picture, "--output-dir", path("x"), "--inputs-only", "--run", path("r")}, 2,
            {"--inputs-only", "--run"});
    }

    /// What became of a picture stands first, and in the summary: who said so, its size, EXIF and transparency.
    void theAnswerSaysHowPixelsBecameNumbers()
    {
        QFile::copy(kSample + "clever-hans.onnx", path("plain.onnx")); // without its card
        QImage clear(30, 20, QImage::Format_ARGB32);
        clear.fill(Qt::transparent);
        clear.save(path("clear.png"));
        const QStringList call{"explain", path("plain.onnx"), "--input", path("clear.png"), "--output-dir", path("px")};
        const auto picture = [this] {
            QFile file(path("px/summary.json"));
            const bool isOpen = file.open(QIODevice::ReadOnly);
            return isOpen ? nlohmann::json::parse(file.readAll().toStdString()).at("pictures").at(0) : nlohmann::json();
        };
        const Answer usual = cli(call);
        QVERIFY2(usual.out.startsWith("pixels       clear.png: 30 × 20 resized to 96 × 96, NCHW, RGB, 0 … 255 became "
                                      "0 … 1, no mean, no std (as usual: no card and no option says it)\n"),
                 qPrintable(usual.out));
        QVERIFY(usual.out.contains("what is transparent in clear.png lies on white; --pixels stored"));
        QCOMPARE(picture().at("from"), "default");
        QCOMPARE(picture().at("transparency"), "on white");
        const Answer asked = cli(call + QStringList{"--mean", "0.5", "--std", "0.25,0.5,1", "--pixels", "stored"});
        QVERIFY2(asked.out.contains("mean 0.5, std 0.25,0.5,1 (as asked)"), qPrintable(asked.out + asked.err));
        QCOMPARE(picture().at("std").size(), std::size_t{3});
        QCOMPARE(picture().at("transparency"), "left out");
        const Answer ofCard =
            cli({"run", kSample + "clever-hans.onnx", "--input", kSample + "jug.png", "--output-dir", path("px-run")});
        QVERIFY2(ofCard.out.startsWith("pixels       jug.png: 96 × 96, NCHW") &&
                     ofCard.out.contains("(as the model's card says)"),
                 qPrintable(ofCard.out));
    }

    void explainsParameters()
    {
        const QString model = QStringLiteral(RETRO_SOURCE_DIR "/samples/silent-groups/silent-groups.onnx");
        const QString picture = QStringLiteral(RETRO_SOURCE_DIR "/samples/silent-groups/ring.png");
        const QStringList call{"explain",          model,         "--input", picture, "--output-dir",
                               path("parameters"), "--parameters"};
        const Answer answer = cli(call);
        QCOMPARE(answer.code, 0);
        QVERIFY2(answer.out.contains("parameters   7 of 7"), qPrintable(answer.out));
        QFile file(path("parameters/summary.json"));
        QVERIFY(file.open(QIODevice::ReadOnly));
        const auto summary = nlohmann::json::parse(file.readAll().toStdString());
        QCOMPARE(summary.at("parameters").size(), std::size_t{7});
        for (const auto& one : summary.at("parameters")) {
            const QString name = QString::fromStdString(one.at("file").get<std::string>());
            QVERIFY2(QFile::exists(path("parameters/" + name)), qPrintable(name));
            QVERIFY(one.at("relevance").is_number() && one.at("parameter").is_string());
        }
        for (const char* other : {"--inputs-only", "--stop-at-checkpoints"}) {
            expectEnd(call + QStringList{other}, 2, {"--parameters"});
        }
        const Answer planned = cli(call + QStringList{"--engine", "oracle", "--budget", "80%"});
        QVERIFY2(planned.code == 0 && planned.out.contains("parameters   7 of 7"), qPrintable(planned.err));
    }

    void lutCases()
    {
        const QString folder = QStringLiteral(RETRO_SOURCE_DIR "/tests/data/golden/lut/");
        for (const char* path : {"fused", "documented"}) {
            const Answer answer = cli({"lut", folder + "fc_seq_tiny.json", "--path", path, "--json"});
            QCOMPARE(answer.code, 0);
            const auto json = nlohmann::json::parse(answer.out.toStdString());
            QVERIFY(json.at("holds").get<bool>());
            QCOMPARE(json.at("results").at("forward.output").at("values").size(), std::size_t{6});
            const bool isDocumented = json.at("schedule").at("forward").at("launches").size() == 5;
            QCOMPARE(isDocumented, QLatin1String(path) == QLatin1String("documented"));
        }
        QCOMPARE(cli({"lut", folder + "fc_seq_tiny.json", "--run", path("lut.retro")}).code, 0);
        const Answer cuda = cli({"lut", folder + "sparse_nonseq_tiny.json", "--backend", "cuda", "--json"});
        QCOMPARE(cuda.code, 0);
        const bool isOnDevice = nlohmann::json::parse(cuda.out.toStdString()).at("backend") == "cuda";
        QVERIFY2(isOnDevice != cuda.err.contains(QStringLiteral("the CPU back end takes over")), qPrintable(cuda.err));
    }

    void lutCasesThatAreBadOrDiffer()
    {
        QFile file(QStringLiteral(RETRO_SOURCE_DIR "/tests/data/golden/lut/fc_nonseq_tiny.json"));
        QVERIFY(file.open(QIODevice::ReadOnly));
        auto good = nlohmann::json::parse(file.readAll().toStdString());
        auto other = good;
        other["forward"]["output"] = {3, 5};
        const Answer differs = cli({"lut", writeText("differs.json", QByteArray::fromStdString(other.dump()))});
        QCOMPARE(differs.code, 1);
        QVERIFY(differs.out.contains(QStringLiteral("differs")));
        auto bad = good;
        bad["anchors"][0][1] = {1, 3};
        expectEnd({"lut", writeText("bad.json", QByteArray::fromStdString(bad.dump()))}, 3,
                  {"bad.json", "anchor pair 1 of detector 0, (1, 3) of 3 inputs"});
        expectEnd({"lut", path("nowhere.json")}, 3, {"nowhere.json", "no such file"});
        expectEnd({"lut", path("bad.json"), "--path", "other"}, 2, {"--path"});
    }
};

QTEST_GUILESS_MAIN(CliTest)
#include "clitest.moc"
