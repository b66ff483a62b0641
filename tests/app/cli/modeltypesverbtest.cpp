// SPDX-License-Identifier: Apache-2.0
// What the command line writes and says of models of float16 and float64, and of targets with a class per token.
#include "core/base/file.h"
#include "core/formats/onnx.h"
#include "core/graph/graphbuilder.h"
#include "core/tensor/npy.h"
#include "tests/app/cli/cliprogram.h"

#include <QtTest>

#include <QDir>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>

using namespace retro;
using tensor::DType;
using tensor::Tensor;
using tests::Answer;
using tests::cli;

class ModelTypesVerbTest : public QObject
{
    Q_OBJECT
    QTemporaryDir m_folder;

    QString path(const QString& name) const { return m_folder.filePath(name); }

    /// y = x · factor + factor.
    QString model(const QString& name, DType type, double factor)
    {
        graph::GraphBuilder builder("line", 18);
        const auto x = builder.addInput("x", type, tensor::Shape{2});
        const auto c = builder.addConstant("c", Tensor::full(type, {}, factor));
        const auto scaled = builder.addOp("Mul", "scale", {x, c}, "scaled");
        const auto y = builder.addOp("Add", "shift", {scaled, c}, "y");
        builder.declare(y, type, std::nullopt);
        builder.addOutput(y);
        return written(name, std::move(builder).build());
    }

    /// 1 × 3 × 4 → the same, through Relu, whose name is that of the output; before it an output of integers.
    QString tokens(const QString& name)
    {
        graph::GraphBuilder builder("tokens", 18);
        const auto x = builder.addInput("x", DType::Float32, tensor::Shape{1, 3, 4});
        const auto label = builder.addOp("ArgMax", "best", {x}, "label", {{"axis", std::int64_t{2}}});
        const auto y = builder.addOp("Relu", "relu", {x}, "scores");
        builder.declare(label, DType::Int64, std::nullopt);
        builder.declare(y, DType::Float32, std::nullopt);
        builder.addOutput(label);
        builder.addOutput(y);
        return written(name, std::move(builder).build());
    }

    QString written(const QString& name, const base::Result<graph::Graph>& built)
    {
        const auto bytes = built.ok() ? formats::toOnnx(*built) : base::Result<std::vector<std::byte>>(built.error());
        if (!bytes.ok() || !base::writeFile(path(name).toStdString(), *bytes).ok()) {
            qFatal("the model cannot be written");
        }
        return path(name);
    }

    /// The header of the result's file.
    QByteArray headerOf(const QString& folder) const
    {
        QFile file(folder + "/y.npy");
        return file.open(QIODevice::ReadOnly) ? file.read(128) : QByteArray();
    }

    static QJsonObject json(const Answer& answer) { return QJsonDocument::fromJson(answer.out.toUtf8()).object(); }

private slots:
    void resultsAreWrittenInTheirType_data()
    {
        QTest::addColumn<int>("type");
        QTest::addColumn<QString>("precision");
        QTest::addColumn<QByteArray>("code");
        QTest::newRow("float16") << static_cast<int>(DType::Float16) << "auto" << QByteArray("'<f2'");
        QTest::newRow("bfloat16") << static_cast<int>(DType::BFloat16) << "auto" << QByteArray("'<f4'");
        QTest::newRow("float32") << static_cast<int>(DType::Float32) << "auto" << QByteArray("'<f4'");
        QTest::newRow("float64") << static_cast<int>(DType::Float64) << "auto" << QByteArray("'<f8'");
        QTest::newRow("float16 wide") << static_cast<int>(DType::Float16) << "double" << QByteArray("'<f8'");
        QTest::newRow("float64 narrow") << static_cast<int>(DType::Float64) << "float" << QByteArray("'<f4'");
    }

    void resultsAreWrittenInTheirType()
    {
        QFETCH(int, type);
        QFETCH(QString, precision);
        QFETCH(QByteArray, code);
        const QString file = model("line.onnx", static_cast<DType>(type), 0.5);
        const Answer ran =
            cli({"run", file, "--input", "random:1", "--precision", precision, "--output-dir", path("out")});
        QVERIFY2(ran.code == 0, qPrintable(ran.err));
        QVERIFY2(ran.err.isEmpty(), qPrintable(ran.err));
        QVERIFY2(headerOf(path("out")).contains(code), headerOf(path("out")).constData());
    }

