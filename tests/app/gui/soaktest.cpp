// SPDX-License-Identifier: Apache-2.0
// A long session with a run of about 100,000 events: what the window shows after hundreds of jumps is what it showed at
// the first visit of the place, and it holds no more memory than when it had been everywhere once.
#include <QtTest>

#include "app/common/syntheticgraph.h"
#include "app/gui/controllers/diagnosecontroller.h"
#include "app/gui/window/mainwindow.h"
#include "core/base/file.h"
#include "core/formats/onnx.h"
#include "core/trace/runstate.h"
#include "tests/app/gui/settles.h"
#include "views/common/paint/style.h"

#include <QFile>
#include <QRandomGenerator>
#include <QTemporaryDir>

#include <unistd.h>

using namespace retro;
using tests::kPatience;

namespace
{

constexpr std::size_t kNodes = 14'000;
constexpr int kJumps = 60; ///< in each round
constexpr int kRounds = 4;
constexpr std::int64_t kMostGrowth = 24 << 20; ///< a state of this run takes more than 1 MB: a leak per jump is 60

/// Memory of this program that is in use, in bytes; 0 where the system does not say.
std::int64_t residentBytes()
{
    QFile file(QStringLiteral("/proc/self/statm"));
    if (!file.open(QIODevice::ReadOnly)) {
        return 0;
    }
    const QList<QByteArray> fields = file.readAll().split(' ');
    return fields.size() > 1 ? fields[1].toLongLong() * sysconf(_SC_PAGESIZE) : 0;
}

} // namespace

class SoakTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { views::Style::install(*qApp); }

    void hundredsOfJumpsLeaveNothingBehind()
    {
        RETRO_MADE(graph, app::chainAndResidualGraph(kNodes));
        RETRO_MADE(bytes, formats::toOnnx(*graph));
        const QTemporaryDir folder;
        const QString file = folder.filePath(QStringLiteral("long.onnx"));
        QVERIFY(base::writeFile(file.toStdString(), *bytes).ok());
        app::MainWindow window;
        window.resize(1440, 900);
        window.showWorkspace(QStringLiteral("engine"));
        window.show();
        window.open(file, {QStringLiteral("random:1")});
        // What checks the run in the background takes memory of its own.
        QVERIFY(QTest::qWaitFor([&] { return !window.isBusy() && !window.diagnosis().isChecking(); }, kPatience));
        QVERIFY2(window.lastError().isEmpty(), qPrintable(window.lastError()));
        const auto events = static_cast<quint32>(window.model().run().eventCount());
        QVERIFY2(events > 90'000, qPrintable(QString::number(events)));

        std::int64_t afterTheFirst = 0;
        std::vector<std::uint32_t> widths;
        for (int round = 0; round < kRounds; ++round) {
            QRandomGenerator places(7); // the same in every round
            for (int jump = 0; jump < kJumps; ++jump) {
                window.cursor().moveTo(places.bounded(events + 1));
                window.flush();
                QCoreApplication::processEvents();
                const std::uint32_t width = window.model().state().frontierHeld;
                if (round == 0) {
                    widths.push_back(width);
                }
                QCOMPARE(width, widths[static_cast<std::size_t>(jump)]);
            }
            afterTheFirst = round == 0 ? residentBytes() : afterTheFirst;
        }
        const std::int64_t growth = residentBytes() - afterTheFirst;
        QVERIFY2(growth < kMostGrowth, qPrintable(QStringLiteral("%1 more bytes").arg(growth)));
    }
};

QTEST_MAIN(SoakTest)
#include "soaktest.moc"
