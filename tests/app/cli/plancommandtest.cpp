// SPDX-License-Identifier: Apache-2.0
#include "tests/app/cli/cliprogram.h"

#include <QFile>
#include <QTemporaryDir>
#include <QtTest>

using nlohmann::json;
using retro::tests::Answer;
using retro::tests::cli;

namespace
{

const QString kGraph = QStringLiteral(RETRO_SOURCE_DIR "/samples/graphs/residual-48.json");

json parsed(const Answer& answer) { return json::parse(answer.out.toStdString(), nullptr, false); }

} // namespace

class PlanCommandTest : public QObject
{
    Q_OBJECT

private slots:
    void aPlanIsMadeAndJudged()
    {
        const QString file = m_folder.filePath("plan.json");
        RETRO_RUNS(made, {"plan", kGraph, "--budget", "50%", "--out", file, "--json"});
        const json plan = parsed(made);
        for (const char* key :
             {"peak", "base_peak", "floor", "cost", "base_cost", "lower_bound", "gap", "status", "seconds"}) {
            QVERIFY2(plan.contains(key), key);
        }
        QCOMPARE(plan["status"].get<std::string>(), std::string("feasible"));
        QVERIFY(plan["peak"].get<int>() <= plan["base_peak"].get<int>() / 2);
        QFile written(file);
        QVERIFY(written.open(QIODevice::ReadOnly));
        const json notes = json::parse(written.readAll().toStdString())["annotations"];
        QVERIFY(!notes["checkpoints"].empty() && notes["reasons"].size() >= notes["checkpoints"].size());
        QVERIFY(notes["reasons"].dump().find("computed 2 times, for ") != std::string::npos);
        RETRO_RUNS(judged, {"simulate", kGraph, file, "--json"});
        for (const char* key : {"peak", "cost", "base_peak", "floor", "base_cost", "lower_bound"}) {
            QVERIFY2(parsed(judged)[key] == plan[key], key);
        }
        const Answer tight = cli({"simulate", kGraph, file, "--budget", "20%", "--json"});
        QCOMPARE(tight.code, 4);
        QCOMPARE(parsed(tight)["error"]["kind"].get<std::string>(), std::string("over budget"));
    }

    /// Of a model with several outputs: a plan for the target is what `grad` runs, one for all outputs is not.
    void aPlanForTheTargetIsRun()
    {
        const QString model = QStringLiteral(RETRO_SOURCE_DIR "/samples/one-segment/one-segment.onnx");
        const QString file = m_folder.filePath("target.json");
        const QStringList run{"grad",         model,
                              "--input",      "random:1",
                              "--target",     "scores:0,2,12,8",
                              "--plan",       file,
                              "--output-dir", m_folder.filePath("grad"),
                              "--json"};
        const QStringList plan{"plan", model, "--out", file, "--json"};
        QCOMPARE(cli(plan).code, 0);
        const Answer refused = cli(run);
        QVERIFY(refused.code != 0);
        QVERIFY2(refused.err.contains("a plan is of one graph"), qPrintable(refused.err));
        RETRO_RUNS(made, plan + QStringList{"--target", "scores"});
        RETRO_RUNS(done, run);
        QVERIFY(cli(plan + QStringList{"--target", "nowhere"}).err.contains("nowhere"));
    }

    /// A text is planned for as the numbers of its tokens are.
    void aTextIsPlannedFor()
    {
        const QString model = QStringLiteral(RETRO_SOURCE_DIR "/tests/data/language/capitals.onnx");
        const auto plan = [&](const QStringList& question) {
            const QStringList common{"plan", model, "--relevance", "--budget", "60%", "--json"};
            const Answer made = cli(common + question);
            return made.code == 0 ? parsed(made) : json(made.err.toStdString());
        };
        const json byText = plan({"--text", "The capital of France is", "--target", "London"});
        QVERIFY2(byText.is_object(), byText.dump().c_str());
        const json byIds = plan({"--ids", "0,1,2,3,4,5", "--target", "London"});
        const json another = plan({"--text", "The capital is"});
        for (const char* key : {"peak", "base_peak", "floor", "cost"}) {
            QCOMPARE(byText[key], byIds[key]);
        }
        QVERIFY(another["base_peak"] < byText["base_peak"]);
        const Answer judged = cli({"analyze", model, "--relevance", "--size", "tokens=6", "--text", "The"});
        QCOMPARE(judged.code, 2);
        QVERIFY2(judged.err.contains("--size and --text"), qPrintable(judged.err));
    }

