// SPDX-License-Identifier: Apache-2.0
// Closing the window while the engine works: it waits for what ends, and for nothing else.
#include <QtTest>

#include "app/gui/shell/closeguard.h"
#include "app/gui/window/mainwindow.h"
#include "app/gui/window/workspace.h"
#include "core/trace/runfile.h"
#include "tests/app/gui/settles.h"
#include "tests/views/support/tinyrun.h"

#include <QDockWidget>
#include <QProcess>
#include <QSettings>
#include <QTemporaryDir>

using namespace retro;
using tests::kPatience;

namespace
{

} // namespace

class CloseTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::keepSettingsIn(m_settings); }

    void aJobThatNeverEndsIsLeftBehind()
    {
        const QString settings = m_settings.filePath(QStringLiteral("hanging.ini"));
        QProcess process;
        process.start(QStringLiteral(RETRO_BINARY_DIR "/tests/hangingwindow"), {settings});
        QVERIFY(process.waitForFinished(kPatience));
        const QString said = QString::fromUtf8(process.readAllStandardError());
        QCOMPARE(process.exitStatus(), QProcess::NormalExit);
        QCOMPARE(process.exitCode(), 0);
        QVERIFY2(said.contains("did not stop"), qPrintable(said));
        QVERIFY(process.readAllStandardOutput().isEmpty()); // nobody waited for it to end by itself
        QVERIFY(!QSettings(settings, QSettings::IniFormat).value(QStringLiteral("geometry")).toByteArray().isEmpty());
    }

    void aFileThatWasAskedForIsWritten()
    {
        const QString file = m_settings.filePath(QStringLiteral("last.retro"));
        {
            app::MainWindow window;
            window.show();
            window.open({}); // the file waits behind this job
            window.engine().saveRun(tests::makeTinyRun().run, file);
        }
        RETRO_MADE(run, trace::readRun(file.toStdString()));
        QCOMPARE(run.value()->eventCount(), tests::makeTinyRun().run->eventCount());
    }

    void writingIsWaitedForLongerThanAJob()
    {
        QWidget window;
        bool isWriting = true;
        app::CloseGuard guard(window, [&isWriting] { return isWriting; });
        QSignalSpy abandoned(&guard, &app::CloseGuard::abandoned);
        window.show();
        QVERIFY(!guard.mayClose(true));
        auto* patience = guard.findChild<QTimer*>();
        QVERIFY(patience != nullptr && patience->isActive());
        QSignalSpy over(patience, &QTimer::timeout);
        QTRY_COMPARE_WITH_TIMEOUT(over.count(), 1, kPatience);
        QCOMPARE(abandoned.count(), 0);
        QVERIFY(patience->isActive());
        isWriting = false;
        guard.jobEnded();
        QVERIFY(guard.mayClose(true));
        QCOMPARE(abandoned.count(), 0);
    }

    void theJobOfAClosedModelCountsToo()
    {
        app::MainWindow window;
        window.show();
        window.open({});
        window.closeModel(); // the window is not busy, the engine may still be
        QVERIFY(!window.isBusy());
        QSignalSpy abandoned(&window.closing(), &app::CloseGuard::abandoned);
        const auto* patience = window.closing().findChild<QTimer*>();
        const bool isIdle = window.engine().isIdle();
        window.close();
        QVERIFY(window.isHidden());
        QCOMPARE(patience->isActive(), !isIdle);
        QTRY_VERIFY_WITH_TIMEOUT(!patience->isActive(), kPatience);
        QVERIFY(window.engine().isIdle());
        QCOMPARE(abandoned.count(), 0);
    }

    void windowsGoInAnyState()
    {
        for (int turns = 0; turns < 12; ++turns) {
            auto window = std::make_unique<app::MainWindow>();
            window->show();
            window->showWorkspace(turns % 2 == 0 ? QStringLiteral("explain") : QStringLiteral("engine"));
            window->open({});
            window->actions().at(QStringLiteral("view.palette")).trigger();
            window->actions().at(QStringLiteral("edit.preferences")).trigger();
            for (int i = 0; i < turns; ++i) {
                QCoreApplication::processEvents(QEventLoop::AllEvents, 20);
            }
            window.reset(); // whatever it was doing
            QCoreApplication::processEvents();
        }
    }

    void floatingPanesGoWithTheirWindow()
    {
        for (const char* id : {"explain", "engine"}) {
            auto window = std::make_unique<app::MainWindow>();
            window->show();
            window->showWorkspace(QLatin1String(id));
            window->flush();
            for (auto* space : window->findChildren<app::Workspace*>()) {
                // Lowered, as the layout does while tabs are dragged, they end before the titles that follow them.
                for (auto dock = space->docks().rbegin(); dock != space->docks().rend(); ++dock) {
                    (*dock)->lower();
                }
                for (std::size_t i = space->docks().size(); i > 1; i -= 2) {
                    space->docks()[i - 1]->setFloating(true);
                }
            }
            window->flush();
            window.reset();
            QCoreApplication::processEvents();
        }
    }

private:
    QTemporaryDir m_settings;
};

QTEST_MAIN(CloseTest)
#include "closetest.moc"
