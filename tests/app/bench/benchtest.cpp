// SPDX-License-Identifier: Apache-2.0
#include "tests/app/cli/cliprogram.h"

#include <nlohmann/json.hpp>

#include <QFile>
#include <QTemporaryDir>
#include <QtTest>

using nlohmann::json;
using retro::tests::Answer;

namespace
{

Answer bench(const QStringList& arguments)
{
    return retro::tests::runProgram(QStringLiteral("retrograde-bench"), arguments);
}

json parsed(const Answer& answer) { return json::parse(answer.out.toStdString(), nullptr, false); }

} // namespace

class BenchTest : public QObject
{
    Q_OBJECT

private slots:
    /// The benchmark `plans` takes graphs of one's own, and chooses by name.
    void graphsOfAFolderAreBenchmarked()
    {
        const QTemporaryDir folder;
        QFile graph(folder.filePath("own-chain.json"));
        QVERIFY(graph.open(QIODevice::WriteOnly));
        graph.write(R"({"format": "retrograde-graph/1", "name": "own", "opsets": {"ai.onnx": 17}, "inputs": ["x"],
            "outputs": ["c"], "values": [{"name": "x", "bytes": 8}, {"name": "a", "bytes": 8},
            {"name": "b", "bytes": 8}, {"name": "c", "bytes": 8}],
            "nodes": [{"name": "na", "op": "Relu", "inputs": ["x"], "outputs": ["a"], "flops": 4},
            {"name": "nb", "op": "Relu", "inputs": ["a"], "outputs": ["b"], "flops": 4},
            {"name": "nc", "op": "Relu", "inputs": ["b"], "outputs": ["c"], "flops": 4}]})");
        graph.close();
        qputenv("RETROGRADE_PLAN_GRAPHS", folder.path().toUtf8());
        const Answer made = bench({"plans/own-chain", "--runs", "1", "--json"});
        QVERIFY2(made.code == 0, qPrintable(made.err));
        const json seconds = parsed(made)["seconds"];
        QCOMPARE(seconds.size(), std::size_t{5});
        QVERIFY(seconds.contains("plans/own-chain/50"));
        const QString file = folder.filePath("figures.json.saved");
        const Answer saved = bench({"plans/own-chain", "--runs", "1", "--save", file});
        QVERIFY2(saved.code == 0, qPrintable(saved.err));
        // A factor that no noise reaches.
        const Answer compared = bench({"plans/own-chain", "--runs", "1", "--compare", file, "--factor", "1000000"});
        QVERIFY2(compared.code == 0, qPrintable(compared.err));
        QVERIFY2(compared.out.contains("plans/own-chain/50"), qPrintable(compared.out));
        QFile broken(folder.filePath("own-broken.json"));
        QVERIFY(broken.open(QIODevice::WriteOnly));
        broken.write("{");
        broken.close();
        const Answer refused = bench({"plans/own", "--runs", "1", "--json"});
        QCOMPARE(refused.code, 3);
        QVERIFY2(refused.err.contains("own-broken.json"), qPrintable(refused.err));
        qunsetenv("RETROGRADE_PLAN_GRAPHS");
    }
};

QTEST_GUILESS_MAIN(BenchTest)
#include "benchtest.moc"
