// SPDX-License-Identifier: Apache-2.0
// Bookmarks and notes are not lost without a question, and go into the file that is open.
#include <QtTest>

#include "app/gui/shell/bookmarks.h"
#include "app/gui/shell/session.h"
#include "app/gui/shell/shell.h"
#include "app/gui/shell/unsavedwork.h"
#include "app/gui/window/mainwindow.h"
#include "core/base/file.h"
#include "core/trace/runfile.h"
#include "tests/app/gui/settles.h"
#include "views/common/paint/style.h"
#include "views/notebook/notebookview.h"

#include <QDir>
#include <QMessageBox>
#include <QSettings>
#include <QTemporaryDir>
#include <QTimer>

#include <filesystem>

using namespace retro;
using app::UnsavedWork;
using tests::settles;

namespace
{

/// A window with a question that is answered by itself.
struct Asked
{
    Asked()
    {
        window.show();
        window.unsaved().setQuestion([this](const QString& file) {
            ++times;
            proposed = file;
            return answer;
        });
    }
    void open(const QString& path = {})
    {
        window.open(path);
        RETRO_SETTLES(window);
    }
    /// Asks to close it; false where it stays. It is gone for good a little later, where a job has to stop first.
    bool leaves()
    {
        window.close();
        return !window.isVisible();
    }
    void mark() { window.shell().bookmarks().toggle(); }
    void write(const char* text)
    {
        trace::Note note;
        note.position = 3;
        note.text = text;
        window.findChild<views::NotebookView*>()->items().setNotes({note});
    }

    app::MainWindow window;
    UnsavedWork::Answer answer = UnsavedWork::Answer::Cancel;
    QString proposed;
    int times = 0;
};

} // namespace

class UnsavedWorkTest : public QObject
{
    Q_OBJECT
    QTemporaryDir m_folder;
    QString m_run;

private slots:
    void initTestCase()
    {
        views::Style::install(*qApp);
        m_run = m_folder.filePath("kept.retro");
        app::MainWindow window;
        window.open({});
        QVERIFY(settles(window));
        QSignalSpy saved(&window.engine(), &app::EngineWorker::saved);
        window.saveRunTo(m_run);
        QTRY_VERIFY_WITH_TIMEOUT(!saved.isEmpty(), tests::kPatience);
    }

    void nothingIsAskedWhereNothingIsLost()
    {
        Asked asked;
        asked.open();
        QVERIFY(!asked.window.unsaved().hasAny());
        asked.open(m_run);
        QCOMPARE(asked.times, 0);
        QVERIFY(asked.leaves());
        QCOMPARE(asked.times, 0);
    }

    void everyWayOutAsks()
    {
        Asked asked;
        asked.open();
        asked.mark();
        QVERIFY(asked.window.unsaved().hasAny());
        QVERIFY(!asked.leaves());
        QCOMPARE(asked.times, 1);
        QVERIFY(asked.window.isVisible());
        asked.window.open(m_run); // cancelled: the run stays
        QCOMPARE(asked.times, 2);
        QVERIFY(!asked.window.isBusy());
        asked.window.closeModel();
        QCOMPARE(asked.times, 3);
        QVERIFY(asked.window.model().hasRun());
        asked.window.actions().at(QStringLiteral("run.start")).trigger();
        QCOMPARE(asked.times, 4);
        QVERIFY(!asked.window.isBusy());
        asked.answer = UnsavedWork::Answer::Discard;
        asked.open(m_run);
        QCOMPARE(asked.times, 5);
        QVERIFY(!asked.window.unsaved().hasAny());
        asked.write("a comment");
        QVERIFY(asked.leaves());
        QCOMPARE(asked.times, 6);
        QVERIFY(trace::readRecorded(m_run.toStdString())->notes.empty());
    }

    void saveGoesIntoTheFileThatIsOpen()
    {
        const QString file = m_folder.filePath("mine.retro");
        QVERIFY(QFile::copy(m_run, file));
        Asked asked;
        asked.answer = UnsavedWork::Answer::Save;
        asked.open(file);
        asked.mark();
        asked.write("remember this");
        QSignalSpy saved(&asked.window.engine(), &app::EngineWorker::saved);
        QVERIFY(!asked.leaves()); // once it is written
        QCOMPARE(asked.proposed, file);
        QTRY_VERIFY_WITH_TIMEOUT(!asked.window.isVisible(), tests::kPatience);
        QCOMPARE(saved.size(), 1);
        QCOMPARE(asked.times, 1);
        RETRO_MADE(recorded, trace::readRecorded(file.toStdString()));
        QCOMPARE(recorded->notes.size(), std::size_t{1});
        QCOMPARE(recorded->notes.front().text, std::string("remember this"));
        QCOMPARE(recorded->run->bookmarks.size(), std::size_t{1});
    }

