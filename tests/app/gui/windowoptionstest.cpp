// SPDX-License-Identifier: Apache-2.0
// The window's command line, and pictures of the window without a person.
#include <QtTest>

#include "app/gui/options.h"
#include "app/gui/window/filefilters.h"

#include <QImage>
#include <QProcess>
#include <QTemporaryDir>

using namespace retro;

namespace
{

struct Answer
{
    int code = -1;
    QString err;
};

Answer window(const QStringList& arguments, const QString& scale = {})
{
    QProcess process;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert(QStringLiteral("QT_QPA_PLATFORM"), QStringLiteral("offscreen"));
    if (!scale.isEmpty()) {
        environment.insert(QStringLiteral("QT_SCALE_FACTOR"), scale);
    }
    process.setProcessEnvironment(environment);
    process.start(QStringLiteral(RETRO_BINARY_DIR "/bin/retrograde"), arguments);
    Answer answer;
    if (process.waitForFinished(90'000)) {
        answer.code = process.exitCode();
    }
    answer.err = QString::fromUtf8(process.readAllStandardError());
    return answer;
}

std::optional<int> parse(std::vector<std::string> words, app::WindowOptions& options)
{
    words.insert(words.begin(), "retrograde");
    std::vector<char*> arguments;
    for (std::string& word : words) {
        arguments.push_back(word.data());
    }
    return app::parseOptions(static_cast<int>(arguments.size()), arguments.data(), options);
}

} // namespace

class WindowOptionsTest : public QObject
{
    Q_OBJECT
private slots:
    /// The first filter is the one that the dialog begins with: what it leaves out cannot be chosen.
    void theOpenDialogOffersAllThatOpens()
    {
        const QString first = app::openFilters().section(QStringLiteral(";;"), 0, 0);
        for (const char* ending : {"*.onnx", "*.json", "*.retro", "*.npz", "*.pickle", "*.pkl"}) {
            QVERIFY2(first.contains(QLatin1String(ending)), ending);
        }
    }

    void reads()
    {
        app::WindowOptions options;
        QVERIFY(!parse({"a.onnx", "--input", "x=b.npy", "--workspace", "engine", "--size", "1280x800", "--step", "7",
                        "--theme", "dark"},
                       options));
        QCOMPARE(options.model, QStringLiteral("a.onnx"));
        QCOMPARE(options.inputs, QStringList{QStringLiteral("x=b.npy")});
        QCOMPARE(options.workspace, QStringLiteral("engine"));
        QCOMPARE(options.size, QSize(1280, 800));
        QCOMPARE(options.step, std::optional<std::uint64_t>(7));
        QCOMPARE(options.stepShare, 0.0);
        app::WindowOptions between;
        QVERIFY(!parse({"--step", "26.5"}, between));
        QCOMPARE(between.step, std::optional<std::uint64_t>(26));
        QCOMPARE(between.stepShare, 0.5);
        QVERIFY(options.theme == views::ThemeChoice::Dark);
        QVERIFY(!parse({"--view", "why", "--action", "cover.tag", "--action", "view.palette"}, options));
        QCOMPARE(options.view, QStringLiteral("why"));
        QCOMPARE(options.actions, (QStringList{"cover.tag", "view.palette"}));
        QVERIFY(!parse({"--watch", "R(a)", "--watch", "V(b).max"}, options));
        QCOMPARE(options.watches, (QStringList{"R(a)", "V(b).max"}));
        QVERIFY(!parse({"net.onnx", "cat.png"}, options));
        QCOMPARE(options.model, QStringLiteral("net.onnx"));
        QCOMPARE(options.inputs, QStringList{"cat.png"});
        QVERIFY(!parse({"--note", "look here"}, options));
        QCOMPARE(options.note, QStringLiteral("look here"));
    }

    void refuses()
    {
        app::WindowOptions options;
        QCOMPARE(parse({"--workspace", "kitchen"}, options), std::optional<int>(2));
        QCOMPARE(parse({"--size", "huge"}, options), std::optional<int>(2));
        QCOMPARE(parse({"--size", "10x10"}, options), std::optional<int>(2));
        for (const char* step : {"soon", "5.", "5.x", "5,5", "-1", "5.5.5"}) {
            QCOMPARE(parse({"--step", step}, options), std::optional<int>(2));
        }
        QCOMPARE(parse({"--nonsense"}, options), std::optional<int>(2));
        QCOMPARE(parse({"--help"}, options), std::optional<int>(0));
    }

