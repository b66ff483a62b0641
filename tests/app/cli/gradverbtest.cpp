// SPDX-License-Identifier: Apache-2.0
// `grad` and `verify` as a stranger meets them.
#include "tests/app/cli/cliprogram.h"

#include <QtTest>

#include "core/tensor/npy.h"

#include <QDir>
#include <QFile>
#include <QRegularExpression>
#include <QTemporaryDir>

#include <algorithm>
#include <cmath>
#include <filesystem>

using namespace retro;
using tests::Answer;
using tests::cli;
using tests::expectEnd;

namespace
{

const QString kSample = QStringLiteral(RETRO_SOURCE_DIR "/samples/clever-hans/");

QStringList gradOf(const QStringList& more)
{
    return QStringList{"grad", kSample + "clever-hans.onnx", "--input", kSample + "jug.png"} + more;
}

/// Σ|a − b| over Σ|b|; infinite for other shapes.
double distance(const tensor::Tensor& a, const tensor::Tensor& b)
{
    if (a.shape() != b.shape()) {
        return INFINITY;
    }
    double apart = 0;
    double size = 0;
    for (std::int64_t i = 0; i < a.size(); ++i) {
        apart += std::abs(a.at(i) - b.at(i));
        size += std::abs(b.at(i));
    }
    return apart / size;
}

} // namespace

class GradVerbTest : public QObject
{
    Q_OBJECT
    QTemporaryDir m_folder;
    QString path(const QString& name) const { return m_folder.filePath(name); }

private slots:
    void aRecordedPassHasTheSameGradient()
    {
        RETRO_RUNS(plain, gradOf({"--precision", "double", "--json", "--output-dir", path("plain")}));
        const nlohmann::json answer = nlohmann::json::parse(plain.out.toStdString());
        QCOMPARE(answer["gradients"].size(), std::size_t{1});
        QVERIFY(answer["cells"].get<int>() > answer["visited"].get<int>());
        QVERIFY(answer["critical"]["operators"].get<int>() > 0);
        const Answer recorded =
            cli(gradOf({"--precision", "double", "--output-dir", path("recorded"), "--run", path("gradient.retro")}));
        QVERIFY2(recorded.code == 0, qPrintable(recorded.err));
        const auto a = tensor::readNpy(path("plain/image.npy").toStdString());
        const auto b = tensor::readNpy(path("recorded/image.npy").toStdString());
        QVERIFY(a.ok() && b.ok());
        for (std::int64_t i = 0; i < a->size(); ++i) {
            QVERIFY(std::abs(a->at(i) - b->at(i)) <= 1e-12);
        }
        const Answer events = cli({"trace", path("gradient.retro"), "--from", "0", "--to", "10"});
        QVERIFY2(events.out.contains("part 1 of 1"), qPrintable(events.out));
    }

    void forwardedInOtherFormsItHasTheSameBits()
    {
        QCOMPARE(cli(gradOf({"--output-dir", path("stored")})).code, 0);
        const Answer packed =
            cli(gradOf({"--output-dir", path("packed"), "--forward", "compress", "--profile", "--json"}));
        QVERIFY2(packed.code == 0, qPrintable(packed.err));
        const auto a = tensor::readNpy(path("stored/image.npy").toStdString());
        const auto b = tensor::readNpy(path("packed/image.npy").toStdString());
        QVERIFY(a.ok() && b.ok() && a->bitEqual(*b));
        const nlohmann::json answer = nlohmann::json::parse(packed.out.toStdString());
        QVERIFY(answer["forwarding"]["kept_bytes"].get<std::int64_t>() <
                answer["forwarding"]["stored_bytes"].get<std::int64_t>());
        const auto conv = std::ranges::find_if(answer["profile"], [](const auto& one) { return one["flops"] > 0; });
        QVERIFY(conv != answer["profile"].end());
        QCOMPARE((*conv)["reverse_flops"].get<double>(), (*conv)["flops"].get<double>()); // of one factor
        QCOMPARE((*conv)["rebuild_flops"].get<double>(), 0.0);
        expectEnd(gradOf({"--output-dir", path("none"), "--forward-value", "nowhere=store"}), 2, {"nowhere"});
        const Answer rules = cli(gradOf({"--rules"}));
        QVERIFY2(rules.code == 0 && rules.out.contains("linear map"), qPrintable(rules.out));
    }