    void whatOverflowsIsNamed()
    {
        const QString file = model("large.onnx", DType::Float16, 60000);
        const QString words = QStringLiteral("warning: node 'shift' (Add): its result \"y\" is float16 in the model");
        const QStringList question{file, "--input", "random:1", "--json", "--output-dir", path("large")};
        RETRO_RUNS(ran, QStringList{"run"} + question);
        QVERIFY2(ran.err.contains(words), qPrintable(ran.err));
        QCOMPARE(json(ran).value("warnings").toArray().size(), 1);
        QCOMPARE(json(ran).value("outputs").toArray().at(0)["type"].toString(), QStringLiteral("float16"));
        RETRO_RUNS(gradient, QStringList{"grad"} + question + QStringList{"--target", "y"});
        QVERIFY2(gradient.err.contains(words), qPrintable(gradient.err));
    }

    /// Every verb with a target says it as a place, and why it is not the first output.
    void targetsArePlaces()
    {
        const QString file = tokens("tokens.onnx");
        tensor::TensorBuffer numbers(DType::Float32, {1, 3, 4});
        for (int i = 0; i < 12; ++i) {
            numbers.data<float>()[i] = i == 6 ? 5.0F : 0.25F;
        }
        const Tensor values = std::move(numbers).freeze();
        QVERIFY(QDir().mkpath(path("in")));
        for (const char* name : {"in/a.npy", "in/b.npy"}) {
            QVERIFY(tensor::writeNpy(path(name).toStdString(), values).ok());
        }
        const QStringList question{file, "--input", path("in/a.npy")};
        const QString place = QStringLiteral("token 1, class 2");
        for (const QString verb : {"explain", "verify", "evaluate"}) {
            QStringList call = QStringList{verb} + question;
            call += verb == "verify" ? QStringList() : QStringList{"--output-dir", path(verb)};
            call += verb == "evaluate" ? QStringList{"--channel-axis", "last"} : QStringList();
            RETRO_RUNS(answer, call);
            RETRO_SAYS(answer.out, place, "score 5");
            QVERIFY2(answer.err.contains("\"scores\""), qPrintable(verb + ": " + answer.err));
        }
        const QJsonObject verified = json(cli(QStringList{"verify"} + question + QStringList{"--json"}));
        const QJsonObject target = verified.value("target").toArray().at(0).toObject();
        QCOMPARE(target.value("place").toObject().value("class").toInt(), 2);
        RETRO_RUNS(batch, {"explain", file, "--input", path("in"), "--output-dir", path("batch")});
        const QByteArray table = tests::bytesIn(path("batch/index.csv"));
        QCOMPARE(table.count(",scores,\"token=1,class=2\","), qsizetype{2});
    }

    void thePrecisionIsSaid()
    {
        const QJsonObject half = json(cli({"info", model("half.onnx", DType::Float16, 1), "--json"}));
        QCOMPARE(half.value("precision").toString(), QStringLiteral("float32"));
        QCOMPARE(half.value("rounded_to").toArray(), QJsonArray{"float16"});
        const QString wide = model("wide.onnx", DType::Float64, 1);
        QCOMPARE(json(cli({"info", wide, "--json"})).value("precision").toString(), QStringLiteral("float64"));
        const Answer text = cli({"info", wide});
        QVERIFY2(text.out.contains("computed in  float64, which the model has"), qPrintable(text.out));
        RETRO_RUNS(explained, {"explain", wide, "--input", "random:1", "--composite", "gradient", "--target", "0",
                               "--json", "--output-dir", path("explained")});
        QCOMPARE(json(explained).value("precision").toString(), QStringLiteral("float64"));
    }
};

QTEST_APPLESS_MAIN(ModelTypesVerbTest)
#include "modeltypesverbtest.moc"
