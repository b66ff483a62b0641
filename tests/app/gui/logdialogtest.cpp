// SPDX-License-Identifier: Apache-2.0
// The log of the program: what is written to it, how large it gets, and the window under Help.
#include <QtTest>

#include "app/gui/shell/logdialog.h"
#include "app/gui/shell/logfile.h"
#include "app/gui/window/mainwindow.h"
#include "core/base/log.h"

#include <QClipboard>
#include <QDir>
#include <QGuiApplication>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTemporaryDir>

#include <thread>
#include <vector>

using namespace retro;

namespace
{

QStringList passedOn;

void note(QtMsgType /*type*/, const QMessageLogContext& /*context*/, const QString& text) { passedOn << text; }

} // namespace

class LogDialogTest : public QObject
{
    Q_OBJECT

private slots:
    void init() { passedOn.clear(); }

    void linesOfCoreAndOfQtGoToTheFile()
    {
        const QTemporaryDir folder;
        const QtMessageHandler before = qInstallMessageHandler(note);
        {
            app::LogFile log(folder.path() + "/made/when/needed");
            QVERIFY(!QFile::exists(log.path()));
            log.takeMessages();
            QCOMPARE(app::LogFile::instance(), &log);
            base::log(base::logcategory::kEngine, base::LogLevel::Info, "one pass");
            base::log(base::logcategory::kModel, base::inputError("it is cut off", "m.onnx"));
            qCWarning(app::windowLog) << "a job failed";
            qWarning("from Qt");
            const QStringList lines = log.text().split('\n', Qt::SkipEmptyParts);
            QCOMPARE(lines.size(), 4);
            QVERIFY(lines[0].endsWith("  info     retrograde.engine  one pass"));
            QVERIFY(lines[1].endsWith("  warning  retrograde.model  m.onnx: it is cut off"));
            QVERIFY(lines[2].contains("retrograde.window") && lines[2].contains("a job failed"));
            QVERIFY(lines[3].endsWith("  warning  default  from Qt"));
            QCOMPARE(passedOn, QStringList{"from Qt"}); // ours are for the file
        }
        QVERIFY(app::LogFile::instance() == nullptr);
        base::log(base::logcategory::kEngine, base::LogLevel::Info, "nobody listens");
        qWarning("after");
        QCOMPARE(passedOn.last(), QStringLiteral("after")); // the handler before is back
        qInstallMessageHandler(before);
    }

    void theFileIsBounded()
    {
        const QTemporaryDir folder;
        app::LogFile log(folder.path(), 2000);
        for (int i = 0; i < 400; ++i) {
            log.write(QtInfoMsg, "retrograde.engine", QStringLiteral("line %1").arg(i));
        }
        log.write(QtInfoMsg, "retrograde.engine", QString(100'000, 'x'));
        qint64 total = 0;
        for (const QFileInfo& file : QDir(folder.path()).entryInfoList(QDir::Files)) {
            QVERIFY(file.size() <= 2000);
            total += file.size();
        }
        QVERIFY(total > 1000 && total <= 4000);
        QVERIFY(log.text().contains("line 399"));
        QVERIFY(!log.text().contains("line 0\n"));
    }

    void whatCannotBeWrittenIsLost()
    {
        app::LogFile log(QStringLiteral("/dev/null/nowhere"));
        log.write(QtInfoMsg, "retrograde.engine", "lost");
        QVERIFY(log.text().isEmpty());
    }

    void threadsWriteWholeLines()
    {
        const QTemporaryDir folder;
        app::LogFile log(folder.path());
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([&log] {
                for (int i = 0; i < 50; ++i) {
                    log.write(QtInfoMsg, "retrograde.engine", "whole");
                }
            });
        }
        threads.clear();
        const QStringList lines = log.text().split('\n', Qt::SkipEmptyParts);
        QCOMPARE(lines.size(), 200);
        for (const QString& line : lines) {
            QVERIFY2(line.endsWith("  info     retrograde.engine  whole"), qPrintable(line));
        }
    }

    void theWindowShowsAndCopiesIt()
    {
        const QTemporaryDir folder;
        app::LogFile log(folder.path());
        log.takeMessages();
        qCInfo(app::windowLog, "before");
        app::MainWindow window;
        window.actions().at("help.log").trigger();
        auto* dialog = window.findChild<app::LogDialog*>();
        QVERIFY(dialog != nullptr && dialog->isVisible());
        QVERIFY(dialog->text().contains("retrograde.window  before"));
        qCInfo(app::windowLog, "behind");
        QTRY_VERIFY(dialog->text().contains("retrograde.window  behind"));
        for (QPushButton* button : dialog->findChildren<QPushButton*>()) {
            if (button->text() == "Copy") {
                button->click();
            }
        }
        QCOMPARE(QGuiApplication::clipboard()->text(), dialog->text());
        dialog->findChild<QPlainTextEdit*>()->moveCursor(QTextCursor::Start);
        dialog->findChild<QPlainTextEdit*>()->moveCursor(QTextCursor::NextWord, QTextCursor::KeepAnchor);
        dialog->copy();
        QVERIFY(QGuiApplication::clipboard()->text().size() < dialog->text().size());
        delete dialog;
    }

    void withoutALogTheWindowSaysSo()
    {
        app::LogDialog dialog(nullptr);
        QVERIFY(dialog.text().isEmpty());
    }

    void theFolderFollowsTheStandard()
    {
        qputenv("XDG_STATE_HOME", "/somewhere");
        QCOMPARE(app::stateFolder(), QStringLiteral("/somewhere/retrograde"));
        qputenv("XDG_STATE_HOME", "relative is not allowed");
        QCOMPARE(app::stateFolder(), QDir::homePath() + "/.local/state/retrograde");
        qunsetenv("XDG_STATE_HOME");
    }
};

QTEST_MAIN(LogDialogTest)
#include "logdialogtest.moc"