    void aRecordedPassSaysHowValuesWereForwarded()
    {
        QCOMPARE(cli(gradOf({"--output-dir", path("run"), "--run", path("plain.retro")})).code, 0);
        RETRO_RUNS(made, gradOf({"--output-dir", path("rebuilt"), "--run", path("rebuilt.retro"), "--forward",
                                 "rebuild", "--forward-value", "/stem/relu/Relu_output_0=compress", "--json"}));
        const auto a = tensor::readNpy(path("run/image.npy").toStdString());
        const auto b = tensor::readNpy(path("rebuilt/image.npy").toStdString());
        QVERIFY(a.ok() && b.ok() && a->bitEqual(*b));
        const nlohmann::json forwarding = nlohmann::json::parse(made.out.toStdString())["forwarding"];
        RETRO_RUNS(said, {"trace", path("rebuilt.retro"), "--forwarding", "--json"});
        QCOMPARE(nlohmann::json::parse(said.out.toStdString()), forwarding["values"]);
        QCOMPARE(forwarding["values"][0]["form"], nlohmann::json("compress"));
        QCOMPARE(forwarding["values"][1]["form"], nlohmann::json("rebuild"));
        const Answer events = cli({"trace", path("rebuilt.retro")});
        QCOMPARE(events.out.count(" recompute "), forwarding["rebuilds"].get<int>());
        QVERIFY(events.out.contains("part 1 of 1"));
        expectEnd({"trace", path("plain.retro"), "--forwarding"}, 3, {"--forward"});
        // The profile of a pass that is recorded is that of the run.
        const Answer profiled =
            cli(gradOf({"--output-dir", path("profiled"), "--run", path("profiled.retro"), "--profile", "--json"}));
        QVERIFY2(profiled.code == 0, qPrintable(profiled.err));
        const nlohmann::json profile = nlohmann::json::parse(profiled.out.toStdString())["profile"];
        QCOMPARE(cli({"export", path("profiled.retro"), "profile", "--out", path("profile.json")}).code, 0);
        QFile exported(path("profile.json"));
        QVERIFY(exported.open(QIODevice::ReadOnly) && !profile.empty());
        QCOMPARE(nlohmann::json::parse(exported.readAll().toStdString())["profile"], profile);
        const auto c = tensor::readNpy(path("profiled/image.npy").toStdString());
        QVERIFY(c.ok() && c->bitEqual(*a));
        expectEnd(gradOf({"--output-dir", path("none"), "--forward", "store", "--budget", "50%"}), 2, {"--budget"});
    }

    void explanationsForwardValuesInChosenForms()
    {
        const QStringList question{"explain", kSample + "clever-hans.onnx", "--input", kSample + "jug.png", "--json"};
        QCOMPARE(cli(question + QStringList{"--output-dir", path("explained")}).code, 0);
        for (const char* form : {"store", "rebuild", "compress"}) {
            RETRO_ANSWER(summary, question + QStringList{"--output-dir", path(form), "--forward", form});
            QCOMPARE(summary["save"], nlohmann::json("forwarded"));
            QCOMPARE(summary["promises"], nlohmann::json(0));
            QCOMPARE(summary["forwarding"]["rebuilds"].get<int>() > 0, QByteArray(form) == "rebuild");
            const auto a = tensor::readNpy(path("explained/relevance/image.npy").toStdString());
            const auto b = tensor::readNpy(path(QString(form) + "/relevance/image.npy").toStdString());
            QVERIFY(a.ok() && b.ok() && a->bitEqual(*b));
        }
        expectEnd(question + QStringList{"--output-dir", path("none"), "--forward", "optimal", "--forward-budget", "1"},
                  4, {"--budget in place of --forward"});
        for (const QStringList& other : {QStringList{"--save", "all"}, QStringList{"--budget", "50%"},
                                         QStringList{"--inputs-only"}, QStringList{"--engine", "oracle"}}) {
            expectEnd(question + QStringList{"--output-dir", path("none"), "--forward", "store"} + other, 2,
                      {"--forward"});
        }
    }

