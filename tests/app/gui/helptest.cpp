// SPDX-License-Identifier: Apache-2.0
// The documentation inside the program: every page and picture is there, links lead somewhere, F1 finds the right one.
#include <QtTest>

#include "app/gui/shell/helpdialog.h"
#include "app/gui/shell/helppages.h"
#include "app/gui/window/mainwindow.h"
#include "app/gui/window/workspaces.h"
#include "tests/views/support/tinyrun.h"
#include "views/common/paint/style.h"
#include "views/graph/graphview.h"
#include "views/inspector/inspectorview.h"

#include <QDir>
#include <QDockWidget>
#include <QRegularExpression>
#include <QScrollBar>
#include <QTextBlock>

using namespace retro;

namespace
{

QString textOf(const QString& file)
{
    QFile read(file);
    return read.open(QIODevice::ReadOnly) ? QString::fromUtf8(read.readAll()) : QString();
}

/// Targets of the links and pictures of a page, without those to the web.
QStringList linksOf(const QString& markdown)
{
    static const QRegularExpression kLink(QStringLiteral("\\]\\(([^)]+)\\)"));
    QStringList links;
    auto at = kLink.globalMatch(markdown);
    while (at.hasNext()) {
        const QString link = at.next().captured(1);
        if (!link.startsWith(QLatin1String("http"))) {
            links << link;
        }
    }
    return links;
}

bool hasHeading(const QString& markdown, const QString& anchor)
{
    static const QRegularExpression kHeading(QStringLiteral("^#+ (.*)$"), QRegularExpression::MultilineOption);
    auto at = kHeading.globalMatch(markdown);
    while (at.hasNext()) {
        if (app::headingAnchor(at.next().captured(1).remove(QLatin1Char('`'))) == anchor) {
            return true;
        }
    }
    return false;
}

/// The page that F1 shows; the dialog is closed again.
QString pageOfF1(app::MainWindow& window)
{
    window.actions().at("help.page").trigger();
    auto* dialog = window.findChild<app::HelpDialog*>();
    if (dialog == nullptr) {
        return {};
    }
    const QString page = dialog->browser().source().fileName();
    delete dialog;
    return page;
}

} // namespace

class HelpTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { views::Style::install(*qApp); }

    void everyPageOfTheFolderIsInTheProgram()
    {
        const QDir folder(QStringLiteral(RETRO_SOURCE_DIR "/docs/windows"));
        QStringList names;
        for (const QString& file : folder.entryList({"*.md"}, QDir::Files, QDir::Name)) {
            names << file.chopped(3);
            QCOMPARE(textOf(app::helpFolder() + "windows/" + file), textOf(folder.filePath(file)));
        }
        QCOMPARE(app::helpPages(), names);
        QVERIFY(names.size() > 15);
    }

    void everyLinkOfEveryPageLeadsSomewhere()
    {
        for (const QString& page : app::helpPages()) {
            const QString file = app::helpFolder() + "windows/" + page + ".md";
            for (const QString& link : linksOf(textOf(file))) {
                const QString name = link.section(QLatin1Char('#'), 0, 0);
                const QString target = name.isEmpty() ? file : QDir::cleanPath(app::helpFolder() + "windows/" + name);
                QVERIFY2(QFile::exists(target), qPrintable(page + ": " + link));
                const QString anchor = link.section(QLatin1Char('#'), 1);
                QVERIFY2(anchor.isEmpty() || hasHeading(textOf(target), anchor), qPrintable(page + ": " + link));
            }
        }
    }

    void everyPageIsShown()
    {
        app::HelpDialog dialog;
        dialog.setAttribute(Qt::WA_DeleteOnClose, false);
        dialog.show();
        for (const QString& page : app::helpPages()) {
            dialog.showPage(page);
            QVERIFY2(!dialog.browser().title().isEmpty(), qPrintable(page));
            QVERIFY2(dialog.browser().document()->characterCount() > 100, qPrintable(page));
            QVERIFY2(dialog.browser().horizontalScrollBar()->maximum() == 0,
                     qPrintable(page)); // nothing beyond the edge
        }
    }

    void aLinkGoesToItsHeading()
    {
        app::HelpDialog dialog;
        dialog.setAttribute(Qt::WA_DeleteOnClose, false);
        dialog.show();
        dialog.showPage("run");
        dialog.browser().setSource(QUrl("explain.md#run-panel"));
        QCOMPARE(dialog.browser().source().fileName(), QStringLiteral("explain.md"));
        QCOMPARE(dialog.browser().textCursor().block().text(), QStringLiteral("Run panel"));
        dialog.browser().setSource(QUrl("../no/such/page.md"));
        QCOMPARE(dialog.browser().source().fileName(), QStringLiteral("explain.md"));
        dialog.browser().backward();
        QCOMPARE(dialog.browser().source().fileName(), QStringLiteral("run.md"));
    }

    void theFocusedViewHasItsPage()
    {
        app::MainWindow window;
        window.resize(1600, 1000);
        window.model().setRun(tests::makeTinyRun(), tests::makeTinyInput());
        window.showWorkspace(QStringLiteral("engine"));
        window.show();
        window.flush();
        for (const QString& workspace : app::MainWindow::workspaceIds()) {
            window.showWorkspace(workspace);
            for (auto* dock : window.workspace().docks()) {
                const QString page = app::helpPageOf(dock->widget());
                QVERIFY2(page != QLatin1String("window") && page != workspace,
                         dock->widget()->metaObject()->className());
                QCOMPARE(app::helpPageOf(dock->titleBarWidget()), page);
            }
        }
        window.showWorkspace(QStringLiteral("engine"));
        QCOMPARE(app::helpPageOf(&window.findChild<views::GraphView*>()->canvas()), QStringLiteral("graph"));
        QCOMPARE(app::helpPageOf(&window.workspace()), QStringLiteral("engine"));
        QCOMPARE(app::helpPageOf(nullptr), QStringLiteral("window"));
        QCOMPARE(window.actions().at("help.page").shortcut(), QKeySequence(Qt::Key_F1));
        window.findChild<views::GraphView*>()->canvas().setFocus();
        QCOMPARE(pageOfF1(window), QStringLiteral("graph.md"));
    }
};

QTEST_MAIN(HelpTest)
#include "helptest.moc"
