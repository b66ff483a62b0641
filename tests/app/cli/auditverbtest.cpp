// SPDX-License-Identifier: Apache-2.0
// The verb audit: where relevance is lost, and where it grows.
#include "tests/app/cli/cliprogram.h"

#include <QtTest>

#include "core/base/file.h"
#include "core/formats/onnx.h"
#include "core/graph/graphbuilder.h"
#include "core/tensor/npy.h"

#include <QTemporaryDir>

#include <array>
#include <cmath>

using namespace retro;
using tests::Answer;
using tests::cli;

class AuditVerbTest : public QObject
{
    Q_OBJECT
    QTemporaryDir m_folder;

    QString path(const QString& name) const { return m_folder.filePath(name); }

private slots:
    // Without biases 22 % of the relevance vanish at a grouped convolution whose units have nothing positive to hand it
    // to: the first line says so.
    void auditNamesTheLeak()
    {
        const QString model = QStringLiteral(RETRO_SOURCE_DIR "/tests/data/golden/lrp/dwconv/");
        RETRO_RUNS(explained, {"explain", model + "model.onnx", "--input", model + "input.npy", "--target", "0",
                               "--composite", "epsilon_plus:zero_bias=1", "--precision", "double", "--output-dir",
                               path("leak"), "--run", path("leak.retro")});
        const Answer audit = cli({"audit", path("leak.retro")});
        const QString first = QString(audit.out).section('\n', 0, 0);
        QVERIFY2(first.startsWith("/grp/Conv ") && first.contains("zero denominators") &&
                     first.contains("22 % of what started"),
                 qPrintable(first));
        const Answer json = cli({"audit", path("leak.retro"), "--json"});
        const auto worst = nlohmann::json::parse(QString(json.out).toStdString())["worst"];
        QCOMPARE(worst["cause"].get<std::string>(), std::string("zero denominator"));
        QVERIFY(std::abs(worst["share"].get<double>() - 0.218) < 0.001);
    }

    // d = 1.01·x − x and y = d₀ − 0.99·d₁: what arrives is handed on 201- and 199-fold, with opposite signs, and no sum
    // shows it.
    void auditNamesWhereRelevanceGrows()
    {
        graph::GraphBuilder builder("difference", 18);
        const auto node = [&builder](const char* op, const char* name, std::vector<base::ValueId> inputs) {
            return builder.addOp(op, name, std::move(inputs), std::string(name) + "_out");
        };
        const base::ValueId x = builder.addInput("x", tensor::DType::Float32, tensor::Shape{1, 2});
        const base::ValueId factor =
            builder.addConstant("c", tensor::Tensor::full(tensor::DType::Float32, tensor::Shape{2}, 1.01));
        const base::ValueId weights = builder.addConstant(
            "W", tensor::Tensor::of<double>(tensor::Shape{2, 1}, std::array{1.0, -0.99}).to(tensor::DType::Float32));
        const base::ValueId difference = node("Sub", "difference", {node("Mul", "larger", {x, factor}), x});
        builder.addOutput(node("MatMul", "layer", {difference, weights}));
        const auto bytes = formats::toOnnx(std::move(builder).build().value());
        const tensor::Tensor ones = tensor::Tensor::full(tensor::DType::Float32, tensor::Shape{1, 2}, 1);
        QVERIFY(tensor::writeNpy(path("ones.npy").toStdString(), ones).ok());
        QVERIFY(bytes.ok() && base::writeFile(path("difference.onnx").toStdString(), *bytes).ok());
        const Answer explained =
            cli({"explain", path("difference.onnx"), "--input", path("ones.npy"), "--target", "0", "--composite",
                 "epsilon:epsilon=0", "--output-dir", path("grown"), "--run", path("grown.retro")});
        QVERIFY2(explained.code == 0, qPrintable(explained.err));
        const QString audit = cli({"audit", path("grown.retro")}).out;
        QVERIFY2(audit.contains("node, largest growth first"), qPrintable(audit));
        QVERIFY2(audit.trimmed().section('\n', -2, -2).startsWith("difference "), qPrintable(audit));
        const Answer json = cli({"audit", path("grown.retro"), "--json"});
        const auto growth = nlohmann::json::parse(QString(json.out).toStdString())["growth"];
        QCOMPARE(growth.size(), std::size_t{2});
        QVERIFY(std::abs(growth[0]["factor"].get<double>() - 201) < 0.1);
        QCOMPARE(growth[0]["reason"].get<std::string>(), std::string("its operands cancel"));
        QVERIFY(std::abs(growth[1]["factor"].get<double>() - 199) < 0.1);
        QCOMPARE(growth[1]["reason"].get<std::string>(), std::string("the terms of its sums cancel"));
    }
};

QTEST_GUILESS_MAIN(AuditVerbTest)
#include "auditverbtest.moc"
