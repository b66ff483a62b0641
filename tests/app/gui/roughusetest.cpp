// SPDX-License-Identifier: Apache-2.0
// What people do to a window: odd pictures, dropped files, names without end, other scripts, keys alone.
#include <QtTest>

#include "app/gui/controllers/diagnosecontroller.h"
#include "app/gui/shell/problemscontroller.h"
#include "app/gui/shell/shell.h"
#include "app/gui/window/mainwindow.h"
#include "app/gui/window/planworkspace.h"
#include "app/gui/window/workspaces.h"
#include "core/trace/nodesteps.h"
#include "tests/app/gui/settles.h"
#include "views/common/widgets/breakpointlist.h"
#include "views/diagnose/diagnoseview.h"
#include "views/diagnose/findingrow.h"
#include "views/palette/commandpalette.h"
#include "views/plan/planmodel.h"
#include "views/problems/problemspanel.h"

#include <QDropEvent>
#include <QImage>
#include <QLineEdit>
#include <QMimeData>
#include <QTemporaryDir>

using namespace retro;
using tests::kPatience;
using tests::settles;

namespace
{

const QString kSamples = QStringLiteral(RETRO_SOURCE_DIR "/samples/clever-hans/");

bool writeFile(const QString& path, const QByteArray& bytes)
{
    QFile file(path);
    return file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size();
}

QByteArray readFile(const QString& path)
{
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

/// The head of a picture that says it is as large as this, without pixels.
QByteArray hugePicture(quint32 side)
{
    QByteArray bytes = readFile(kSamples + QStringLiteral("jug.png"));
    for (int i = 0; i < 4; ++i) {
        bytes[16 + i] = static_cast<char>(side >> (8 * (3 - i)));
        bytes[20 + i] = bytes[16 + i];
    }
    return bytes;
}

bool drop(QWidget& window, const QStringList& files)
{
    QMimeData data;
    QList<QUrl> urls;
    for (const QString& file : files) {
        urls.append(QUrl::fromLocalFile(file));
    }
    data.setUrls(urls);
    QDragEnterEvent enter(QPoint(9, 9), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(&window, &enter);
    if (enter.isAccepted()) {
        QDropEvent event(QPointF(9, 9), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(&window, &event);
    }
    return enter.isAccepted();
}

QString predicted(app::MainWindow& window)
{
    return window.model().hasRun() ? window.model().className(window.model().run().facts.targetIndex.front())
                                   : QString(); // nothing was run: the comparison says so
}

/// The sample with other names for its classes, in a folder of its own.
QString modelWithLabels(const QTemporaryDir& folder, const QString& fileName, const QStringList& labels)
{
    const QString model = folder.filePath(fileName + QStringLiteral(".onnx"));
    QByteArray card = readFile(kSamples + QStringLiteral("clever-hans.card.json"));
    const QByteArrayList plain{"\"mug\"", "\"jug\"", "\"lamp\"", "\"boat\"", "\"chair\"", "\"car\""};
    for (int i = 0; i < plain.size(); ++i) {
        card.replace(plain[i], '"' + labels[i].toUtf8() + '"');
    }
    card.replace("clever-hans.onnx", (fileName + QStringLiteral(".onnx")).toUtf8());
    card.replace("\"control.onnx\"", "null");
    const bool isThere = QFile::copy(kSamples + QStringLiteral("clever-hans.onnx"), model) &&
                         writeFile(folder.filePath(fileName + QStringLiteral(".card.json")), card) &&
                         QFile::copy(kSamples + QStringLiteral("jug-tagged.png"), folder.filePath("jug-tagged.png"));
    return isThere ? model : QString();
}

/// Presses a key where the keyboard is.
void press(Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::NoModifier)
{
    QWidget* focus = QApplication::focusWidget();
    QVERIFY(focus != nullptr);
    QTest::keyClick(focus, key, modifiers);
}

void showActive(app::MainWindow& window)
{
    window.resize(1280, 800);
    window.show();
    window.activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(&window, kPatience));
}

/// By the palette, as somebody without a mouse does it.
void command(app::MainWindow& window, const QString& words)
{
    press(Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
    auto* palette = window.findChild<views::CommandPalette*>();
    QTRY_VERIFY(palette->isVisible());
    QTest::keyClicks(palette->findChild<QLineEdit*>(), words);
    QTest::keyClick(palette->findChild<QLineEdit*>(), Qt::Key_Return);
    QTRY_VERIFY(!palette->isVisible());
}

} // namespace

class RoughUseTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase()
    {
        QVERIFY(m_settings.isValid());
        tests::keepSettingsIn(m_settings);
    }

    void wrongPicturesAreRefusedByName_data()
    {
        QTest::addColumn<QByteArray>("bytes");
        const QByteArray good = readFile(kSamples + QStringLiteral("jug.png"));
        QVERIFY(good.size() > 1000);
        QTest::newRow("empty") << QByteArray();
        QTest::newRow("cut") << good.left(400);
        QTest::newRow("text") << QByteArray("this is no picture");
        QTest::newRow("huge") << hugePicture(400'000);
        QTest::newRow("html") << QByteArray("<!DOCTYPE html><html><body>404</body></html>");
    }

    void wrongPicturesAreRefusedByName()
    {
        QFETCH(QByteArray, bytes);
        const QTemporaryDir folder;
        const QString file = folder.filePath(QStringLiteral("holiday.png"));
        QVERIFY(writeFile(file, bytes));
        app::MainWindow window;
        window.show();
        window.open({});
        QVERIFY(settles(window));
        const std::uint64_t events = window.model().run().eventCount();
        window.explainInput(file);
        QVERIFY(settles(window));
        QVERIFY2(window.lastError().contains(QStringLiteral("holiday.png")), qPrintable(window.lastError()));
        QCOMPARE(window.model().run().eventCount(), events); // the last good run stays
        QVERIFY(!window.shell().problems().list().all().empty());
        window.explainInput(kSamples + QStringLiteral("jug.png"));
        RETRO_SETTLES(window);
        QVERIFY(window.shell().problems().list().all().empty());
    }

    void oddPicturesAreExplained_data()
    {
        QTest::addColumn<int>("width");
        QTest::addColumn<int>("height");
        QTest::addColumn<int>("format");
        QTest::newRow("one pixel") << 1 << 1 << static_cast<int>(QImage::Format_RGB32);
        QTest::newRow("a line") << 1500 << 2 << static_cast<int>(QImage::Format_RGB32);
        QTest::newRow("grey") << 60 << 90 << static_cast<int>(QImage::Format_Grayscale8);
        QTest::newRow("16 bits") << 96 << 96 << static_cast<int>(QImage::Format_Grayscale16);
        QTest::newRow("see-through") << 120 << 80 << static_cast<int>(QImage::Format_ARGB32);
        QTest::newRow("black and white") << 33 << 57 << static_cast<int>(QImage::Format_Mono);
    }

    void oddPicturesAreExplained()
    {
        QFETCH(int, width);
        QFETCH(int, height);
        QFETCH(int, format);
        const QTemporaryDir folder;
        QImage image(width, height, static_cast<QImage::Format>(format));
        image.fill(Qt::white);
        const QString file = folder.filePath(QStringLiteral("odd.png"));
        QVERIFY(image.save(file));
        app::MainWindow window;
        window.show();
        window.open({});
        QVERIFY(settles(window));
        window.explainInput(file);
        RETRO_SETTLES(window);
        QCOMPARE(window.model().input().fileName, QStringLiteral("odd.png"));
        window.flush();
    }

    void dropsAreTakenOrRefused()
    {
        const QTemporaryDir folder;
        QVERIFY(writeFile(folder.filePath(QStringLiteral("notes.txt")), "milk, bread"));
        app::MainWindow window;
        window.show();
        window.open({});
        QVERIFY(settles(window));
        QVERIFY(drop(window, {kSamples + QStringLiteral("jug.png")})); // a picture for the model that is open
        QVERIFY(settles(window));
        QCOMPARE(predicted(window), QStringLiteral("jug"));
        QVERIFY(drop(window, {kSamples + QStringLiteral("jug.png"), kSamples + QStringLiteral("mug.png")}));
        QVERIFY2(window.lastError().contains(QStringLiteral("one at a time")), qPrintable(window.lastError()));
        QVERIFY(!drop(window, {}));
        QVERIFY(drop(window, {folder.filePath(QStringLiteral("notes.txt"))}));
        QVERIFY(settles(window));
        QVERIFY2(window.lastError().contains(QStringLiteral("notes.txt")), qPrintable(window.lastError()));
        QVERIFY(drop(window, {folder.path()}));
        QVERIFY(settles(window));
        QVERIFY(!window.lastError().isEmpty());
        QCOMPARE(predicted(window), QStringLiteral("jug")); // what was there stays
        // While one is being explained, the next one wins.
        QVERIFY(drop(window, {kSamples + QStringLiteral("mug.png")}));
        QVERIFY(drop(window, {kSamples + QStringLiteral("clever-hans.onnx")}));
        QVERIFY(drop(window, {kSamples + QStringLiteral("boat.png")}));
        QVERIFY(settles(window));
        QVERIFY(window.model().hasRun());
    }

    void cancellingKeepsWhatIsThere()
    {
        app::MainWindow window;
        window.show();
        window.open({});
        QVERIFY(settles(window));
        const QString before = predicted(window);
        window.explainInput(kSamples + QStringLiteral("boat.png"));
        window.actions().at(QStringLiteral("run.stop")).trigger();
        QVERIFY(settles(window));
        QVERIFY(window.model().hasRun());
        QVERIFY(predicted(window) == before || predicted(window) == QStringLiteral("boat"));
        QVERIFY2(window.lastError().isEmpty(), qPrintable(window.lastError()));
        window.explainInput(kSamples + QStringLiteral("jug.png"));
        QVERIFY(settles(window));
        QCOMPARE(predicted(window), QStringLiteral("jug"));
    }

    /// Also before there is a plan, while it is worked out what there is to plan for.
    void escapeStopsAPlan()
    {
        app::MainWindow window;
        window.show();
        window.open({});
        QVERIFY(settles(window));
        window.showWorkspace(QStringLiteral("plan"));
        window.flush();
        QCOMPARE(window.plan().state(), views::PlanState::Loading);
        window.actions().at(QStringLiteral("run.stop")).trigger();
        QCOMPARE(window.plan().state(), views::PlanState::Absent);
        QVERIFY2(window.plan().absence().startsWith(QStringLiteral("Stopped")), qPrintable(window.plan().absence()));
        QVERIFY(window.model().hasRun());
    }

    void namesWithoutEndAndOtherScripts_data()
    {
        QTest::addColumn<QString>("file");
        QTest::addColumn<QStringList>("labels");
        QStringList endless;
        for (int i = 0; i < 6; ++i) {
            endless.append(QStringLiteral("class %1 ").arg(i) + QString(400, QLatin1Char('w')));
        }
        QTest::newRow("endless") << QString(200, QLatin1Char('m')) << endless;
        QTest::newRow("hebrew") << QStringLiteral("דגם ראשון")
                                << QStringList{QStringLiteral("ספל"),   QStringLiteral("כד"),
                                               QStringLiteral("מנורה"), QStringLiteral("סירה"),
                                               QStringLiteral("כיסא"),  QStringLiteral("מכונית")};
        QTest::newRow("arabic") << QStringLiteral("نموذج")
                                << QStringList{QStringLiteral("كوب"),   QStringLiteral("إبريق"),
                                               QStringLiteral("مصباح"), QStringLiteral("قارب"),
                                               QStringLiteral("كرسي"),  QStringLiteral("سيارة")};
        QTest::newRow("wide") << QStringLiteral("模型")
                              << QStringList{QStringLiteral("杯子"), QStringLiteral("水壶"), QStringLiteral("灯"),
                                             QStringLiteral("船"),   QStringLiteral("椅子"), QStringLiteral("汽车 🚗")};
        QTest::newRow("markup") << QStringLiteral("a<b>&amp;%1")
                                << QStringList{QStringLiteral("<b>mug</b>"),  QStringLiteral("%1 %2"),
                                               QStringLiteral("&lamp"),       QStringLiteral("a\\nb"),
                                               QStringLiteral("<img src=x>"), QStringLiteral("%n")};
    }

    /// The window keeps its size, every workspace paints, and the name is what the card says.
    void namesWithoutEndAndOtherScripts()
    {
        QFETCH(QString, file);
        QFETCH(QStringList, labels);
        const QTemporaryDir folder;
        const QString model = modelWithLabels(folder, file, labels);
        QVERIFY(!model.isEmpty());
        app::MainWindow window;
        const QSize size(1280, 800);
        window.resize(size);
        window.show();
        window.open(model);
        RETRO_SETTLES(window);
        QCOMPARE(predicted(window), QString(labels.front()).replace(QStringLiteral("\\n"), QStringLiteral("\n")));
        QVERIFY(window.windowTitle().contains(file));
        QVERIFY2(!window.windowTitle().isRightToLeft(), qPrintable(window.windowTitle())); // it ends in our name
        for (const QString& id : app::MainWindow::workspaceIds()) {
            window.showWorkspace(id);
            QCoreApplication::processEvents();
            window.flush();
            QVERIFY(!window.grab().isNull());
            QCOMPARE(window.size(), size);
        }
        keepPicture(window, QLatin1String(QTest::currentDataTag()));
        window.showWorkspace(QStringLiteral("explain"));
        keepPicture(window, QLatin1String(QTest::currentDataTag()) + QStringLiteral("-explain"));
    }

    /// From the first page to a covered tag and back, by keys alone.
    void explainByKeysAlone()
    {
        app::MainWindow window;
        showActive(window);
        press(Qt::Key_Return); // Open and run has the keyboard
        QVERIFY(settles(window));
        QCOMPARE(predicted(window), QStringLiteral("mug"));
        window.actions().at(QStringLiteral("window.dock1")).trigger();
        command(window, QStringLiteral("cover the tag"));
        QVERIFY(settles(window));
        QCOMPARE(predicted(window), QStringLiteral("jug"));
        press(Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(settles(window));
        QCOMPARE(predicted(window), QStringLiteral("mug"));
        press(Qt::Key_Home); // the layers, from the score on
        QCOMPARE(window.cursor().position(), std::uint64_t{0});
        press(Qt::Key_F11);
        QVERIFY(window.cursor().position() > 0);
    }

    void engineByKeysAlone()
    {
        app::MainWindow window;
        showActive(window);
        press(Qt::Key_Return);
        QVERIFY(settles(window));
        press(Qt::Key_2, Qt::ControlModifier | Qt::AltModifier);
        QCOMPARE(window.workspace().id(), QStringLiteral("engine"));
        window.actions().at(QStringLiteral("window.dock1")).trigger();
        press(Qt::Key_Home);
        QCOMPARE(window.cursor().position(), std::uint64_t{0});
        press(Qt::Key_F11);
        const std::uint64_t first = window.cursor().position();
        QVERIFY(first > 0);
        press(Qt::Key_F11, Qt::ShiftModifier);
        QCOMPARE(window.cursor().position(), std::uint64_t{0});
        press(Qt::Key_F8); // a promise is fulfilled
        const std::uint64_t fulfilled = window.cursor().position();
        QVERIFY(fulfilled > first);
        press(Qt::Key_F9); // a breakpoint here
        QCOMPARE(window.breakpoints().active().size(), std::size_t{1});
        press(Qt::Key_Home);
        press(Qt::Key_F5);
        const std::uint64_t stop = window.cursor().position();
        QVERIFY(stop > 0 && stop < window.cursor().end());
        press(Qt::Key_Z, Qt::ControlModifier); // and taken back
        QCOMPARE(window.breakpoints().active().size(), std::size_t{0});
        press(Qt::Key_End);
        QCOMPARE(window.cursor().position(), window.cursor().end());
    }

    void planByKeysAlone()
    {
        app::MainWindow window;
        showActive(window);
        press(Qt::Key_Return);
        QVERIFY(settles(window));
        press(Qt::Key_3, Qt::ControlModifier | Qt::AltModifier);
        QCOMPARE(window.workspace().id(), QStringLiteral("plan"));
        QVERIFY(QTest::qWaitFor([&] { return window.plan().plan() != nullptr; }, kPatience));
        window.actions().at(QStringLiteral("window.dock1")).trigger();
        press(Qt::Key_Home, Qt::ControlModifier | Qt::AltModifier);
        QCOMPARE(window.plan().step(), 0U);
        press(Qt::Key_Right, Qt::ControlModifier | Qt::AltModifier);
        QCOMPARE(window.plan().step(), 1U);
        press(Qt::Key_End, Qt::ControlModifier | Qt::AltModifier);
        QCOMPARE(std::size_t{window.plan().step()} + 1, window.plan().plan()->matrix.columns().size());
    }

    /// From finding to finding, and to what one is about.
    void diagnoseByKeysAlone()
    {
        app::MainWindow window;
        showActive(window);
        press(Qt::Key_Return);
        QVERIFY(settles(window));
        QVERIFY(QTest::qWaitFor([&] { return !window.diagnosis().isChecking(); }, kPatience));
        window.actions().at(QStringLiteral("window.dock1")).trigger();
        press(Qt::Key_D, Qt::ControlModifier);
        const auto* pane = window.workspace().findChild<views::DiagnoseView*>();
        QVERIFY(QTest::qWaitFor([&] { return !window.diagnosis().isChecking(); }, kPatience));
        window.flush();
        QVERIFY(!pane->rows().empty());
        QTRY_VERIFY(pane->isAncestorOf(QApplication::focusWidget()));
        press(Qt::Key_Down, Qt::AltModifier);
        QVERIFY(pane->currentRow() != nullptr);
        QVERIFY(pane->currentRow()->hasFocus());
        window.selection().clear();
        press(Qt::Key_Return);
        QVERIFY(!window.selection().isEmpty());
    }

    void kernelsByKeysAlone()
    {
        app::MainWindow window;
        showActive(window);
        command(window, QStringLiteral("lut digits"));
        RETRO_SETTLES(window);
        QVERIFY(window.model().hasRun());
        press(Qt::Key_4, Qt::ControlModifier | Qt::AltModifier);
        QCOMPARE(window.workspace().id(), QStringLiteral("kernels"));
        window.actions().at(QStringLiteral("window.dock1")).trigger();
        press(Qt::Key_Home);
        press(Qt::Key_F11);
        QVERIFY(window.cursor().position() > 0);
    }

private:
    /// Saves what is on screen when pictures are wanted: to be looked at, not compared.
    static void keepPicture(app::MainWindow& window, const QString& name)
    {
        const QString folder = qEnvironmentVariable("RETRO_PICTURES");
        if (!folder.isEmpty()) {
            QCoreApplication::processEvents();
            window.flush();
            QVERIFY(window.grab().save(folder + QLatin1Char('/') + name + QStringLiteral(".png")));
        }
    }

    QTemporaryDir m_settings;
};

QTEST_MAIN(RoughUseTest)
#include "roughusetest.moc"
