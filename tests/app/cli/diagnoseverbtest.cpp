// SPDX-License-Identifier: Apache-2.0
// The verb diagnose, and what explain, audit and compare say of findings.
#include "tests/app/cli/cliprogram.h"

#include <QDir>
#include <QtTest>

#include "core/base/file.h"
#include "core/formats/onnx.h"
#include "core/graph/graphbuilder.h"
#include "core/tensor/npy.h"

#include <QTemporaryDir>

using namespace retro;
using base::ValueId;
using nlohmann::json;
using tensor::Tensor;
using tests::Answer;
using tests::cli;

namespace
{

/// x (1×1×2×2) → Pad with a constant by two on each side → Conv → Flatten.
graph::Graph padded(float fill, float factor = 1)
{
    graph::GraphBuilder builder("padded", 17);
    const auto node = [&builder](const char* op, const char* name, std::vector<ValueId> inputs) {
        return builder.addOp(op, name, std::move(inputs), std::string(name) + "_out");
    };
    const ValueId x = builder.addInput("x", tensor::DType::Float32, tensor::Shape{1, 1, 2, 2});
    const std::vector<std::int64_t> pads{0, 0, 2, 2, 0, 0, 2, 2};
    const ValueId amounts = builder.addConstant("pads", Tensor::of<std::int64_t>({8}, pads));
    const ValueId value = builder.addConstant("fill", Tensor::scalar<float>(fill));
    std::vector<float> weight(4608, 0.5F); // more than a run file keeps
    for (std::size_t i = 36; i < 72; ++i) {
        weight[i] *= factor;
    }
    const ValueId w = builder.addConstant("w", Tensor::of<float>({128, 1, 6, 6}, weight));
    const ValueId map = node("Conv", "conv", {node("Pad", "pad", {x, amounts, value}), w});
    builder.addOutput(node("Flatten", "flat", {map}));
    return std::move(builder).build().value();
}

json parsed(const Answer& answer) { return json::parse(answer.out.toStdString()); }

} // namespace

class DiagnoseVerbTest : public QObject
{
    Q_OBJECT
    QTemporaryDir m_folder;

    QString path(const QString& name) const { return m_folder.filePath(name); }

    void write(const QString& name, const graph::Graph& graph) const
    {
        const auto bytes = formats::toOnnx(graph);
        QVERIFY(bytes.ok() && base::writeFile(path(name).toStdString(), *bytes).ok());
    }

    Answer explain(const QString& model, const QString& run) const
    {
        return cli({"explain", path(model), "--input", path("x.npy"), "--composite", "epsilon_plus", "--output-dir",
                    path(run + ".d"), "--run", path(run)});
    }

private slots:
    void initTestCase()
    {
        write("bad.onnx", padded(4));
        write("good.onnx", padded(0));
        write("scaled.onnx", padded(0, 1000));
        const std::vector<float> numbers{1, 2, 3, 4};
        QVERIFY(tensor::writeNpy(path("x.npy").toStdString(), Tensor::of<float>({1, 1, 2, 2}, numbers)).ok());
    }

    void firstLinesSayWhatHoldsAndNameNodeAndCause()
    {
        const Answer answer = cli({"diagnose", path("bad.onnx"), "--input", path("x.npy")});
        QCOMPARE(answer.code, 0);
        QVERIFY2(answer.out.startsWith("Score 69 of class 0, "), qPrintable(answer.out));
        const QString first = answer.out.section('\n', 1, 1);
        QVERIFY2(first.startsWith("warning  pad  93 % of Σ|R|") && first.endsWith("[flow.unread]"), qPrintable(first));
        QVERIFY(answer.out.section('\n', 2, 2).startsWith("         "));
    }

    void healthyModelHasTwoLines()
    {
        const Answer answer = cli({"diagnose", path("good.onnx"), "--input", path("x.npy")});
        QCOMPARE(answer.code, 0);
        RETRO_SAYS(answer.out, "Score 5 of class 0, ", "othing unusual by ");
        QCOMPARE(answer.out.count('\n'), 2);
    }

    void modelOfARunThatLiesElsewhereIsNamed()
    {
        write("moved.onnx", padded(4));
        QCOMPARE(explain("moved.onnx", "moving.retro").code, 0);
        QTemporaryDir elsewhere;
        const QString run = elsewhere.filePath("moving.retro");
        QVERIFY(QFile::rename(path("moving.retro"), run));
        const Answer kept = cli({"diagnose", run}); // the run keeps where its model lies
        QVERIFY2(kept.code == 0 && !kept.out.contains("want the model"), qPrintable(kept.out));
        QVERIFY(QFile::rename(path("moved.onnx"), path("renamed.onnx")));
        const Answer without = cli({"diagnose", run});
        RETRO_SAYS(without.out, "checks want the model moved.onnx", "--model FILE");
        write("moved.onnx", padded(4, 3)); // another file in its place
        RETRO_SAYS(cli({"diagnose", run}).out, "checks want the model moved.onnx");
        const Answer with = cli({"diagnose", run, "--model", path("renamed.onnx")});
        QCOMPARE(with.code, 0);
        QVERIFY2(!with.out.contains("want the model"), qPrintable(with.out));
        QCOMPARE(cli({"diagnose", run, "--model", path("x.npy")}).code, 3);
        const Answer model = cli({"diagnose", path("bad.onnx"), "--input", path("x.npy"), "--model", path("bad.onnx")});
        QCOMPARE(model.code, 2);
    }