    void aPassByAPlanHasTheSameBits()
    {
        const QString model = QStringLiteral(RETRO_SOURCE_DIR "/samples/silent-groups/silent-groups.onnx");
        const QStringList question{"grad", model, "--input", "random:1", "--json"};
        QCOMPARE(cli(question + QStringList{"--output-dir", path("tape")}).code, 0);
        RETRO_RUNS(made, {"plan", model, "--budget", "80%", "--out", path("plan.json")});
        for (const QStringList& by : {QStringList{"--plan", path("plan.json")}, QStringList{"--budget", "80%"},
                                      QStringList{"--strategy", "recompute_all"}}) {
            const Answer planned =
                cli(question + by + QStringList{"--output-dir", path("planned"), "--plan-rows", "2"});
            QVERIFY2(planned.code == 0, qPrintable(planned.err));
            const nlohmann::json plan = nlohmann::json::parse(planned.out.toStdString())["plan"];
            QCOMPARE(plan["measured"]["peak"].get<int>(), plan["predicted"]["peak"].get<int>());
            QVERIFY(plan["recomputations"].get<int>() > 0);
            QCOMPARE(plan["steps"].size(), std::size_t{2});
            const auto a = tensor::readNpy(path("tape/image.npy").toStdString());
            const auto b = tensor::readNpy(path("planned/image.npy").toStdString());
            QVERIFY(a.ok() && b.ok() && a->bitEqual(*b));
        }
        expectEnd(question + QStringList{"--budget", "1%", "--output-dir", path("none")}, 4, {"no plan needs less"});
        expectEnd(question +
                      QStringList{"--plan", path("plan.json"), "--strategy", "fast", "--output-dir", path("none")},
                  2, {"needs no strategy"});
        RETRO_RUNS(recorded, question + QStringList{"--budget", "80%", "--run", path("steps.retro"), "--output-dir",
                                                    path("recorded by plan")});
        const auto c = tensor::readNpy(path("recorded by plan/image.npy").toStdString());
        const auto d = tensor::readNpy(path("planned/image.npy").toStdString());
        QVERIFY(c.ok() && d.ok() && c->bitEqual(*d));
        const Answer steps = cli({"trace", path("steps.retro")});
        QVERIFY2(steps.out.contains("the best so far") && steps.out.contains("is computed"), qPrintable(steps.err));
    }

    void aPassMayMoveValues()
    {
        const QString model = QStringLiteral(RETRO_SOURCE_DIR "/samples/one-segment/one-segment.onnx");
        const QStringList question{"grad", model, "--input", "random:1", "--json", "--output-dir"};
        RETRO_RUNS(whole, question + QStringList{path("unmoved")});
        const QStringList tier{"--tier", "disk=5e9"};
        RETRO_RUNS(moved, question + QStringList{path("moved"), "--budget", "90%", "--strategy", "offload"} + tier +
                              QStringList{"--seconds-per-cost", "1e-9"});
        const nlohmann::json plan = nlohmann::json::parse(moved.out.toStdString())["plan"];
        QVERIFY(plan["moved_bytes"].get<int>() > 0);
        QCOMPARE(plan["measured"]["peak"].get<int>(), plan["predicted"]["peak"].get<int>());
        const QStringList names = QDir(path("unmoved")).entryList({"*.npy"});
        QVERIFY(!names.isEmpty());
        for (const QString& name : names) {
            const auto a = tensor::readNpy(path("unmoved/" + name).toStdString());
            const auto b = tensor::readNpy(path("moved/" + name).toStdString());
            QVERIFY2(a.ok() && b.ok() && a->bitEqual(*b), qPrintable(name));
        }
        expectEnd(question + QStringList{path("no"), "--budget", "80%"} + tier, 2, {"--seconds-per-cost"});
        expectEnd(question + QStringList{path("no"), "--plan", path("plan.json")} + tier, 2, {"says itself"});
        expectEnd(question + QStringList{path("no"), "--budget", "80%", "--tier", "disk", "--seconds-per-cost", "1"}, 2,
                  {"NAME=BYTES"});
    }