    /// A plan of a question with conditions is the one that explain runs; what is of relevance alone says so.
    void plansTakeConditionsAndRegions()
    {
        const QString model = QStringLiteral(RETRO_SOURCE_DIR "/samples/clever-hans/clever-hans.onnx");
        const QString value = QStringLiteral("/block3/first/norm/BatchNormalization_output_0");
        const QStringList asked{model, "--input", "random:1", "--condition", value + ":axis=1:0-3"};
        const QString file = m_folder.filePath("condition.json");
        for (const char* form : {"only", "beside"}) {
            const QStringList question = asked + QStringList{"--condition-form", form};
            RETRO_RUNS(made, QStringList{"plan"} + question +
                                 QStringList{"--relevance", "--budget", "90%", "--out", file, "--json"});
            RETRO_RUNS(judged, QStringList{"simulate"} + question + QStringList{file, "--relevance", "--json"});
            QCOMPARE(parsed(judged)["peak"], parsed(made)["peak"]);
            RETRO_RUNS(run, QStringList{"explain"} + question +
                                QStringList{"--plan", file, "--output-dir", m_folder.filePath(form), "--json"});
            QCOMPARE(parsed(run)["peak_bytes"], parsed(made)["peak"]);
            QFile text(file);
            QVERIFY(text.open(QIODevice::ReadOnly));
            const json plan = json::parse(text.readAll().toStdString());
            QCOMPARE(plan["subject"]["conditions"].size(), std::size_t{1});
            QCOMPARE(plan["subject"]["targets"][0].get<std::string>() == value.toStdString(),
                     std::string(form) == "only");
        }
        const QStringList region{"analyze", model, "--input", "random:1", "--region-box", "0:8,0:8", "--json"};
        const Answer noted = cli(region + QStringList{"--relevance"});
        QVERIFY2(noted.code == 0 && noted.out.contains("outside every plan"), qPrintable(noted.err));
        QVERIFY(cli(region).err.contains("add --relevance"));
        const Answer blind = cli({"analyze", model, "--relevance", "--region-box", "0:8,0:8"});
        QVERIFY2(blind.code == 2 && blind.err.contains("--input, --text or --ids"), qPrintable(blind.err));
        const Answer unreached =
            cli(QStringList{"plan", model, "--input", "random:1", "--relevance", "--condition", "image:axis=1:0"});
        QVERIFY2(unreached.code == 3 && unreached.err.contains("where relevance ends"), qPrintable(unreached.err));
    }

    /// A budget in a unit that may mean either is refused; the others are read.
    void budgetsHaveUnits()
    {
        const Answer refused = cli({"plan", kGraph, "--budget", "8G"});
        QCOMPARE(refused.code, 2);
        RETRO_SAYS(refused.err, "8GB", "8GiB");
        QVERIFY(cli({"plan", kGraph, "--budget", "1GB"}).out.contains("budget 1.00 GB (953.67 MiB)"));
    }

    /// With an input, control flow is planned as it runs, and a run that goes another way refuses the plan.
    void controlFlowIsPlannedAsItRuns()
    {
        const QString model = write("branches.json", branches());
        const QString file = m_folder.filePath("branches plan.json");
        QVERIFY(cli({"plan", model}).err.contains("inputs must be given"));
        RETRO_RUNS(made, {"plan", model, "--input", "zeros", "--out", file, "--json"});
        QCOMPARE(parsed(made)["decisions"]["gate"]["branch"].get<std::string>(), std::string("then_branch"));
        const QStringList run{"grad", model, "--plan", file, "--output-dir", m_folder.filePath("by branch"), "--json"};
        RETRO_RUNS(same, run + QStringList{"--input", "zeros"});
        const json plan = parsed(same)["plan"];
        QVERIFY(plan["predicted"]["peak"] == plan["measured"]["peak"]);
        QVERIFY(plan["predicted"]["peak"] == parsed(made)["peak"]);
        for (const QStringList& other :
             {run + QStringList{"--input", "random:1"}, QStringList{"simulate", model, file, "--input", "random:1"}}) {
            const Answer refused = cli(other);
            QCOMPARE(refused.code, 3);
            for (const char* part : {"'gate'", "then_branch", "else_branch"}) {
                QVERIFY2(refused.err.contains(part), qPrintable(refused.err));
            }
        }
    }

