// SPDX-License-Identifier: Apache-2.0
// What a package puts on a machine: programs that start from there, and desktop files that fit them.
#include <QDir>
#include <QFileInfo>
#include <QProcess>
#include <QTemporaryDir>
#include <QXmlStreamReader>
#include <QtTest>

namespace
{

const QString kId = QStringLiteral("ai.retrograde.Retrograde");

struct Outcome
{
    int code = -1;
    QString output;
};

Outcome start(const QString& program, const QStringList& arguments)
{
    QProcess process;
    process.setProcessChannelMode(QProcess::MergedChannels);
    process.start(program, arguments);
    if (!process.waitForFinished(120'000)) {
        return {-1, process.errorString()};
    }
    return {process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1,
            QString::fromUtf8(process.readAll())};
}

QString read(const QString& path)
{
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

/// Texts of the elements of that name; a fault in the file ends the test.
QStringList elements(const QString& path, const QString& name)
{
    const QString text = read(path);
    QXmlStreamReader xml(text);
    QStringList found;
    while (!xml.atEnd()) {
        if (xml.readNext() == QXmlStreamReader::StartElement && xml.name() == name) {
            found += xml.attributes().isEmpty() || name == QLatin1String("launchable")
                         ? xml.readElementText()
                         : xml.attributes().first().value().toString();
        }
    }
    return xml.hasError() || text.isEmpty() ? QStringList() : found;
}

/// Verbs that `retrograde-cli --help` lists.
QStringList verbs(const QString& help)
{
    QStringList found;
    for (const QString& line : help.section(QStringLiteral("Subcommands:"), 1).split(QLatin1Char('\n'))) {
        if (line.startsWith(QStringLiteral("  ")) && line.size() > 2 && !line.at(2).isSpace()) {
            found += line.simplified().section(QLatin1Char(' '), 0, 0);
        }
    }
    return found;
}

} // namespace

class PackagingTest : public QObject
{
    Q_OBJECT
    QTemporaryDir m_prefix;

    QString at(const char* path) const { return m_prefix.filePath(QString::fromLatin1(path)); }
    QString share(const QString& path) const { return m_prefix.filePath(QStringLiteral("share/") + path); }

private slots:
    void initTestCase()
    {
        const Outcome outcome =
            start(QStringLiteral("cmake"), {QStringLiteral("--install"), QStringLiteral(RETRO_BINARY_DIR),
                                            QStringLiteral("--prefix"), m_prefix.path()});
        QVERIFY2(outcome.code == 0, qPrintable(outcome.output));
    }

    void programsStartFromThere()
    {
        QCOMPARE(start(at("bin/retrograde-cli"), {QStringLiteral("--version")}).code, 0);
        const Outcome window = start(at("bin/retrograde"), {QStringLiteral("--version")});
        QVERIFY2(window.code == 0 && window.output.startsWith(QStringLiteral("retrograde ")),
                 qPrintable(window.output));
    }

    void theDesktopFileStartsWhatIsThere()
    {
        const QString entry = read(share(QStringLiteral("applications/%1.desktop").arg(kId)));
        QVERIFY(entry.startsWith(QStringLiteral("[Desktop Entry]\n")));
        const auto field = [&](const char* name) {
            return entry.section(QStringLiteral("\n%1=").arg(QLatin1String(name)), 1).section(QLatin1Char('\n'), 0, 0);
        };
        QVERIFY(QFileInfo(at("bin/") + field("Exec").section(QLatin1Char(' '), 0, 0)).isExecutable());
        QVERIFY(QFileInfo::exists(share(QStringLiteral("icons/hicolor/scalable/apps/%1.svg").arg(field("Icon")))));
        const QStringList types =
            elements(share(QStringLiteral("mime/packages/%1.xml").arg(kId)), QStringLiteral("mime-type"));
        QCOMPARE(types.size(), 2);
        for (const QString& type : types) {
            QVERIFY2(field("MimeType").contains(type + QLatin1Char(';')), qPrintable(type));
        }
    }

    void theSoftwareCatalogueKnowsIt()
    {
        const QString file = share(QStringLiteral("metainfo/%1.metainfo.xml").arg(kId));
        QCOMPARE(elements(file, QStringLiteral("id")), QStringList{kId});
        QCOMPARE(elements(file, QStringLiteral("launchable")), QStringList{kId + QStringLiteral(".desktop")});
        for (const QString& program : elements(file, QStringLiteral("binary"))) {
            QVERIFY2(QFileInfo(at("bin/") + program).isExecutable(), qPrintable(program));
        }
        const QString version = start(at("bin/retrograde-cli"), {QStringLiteral("--version")}).output.simplified();
        QVERIFY2(version.endsWith(elements(file, QStringLiteral("release")).value(0)), qPrintable(version));
    }

    void theModulesForPythonAreThere()
    {
        const QDir ours(QStringLiteral(RETRO_SOURCE_DIR "/app/python/retrograde/capture"));
        const QStringList modules = ours.entryList({QStringLiteral("*.py")}, QDir::Files);
        QVERIFY(modules.contains(QStringLiteral("torchcapture.py")));
        const QString python = share(QStringLiteral("retrograde/python/"));
        QCOMPARE(QDir(python + QStringLiteral("retrograde/capture")).entryList(QDir::Files), modules);
        QVERIFY(QFileInfo::exists(python + QStringLiteral("retrograde_programs/__init__.py")));
    }

    void withoutADisplayItSaysSoInOneSentence()
    {
        for (const bool isNamed : {false, true}) { // one that nobody serves
            for (const bool isPicture : {false, true}) {
                QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
                for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}) {
                    environment.remove(QString::fromLatin1(name));
                }
                if (isNamed) {
                    environment.insert(QStringLiteral("DISPLAY"), QStringLiteral(":4711"));
                }
                QProcess process;
                process.setProcessEnvironment(environment);
                process.start(at("bin/retrograde"),
                              isPicture ? QStringList{QStringLiteral("--screenshot"), at("a.png")} : QStringList());
                QVERIFY(process.waitForFinished(120'000));
                QCOMPARE(process.exitStatus(), QProcess::NormalExit);
                QCOMPARE(process.exitCode(), 5);
                const QString said = QString::fromUtf8(process.readAllStandardError());
                QVERIFY2(said.startsWith(QStringLiteral("retrograde: ")) && said.count(QLatin1Char('\n')) == 1,
                         qPrintable(said));
                QVERIFY2(said.contains(QStringLiteral("QT_QPA_PLATFORM=offscreen")), qPrintable(said));
            }
        }
    }

    void everyVerbHasALineInTheManual()
    {
        const QString manual = read(share(QStringLiteral("man/man1/retrograde-cli.1")));
        const QStringList all = verbs(start(at("bin/retrograde-cli"), {QStringLiteral("--help")}).output);
        QVERIFY(all.size() >= 8);
        for (const QString& verb : all) {
            QVERIFY2(manual.contains(QRegularExpression(QStringLiteral("\\n\\.B[IR]? %1\\b").arg(verb))),
                     qPrintable(verb));
        }
        QVERIFY(read(share(QStringLiteral("man/man1/retrograde.1"))).contains(QStringLiteral(".TH RETROGRADE 1")));
    }
};

QTEST_GUILESS_MAIN(PackagingTest)
#include "packagingtest.moc"