    void anExplanationByAPlanHasTheSameBits()
    {
        const QString model = QStringLiteral(RETRO_SOURCE_DIR "/samples/silent-groups/silent-groups.onnx");
        const QStringList question{"explain", model, "--input", "random:1", "--json", "--output-dir"};
        QCOMPARE(cli(question + QStringList{path("whole")}).code, 0);
        RETRO_MADE(whole, tensor::readNpy(path("whole/relevance/image.npy").toStdString()));
        const std::vector<QStringList> ways{
            {}, {"--inputs-only"}, {"--engine", "oracle"}, {"--engine", "compiled"}, {"--check-oracle"}};
        for (const QStringList& way : ways) {
            const QString folder = path("planned" + way.join(""));
            RETRO_ANSWER(summary, question + QStringList{folder, "--budget", "80%"} + way);
            QCOMPARE(summary["save"].get<std::string>(), std::string("plan"));
            const nlohmann::json& plan = summary["plan"];
            QCOMPARE(plan["measured"]["peak"].get<int>(), plan["predicted"]["peak"].get<int>());
            QCOMPARE(summary["peak_bytes"].get<int>(), plan["measured"]["peak"].get<int>());
            const auto relevance = tensor::readNpy((folder + "/relevance/image.npy").toStdString());
            QVERIFY2(relevance.ok() && relevance->bitEqual(*whole), qPrintable(folder));
            QCOMPARE(way.contains("--inputs-only") ? 1 : QDir(path("whole/relevance")).count() - 2,
                     QDir(folder + "/relevance").count() - 2);
        }
        expectEnd(question +
                      QStringList{path("no"), "--budget", "80%", "--engine", "compiled", "--stop-at-checkpoints"},
                  2, {"--engine compiled by a plan"});
        for (const char* engine : {"oracle", "promise"}) {
            const QString run = path(QString("%1.retro").arg(engine));
            const Answer recorded =
                cli(question + QStringList{path(engine), "--budget", "80%", "--engine", engine, "--run", run});
            QVERIFY2(recorded.code == 0, qPrintable(recorded.err));
            const Answer steps = cli({"trace", run});
            QVERIFY2(steps.out.contains("the best so far"), qPrintable(steps.err));
            QVERIFY(steps.out.contains(QString(engine) == "oracle" ? "is computed again" : "is brought by P"));
        }
    }

    /// What is asked beside the relevance, or changes its rules, goes by the plan as well.
    void whatIsAskedBesideGoesByThePlan()
    {
        const QString model = QStringLiteral(RETRO_SOURCE_DIR "/samples/clever-hans/clever-hans.onnx");
        const QStringList question{"explain", model, "--input", kSample + "jug.png", "--json"};
        const QString value = QStringLiteral("/block3/first/norm/BatchNormalization_output_0:axis=1:0-3");
        const std::vector<QStringList> wishes{{"--parameters"},
                                              {"--region-box", "0:8,0:8"},
                                              {"--condition", value},
                                              {"--condition", value, "--condition-form", "beside"}};
        for (const QStringList& wish : wishes) {
            RETRO_RUNS(whole, question + wish + QStringList{"--output-dir", path("asked")});
            for (const QStringList& way : {QStringList{}, QStringList{"--engine", "compiled"}}) {
                const Answer planned =
                    cli(question + wish + way + QStringList{"--output-dir", path("by plan"), "--budget", "90%"});
                QVERIFY2(planned.code == 0, qPrintable(planned.err));
                const nlohmann::json summary = nlohmann::json::parse(planned.out.toStdString());
                QCOMPARE(summary["peak_bytes"], summary["planned_peak_bytes"]);
                QVERIFY(summary["peak_bytes"] <= summary["budget_bytes"]);
                const nlohmann::json expected = nlohmann::json::parse(whole.out.toStdString());
                for (const char* key : {"relevance_inputs", "parameters", "conditions"}) {
                    QVERIFY2(summary.value(key, nlohmann::json()) == expected.value(key, nlohmann::json()), key);
                }
                QVERIFY(!summary.contains("region") || summary["region"]["total"] == expected["region"]["total"]);
                const auto a = tensor::readNpy(path("asked/relevance/image.npy").toStdString());
                const auto b = tensor::readNpy(path("by plan/relevance/image.npy").toStdString());
                QVERIFY(a.ok() && b.ok() && a->bitEqual(*b));
            }
        }
    }

