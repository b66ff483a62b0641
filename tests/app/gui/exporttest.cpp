// SPDX-License-Identifier: Apache-2.0
// The menu Export: every view in every form, from whichever workspace is on screen.
#include <QtTest>

#include "app/common/exports.h"
#include "app/gui/controllers/explainerexport.h"
#include "app/gui/controllers/exportcontroller.h"
#include "app/gui/shell/history.h"
#include "app/gui/shell/shell.h"
#include "app/gui/window/mainwindow.h"
#include "app/gui/window/workspaces.h"
#include "core/engine/model/loadmodel.h"
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/common/view.h"

#include <QDockWidget>
#include <QImageReader>
#include <QTemporaryDir>

#include <set>

using namespace retro;

namespace
{

struct Wanted
{
    const char* id;
    const char* formats;
};

constexpr std::array kWanted{
    Wanted{"export.heatmap", "png svg pdf html csv npy jpg"},
    Wanted{"export.graph", "svg png pdf dot json"},
    Wanted{"export.timeline", "svg png pdf csv"},
    Wanted{"export.ledger", "csv png svg pdf"},
    Wanted{"export.layers", "png svg pdf csv"},
    Wanted{"export.classes", "csv png svg pdf html"},
    Wanted{"export.promises", "csv json"},
    Wanted{"export.log", "csv json"},
    Wanted{"export.notebook", "md"},
};

QByteArray startOf(const QString& path)
{
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.read(200) : QByteArray();
}

/// Whether a file is what its ending says and not blank.
bool isWhole(const QString& path, const QString& format)
{
    const QByteArray start = startOf(path);
    if (format == QLatin1String("png")) {
        const QImage image(path);
        return image.width() >= 100 && image.height() >= 60 && tests::colorCount(image) > 3;
    }
    if (format == QLatin1String("svg")) {
        return start.contains("<svg") || start.startsWith("<?xml");
    }
    if (format == QLatin1String("pdf")) {
        return start.startsWith("%PDF");
    }
    if (format == QLatin1String("html")) {
        return start.startsWith("<!doctype html>");
    }
    return format == QLatin1String("csv") ? start.contains(',') && start.contains('\n') : !start.isEmpty();
}

} // namespace

class ExportTest : public QObject
{
    Q_OBJECT
private slots:
    void initTestCase() { tests::installLook(); }