    void screenshots()
    {
        QTemporaryDir folder;
        const QString picture = folder.filePath("window.png");
        const Answer good = window(
            {"--screenshot", picture, "--size", "1280x800", "--workspace", "engine", "--step", "5", "--theme", "dark"});
        QVERIFY2(good.code == 0, qPrintable(good.err));
        QCOMPARE(QImage(picture).size(), QSize(1280, 800));
        const QString pane = folder.filePath("pane.png");
        const Answer classes =
            window({"--screenshot", pane, "--view", "classes", "--size", "420x360", "--action", "cover.tag"});
        QVERIFY2(classes.code == 0, qPrintable(classes.err));
        QCOMPARE(QImage(pane).size(), QSize(420, 360));
        for (const QStringList& opened : {QStringList{"palette", "view.palette"}, {"problems", "window.problems"}}) {
            const QString file = folder.filePath(opened[0] + ".png");
            const Answer answer =
                window({"--screenshot", file, "--view", opened[0], "--size", "700x420", "--action", opened[1]});
            QVERIFY2(answer.code == 0, qPrintable(answer.err));
            QCOMPARE(QImage(file).size(), QSize(700, 420));
        }
        QCOMPARE(window({"nowhere.onnx", "--screenshot", folder.filePath("a.png")}).code, 3);
        QCOMPARE(window({"--memory", "1MB", "--screenshot", folder.filePath("a.png")}).code, 4);
        QCOMPARE(window({"--screenshot", folder.filePath("no/folder/a.png")}).code, 5);
        QCOMPARE(window({"--screenshot", folder.filePath("b.png"), "--select", "no such node"}).code, 2);
        QCOMPARE(window({"--screenshot", folder.filePath("b.png"), "--view", "kitchen"}).code, 2);
        QCOMPARE(window({"--screenshot", folder.filePath("b.png"), "--action", "cover.kitchen"}).code, 2);
        QCOMPARE(window({"--screenshot", folder.filePath("c.png"), "--workspace", "kitchen"}).code, 2);
    }

    /// A picture of something that was not done would be a lie.
    void everyScaleOfAScreen_data()
    {
        QTest::addColumn<QString>("scale");
        for (const char* scale : {"1.25", "1.5", "2"}) {
            QTest::newRow(scale) << QString::fromLatin1(scale);
        }
    }

    /// The window has as many pixels as its screen says, and all of them are painted sharp: no picture is blown up.
    void everyScaleOfAScreen()
    {
        QFETCH(QString, scale);
        const QTemporaryDir folder;
        for (const char* workspace : {"explain", "engine", "plan"}) {
            const QString file = folder.filePath(QString::fromLatin1(workspace) + QStringLiteral(".png"));
            const Answer answer =
                window({"--workspace", QString::fromLatin1(workspace), "--size", "1280x800", "--screenshot", file,
                        RETRO_SOURCE_DIR "/samples/clever-hans/clever-hans.onnx"},
                       scale);
            QVERIFY2(answer.code == 0, qPrintable(answer.err));
            const QImage image(file);
            const double factor = scale.toDouble();
            QCOMPARE(image.width(), qRound(1280 * factor));
            QCOMPARE(image.height(), qRound(800 * factor));
            int sharp = 0; // neighbours that differ strongly within one device pixel: hairlines and letters
            for (int y = 0; y < image.height(); y += 3) {
                for (int x = 1; x + 1 < image.width(); ++x) {
                    const int here = qGray(image.pixel(x, y));
                    sharp += std::abs(here - qGray(image.pixel(x - 1, y))) > 40 &&
                                     std::abs(here - qGray(image.pixel(x + 1, y))) > 40
                                 ? 1
                                 : 0;
                }
            }
            QVERIFY2(sharp > 300, qPrintable(QString::number(sharp)));
        }
    }

    void anActionThatIsDisabledIsRefused()
    {
        const QTemporaryDir folder;
        const Answer answer = window({"--action", "cover.reset", "--screenshot", folder.filePath("a.png")});
        QCOMPARE(answer.code, 2);
        RETRO_SAYS(answer.err, "'cover.reset' is disabled", "Nothing is covered");
        QVERIFY(!QFile::exists(folder.filePath("a.png")));
    }
};

QTEST_MAIN(WindowOptionsTest)
#include "windowoptionstest.moc"