    /// A recorded traversal that would go beyond its budget is refused with one that it keeps to.
    void aRecordedTraversalKeepsItsBudget()
    {
        const QString model = QStringLiteral(RETRO_SOURCE_DIR "/samples/silent-groups/silent-groups.onnx");
        const QStringList question{"explain",      model,        "--input", "random:1",         "--json",
                                   "--output-dir", path("kept"), "--run",   path("kept.retro"), "--budget"};
        bool isRefused = false;
        for (const char* budget : {"100%", "80%", "70%"}) {
            Answer made = cli(question + QStringList{budget});
            if (made.code == 4 && made.err.contains("would have")) {
                isRefused = true;
                const qsizetype at = made.err.indexOf("--budget ", made.err.indexOf("the traversal needs"));
                QVERIFY2(at > 0 && made.err.contains("--engine compiled"), qPrintable(made.err));
                const QString least = made.err.mid(at + 9).section(QRegularExpression("[^0-9]"), 0, 0);
                made = cli(question + QStringList{least});
            }
            QVERIFY2(made.code == 0, qPrintable(made.err));
            const nlohmann::json summary = nlohmann::json::parse(made.out.toStdString());
            QCOMPARE(summary["peak_bytes"], summary["planned_peak_bytes"]);
            QVERIFY(summary["peak_bytes"] <= summary["budget_bytes"]);
        }
        QVERIFY(isRefused);
    }

    /// The gradient of a word's score at the values of the embedding: that of the composite at the same value.
    void tokensGetTheGradientOfTheirEmbedding()
    {
        const QString model = QStringLiteral(RETRO_SOURCE_DIR "/tests/data/language/capitals.onnx");
        const QStringList text{"--text", "The capital of France is", "--target", " London"};
        RETRO_ANSWER(answer, QStringList{"grad", model, "--json", "--output-dir", path("text")} + text);
        QVERIFY(answer["gradients"].size() >= 1);
        const std::string file = answer["gradients"][0]["file"];
        const std::string name = answer["gradients"][0]["input"];
        const auto gradient = tensor::readNpy(file);
        QVERIFY(gradient.ok() && gradient->rank() == 3);
        RETRO_RUNS(explained, QStringList{"explain", model, "--composite", "gradient", "--start", "one", "--json",
                                          "--output-dir", path("composite")} +
                                  text);
        const auto same = tensor::readNpy(path("composite/relevance/").toStdString() +
                                          std::filesystem::path(file).filename().string());
        QVERIFY2(same.ok() && same->bitEqual(*gradient), name.c_str());
        // By a plan, in forms, recorded; the numbers of the tokens ask the same.
        QCOMPARE(cli(QStringList{"plan", model, "--budget", "90%", "--out", path("text.json")} + text).code, 0);
        const std::vector<QStringList> ways{{"--plan", path("text.json")},
                                            {"--budget", "90%"},
                                            {"--forward", "rebuild"},
                                            {"--run", path("text.retro")}};
        for (const QStringList& way : ways) {
            RETRO_RUNS(other, QStringList{"grad", model, "--json", "--output-dir", path("way")} + text + way);
            const auto again =
                tensor::readNpy(path("way/").toStdString() + std::filesystem::path(file).filename().string());
            QVERIFY2(again.ok() && again->bitEqual(*gradient), qPrintable(way.front()));
        }
        expectEnd(QStringList{"grad", model, "--graph-out", path("text.onnx")} + text, 2, {"--graph-out"});
    }