    /// The largest extent fits, and one more does not.
    void theLargestExtentThatFits()
    {
        const QString model = write("free.json", freeRows());
        const QStringList fit{"plan", model, "--budget", "100kB", "--strategy", "store_all", "--json"};
        const json found = parsed(cli(fit + QStringList{"--fit", "N"}));
        const int largest = found["largest"].get<int>();
        QVERIFY(largest > 1 && found["is_exact"].get<bool>());
        QVERIFY(found["peak"].get<int>() <= 100000 && found["peak_of_one_more"].get<int>() > 100000);
        QCOMPARE(cli(fit + QStringList{"--size", QStringLiteral("N=%1").arg(largest)}).code, 0);
        QCOMPARE(cli(fit + QStringList{"--size", QStringLiteral("N=%1").arg(largest + 1)}).code, 4);
        QCOMPARE(cli(fit + QStringList{"--fit", QStringLiteral("N=%1").arg(largest)}).code, 0);
        const Answer more = cli(fit + QStringList{"--fit", QStringLiteral("N=%1").arg(largest + 1)});
        QCOMPARE(more.code, 4);
        QCOMPARE(parsed(more)["missing"].get<int>(), found["peak_of_one_more"].get<int>() - 100000);
        QCOMPARE(cli({"plan", model, "--fit", "N"}).code, 2);
        QCOMPARE(cli({"plan", model, "--fit", "M", "--budget", "1MB"}).code, 2);
    }

    /// A plan may be for another machine: what this one could not hold is planned. What cannot be counted, or what the
    /// model does not take, does not fit.
    void extentsBeyondTheMachineAreAnswered()
    {
        const QString model = write("free.json", freeRows());
        const QStringList fit{"plan", model, "--strategy", "store_all", "--memory", "1MiB", "--json"};
        RETRO_RUNS(large, fit + QStringList{"--budget", "900GB", "--fit", "N=1000000"});
        QVERIFY(parsed(large)["peak"].get<std::uint64_t>() > (1U << 20U));
        const Answer small = cli(fit + QStringList{"--budget", "1MB", "--fit", "N=1000000"});
        QCOMPARE(small.code, 4);
        QVERIFY(parsed(small)["missing"].get<std::uint64_t>() > 0);
        const Answer beyond = cli(fit + QStringList{"--budget", "900GB", "--fit", "N=4000000000000000"});
        QCOMPARE(beyond.code, 4);
        QVERIFY(!parsed(beyond)["fits"].get<bool>());
        QVERIFY(!parsed(beyond)["why"].get<std::string>().empty());
    }

    /// 256 elements of weights: what is counted is taken off the budget.
    void whatCountsIsTakenOff()
    {
        const QString model = write("free.json", freeRows());
        const QStringList plan{"plan", model, "--parameters", "--strategy", "store_all", "--json"};
        const json made = parsed(cli(plan + QStringList{"--count", "weights,gradients,adam", "--budget", "1MB"}));
        QVERIFY(made["counted"] == json({{"weights", 1024}, {"gradients", 1024}, {"adam", 2048}}));
        QCOMPARE(made["budget"].get<int>(), 1000000);
        QCOMPARE(made["budget_for_results"].get<int>(), 1000000 - 4096);
        QCOMPARE(parsed(cli(plan + QStringList{"--count", "mixed"}))["counted_bytes"].get<int>(), 4096);
        QVERIFY(cli(plan + QStringList{"--count", "mixed,adam"}).err.contains("mixed"));
        QVERIFY(cli(plan + QStringList{"--count", "sums"}).err.contains("workspace"));
        QVERIFY(cli({"plan", model, "--count", "adam"}).err.contains("--parameters"));
    }

    void aTierTakesWhatWaits()
    {
        const QString file = m_folder.filePath("moved.json");
        const QStringList plan{"plan", kGraph, "--budget", "30%", "--tier", "disk=1e12", "--out", file, "--json"};
        const Answer unclear = cli(plan); // costs are operations: how long does one take?
        QCOMPARE(unclear.code, 2);
        QVERIFY2(unclear.err.contains("--seconds-per-cost"), qPrintable(unclear.err));
        RETRO_RUNS(made, plan + QStringList{"--seconds-per-cost", "1e-3"});
        const json moved = parsed(made);
        QCOMPARE(moved["planner"].get<std::string>(), std::string("offload"));
        QVERIFY(moved["moved_bytes"].get<double>() > 0);
        QVERIFY(moved["cost"].get<double>() < moved["base_cost"].get<double>() * 1.001);
        RETRO_RUNS(judged, {"simulate", kGraph, file, "--seconds-per-cost", "1e-3", "--json"});
        QVERIFY(parsed(judged)["moved_bytes"] == moved["moved_bytes"]);
        QCOMPARE(cli({"plan", kGraph, "--tier", "disk", "--seconds-per-cost", "1"}).code, 2);
    }

