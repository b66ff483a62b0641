// SPDX-License-Identifier: Apache-2.0
// DOT graphs become graph JSON, and say of themselves that they cannot run.
#include "core/formats/graphjson.h"
#include "core/ops/registry.h"

#include <QProcess>
#include <QtTest>

using namespace retro;

namespace
{

struct Outcome
{
    int code = -1;
    std::string output;
    QString errors;
};

Outcome convert(const char* dot)
{
    QProcess process;
    process.start(QStringLiteral(RETRO_BINARY_DIR "/bin/retrograde-layout"), {QStringLiteral("--to-json")});
    process.write(dot);
    process.closeWriteChannel();
    if (!process.waitForFinished(60'000)) {
        qFatal("retrograde-layout does not end");
    }
    return {process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1,
            process.readAllStandardOutput().toStdString(), QString::fromUtf8(process.readAllStandardError())};
}

} // namespace

class DotGraphTest : public QObject
{
    Q_OBJECT

private slots:
    void nodesAndEdgesBecomeAGraph()
    {
        const Outcome outcome = convert("digraph plan {\n"
                                        "  a [op=Conv, flops=1000000000, bytes=4096, label=\"first \\\"layer\\\"\"]\n"
                                        "  a -> b -> d\n  a -> c -> d [label=skip]\n}\n");
        QVERIFY2(outcome.code == 0, qPrintable(outcome.errors));
        RETRO_MADE(graph, formats::parseGraphJson(outcome.output, "plan.json"));
        QCOMPARE((*graph)->name(), std::string("plan"));
        QCOMPARE((*graph)->nodeCount(), 4U);
        const graph::Node& first = (*graph)->nodes()[0];
        QCOMPARE(first.name, std::string("a"));
        QCOMPARE(first.op, std::string("Conv"));
        QVERIFY(first.facts && *first.facts->flops == 1e9);
        QVERIFY(QString::fromStdString(first.metadata.at("label")).contains("layer"));
        QCOMPARE(*(*graph)->value(first.outputs[0]).facts->bytes, 4096U);
        QCOMPARE((*graph)->nodes()[3].inputs.size(), 2U);
        QCOMPARE((*graph)->value((*graph)->outputs()[0]).name, std::string("d"));
        // Conv of the domain `dot` is not ONNX's Conv: nothing here can run.
        const auto unsupported = ops::unsupported(**graph);
        QCOMPARE(unsupported.size(), 4U);
        QVERIFY(QString::fromStdString(unsupported[0].reason).contains("operator Conv (domain dot"));
    }

    void cyclesAreRefused()
    {
        const Outcome outcome = convert("digraph { a -> b -> a; b -> c }");
        QVERIFY(outcome.code != 0);
        QVERIFY2(outcome.errors.contains("cycle"), qPrintable(outcome.errors));
        QVERIFY(outcome.output.empty());
    }

    void otherTextIsRefused()
    {
        QVERIFY(convert("no graph").code != 0);
        QVERIFY(convert("digraph { }").errors.contains("no output"));
    }
};

QTEST_GUILESS_MAIN(DotGraphTest)
#include "dotgraphtest.moc"