    /// Graphviz reads what is written, box by box; the graph JSON says how many there are.
    void theGradientGraphIsReadByGraphviz()
    {
        const QString reader = QStringLiteral(RETRO_BINARY_DIR "/bin/retrograde-layout");
        if (!QFile::exists(reader)) {
            QSKIP("built without Graphviz: libgraphviz-dev is missing");
        }
        for (const QStringList& how : {QStringList{}, QStringList{"--joint"}}) {
            QCOMPARE(cli(gradOf(how + QStringList{"--graph-out", path("read.dot")})).code, 0);
            QCOMPARE(cli(gradOf(how + QStringList{"--graph-out", path("read.json")})).code, 0);
            RETRO_ANSWER(facts, {"info", path("read.json"), "--json"});
            QProcess process;
            process.setStandardInputFile(path("read.dot"));
            process.start(reader, {"--to-json"});
            QVERIFY(process.waitForFinished(60'000) && process.exitCode() == 0);
            const nlohmann::json read = nlohmann::json::parse(process.readAllStandardOutput().toStdString());
            QCOMPARE(read["nodes"].size(),
                     facts["inputs"].size() + facts["outputs"].size() + facts["nodes"].get<std::size_t>());
        }
    }

    void theGradientGraphRunsLikeAnyModel_data()
    {
        QTest::addColumn<QString>("file");
        QTest::newRow("ONNX") << QStringLiteral("joint.onnx");
        QTest::newRow("graph JSON") << QStringLiteral("joint.json");
    }

    void theGradientGraphRunsLikeAnyModel()
    {
        QFETCH(QString, file);
        RETRO_RUNS(tape, gradOf({"--output-dir", path("tape of the file"), "--no-rewrite", "all", "--json"}));
        const auto best = nlohmann::json::parse(tape.out.toStdString())["target"]["index"][0].get<std::size_t>();
        RETRO_ANSWER(answer, gradOf({"--graph-out", path(file), "--joint", "--json"}));
        QCOMPARE(answer["gradients"][0].get<std::string>(), std::string("image_gradient"));
        std::vector<float> start(6, 0);
        start.at(best) = 1;
        QVERIFY(tensor::writeNpy(path("seed.npy").toStdString(), tensor::Tensor::of<float>({1, 6}, start)).ok());
        RETRO_RUNS(run, {"run", path(file), "--input", "image=" + kSample + "jug.png", "--input",
                         QString::fromStdString(answer["seed"].get<std::string>()) + "=" + path("seed.npy"),
                         "--output-dir", path("joint")});
        QVERIFY(QFile::exists(path("joint/logits.npy")));
        const auto a = tensor::readNpy(path("joint/image_gradient.npy").toStdString());
        const auto b = tensor::readNpy(path("tape of the file/image.npy").toStdString());
        QVERIFY(a.ok() && b.ok());
        const double far = distance(*a, *b);
        QVERIFY2(far < 1e-5, qPrintable(QString::number(far)));
    }

    void inputsAreChosenByName()
    {
        RETRO_RUNS(answer, gradOf({"--output-dir", path("chosen"), "--from", "image", "--json"}));
        QVERIFY(QFile::exists(path("chosen/image.npy")));
        const QStringList both{"--output-dir", path("weights"), "--parameters", "--from"};
        const Answer weights = cli(gradOf(both + QStringList{"nowhere"}));
        QVERIFY2(weights.code == 2 && weights.err.contains("--from nowhere"), qPrintable(weights.err));
        RETRO_ANSWER(facts, gradOf(both + QStringList{"image", "--json"}));
        QCOMPARE(facts["gradients"].size(), 1U);
        QVERIFY(facts["critical"]["operators"].get<std::size_t>() > 0);
        expectEnd({"analyze", kSample + "clever-hans.onnx", "--from", "nowhere"}, 2, {"--from nowhere", "image"});
        RETRO_RUNS(analysis, {"analyze", kSample + "clever-hans.onnx", "--from", "image", "--json"});
        const nlohmann::json found = nlohmann::json::parse(analysis.out.toStdString())["critical_subgraph"];
        QCOMPARE(found["from"].dump(), std::string("[\"image\"]"));
        QVERIFY(found["operators"].get<std::size_t>() > 0);
    }

    void whatWasWrittenOutFirstIsAPassOfItsOwn()
    {
        const QString steps = QStringLiteral(RETRO_SOURCE_DIR "/samples/marked-step/");
        const QStringList asked{"grad",        steps + "marked-step.onnx", "--input", steps + "early.npy",
                                "--graph-out", path("written out.onnx"),   "--joint"};
        RETRO_ANSWER(answer, asked + QStringList{"--json"});
        const nlohmann::json& first = answer["passes"].at(0);
        QCOMPARE(first["name"].get<std::string>(), std::string("expand-functions"));
        QCOMPARE(first["before"][0].get<std::string>(), std::string("LSTM /lstm/LSTM"));
        QVERIFY(first["after"].size() > 100);
        QCOMPARE(answer["nodes_of_model_in_steps"].get<std::size_t>() + 1,
                 answer["nodes_of_model"].get<std::size_t>() + first["after"].size());
        QVERIFY(cli(asked + QStringList{"--diff"}).out.contains("LSTM /lstm/LSTM"));
        expectEnd(asked + QStringList{"--no-rewrite", "expand-functions"}, 3,
                  {"/lstm/LSTM", "expand-functions is switched off"});
    }

    void passesSayWhatStoodThereBeforeAndAfter()
    {
        const QStringList asked{"--graph-out",  path("passes.json"), "--joint",       "--rewrite",
                                "merge-common", "--rewrite",         "fold-constants"};
        RETRO_ANSWER(answer, gradOf(asked + QStringList{"--json"}));
        QVERIFY(answer["nodes"] < answer["nodes_before_passes"]);
        QVERIFY(!answer["passes"].empty());
        for (const nlohmann::json& pass : answer["passes"]) {
            QVERIFY2(pass["name"] == "merge-common" || pass["name"] == "fold-constants", pass.dump().c_str());
            QVERIFY2(!pass["before"].empty(), pass.dump().c_str());
        }
        const Answer said = cli(gradOf(asked + QStringList{"--diff"}));
        const QString first = QString::fromStdString(answer["passes"][0]["before"][0].get<std::string>());
        QVERIFY2(said.out.contains("− " + first + "\n"), qPrintable(said.out));
        const Answer about = cli({"info", kSample + "clever-hans.onnx", "--diff"});
        RETRO_SAYS(about.out, "− BatchNormalization /stem/input/norm/BatchNormalization\n");
    }

    void operatorsThatAGradientDoesNotVisitHaveAReason()
    {
        const Answer answer =
            cli({"analyze", QStringLiteral(RETRO_SOURCE_DIR "/samples/one-segment/one-segment.onnx"), "--json"});
        QVERIFY2(answer.code == 0, qPrintable(answer.err));
        const nlohmann::json critical = nlohmann::json::parse(answer.out.toStdString())["critical_subgraph"];
        QVERIFY(critical["operators"].get<int>() > 10);
        const auto argMax =
            std::ranges::find_if(critical["left_out"], [](const nlohmann::json& one) { return one["op"] == "ArgMax"; });
        QVERIFY2(argMax != critical["left_out"].end(), critical.dump().c_str());
        QCOMPARE((*argMax)["reason"].get<std::string>(), std::string("no gradient passes this operator"));
    }

    void whatCannotBeDoneIsSaid()
    {
        expectEnd(gradOf({}), 2, {"--output-dir"});
        expectEnd(gradOf({"--graph-out", path("graph.txt")}), 2, {".dot"});
        expectEnd(gradOf({"--nonsense"}), 2, {"nonsense"});
        const QString words = QStringLiteral(RETRO_SOURCE_DIR "/samples/planted-word/");
        const Answer tokens =
            cli({"grad", words + "planted-word.onnx", "--input", words + "bad.npy", "--output-dir", path("words")});
        QVERIFY2(tokens.code == 0 && QDir(path("words")).count() == 3,
                 qPrintable(tokens.err)); // of the embedding alone
        const QString steps = QStringLiteral(RETRO_SOURCE_DIR "/samples/marked-step/");
        const Answer written = cli(
            {"grad", steps + "marked-step.onnx", "--input", steps + "early.npy", "--graph-out", path("steps.onnx")});
        QVERIFY2(written.code == 0 || (written.code == 3 && written.err.contains("node '")), qPrintable(written.err));
        QCOMPARE(QFile::exists(path("steps.onnx")), written.code == 0); // nothing is left of a refusal
    }

    /// Nothing that was asked for is left out without a word.
    void whatHasNoEffectIsRefused_data()
    {
        QTest::addColumn<QStringList>("more");
        QTest::addColumn<QString>("word");
        const QStringList folder{"--output-dir", path("refused")};
        QTest::newRow("joint alone") << folder + QStringList{"--joint"} << "--graph-out";
        QTest::newRow("diff alone") << folder + QStringList{"--diff"} << "--graph-out";
        QTest::newRow("run of a graph") << QStringList{"--graph-out", path("r.onnx"), "--run", path("r.retro")}
                                        << "--run";
        QTest::newRow("profile of a graph") << QStringList{"--graph-out", path("r.onnx"), "--profile"} << "--profile";
        QTest::newRow("budget alone") << folder + QStringList{"--forward-budget", "100000"} << "optimal";
        QTest::newRow("budget of another strategy")
            << folder + QStringList{"--forward", "rebuild", "--forward-budget", "100000"} << "optimal";
        QTest::newRow("checkpoints") << folder + QStringList{"--checkpoint-every", "-2"} << "--checkpoint-every";
        QTest::newRow("rows of a profile")
            << folder + QStringList{"--profile", "--profile-rows", "-1"} << "--profile-rows";
    }

    void whatHasNoEffectIsRefused()
    {
        QFETCH(QStringList, more);
        QFETCH(QString, word);
        expectEnd(gradOf(more), 2, {word});
        QVERIFY(!QFile::exists(path("refused")) && !QFile::exists(path("r.onnx")) && !QFile::exists(path("r.retro")));
    }

    void verifyRefusesNegativeNumbers()
    {
        const QStringList question{"verify", kSample + "clever-hans.onnx", "--input", kSample + "jug.png"};
        expectEnd(question + QStringList{"--seed", "-1"}, 2, {"--seed"});
        expectEnd(question + QStringList{"--worst", "-1"}, 2, {"--worst"});
    }

    /// A model of integer inputs alone.
    void aGradientGraphWithoutGradientsIsRefused()
    {
        const QString words = QStringLiteral(RETRO_SOURCE_DIR "/samples/planted-word/");
        for (const QStringList& how : {QStringList{}, QStringList{"--joint"}}) {
            expectEnd(QStringList{"grad", words + "planted-word.onnx", "--input", words + "bad.npy", "--graph-out",
                                  path("words.onnx")} +
                          how,
                      2, {"--parameters"});
            QVERIFY(!QFile::exists(path("words.onnx")));
        }
    }

    void verifyTellsEveryProperty()
    {
        RETRO_ANSWER(result, {"verify", kSample + "clever-hans.onnx", "--input", kSample + "jug.png", "--json"});
        QVERIFY(!result["violated"].get<bool>());
        for (const nlohmann::json& one : result["properties"]) {
            QVERIFY2(one["state"] != "violated", one.dump().c_str());
        }
        QVERIFY(result["properties"].size() >= 18);
        QVERIFY(!result["gradient_per_node"].empty() && !result["float_from_double"].empty());
        const Answer alone = cli({"verify", kSample + "clever-hans.onnx", "--input", "random:1", "--shadow", "none"});
        QVERIFY2(alone.code == 0 && !alone.out.contains("float is farthest"), qPrintable(alone.err));
    }
};

QTEST_GUILESS_MAIN(GradVerbTest)
#include "gradverbtest.moc"