    void noPlanIsExitFour()
    {
        const Answer answer = cli({"plan", kGraph, "--budget", "1", "--json"});
        QCOMPARE(answer.code, 4);
        QCOMPARE(parsed(answer)["status"].get<std::string>(), std::string("infeasible"));
        QVERIFY(parsed(answer)["cost"].is_null());
        const Answer alone = cli({"plan", kGraph, "--budget", "50%", "--strategy", "store_all", "--json"});
        QCOMPARE(alone.code, 4);
        QCOMPARE(parsed(alone)["status"].get<std::string>(), std::string("infeasible_in_this_order"));
    }

    void aSearchIsRecordedAndSteppedThrough()
    {
        const QString run = m_folder.filePath("search.retro");
        RETRO_RUNS(made, {"plan", kGraph, "--budget", "60%", "--run", run});
        const Answer log = cli({"trace", run});
        QVERIFY(log.out.contains("lets ") && log.out.contains("the best so far") && log.out.contains("made again"));
        const Answer beyond = cli({"trace", run, "--at", "100000000"});
        QCOMPARE(beyond.code, 2);
        RETRO_RUNS(end, {"trace", run, "--at", beyond.err.trimmed().section(' ', -1), "--json"});
        const json plan = parsed(end)["plan"];
        QVERIFY(plan["tries"].get<int>() > 3 && plan["best"].is_string());
        QVERIFY(plan["drops"].get<int>() > 0 && plan["recomputed"].get<int>() > 0);
        QVERIFY(plan["freed"].get<int>() > 0);
    }

    void strategiesAreListedAndExplained()
    {
        const Answer list = cli({"plan", "--strategy", "list"});
        QCOMPARE(list.code, 0);
        for (const char* name :
             {"fast", "best", "store_all", "revolve", "rotor", "dtr", "shave", "torch_memory_budget"}) {
            QVERIFY2(list.out.contains(QString("\n%1 ").arg(name)) || list.out.startsWith(name), name);
        }
        const Answer why = cli({"plan", kGraph, "--budget", "50%", "--explain"});
        QVERIFY(why.out.contains("order: ") && why.out.contains("blocks:") && why.out.contains("operators run again"));
    }

    void capturedGraphsAreTakenAsTheyStand()
    {
        // A product of one operand is none that could run; its measured sizes are planned with all the same.
        QFile file(m_folder.filePath("captured.json"));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(R"({"format":"retrograde-graph/1","opsets":{"ai.onnx":17},"inputs":["x"],"outputs":["y"],
            "values":[{"name":"x","bytes":8},{"name":"s","bytes":4},{"name":"p","bytes":4},{"name":"y","bytes":8}],
            "nodes":[{"name":"scores","op":"MatMul","inputs":["x"],"outputs":["s"],"flops":9},
                     {"name":"weights","op":"Softmax","inputs":["s"],"outputs":["p"],"flops":1},
                     {"name":"sum","op":"MatMul","inputs":["p","x"],"outputs":["y"],"flops":9}]})");
        file.close();
        RETRO_RUNS(answer, {"plan", file.fileName(), "--json"});
        QCOMPARE(parsed(answer)["status"].get<std::string>(), std::string("optimal"));
        const QString drawn = QStringLiteral(RETRO_SOURCE_DIR "/samples/graphs/random-layered-1000.json");
        QCOMPARE(cli({"analyze", drawn, "--quiet"}).code, 0);
    }

    void thePlanIsDrawn()
    {
        for (const char* name : {"plan.svg", "plan.png", "plan.csv"}) {
            const Answer drawn =
                cli({"plan", kGraph, "--budget", "60%", "--picture", m_folder.filePath(name), "--theme", "dark"});
            QVERIFY2(drawn.code == 0, qPrintable(drawn.err));
            QVERIFY2(QFile(m_folder.filePath(name)).size() > 2000, name);
        }
        QFile steps(m_folder.filePath("plan.csv"));
        QVERIFY(steps.open(QIODevice::ReadOnly));
        QVERIFY(steps.readLine().startsWith("step,kind,operator,tensor,bytes"));
        QVERIFY(QString::fromUtf8(steps.readAll()).contains(",recompute,"));
        QCOMPARE(cli({"plan", kGraph, "--picture", m_folder.filePath("plan.xyz")}).code, 2);
    }

    void wrongUseIsNamed()
    {
        QCOMPARE(cli({"plan", kGraph, "--strategy", "magic"}).code, 2);
        QCOMPARE(cli({"plan", kGraph, "--budget", "lots"}).code, 2);
        QCOMPARE(cli({"plan", kGraph, "--order", "sideways"}).code, 2);
        QCOMPARE(cli({"plan"}).code, 2);
        const Answer both =
            cli({"plan", kGraph, "--strategy", "user", "--keep", "conv_2_out", "--recompute", "conv_2_out"});
        QCOMPARE(both.code, 3);
        QVERIFY(both.err.contains("conv_2_out"));
        QCOMPARE(cli({"simulate", kGraph, kGraph}).code, 3);
        QCOMPARE(cli({"plan", kGraph, "--keep", "conv_2_out"}).code, 2);
        QCOMPARE(cli({"plan", kGraph, "--seconds", "nan"}).code, 2);
        QCOMPARE(cli({"analyze", kGraph, "--flops-per-second", "nan"}).code, 2);
        QCOMPARE(cli({"analyze", kGraph, "--rows", "-1"}).code, 2);
    }

    /// Also where the graph cannot be bound, and sizes are taken as it states them.
    void namesThatThereAreNot()
    {
        for (const char* const verb : {"plan", "analyze"}) {
            const Answer size = cli({verb, kGraph, "--size", "zz=3"});
            QCOMPARE(size.code, 2);
            QVERIFY2(size.err.contains("no input of the graph has such a symbol; they have"), qPrintable(size.err));
            const Answer from = cli({verb, kGraph, "--from", "zz"});
            QCOMPARE(from.code, 2);
            QVERIFY2(from.err.contains("--from zz"), qPrintable(from.err));
        }
    }

