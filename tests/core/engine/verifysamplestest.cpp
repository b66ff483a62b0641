// SPDX-License-Identifier: Apache-2.0
// `verify` accuses no sample: nothing is violated, whatever the input and the directions that are drawn by chance.
// RETRO_SEEDS says how many seeds are tried for each.
#include "core/engine/verify/verify.h"
#include "tests/core/engine/samplequestion.h"

#include <QtTest>

using namespace retro;

namespace
{

int sampleSeeds()
{
    const int asked = qEnvironmentVariableIntValue("RETRO_SEEDS");
    return asked > 0 ? asked : 2;
}

} // namespace

class VerifySamplesTest : public QObject
{
    Q_OBJECT

private slots:
    void nothingIsViolated_data()
    {
        QTest::addColumn<QString>("input"); // {} = the seed
        for (const char* sample :
             {"clever-hans/clever-hans", "clever-hans/control", "lut-digits/lut-digits", "lut-skips/lut-skips",
              "lut-marked-byte/lut-marked-byte", "marked-step/marked-step", "one-segment/one-segment",
              "silent-groups/one-group", "silent-groups/silent-groups"}) {
            QTest::newRow(sample) << QStringLiteral("random:{}");
        }
        for (const char* sample : {"planted-word/planted-word", "planted-word/control"}) {
            QTest::newRow(sample) << QStringLiteral(RETRO_SOURCE_DIR "/samples/planted-word/good.npy");
        }
    }
    void nothingIsViolated()
    {
        QFETCH(QString, input);
        const auto question = tests::questionOf<engine::VerifyRequest>(QTest::currentDataTag());
        QVERIFY(question.model);
        for (int seed = 1; seed <= sampleSeeds(); ++seed) {
            engine::VerifyRequest request;
            const std::string given = QString(input).replace("{}", QString::number(seed)).toStdString();
            RETRO_MADE(inputs, engine::resolveInputs({given}, *question.model->graph(), {}));
            request.inputs = *inputs;
            request.seed = static_cast<std::uint64_t>(seed);
            RETRO_MADE(result, engine::verify(*question.model, request));
            QVERIFY(result->properties.size() > 10);
            for (const engine::PropertyResult& one : result->properties) {
                QVERIFY2(one.state != engine::PropertyState::Violated, (one.id + ": " + one.detail).c_str());
            }
        }
    }
};

QTEST_GUILESS_MAIN(VerifySamplesTest)
#include "verifysamplestest.moc"