    void aModelWithOtherWeightsIsNotThatOfTheRun()
    {
        QCOMPARE(explain("bad.onnx", "own.retro").code, 0);
        write("other.onnx", padded(4, 3)); // the same graph
        const Answer other = cli({"diagnose", path("own.retro"), "--model", path("other.onnx")});
        QCOMPARE(other.code, 3);
        QVERIFY2(other.err.contains("its weights are others"), qPrintable(other.err));
        // Nor is one that lies beside it under the name of the model.
        QTemporaryDir folder;
        QVERIFY(QFile::rename(path("own.retro"), folder.filePath("own.retro")));
        QVERIFY(QFile::copy(path("other.onnx"), folder.filePath("bad.onnx")));
        const Answer beside = cli({"diagnose", folder.filePath("own.retro")});
        QVERIFY2(!beside.out.contains("want the model"), qPrintable(beside.out)); // that at its path is taken
    }

    void runFileHasTheSameFindings()
    {
        QCOMPARE(explain("bad.onnx", "bad.retro").code, 0);
        const json model = parsed(
            cli({"diagnose", path("bad.onnx"), "--input", path("x.npy"), "--composite", "epsilon_plus", "--json"}));
        const json run = parsed(cli({"diagnose", path("bad.retro"), "--json"}));
        QCOMPARE(model["format"].get<std::string>(), std::string("retrograde-diagnosis/1"));
        QCOMPARE(model["findings"].size(), run["findings"].size());
        for (std::size_t i = 0; i < run["findings"].size(); ++i) {
            QCOMPARE(model["findings"][i]["id"], run["findings"][i]["id"]);
            QCOMPARE(model["findings"][i]["text"], run["findings"][i]["text"]);
        }
    }

    void runFileWithoutItsModelSaysWhatIsNotRun()
    {
        write("gone.onnx", padded(4));
        QCOMPARE(explain("gone.onnx", "left.retro").code, 0);
        QVERIFY(QFile::remove(path("gone.onnx")));
        const Answer answer = cli({"diagnose", path("left.retro"), "--all"});
        RETRO_SAYS(answer.out, "[flow.unread]", "not run  model.training  the model of the run is not found");
    }

    void referenceModelIsMatched()
    {
        const Answer answer =
            cli({"diagnose", path("scaled.onnx"), "--input", path("x.npy"), "--against", path("good.onnx")});
        QVERIFY2(
            answer.out.contains("\ndifference  conv  its weight (w) differs in 36 of 4608 elements: all in channel 1, "
                                "factor 1000"),
            qPrintable(answer.out));
    }

    void failOnMakesAnExitCode()
    {
        const QStringList bad{"diagnose", path("bad.onnx"), "--input", path("x.npy"), "--fail-on"};
        QCOMPARE(cli(bad + QStringList{"warning"}).code, 1);
        QCOMPARE(cli(bad + QStringList{"error"}).code, 0);
    }

    void familiesAndChecksAreChosen()
    {
        const json chosen =
            parsed(cli({"diagnose", path("bad.onnx"), "--input", path("x.npy"), "--only", "model", "--json"}));
        for (const json& check : chosen["checks"]) {
            QVERIFY(check["id"].get<std::string>().starts_with("model."));
        }
        QCOMPARE(cli({"diagnose", path("bad.onnx"), "--input", path("x.npy"), "--check", "flow.unreaad"}).code, 2);
        const Answer explained = cli({"diagnose", "--explain", "flow.unread"});
        QVERIFY2(explained.out.contains("threshold  0.3"), qPrintable(explained.out));
    }

