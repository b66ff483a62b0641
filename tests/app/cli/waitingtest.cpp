// SPDX-License-Identifier: Apache-2.0
// How threads of OpenMP wait in the programs, as libgomp itself reports it.
#include "app/common/passivewaiting.h"

#include <QtTest>

#include <QProcess>

using retro::app::PassiveWaiting;

namespace
{

/// What libgomp says of its settings when a program is loaded in an environment with only these variables of it.
QString settingsOf(const QString& program, const QMap<QString, QString>& variables)
{
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.remove(QStringLiteral("OMP_WAIT_POLICY"));
    environment.remove(QStringLiteral("GOMP_SPINCOUNT"));
    environment.insert(QStringLiteral("OMP_DISPLAY_ENV"), QStringLiteral("VERBOSE"));
    for (auto at = variables.begin(); at != variables.end(); ++at) {
        environment.insert(at.key(), at.value());
    }
    QProcess process;
    process.setProcessEnvironment(environment);
    process.start(QStringLiteral(RETRO_BINARY_DIR "/bin/") + program, {QStringLiteral("--version")});
    return process.waitForFinished(60'000) ? QString::fromUtf8(process.readAllStandardError()) : QString();
}

} // namespace

class WaitingTest : public QObject
{
    Q_OBJECT

private slots:
    void threadsWaitPassively_data()
    {
        QTest::addColumn<QString>("program");
        QTest::newRow("cli") << "retrograde-cli";
        QTest::newRow("window") << "retrograde";
    }

    void threadsWaitPassively()
    {
        QFETCH(const QString, program);
        const QString settings = settingsOf(program, {});
        QVERIFY2(settings.contains("OMP_WAIT_POLICY = 'PASSIVE'"), qPrintable(settings)); // also said of the default
        QVERIFY2(settings.contains("GOMP_SPINCOUNT = '0'"), qPrintable(settings));
    }

    void theEnvironmentIsGivenBack()
    {
        char first[] = "A=1";
        char last[] = "B=2";
        char* environment[] = {first, last, nullptr};
        PassiveWaiting::waitPassively(0, nullptr, environment);
        QCOMPARE(QString::fromUtf8(environment[0]), QStringLiteral("A=1"));
        QCOMPARE(QString::fromUtf8(environment[1]), QStringLiteral("OMP_WAIT_POLICY=passive"));
        PassiveWaiting::giveBack(environment);
        QVERIFY(environment[0] == first && environment[1] == last && environment[2] == nullptr);
        char* nothing[] = {nullptr};
        PassiveWaiting::waitPassively(0, nullptr, nothing);
        QVERIFY(nothing[0] == nullptr);
    }

    void theUserDecides()
    {
        const QString active = settingsOf("retrograde-cli", {{"OMP_WAIT_POLICY", "active"}});
        QVERIFY2(active.contains("OMP_WAIT_POLICY = 'ACTIVE'"), qPrintable(active));
        const QString spins = settingsOf("retrograde-cli", {{"GOMP_SPINCOUNT", "1234"}});
        QVERIFY2(spins.contains("GOMP_SPINCOUNT = '1234'"), qPrintable(spins));
    }
};

QTEST_GUILESS_MAIN(WaitingTest)
#include "waitingtest.moc"
