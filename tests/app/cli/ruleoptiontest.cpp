// SPDX-License-Identifier: Apache-2.0
// Rules that are put before a composite on the command line.
#include "tests/app/cli/cliprogram.h"

#include <QtTest>

#include <QJsonDocument>
#include <QJsonObject>
#include <QRegularExpression>
#include <QTemporaryDir>

using namespace retro;
using tests::Answer;
using tests::cli;
using tests::expectEnd;

class RuleOptionTest : public QObject
{
    Q_OBJECT
    QTemporaryDir m_folder;

    QString path(const QString& name) const { return m_folder.filePath(name); }

private slots:
    // Rules before a composite: by option, behind its name, and as the file that is written of them.
    void rulesArePutBeforeAComposite()
    {
        const QString model = QStringLiteral(RETRO_SOURCE_DIR "/tests/data/golden/lrp/dwconv/");
        const QStringList question{"explain", model + "model.onnx", "--input", model + "input.npy"};
        const QString rule = QStringLiteral("op:ConvTranspose=gamma:gamma=0.5");
        const QString file = path("mine.json");
        const Answer rules =
            cli(question + QStringList{"--composite", "epsilon", "--rule", rule, "--rules", "--save-composite", file});
        QVERIFY2(rules.code == 0, qPrintable(rules.err));
        QVERIFY2(QString(rules.out).contains(QRegularExpression("ConvTranspose +gamma 0.5.* op ConvTranspose")),
                 qPrintable(rules.out));
        const auto inputsOf = [&](const QString& name, const QStringList& how) {
            const QString folder = path(name);
            const Answer answer = cli(question + how + QStringList{"--output-dir", folder});
            QFile relevance(folder + "/relevance/input.npy");
            return answer.code == 0 && relevance.open(QIODevice::ReadOnly) ? relevance.readAll() : QByteArray();
        };
        const QByteArray byOption = inputsOf("byoption", {"--composite", "epsilon", "--rule", rule});
        QVERIFY(!byOption.isEmpty());
        QCOMPARE(inputsOf("byname", {"--composite", "epsilon | " + rule}), byOption);
        QCOMPARE(inputsOf("byfile", {"--composite", file}), byOption);
        QVERIFY(inputsOf("without", {"--composite", "epsilon"}) != byOption);
        expectEnd(question + QStringList{"--rules", "--rule", "op:Conv"}, 2, {"write MATCHER=RULE"});
        expectEnd(question + QStringList{"--rules", "--rule", "op:Conv=gamma:gam=1"}, 2, {"gam"});
    }

    // Rules follow from operators and shapes: neither inputs nor weights are needed.
    void rulesNeedNeitherInputsNorWeights()
    {
        const QString folder = QStringLiteral(RETRO_SOURCE_DIR "/tests/data/golden/lrp/cnn/");
        const QStringList question{"explain", folder + "model.onnx", "--composite", "epsilon", "--rules"};
        RETRO_RUNS(given, question + QStringList{"--input", folder + "input.npy"});
        RETRO_RUNS(without, question);
        QCOMPARE(without.out, given.out);
        for (const QString verb : {"explain", "grad"}) {
            const Answer bare = cli({verb, folder + "model.onnx", "--rules", "--no-weights"});
            QVERIFY2(bare.code == 0 && bare.out.contains("Conv"), qPrintable(bare.err));
        }
    }

    // Neither a spelling mistake nor a rule that comes too late is passed over in silence.
    void rulesThatChangeNothingAreNamed()
    {
        const QString model = QStringLiteral(RETRO_SOURCE_DIR "/tests/data/golden/lrp/cnn/");
        const QStringList question{"explain", model + "model.onnx", "--input", model + "input.npy"};
        const QStringList rules{"--rule", "op:Convv=flat", "--rule", "scope:nowhere=stop"};
        const Answer listed = cli(question + rules + QStringList{"--rules"});
        QCOMPARE(listed.code, 0);
        QVERIFY2(QString(listed.err).contains("warning: the rule 'op:Convv=flat'"), qPrintable(listed.err));
        QVERIFY2(QString(listed.err).contains("'scope:nowhere=stop'"), qPrintable(listed.err));
        const Answer ran = cli(question + rules + QStringList{"--json", "--output-dir", path("unused")});
        QCOMPARE(ran.code, 0);
        QVERIFY2(QString(ran.err).contains("warning: the rule 'op:Convv=flat'"), qPrintable(ran.err));
        const QJsonObject summary = QJsonDocument::fromJson(ran.out.toUtf8()).object();
        QCOMPARE(summary.value("warnings").toArray().size(), 2);
        const Answer plain = cli(question + QStringList{"--rule", "op:Conv=flat", "--output-dir", path("used")});
        QCOMPARE(plain.code, 0);
        QVERIFY2(!QString(plain.err).contains("warning"), qPrintable(plain.err));
    }
};

QTEST_APPLESS_MAIN(RuleOptionTest)
#include "ruleoptiontest.moc"