    // A folder and which class each file has: three classes, told apart by three numbers.
    void aFolderWithLabelsIsAskedAsAWhole()
    {
        graph::GraphBuilder builder("three", 17);
        const ValueId x = builder.addInput("x", tensor::DType::Float32, tensor::Shape{1, 3});
        const std::vector<float> one{1, 0, 0, 0, 1, 0, 0, 0, 1};
        builder.addOutput(
            builder.addOp("Gemm", "fc", {x, builder.addConstant("w", Tensor::of<float>({3, 3}, one))}, "scores"));
        write("three.onnx", std::move(builder).build().value());
        QVERIFY(QDir(m_folder.path()).mkdir("folder"));
        std::string right = "File,note,Label\n";
        std::string moved = "file,label\n";
        for (std::size_t i = 0; i < 9; ++i) {
            std::vector<float> row{0.1F, 0.2F, 0.3F};
            row[i % 3] = 2;
            const std::string name = std::to_string(i) + ".npy";
            QVERIFY(tensor::writeNpy(path("folder").toStdString() + "/" + name, Tensor::of<float>({1, 3}, row)).ok());
            right += "folder/" + name + ",\"a, b\"," + std::to_string(i % 3) + "\n";
            moved += name + "," + std::to_string((i + 1) % 3) + "\n";
        }
        QVERIFY(base::writeFile(path("right.csv").toStdString(), right).ok());
        QVERIFY(base::writeFile(path("moved.csv").toStdString(), moved).ok());
        const QStringList asked{"diagnose", path("three.onnx"), "--input", path("folder"), "--only", "data"};
        const Answer healthy = cli(asked + QStringList{"--labels", path("right.csv")});
        QVERIFY2(healthy.code == 0 && healthy.out.startsWith("Nothing unusual by 8 checks (6 run)"),
                 qPrintable(healthy.out));
        const Answer wrong = cli(asked + QStringList{"--labels", path("moved.csv")});
        RETRO_SAYS(wrong.out, "with labels in another order", "9 of 9 inputs get their class; as given, 0");
        QVERIFY(cli(asked).out.startsWith("Nothing unusual by 8 checks (4 run)"));
    }

    void labelsThatDoNotFitAreRefused()
    {
        const QString folder = path("folder");
        const auto asked = [&](const std::string& table) {
            return base::writeFile(path("bad.csv").toStdString(), table).ok()
                       ? cli({"diagnose", path("three.onnx"), "--input", folder, "--labels", path("bad.csv")})
                       : Answer();
        };
        const Answer heads = asked("name,class\n0.npy,1\n");
        RETRO_SAYS(heads.err, "bad.csv", "its first line does not name the columns file and label");
        const Answer missing = asked("file,label\n0.npy,1\n");
        RETRO_SAYS(missing.err, "no row of it is of the file 1.npy");
        const Answer unknown = asked("file,label\n0.npy,mug\n");
        RETRO_SAYS(unknown.err, "bad.csv, row 2",
                   "'mug' is neither a label of the model's card nor the number of a class");
        QCOMPARE(unknown.code, 3);
        const Answer one = cli({"diagnose", path("bad.onnx"), "--input", path("x.npy"), "--labels", path("bad.csv")});
        RETRO_SAYS(one.err, "goes with a folder of inputs");
        QCOMPARE(one.code, 2);
    }

    void modelThatCannotRunSaysWhy()
    {
        const Tensor turned = Tensor::zeros(tensor::DType::Float32, {1, 2, 2, 1});
        QVERIFY(tensor::writeNpy(path("turned.npy").toStdString(), turned).ok());
        const Answer answer = cli({"diagnose", path("good.onnx"), "--input", path("turned.npy")});
        QCOMPARE(answer.code, 0);
        QVERIFY2(answer.out.startsWith("error    x  has the shape 1×2×2×1"), qPrintable(answer.out));
        const Answer refused =
            cli({"explain", path("good.onnx"), "--input", path("turned.npy"), "--output-dir", path("o")});
        QCOMPARE(refused.code, 3);
        QVERIFY2(refused.err.contains("(0, 3, 1, 2)"), qPrintable(refused.err));
        QCOMPARE(cli({"diagnose", path("nothing.onnx"), "--input", path("x.npy")}).code, 3);
    }

    void explainSaysASevereFindingAndKeepsAll()
    {
        const Answer bad = explain("bad.onnx", "said.retro");
        const json diagnosis =
            json::parse(tests::bytesIn(path("said.retro.d/summary.json")).toStdString())["diagnosis"];
        QCOMPARE(diagnosis[0]["id"].get<std::string>(), std::string("flow.unread"));
        RETRO_SAYS(bad.err, "warning: pad 93 %", "(diagnose says more)");
        QVERIFY(!explain("good.onnx", "quiet.retro").err.contains("diagnose"));
    }

    void auditBeginsWithTheWorstFinding()
    {
        QCOMPARE(explain("bad.onnx", "audited.retro").code, 0);
        QVERIFY(cli({"audit", path("audited.retro")}).out.startsWith("pad 93 % of Σ|R|"));
        QCOMPARE(explain("good.onnx", "healthy.retro").code, 0);
        QVERIFY(cli({"audit", path("healthy.retro")}).out.startsWith("Nothing unusual: "));
    }

    void compareBeginsWithWhatDiffersInTheModels()
    {
        QCOMPARE(explain("good.onnx", "a.retro").code, 0);
        QCOMPARE(explain("scaled.onnx", "b.retro").code, 0);
        const QString out = cli({"compare", path("a.retro"), path("b.retro")}).out;
        const auto differs = out.indexOf("B conv its weight (w) differs in 36 of 4608");
        const auto forward = out.indexOf("conv is the first node whose forward value differs");
        const auto parting = out.indexOf("They part at");
        QVERIFY2(differs > 0 && differs < forward && forward < parting, qPrintable(out));
        QVERIFY(!cli({"compare", path("a.retro"), path("a.retro")}).out.contains("[diff."));
    }
};

QTEST_GUILESS_MAIN(DiagnoseVerbTest)
#include "diagnoseverbtest.moc"
