// SPDX-License-Identifier: Apache-2.0
// What `evaluate` writes for one input and for a folder, and what it refuses by name.
#include "tests/app/cli/cliprogram.h"

#include "core/tensor/npy.h"

#include <QtTest>

#include <QTemporaryDir>

using namespace retro;
using tests::Answer;
using tests::cli;
using tests::expectEnd;

namespace
{

const QString kNetwork = QStringLiteral(RETRO_SOURCE_DIR "/tests/data/golden/lrp/dwconv/");
const QString kReviews = QStringLiteral(RETRO_SOURCE_DIR "/samples/planted-word/");

QString contentOf(const QString& path)
{
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

} // namespace

class EvaluateVerbTest : public QObject
{
    Q_OBJECT
    QTemporaryDir m_folder;

    QString path(const QString& name) const { return m_folder.filePath(name); }

    static QStringList quick(const QString& model, const QString& input, const QString& output)
    {
        return {"evaluate", model, "--input", input, "--steps", "3", "--random-orders", "1", "--output-dir", output};
    }

private slots:
    void allMeasuresAreFiles()
    {
        const QStringList call = quick(kNetwork + "model.onnx", kNetwork + "input.npy", path("one"));
        RETRO_RUNS(answer, call + QStringList{"--randomise", "2", "--method", "lrp", "--method", "occlusion"});
        const QString measures = contentOf(path("one/measures.csv"));
        for (const char* row : {"random,area,,,", "lrp,area_between,,,", "lrp,cosine_to_other,,,",
                                "occlusion,randomisation_cosine,", "occlusion,randomisation_spearman,"}) {
            QVERIFY2(measures.contains(QLatin1String(row)), qPrintable(row + QStringLiteral(" is not in ") + measures));
        }
        const auto input = tensor::readNpy((kNetwork + "input.npy").toStdString());
        for (const char* method : {"lrp", "occlusion"}) {
            const auto map = tensor::readNpy(path(QStringLiteral("one/attributions/%1.npy").arg(method)).toStdString());
            QVERIFY2(map.ok() && map->shape() == input->shape(), method);
        }
        QVERIFY(contentOf(path("one/curves.svg")).contains("layers shuffled"));
    }

    void theOtherClassIsChosen()
    {
        const QStringList call = quick(kNetwork + "model.onnx", kNetwork + "input.npy", path("other"));
        RETRO_RUNS(answer, call + QStringList{"--target", "0", "--other", "2", "--json"});
        QCOMPARE(nlohmann::json::parse(answer.out.toStdString())["other_class"].get<int>(), 2);
        expectEnd(call + QStringList{"--other", "999"}, 2, {"--other 999", "the classes are 0 to"});
        expectEnd(call + QStringList{"--other", "input:3"}, 2, {"--other input:3"});
        expectEnd(call + QStringList{"--flip", "nothing"}, 2, {"--flip nothing"});
    }

    void labelsNameTheOtherClass()
    {
        const QStringList call = quick(kReviews + "planted-word.onnx", kReviews + "good.npy", path("words"));
        RETRO_RUNS(answer, call + QStringList{"--mask-id", "17", "--other", "bad", "--json"});
        const auto json = nlohmann::json::parse(answer.out.toStdString());
        QCOMPARE(json["other_class"].get<int>(), 0);
        QCOMPARE(json["units"].get<std::string>(), std::string("9 tokens"));
        QCOMPARE(json["methods"].size(), std::size_t{2});
        QVERIFY(json["methods"][0]["area_between"].get<double>() > 0);
        expectEnd(call, 2, {"tokens", "--mask-id"});
        expectEnd(call + QStringList{"--mask-id", "17", "--method", "smoothgrad"}, 2, {"smoothgrad", "tokens"});
        expectEnd(quick(kNetwork + "model.onnx", kNetwork + "input.npy", path("x")) + QStringList{"--mask-id", "1"}, 2,
                  {"--mask-id"});
    }

    void methodsOfFeatureMaps()
    {
        const QString peer = QStringLiteral(RETRO_SOURCE_DIR "/tests/data/peers/gradcam/");
        const QStringList call = quick(peer + "net.onnx", peer + "x.npy", path("maps")) + QStringList{"--target", "3"};
        RETRO_RUNS(answer, call + QStringList{"--method", "gradcam", "--method", "gradcam++", "--json"});
        const auto json = nlohmann::json::parse(answer.out.toStdString());
        QVERIFY(json["methods"][0]["how"].get<std::string>().find("10 channels") != std::string::npos);
        for (const char* file : {"gradcam", "gradcam.map", "gradcam.raw", "gradcam++.map"}) {
            QVERIFY2(QFile::exists(path(QStringLiteral("maps/attributions/%1.npy").arg(file))), file);
        }
        expectEnd(call + QStringList{"--method", "gradcam:no/value"}, 2,
                  {"value \"no/value\"", "no value of this name"});
        expectEnd(call + QStringList{"--method", "occlusion:3"}, 2, {"occlusion:3", "known are"});
    }

    void treesHaveABackground()
    {
        const QString peer = QStringLiteral(RETRO_SOURCE_DIR "/tests/data/peers/treeshap/");
        tensor::Tensor row = tensor::Tensor::zeros(tensor::DType::Float32, {1, 5});
        QVERIFY(tensor::writeNpy(path("row.npy").toStdString(), row).ok());
        QVERIFY(
            tensor::writeNpy(path("rows.npy").toStdString(), tensor::Tensor::full(tensor::DType::Float32, {3, 5}, 1))
                .ok());
        QStringList call = quick(peer + "forest.onnx", path("row.npy"), path("trees"));
        call += QStringList{"--method", "treeshap", "--method", "shapley", "--background", path("rows.npy"), "--json"};
        RETRO_RUNS(answer, call);
        const auto json = nlohmann::json::parse(answer.out.toStdString());
        QVERIFY(json["methods"][0]["how"].get<std::string>().find("3 rows") != std::string::npos);
        QVERIFY(contentOf(path("trees/measures.csv")).contains("treeshap,raw_score_of_baseline,,,"));
        expectEnd(call + QStringList{"--method", "treeshap:tree_path_dependent"}, 2, {"tree_path_dependent", "ONNX"});
        expectEnd(quick(peer + "forest.onnx", path("row.npy"), path("x")), 3,
                  {"--method occlusion, shapley, treeshap"});
    }

    void failedInputsHaveARow()
    {
        QVERIFY(QDir().mkpath(path("inputs")));
        QVERIFY(QFile::copy(kNetwork + "input.npy", path("inputs/z.npy")));
        QFile broken(path("inputs/a.npy"));
        QVERIFY(broken.open(QIODevice::WriteOnly));
        broken.write("no tensor");
        broken.close();
        QCOMPARE(cli(quick(kNetwork + "model.onnx", path("inputs"), path("many"))).code, 3);
        const QStringList rows = contentOf(path("many/index.csv")).split('\n', Qt::SkipEmptyParts);
        QCOMPARE(rows.size(), 1 + 1 + 2);
        QVERIFY(rows[0].endsWith(",status"));
        QVERIFY2(rows[1].startsWith("a,") && rows[1].contains("failed: "), qPrintable(rows[1]));
        QVERIFY2(rows[2].startsWith("z,") && rows[2].endsWith(",complete"), qPrintable(rows[2]));
    }
};

QTEST_GUILESS_MAIN(EvaluateVerbTest)
#include "evaluateverbtest.moc"