private:
    /// The path of a file with this in it.
    QString write(const char* name, const json& content)
    {
        QFile file(m_folder.filePath(name));
        const bool isOpen = file.open(QIODevice::WriteOnly);
        file.write(QByteArray::fromStdString(isOpen ? content.dump() : std::string()));
        return file.fileName();
    }

    static json graphOf(const std::string& name, const json& values, const json& nodes, const std::string& output)
    {
        return {{"format", "retrograde-graph/1"},
                {"name", name},
                {"opsets", {{"ai.onnx", 17}}},
                {"inputs", {"x"}},
                {"outputs", {output}},
                {"values", values},
                {"nodes", nodes}};
    }

    /// If the sum of x is 0: Tanh, else Exp.
    static json branches()
    {
        const json x{{"name", "x"}, {"dtype", "float32"}, {"shape", {2, 3}}};
        const auto branch = [&](const char* op) {
            const json node{{"op", op}, {"name", op}, {"inputs", {"x"}}, {"outputs", {"y"}}};
            return json{{"graph", graphOf(op, json::array({x, json{{"name", "y"}}}), json::array({node}), "y")},
                        {"captured", 1}};
        };
        const json zero{{"name", "zero"},
                        {"constant", {{"dtype", "float32"}, {"shape", json::array()}, {"data", "AAAAAA=="}}}};
        const json nodes = json::array(
            {{{"op", "ReduceSum"}, {"inputs", {"x"}}, {"outputs", {"s"}}, {"attributes", {{"keepdims", {{"int", 0}}}}}},
             {{"op", "Equal"}, {"inputs", {"s", "zero"}}, {"outputs", {"c"}}},
             {{"op", "If"},
              {"name", "gate"},
              {"inputs", {"c", "x"}},
              {"outputs", {"y"}},
              {"attributes", {{"then_branch", branch("Tanh")}, {"else_branch", branch("Exp")}}}},
             {{"op", "Sigmoid"}, {"inputs", {"y"}}, {"outputs", {"z"}}}});
        return graphOf("branches", json::array({x, zero}), nodes, "z");
    }

    /// Two products with one matrix of 16 × 16, for N rows.
    static json freeRows()
    {
        const std::string data = QByteArray(16 * 16 * 4, '\0').toBase64().toStdString();
        const json values =
            json::array({{{"name", "x"}, {"dtype", "float32"}, {"shape", json::array({"N", 16})}},
                         {{"name", "W"}, {"constant", {{"dtype", "float32"}, {"shape", {16, 16}}, {"data", data}}}}});
        const json nodes = json::array({{{"op", "MatMul"}, {"inputs", {"x", "W"}}, {"outputs", {"h"}}},
                                        {{"op", "Tanh"}, {"inputs", {"h"}}, {"outputs", {"t"}}},
                                        {{"op", "MatMul"}, {"inputs", {"t", "W"}}, {"outputs", {"y"}}}});
        return graphOf("free", values, nodes, "y");
    }

    QTemporaryDir m_folder;
};

QTEST_GUILESS_MAIN(PlanCommandTest)
#include "plancommandtest.moc"
