// SPDX-License-Identifier: Apache-2.0
// `compare` on the command line: two runs, and a run and what another tool left.
#include "tests/app/cli/cliprogram.h"

#include <QtTest>

#include <QTemporaryDir>

using namespace retro;
using tests::Answer;
using tests::cli;
using tests::expectEnd;

class CompareVerbTest : public QObject
{
    Q_OBJECT
    QTemporaryDir m_folder;

    QString path(const QString& name) const { return m_folder.filePath(name); }

private slots:
    // Two runs of other rules part where the rules do; a run agrees with itself.
    void runsAreCompared()
    {
        const QString model = QStringLiteral(RETRO_SOURCE_DIR "/tests/data/golden/lrp/dwconv/");
        for (const char* composite : {"epsilon", "epsilon_plus"}) {
            const QString name = path(QLatin1String(composite));
            expectEnd({"explain", model + "model.onnx", "--input", model + "input.npy", "--composite", composite,
                       "--output-dir", name, "--run", name + ".retro"},
                      0, {});
        }
        const QString a = path("epsilon.retro");
        const QString b = path("epsilon_plus.retro");
        QVERIFY(QString(cli({"compare", a, a}).out).contains("They agree in"));
        const Answer parted = cli({"compare", a, b, "--csv", path("compare.csv")});
        QVERIFY2(QString(parted.out).contains("composite: epsilon ↔ epsilon_plus"), qPrintable(parted.out));
        QVERIFY2(QString(parted.out).contains("(ConvTranspose)"), qPrintable(parted.out));
        QVERIFY2(QString(parted.out).contains("z-plus, epsilon 1e-06    D = x⁺W⁺"), qPrintable(parted.out));
        QVERIFY(QFile::exists(path("compare.csv")));
        const auto json = nlohmann::json::parse(QString(cli({"compare", a, b, "--json"}).out).toStdString());
        QCOMPARE(json["agree"].get<bool>(), false);
        QCOMPARE(json["parting"]["nodes"][0]["operator"].get<std::string>(), std::string("ConvTranspose"));
        QCOMPARE(json["parting"]["narrowed"].get<bool>(), true);
        expectEnd({"compare", a, path("nowhere.npz")}, 3, {"nowhere.npz"});
        expectEnd({"compare", a, model + "model.onnx"}, 2, {"can be compared"});
    }

    // What another tool usually leaves: the input's relevance, between things that are none.
    void anExportIsCompared()
    {
        const QString model = QStringLiteral(RETRO_SOURCE_DIR "/tests/data/golden/lrp/dwconv/");
        const QString theirs = QStringLiteral(RETRO_SOURCE_DIR "/tests/data/npz/zennit.npz");
        for (const char* composite : {"epsilon", "epsilon_plus"}) {
            const QString name = path(QLatin1String("export-") + QLatin1String(composite));
            expectEnd({"explain", model + "model.onnx", "--input", model + "input.npy", "--composite", composite,
                       "--output-dir", name, "--run", name + ".retro"},
                      0, {});
        }
        const QString agreed(cli({"compare", path("export-epsilon_plus.retro"), theirs}).out);
        for (const char* words : {"They agree in 1 value,", "of B, no value of the model has the name: features.0",
                                  "of B, passed over: notes.npy", "readme.txt", "without the batch axis: input"}) {
            QVERIFY2(agreed.contains(words), qPrintable(agreed));
        }
        const QString a = path("export-epsilon.retro");
        const Answer parted = cli({"compare", a, theirs, "--rules-b", "epsilon_plus"});
        const QString said(parted.out);
        RETRO_SAYS(said, "They part at the relevance of input: ",
                   "between logits (where relevance starts: not compared, so it may differ, too) and input: "
                   "11 nodes, not narrowed",
                   "    B        z-plus, epsilon 1e-06    D = x⁺W⁺", "… and 3 more nodes");
        const auto json = nlohmann::json::parse(QString(cli({"compare", a, theirs, "--json"}).out).toStdString());
        QCOMPARE(json["parting"]["narrowed"].get<bool>(), false);
        QCOMPARE(json["parting"]["at_start"].get<bool>(), false);
        QCOMPARE(json["parting"]["start_not_compared"].get<bool>(), true);
        QCOMPARE(json["parting"]["nodes"].size(), std::size_t{11});
        QCOMPARE(json["not_matched_b"].size(), std::size_t{1});
        QCOMPARE(json["skipped_b"].size(), std::size_t{3});
        QVERIFY(!json["values"][0]["note"].get<std::string>().empty());
        expectEnd({"compare", a, theirs, "--rules-b", "nothing"}, 2, {"--rules-b", "nothing"});
        expectEnd({"compare", theirs, a, "--rules-b", "epsilon"}, 2, {"--rules-b", "second"});
    }
};

QTEST_GUILESS_MAIN(CompareVerbTest)
#include "compareverbtest.moc"