    void theActionSaveKeepsTheName()
    {
        const QString file = m_folder.filePath("again.retro");
        QVERIFY(QFile::copy(m_run, file));
        Asked asked;
        asked.open(file);
        asked.mark();
        QSignalSpy saved(&asked.window.engine(), &app::EngineWorker::saved);
        asked.window.actions().at(QStringLiteral("file.save")).trigger(); // no dialog
        QTRY_VERIFY_WITH_TIMEOUT(!saved.isEmpty(), tests::kPatience);
        QCOMPARE(saved.front().front().toString(), file);
        QTRY_VERIFY_WITH_TIMEOUT(!asked.window.unsaved().hasAny(), tests::kPatience); // the window heard of it
        QVERIFY(asked.leaves());
        QCOMPARE(asked.times, 0);
    }

    void whatCannotBeSavedStays()
    {
        const QString file = m_folder.filePath("gone/run.retro");
        QVERIFY(QDir(m_folder.path()).mkdir("gone"));
        QVERIFY(QFile::copy(m_run, file));
        Asked asked;
        asked.answer = UnsavedWork::Answer::Save;
        asked.open(file);
        asked.mark();
        QVERIFY(QDir(m_folder.filePath("gone")).removeRecursively());
        QSignalSpy failed(&asked.window.engine(), &app::EngineWorker::saveFailed);
        QVERIFY(!asked.leaves());
        QTRY_VERIFY_WITH_TIMEOUT(!failed.isEmpty(), tests::kPatience);
        QVERIFY(asked.window.isVisible());
        QVERIFY(asked.window.unsaved().hasAny());
    }

    void theQuestionIsAMessageBox()
    {
        Asked asked;
        asked.open(m_run);
        asked.mark();
        asked.window.unsaved().askInWindow();
        QString words;
        QTimer::singleShot(0, this, [&words] {
            auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
            if (box != nullptr) {
                words = box->text() + box->informativeText();
                box->button(QMessageBox::Cancel)->click();
            }
        });
        QVERIFY(!asked.leaves());
        RETRO_SAYS(words, "in no file yet", "kept.retro");
    }

    void aRelativePathIsRememberedAbsolute()
    {
        const QString before = QDir::currentPath();
        QVERIFY(QDir::setCurrent(m_folder.path()));
        QSettings store(m_folder.filePath("settings.ini"), QSettings::IniFormat);
        {
            Asked asked;
            asked.window.shell().remember(store);
            asked.open("kept.retro");
            QVERIFY(asked.leaves());
        }
        QVERIFY(QDir::setCurrent(before));
        const app::Session session = app::readSession(store);
        QCOMPARE(session.path, m_run);
        QVERIFY(session.canResume());
    }

    void exportsAreNotWrittenOverTheModelOrItsInput()
    {
        const QString sample = QStringLiteral(RETRO_SOURCE_DIR "/samples/clever-hans/");
        const QString model = m_folder.filePath("model.onnx");
        const QString picture = m_folder.filePath("jug.png");
        QVERIFY(QFile::copy(sample + "clever-hans.onnx", model) && QFile::copy(sample + "jug-tagged.png", picture));
        Asked asked;
        asked.window.open(model, {picture});
        QVERIFY(settles(asked.window));
        for (const QString& file : {picture, m_folder.filePath("link.png")}) {
            QFile::link(picture, m_folder.filePath("link.png"));
            RETRO_REFUSED(asked.window.exportHeatmap(file), "would be written over");
        }
        QSignalSpy failed(&asked.window.engine(), &app::EngineWorker::saveFailed);
        asked.window.saveRunTo(model);
        QTRY_VERIFY_WITH_TIMEOUT(!failed.isEmpty(), tests::kPatience);
        QCOMPARE(QFileInfo(model).size(), QFileInfo(sample + "clever-hans.onnx").size());
        QVERIFY(asked.window.exportHeatmap(m_folder.filePath("heat.png")).ok());
    }

    /// By its name, a link or another name of it; Save alone goes into it.
    void exportsAreNotWrittenOverTheRunThatIsOpen()
    {
        const QString file = m_folder.filePath("held.retro");
        const QString other = m_folder.filePath("second.retro");
        QVERIFY(QFile::copy(m_run, file));
        std::filesystem::create_hard_link(file.toStdString(), other.toStdString());
        Asked asked;
        asked.open(file);
        const auto isHeld = [](const QString& path) {
            const auto done = base::writeFile(path.toStdString(), std::string("another"));
            return !done.ok() && done.error().text().find("the run on screen") != std::string::npos;
        };
        QVERIFY(isHeld(file) && isHeld(other));
        QCOMPARE(QFileInfo(file).size(), QFileInfo(m_run).size());
        asked.mark();
        QSignalSpy saved(&asked.window.engine(), &app::EngineWorker::saved);
        asked.window.actions().at(QStringLiteral("file.save")).trigger();
        QTRY_VERIFY_WITH_TIMEOUT(!saved.isEmpty(), tests::kPatience);
        QTRY_VERIFY_WITH_TIMEOUT(!asked.window.unsaved().hasAny(), tests::kPatience);
        QVERIFY(isHeld(file));
        asked.open(m_run);
        QVERIFY(!isHeld(file));
    }
};

QTEST_MAIN(UnsavedWorkTest)

#include "unsavedworktest.moc"
