// SPDX-License-Identifier: Apache-2.0
// The notebook in the window: what is visited comes to it, what is pinned is in the saved run, in the export of all
// views and in the report.
#include <QtTest>

#include "app/common/report.h"
#include "app/gui/controllers/exportall.h"
#include "app/gui/jobs/engineworker.h"
#include "app/gui/shell/history.h"
#include "app/gui/shell/shell.h"
#include "app/gui/window/mainwindow.h"
#include "app/gui/window/workspaces.h"
#include "core/trace/runfile.h"
#include "tests/app/gui/settles.h"
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/notebook/notebookview.h"
#include "views/palette/commandpalette.h"

#include <QLineEdit>
#include <QTableView>
#include <QTemporaryDir>
#include <QXmlStreamReader>

using namespace retro;
using tests::kPatience;

namespace
{

/// A window with the tiny run.
struct Window
{
    app::MainWindow window;
    views::NotebookView& notebook = window.findChild<app::EngineWorkspace*>()->notebook();

    Window()
    {
        window.resize(1400, 900);
        window.show();
        QApplication::setActiveWindow(&window);
        window.model().setRun(tests::makeTinyRun(), tests::makeTinyInput());
        window.flush();
        window.shell().history().settle();
    }
    void go(std::uint64_t position)
    {
        window.cursor().moveTo(position);
        window.shell().history().settle();
    }
    void press(const char* id) { window.actions().at(QLatin1String(id)).trigger(); }
    QLineEdit* editor() const { return notebook.findChild<QTableView*>()->findChild<QLineEdit*>(); }
    /// Pins the present place.
    void pin(const QString& comment)
    {
        press("go.note");
        QVERIFY(editor() != nullptr);
        QTest::keyClicks(editor(), comment);
        QTest::keyClick(editor(), Qt::Key_Return);
        QTRY_VERIFY_WITH_TIMEOUT(editor() == nullptr, kPatience); // the view takes it with the next turn
    }
};

/// What is wrong with a page as XML; empty = nothing. `text` gets what a reader sees.
QString faultOf(const QString& html, QString& text)
{
    QXmlStreamReader reader(html);
    while (!reader.atEnd()) {
        if (reader.readNext() == QXmlStreamReader::Characters) {
            text += reader.text();
            text += QLatin1Char('\n');
        }
        for (const QXmlStreamAttribute& attribute : reader.attributes()) {
            const bool isLink = attribute.name() == QLatin1String("src") || attribute.name() == QLatin1String("srcset");
            if (isLink && !attribute.value().startsWith(QLatin1String("data:"))) {
                return QStringLiteral("a link to ") + attribute.value().toString();
            }
        }
    }
    return reader.hasError() ? reader.errorString() : QString();
}

} // namespace

class NotebookWindowTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void visitedPlacesComeByThemselves()
    {
        Window w;
        views::NotebookModel& items = w.notebook.items();
        QCOMPARE(items.rowCount(), 1); // where the run ended
        for (std::uint64_t position = 0; position < 20; ++position) {
            w.window.cursor().moveTo(position); // scrubbing
        }
        QTRY_COMPARE_WITH_TIMEOUT(items.rowCount(), 2, kPatience);
        w.window.selection().selectNode(base::NodeId(std::uint32_t{tests::kAdd}));
        w.go(30);
        QCOMPARE(items.rowCount(), 3);
        w.press("go.historyback");
        w.window.shell().history().settle();
        QCOMPARE(items.rowCount(), 3); // no new place
        QCOMPARE(w.window.cursor().position(), std::uint64_t{19});
        w.window.model().clear();
        w.window.shell().history().settle();
        QCOMPARE(items.rowCount(), 0);
        QVERIFY(!w.window.actions().at("go.note").isEnabled());
    }

    void pinnedPlacesAreSavedAndComeBack()
    {
        const QTemporaryDir folder;
        const QString file = folder.filePath("noted.retro");
        Window w;
        w.go(12);
        w.window.selection().selectNode(base::NodeId(std::uint32_t{tests::kConv2}));
        w.pin("here & <there>");
        QCOMPARE(w.window.workspace().id(), QStringLiteral("engine"));
        QVERIFY(w.notebook.isVisible());
        const std::vector<trace::Note> notes = w.notebook.items().notes();
        QCOMPARE(notes.size(), std::size_t{1});
        const QSignalSpy saved(&w.window.engine(), &app::EngineWorker::saved);
        w.window.engine().saveRun(w.window.model().sharedRun(), file, notes);
        QTRY_COMPARE_WITH_TIMEOUT(saved.count(), 1, kPatience);

        app::MainWindow other;
        other.show();
        other.open(file);
        QVERIFY(QTest::qWaitFor([&] { return !other.isBusy(); }, kPatience));
        QVERIFY2(other.lastError().isEmpty(), qPrintable(other.lastError()));
        views::NotebookView& read = other.findChild<app::EngineWorkspace*>()->notebook();
        QVERIFY(read.items().notes() == notes);
        read.goTo(0);
        QCOMPARE(other.cursor().position(), std::uint64_t{12});
        QVERIFY(other.selection().node() == base::NodeId(std::uint32_t{tests::kConv2}));
    }

    void thePaletteFindsIt()
    {
        Window w;
        w.window.showWorkspace("explain");
        w.press("view.palette");
        auto& palette = w.window.shell().palette();
        QTest::keyClicks(&palette.field(), "notebook");
        QTest::keyClick(&palette.field(), Qt::Key_Return);
        QVERIFY(!palette.isVisible());
        QCOMPARE(w.window.workspace().id(), QStringLiteral("engine"));
    }

    void everythingIsExportedIntoAFolder()
    {
        const QTemporaryDir folder;
        Window w;
        w.pin("kept");
        RETRO_MADE(all, w.window.findChild<app::ExportAll*>());
        QSignalSpy said(all, &app::ExportAll::said);
        const QSignalSpy failed(all, &app::ExportAll::failed);
        const QStringList names = all->fileNames();
        for (const char* name : {"heatmap.png", "graph.svg", "timeline.svg", "log.csv", "notebook.md", "layers.png"}) {
            QVERIFY2(names.contains(QLatin1String(name)), qPrintable(names.join(' ')));
        }
        all->start(folder.path());
        QVERIFY(all->isRunning());
        QTRY_COMPARE_WITH_TIMEOUT(said.count(), 1, kPatience);
        QVERIFY(failed.isEmpty() && !all->isRunning());
        const QString sentence = said.front().front().toString();
        QStringList there = QDir(folder.path()).entryList(QDir::Files | QDir::Hidden, QDir::Name);
        QVERIFY(there.size() >= 9);
        for (const QString& file : there) {
            QVERIFY2(names.contains(file) && sentence.contains(file), qPrintable(file)); // nothing half-written
            QVERIFY2(QFileInfo(folder.filePath(file)).size() > 20, qPrintable(file));
        }
        const QString empty = sentence.section(QStringLiteral("nothing to write in"), 1);
        QVERIFY2(empty.contains("Compare"), qPrintable(sentence)); // there is no control model
        QVERIFY(!there.contains("compare.png"));
    }

    void whatCannotBeExportedIsSaid()
    {
        app::MainWindow empty;
        auto* all = empty.findChild<app::ExportAll*>();
        const QSignalSpy failed(all, &app::ExportAll::failed);
        const QTemporaryDir folder;
        all->start(folder.path());
        QTRY_COMPARE_WITH_TIMEOUT(failed.count(), 1, kPatience);
        QVERIFY(QDir(folder.path()).isEmpty());
        Window w;
        all = w.window.findChild<app::ExportAll*>();
        const QSignalSpy refused(all, &app::ExportAll::failed);
        const QSignalSpy said(all, &app::ExportAll::said);
        all->start(folder.filePath("no/such/folder"));
        QTRY_COMPARE_WITH_TIMEOUT(refused.count(), 1, kPatience);
        QVERIFY(said.isEmpty() && !all->isRunning());
    }

    void theWindowMayGoWhileAllIsExported()
    {
        const QTemporaryDir folder;
        {
            Window w;
            w.window.findChild<app::ExportAll*>()->start(folder.path());
            QCoreApplication::processEvents();
        }
        for (const QString& file : QDir(folder.path()).entryList(QDir::Files | QDir::Hidden)) {
            QVERIFY2(!file.contains(".tmp"), qPrintable(file));
        }
    }

    void aReportHoldsTheRunAndItsNotes()
    {
        const QTemporaryDir folder;
        Window w;
        w.go(12);
        w.pin("here & <there> \"x\" %1");
        const std::uint64_t position = w.window.cursor().position();
        const QString before = w.window.styleSheet();
        const bool wasDark = views::ThemeHub::instance().theme().isDark();
        RETRO_MADE(done, w.window.exportReport(folder.filePath("r.html")));
        QCOMPARE(w.window.cursor().position(), position); // the window stays where it is
        QCOMPARE(w.window.model().position(), position);
        QCOMPARE(views::ThemeHub::instance().theme().isDark(), wasDark);
        const QString html = QString::fromUtf8(tests::bytesIn(folder.filePath("r.html")));
        QString text;
        const QString fault = faultOf(html, text);
        QVERIFY2(fault.isEmpty(), qPrintable(fault));
        QVERIFY2(text.contains("here & <there> \"x\" %1"), qPrintable(text.right(2000)));
        for (const char* word : {"Best classes", "jug", "Timeline", "Ledger", "bias", "fc", "Retrograde "}) {
            QVERIFY2(text.contains(QLatin1String(word)), word);
        }
        QCOMPARE(html.count("<img "), 3);
        QCOMPARE(html.count("<source "), 2); // timeline and ledger in dark
        QVERIFY(html.contains("prefers-color-scheme: dark") && html.contains("@media print"));
        QVERIFY(!w.window.exportReport(folder.filePath("r.pdf")).ok());
        QVERIFY(!w.window.exportReport(folder.filePath("no/such/r.html")).ok());
        QCOMPARE(QDir(folder.path()).entryList(QDir::Files | QDir::Hidden), QStringList{"r.html"});
        w.window.model().clear();
        QVERIFY(!w.window.exportReport(folder.filePath("none.html")).ok());
    }

    void namesMayBeAnything()
    {
        QCOMPARE(app::htmlText("<a href='x'>\"&amp;\""),
                 QStringLiteral("&lt;a href=&#39;x&#39;&gt;&quot;&amp;amp;&quot;"));
        QCOMPARE(app::htmlText(QString(QChar(0)) + QChar(0xD800) + QStringLiteral("\x07\tx\uFFFE")),
                 QStringLiteral("\uFFFD\uFFFD\uFFFD\tx\uFFFD"));
        QCOMPARE(app::htmlText(QString::fromUcs4(U"\U0001F600")), QString::fromUcs4(U"\U0001F600"));
        const views::RunHandle tiny = tests::makeTinyRun();
        auto run = std::make_shared<trace::Run>(*tiny.run);
        run->facts.modelName = "</title><script>alert(1)</script> %1 \x01\xff";
        run->facts.composite = "a\"b'c&d<e>";
        run->facts.labels = {"<i>mug</i>", "&lt;", std::string("z\0z", 3)};
        RETRO_MADE(timeline, trace::Timeline::open(run));
        const views::RunHandle handle{run, std::make_shared<trace::Timeline>(std::move(timeline).value())};
        const std::vector<trace::Note> notes{{1, trace::NoteSubject::Nothing, 0, "]]> <!-- \x02"}};
        RETRO_MADE(html, app::reportHtml(handle, notes));
        QString text;
        const QString fault = faultOf(*html, text);
        QVERIFY2(fault.isEmpty(), qPrintable(fault));
        QVERIFY(!html->contains("<script") && !html->contains("<i>"));
        QVERIFY(text.contains("</title><script>alert(1)</script> %1"));
        QVERIFY(text.contains("a\"b'c&d<e>") && text.contains("]]> <!--"));
    }
};

QTEST_MAIN(NotebookWindowTest)
#include "notebooktest.moc"