    void theExplanationIsWrittenAsAModel()
    {
        const QTemporaryDir folder;
        app::MainWindow window;
        auto* exports = window.findChild<app::ExplainerExport*>();
        QSignalSpy said(exports, &app::ExplainerExport::said);
        window.actions().at("export.explainer").trigger(); // no model is open: no dialog, a sentence
        QCOMPARE(said.count(), 1);
        QSignalSpy settled(&window, &app::MainWindow::settled);
        window.open({});
        QTRY_VERIFY_WITH_TIMEOUT(settled.count() > 0, 120'000);
        QSignalSpy wrote(exports, &app::ExplainerExport::wrote);
        QSignalSpy failed(exports, &app::ExplainerExport::failed);
        const QString path = folder.filePath("explainer.onnx");
        exports->write(path);
        QTRY_VERIFY_WITH_TIMEOUT(wrote.count() + failed.count() == 1, 120'000);
        QCOMPARE(wrote.count(), 1);
        RETRO_MADE(model, engine::loadModel(path.toStdString()));
        const graph::Graph& graph = *(*model)->graph();
        QVERIFY(graph.findValue("relevance/image").has_value());
        exports->write(folder.filePath("explainer.png"));
        QTRY_VERIFY_WITH_TIMEOUT(failed.count() == 1, 120'000);
        QVERIFY(!QFileInfo::exists(folder.filePath("explainer.png")));
    }

    void everyEntryWritesEveryFormat_data()
    {
        QTest::addColumn<QString>("workspace");
        QTest::newRow("from Explain") << "explain"; // the panes of Engine were never on screen
        QTest::newRow("from Engine") << "engine";
    }
    void everyEntryWritesEveryFormat()
    {
        QFETCH(QString, workspace);
        const QTemporaryDir folder;
        app::MainWindow window;
        window.resize(1400, 900);
        window.show();
        window.showWorkspace(workspace);
        window.model().setRun(tests::makeTinyRun(), tests::makeTinyInput());
        window.shell().history().settle(); // a place for the notebook
        window.flush();
        for (const Wanted& wanted : kWanted) {
            const QString id = QLatin1String(wanted.id);
            const QStringList formats = QString::fromLatin1(wanted.formats).split(QLatin1Char(' '));
            const views::View* view = window.exports().viewOf(id);
            QVERIFY2(view != nullptr, wanted.id);
            QCOMPARE(std::string(app::exportOf(*view)->endings), std::string(wanted.formats));
            for (const QString& format : formats) {
                const QString path = folder.filePath(id + QLatin1Char('.') + format);
                RETRO_MADE(done, window.exports().write(id, path));
                QVERIFY2(isWhole(path, format), qPrintable(path));
            }
        }
    }

    void everyPictureSaysWhereItComesFrom()
    {
        const QTemporaryDir folder;
        app::MainWindow window;
        window.resize(1400, 900);
        window.show();
        window.model().setRun(tests::makeTinyRun(), tests::makeTinyInput());
        window.flush();
        const QString step = QString::number(window.model().position());
        for (const Wanted& wanted : kWanted) {
            const QString id = QLatin1String(wanted.id);
            if (!QString::fromLatin1(wanted.formats).contains(QLatin1String("png"))) {
                continue;
            }
            const QString png = folder.filePath(id + QStringLiteral(".png"));
            QVERIFY(window.exports().write(id, png).ok());
            QImageReader reader(png);
            for (const char* key : {"model", "model_hash", "rules", "software"}) {
                QVERIFY2(!reader.text(QLatin1String(key)).isEmpty(), qPrintable(id + QLatin1Char(' ') + key));
            }
            QVERIFY2(reader.text("model_hash").size() == 16, qPrintable(reader.text("model_hash")));
            QVERIFY2(reader.text("software").startsWith("Retrograde 0."), qPrintable(reader.text("software")));
            QCOMPARE(reader.text("step"), step);
            for (const char* ending : {".svg", ".pdf"}) {
                const QString path = folder.filePath(id + QLatin1String(ending));
                QVERIFY(window.exports().write(id, path).ok());
                const QByteArray bytes = tests::bytesIn(path);
                QVERIFY2(bytes.contains("model_hash: " + reader.text("model_hash").toUtf8()), qPrintable(path));
            }
        }
    }

    void partsOfTheGraph()
    {
        const QTemporaryDir folder;
        app::MainWindow window;
        window.resize(1400, 900);
        window.show();
        window.showWorkspace("engine");
        window.model().setRun(tests::makeTinyRun(), tests::makeTinyInput());
        window.flush();
        const QString path = folder.filePath("part.png");
        window.selection().clear();
        const auto nothing = window.exports().write("export.graphselection", path);
        QVERIFY(!nothing.ok() && nothing.error().code == base::ErrorCode::Usage);
        window.selection().selectNode(base::NodeId(std::uint32_t{tests::kConv2}));
        QVERIFY(window.exports().write("export.graphselection", path).ok());
        const QImage one(path);
        QVERIFY(window.exports().write("export.graph", path).ok());
        const QImage all(path);
        QVERIFY(one.height() < all.height() / 3);
        QVERIFY(!one.text("model_hash").isEmpty());
        window.actions().at("view.zoomin").trigger();
        QVERIFY(window.exports().write("export.graphsight", path).ok());
        const QImage sight(path);
        QVERIFY(!sight.isNull() && sight.size() != all.size());
        for (const char* ending : {"svg", "pdf"}) {
            const QString drawing = folder.filePath(QStringLiteral("part.") + QLatin1String(ending));
            QVERIFY(window.exports().write("export.graphselection", drawing).ok());
            QVERIFY(isWhole(drawing, QLatin1String(ending)));
        }
        QVERIFY(!window.exports().write("export.graphselection", folder.filePath("part.dot")).ok());
    }

    void levelsStandForTheNumbers()
    {
        const QTemporaryDir folder;
        app::MainWindow window;
        window.model().setRun(tests::makeTinyRun(), tests::makeTinyInput());
        window.show();
        window.flush();
        const QString path = folder.filePath("levels.png");
        RETRO_MADE(done, window.exports().write("export.levels", path));
        QVERIFY(!window.exports().write("export.levels", folder.filePath("levels.svg")).ok());
        const QImage levels(path);
        QCOMPARE(levels.format(), QImage::Format_Grayscale16);
        QVERIFY(window.exports().write("export.heatmap", folder.filePath("values.csv")).ok());
        const QStringList lines = QString::fromUtf8(tests::bytesIn(folder.filePath("values.csv")))
                                      .split(QLatin1Char('\n'), Qt::SkipEmptyParts);
        const double scale = levels.text("scale").toDouble();
        QVERIFY(scale > 0);
        for (int i = 1; i < lines.size(); ++i) { // x, y, relevance
            const QStringList cells = lines[i].split(QLatin1Char(','));
            const auto* row = reinterpret_cast<const quint16*>(levels.constScanLine(cells[1].toInt()));
            const double read = (row[cells[0].toInt()] - 32768) * scale / 32767;
            QVERIFY(std::abs(read - cells[2].toDouble()) <= scale / 32767);
        }
        QCOMPARE(lines.size() - 1, levels.width() * levels.height());
    }

    void everyViewThatWritesIsInTheTable()
    {
        app::MainWindow window;
        window.model().setRun(tests::makeTinyRun(), tests::makeTinyInput());
        std::set<std::string_view> seen;
        for (views::View* view : window.findChildren<views::View*>()) {
            const auto all = app::exports();
            const auto entry = std::ranges::find_if(all, [&](const auto& one) { return app::isOf(one, *view); });
            const auto refused = view->exportTo({});
            const bool writesNothing =
                !refused.ok() && refused.error().text().find("cannot be exported") != std::string::npos;
            QVERIFY2((entry == all.end()) == writesNothing, view->metaObject()->className());
            if (entry == all.end()) {
                continue;
            }
            seen.insert(entry->pane->view);
            const auto other = app::writePane(*entry, *view, "pane.doc"); // the table says how it is written
            QVERIFY(!other.ok() && other.error().text().find(app::wordsOf(entry->endings).back()) != std::string::npos);
        }
        for (const app::Export& one : app::exports()) {
            QVERIFY2(!one.pane || seen.contains(one.pane->view), one.pane->view.data());
            for (const std::string_view ending : app::wordsOf(one.endings)) {
                QVERIFY2(app::titleOfKind(ending) != ending || ending == "json", ending.data());
            }
        }
    }

    void tipsSayHowThingsAreWritten()
    {
        app::MainWindow window;
        QVERIFY(window.actions().at("export.layers").toolTip().contains("layers: PNG, SVG, PDF, CSV"));
        QVERIFY(window.actions().at("export.film").statusTip().endsWith(": GIF, APNG, MP4, WEBM"));
    }

    void theWorkspaceOnScreenComesFirst()
    {
        app::MainWindow window;
        window.showWorkspace("explain");
        const views::View* explain = window.exports().viewOf("export.heatmap");
        window.showWorkspace("engine");
        QVERIFY(window.exports().viewOf("export.heatmap") != explain);
        QVERIFY(window.workspace().isAncestorOf(window.exports().viewOf("export.heatmap")));
    }

    void thePaneThatHasTheKeyboard()
    {
        const QTemporaryDir folder;
        app::MainWindow window;
        window.resize(1400, 900);
        window.show();
        QApplication::setActiveWindow(&window);
        window.model().setRun(tests::makeTinyRun(), tests::makeTinyInput());
        window.flush();
        const auto& docks = window.workspace().docks();
        for (std::size_t i = 0; i < std::min<std::size_t>(docks.size(), 9); ++i) { // so many have a key
            window.actions().at(QStringLiteral("window.dock%1").arg(i + 1)).trigger();
            const auto* view = qobject_cast<views::View*>(docks[i]->widget());
            const auto done = window.exports().write("export.pane", folder.filePath("pane.png"));
            const bool isPicture = view != nullptr && app::exportOf(*view) != nullptr &&
                                   app::hasEnding("pane.png", app::exportOf(*view)->endings);
            const bool hasContent = docks[i]->windowTitle() != QLatin1String("Compare"); // there is no control model
            QCOMPARE(done.ok(), isPicture && hasContent);
        }
        window.actions().at("window.dock1").trigger(); // the run panel shows no data
        const auto refused = window.exports().write("export.pane", folder.filePath("run.png"));
        QVERIFY(!refused.ok() && refused.error().code == base::ErrorCode::Usage);
        QVERIFY(!QFile::exists(folder.filePath("run.png")));
    }

    void whatCannotBeWrittenIsSaid()
    {
        const QTemporaryDir folder;
        app::MainWindow window;
        for (const Wanted& wanted : kWanted) {
            const QString format = QString::fromLatin1(wanted.formats).section(QLatin1Char(' '), 0, 0);
            const QString path = folder.filePath(QStringLiteral("none.") + format);
            QVERIFY2(!window.exports().write(QLatin1String(wanted.id), path).ok(), wanted.id); // nothing is open
            QVERIFY(!QFile::exists(path));
        }
        window.model().setRun(tests::makeTinyRun(), tests::makeTinyInput());
        QVERIFY(!window.exports().write("export.timeline", folder.filePath("no/such/folder/t.csv")).ok());
        QVERIFY(!window.exports().write("export.graph", folder.filePath("graph.doc")).ok());
    }

    void theDialogNamesTheFormats()
    {
        const char* formats = "svg csv";
        QCOMPARE(app::ExportController::filtersOf(formats),
                 QStringLiteral("All of these (*.svg *.csv);;SVG drawing (*.svg);;CSV table (*.csv)"));
        const auto ending = [&](const char* path, const char* filter) {
            return app::ExportController::withEnding(QLatin1String(path), QLatin1String(filter), formats);
        };
        QCOMPARE(ending("a/time", "CSV table (*.csv)"), QStringLiteral("a/time.csv"));
        QCOMPARE(ending("a/time", "All of these (*.svg *.csv)"), QStringLiteral("a/time.svg"));
        QCOMPARE(ending("a/time.svg", "CSV table (*.csv)"), QStringLiteral("a/time.svg"));
        QCOMPARE(ending("", "CSV table (*.csv)"), QString());
    }
};

QTEST_MAIN(ExportTest)
#include "exporttest.moc"
