// SPDX-License-Identifier: Apache-2.0
// Compares rewritten models with the node lists and activations of the golden vectors. Reads $RETROGRADE_GOLDEN/lrp
// when that is set, else tests/data/golden/lrp.
#include "core/formats/onnx.h"
#include "core/tensor/npy.h"
#include "tests/core/rewrite/graphs.h"

#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QtTest>

using namespace retro::rewrite::testing;

namespace
{

QString root()
{
    const QString given = qEnvironmentVariable("RETROGRADE_GOLDEN");
    return (given.isEmpty() ? QStringLiteral(RETRO_SOURCE_DIR "/tests/data/golden") : given) + "/lrp";
}

QJsonObject description(const QString& folder)
{
    QFile file(folder + "/model.json");
    return file.open(QIODevice::ReadOnly) ? QJsonDocument::fromJson(file.readAll()).object() : QJsonObject();
}

QStringList foldersWithNodeLists()
{
    QStringList found;
    for (const QString& name : QDir(root()).entryList(QDir::Dirs | QDir::NoDotAndDotDot, QDir::Name)) {
        if (description(root() + "/" + name).contains("nodes_after_fold")) {
            found.append(name);
        }
    }
    return found;
}

/// "Conv(input) → bn1": operator, operands that are not constant, output.
QString textOf(const Graph& graph, const retro::graph::Node& node)
{
    QStringList operands;
    for (const ValueId id : node.inputs) {
        if (id.isValid() && graph.value(id).kind != retro::graph::ValueKind::Constant) {
            operands.append(QString::fromStdString(graph.value(id).name));
        }
    }
    return QString("%1(%2) → %3")
        .arg(QString::fromStdString(node.op), operands.join(", "),
             QString::fromStdString(graph.value(node.outputs[0]).name));
}

QString textOf(const QJsonObject& node)
{
    QStringList operands;
    for (const QJsonValue& operand : node["inputs"].toArray()) {
        operands.append(operand.toString());
    }
    return QString("%1(%2) → %3").arg(node["op"].toString(), operands.join(", "), node["output"].toString());
}

SharedGraph modelIn(const QString& folder)
{
    const auto graph = retro::formats::readOnnx((folder + "/model.onnx").toStdString());
    return graph.ok() ? *graph : nullptr;
}

SharedGraph rewritten(const SharedGraph& graph)
{
    auto options = only(&retro::rewrite::RewriteOptions::foldConstants);
    options.mergeBatchNorm = true;
    const auto result = retro::rewrite::rewrite(graph, options);
    return result.ok() ? result->graph : nullptr;
}

Tensor load(const QString& path)
{
    const auto tensor = retro::tensor::readNpy(path.toStdString());
    return tensor.ok() ? *tensor : Tensor();
}

} // namespace

class GoldenRewriteTest : public QObject
{
    Q_OBJECT

    static void eachFolder()
    {
        QTest::addColumn<QString>("folder");
        for (const QString& name : foldersWithNodeLists()) {
            QTest::newRow(qPrintable(name)) << root() + "/" + name;
        }
    }

private slots:
    void thereAreVectors() { QVERIFY2(!foldersWithNodeLists().isEmpty(), qPrintable(root())); }

    void nodesAreTheListedOnes_data() { eachFolder(); }

    void nodesAreTheListedOnes()
    {
        QFETCH(QString, folder);
        const SharedGraph graph = modelIn(folder);
        QVERIFY(graph);
        const SharedGraph after = rewritten(graph);
        QVERIFY(after);
        QStringList actual;
        for (const auto& node : after->nodes()) {
            actual.append(textOf(*after, node));
        }
        QStringList expected;
        for (const QJsonValue& node : description(folder)["nodes_after_fold"].toArray()) {
            expected.append(textOf(node.toObject()));
        }
        QCOMPARE(actual.join("\n"), expected.join("\n"));
    }

    void outputsStayTheSame_data() { eachFolder(); }

    void outputsStayTheSame()
    {
        QFETCH(QString, folder);
        const SharedGraph graph = modelIn(folder);
        const SharedGraph after = rewritten(graph);
        QVERIFY(after);
        const Tensor input = load(folder + "/input.npy");
        QVERIFY(input.isValid());
        QVERIFY(deviation(after, graph, {input}, Precision::Double) < 1e-12);
        QVERIFY(deviation(after, graph, {input}, Precision::Float) < 1e-5);
    }

    void activationsAreTheListedOnes_data() { eachFolder(); }

    void activationsAreTheListedOnes()
    {
        QFETCH(QString, folder);
        const SharedGraph after = rewritten(modelIn(folder));
        QVERIFY(after);
        const Tensor input = load(folder + "/input.npy");
        const std::vector<retro::ops::TensorType> types{{input.dtype(), input.shape()}};
        RETRO_MADE(model, retro::execute::BoundModel::bind(after, types, Precision::Double));
        const std::vector<Tensor> inputs{input.to(DType::Float64)};
        RETRO_MADE(run, retro::execute::forward(*model, inputs, retro::execute::SavePolicy::All));
        const QJsonObject activations = description(folder)["activations"].toObject();
        QVERIFY(!activations.isEmpty());
        for (const QString& name : activations.keys()) {
            const auto value = after->findValue(name.toStdString());
            QVERIFY2(value.has_value(), qPrintable(name));
            const Tensor expected = load(folder + "/activations/" + activations[name].toString());
            const double off = deviation(run->saved.anyValue(*value), expected); // the files hold float32
            QVERIFY2(off < 1e-6, qPrintable(QString("%1: %2").arg(name).arg(off)));
        }
    }
};

QTEST_APPLESS_MAIN(GoldenRewriteTest)
#include "goldenrewritetest.moc"
