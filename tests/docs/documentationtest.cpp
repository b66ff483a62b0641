// SPDX-License-Identifier: Apache-2.0
// The documentation as a whole: links lead somewhere, every view has its page, every page its picture, lines are short.
#include <QtTest>

#include "app/common/exports.h"
#include "app/gui/window/mainwindow.h"
#include "app/gui/window/workspace.h"
#include "core/engine/question/combinations.h"
#include "core/engine/question/fields.h"
#include "core/formats/modelfile.h"

#include <QDir>
#include <QDirIterator>
#include <QDockWidget>
#include <QImage>
#include <QRegularExpression>

#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace retro;

namespace
{

const QString kRoot = QStringLiteral(RETRO_SOURCE_DIR);

QString textOf(const QString& path)
{
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

QStringList pages()
{
    QStringList found{kRoot + QStringLiteral("/README.md"), kRoot + QStringLiteral("/CHANGELOG.md")};
    for (const char* folder : {"/docs", "/samples"}) {
        QDirIterator files(kRoot + QLatin1String(folder), {QStringLiteral("*.md")}, QDir::Files,
                           QDirIterator::Subdirectories);
        while (files.hasNext()) {
            found << files.next();
        }
    }
    return found;
}

/// Targets of links and pictures, without code.
QStringList linksOf(QString text)
{
    static const QRegularExpression kCode(QStringLiteral("```.*?```|`[^`\n]*`"),
                                          QRegularExpression::DotMatchesEverythingOption);
    static const QRegularExpression kLink(QStringLiteral(R"(\]\(([^)\s]+)\))"));
    text.remove(kCode);
    QStringList links;
    for (auto match = kLink.globalMatch(text); match.hasNext();) {
        links << match.next().captured(1);
    }
    return links;
}

/// Names by which headings are linked to, as code hosts make them.
QStringList anchorsOf(const QString& text)
{
    static const QRegularExpression kHeading(QStringLiteral("^#+ +(.*)$"), QRegularExpression::MultilineOption);
    static const QRegularExpression kDropped(QStringLiteral(R"([^\w\- ])"),
                                             QRegularExpression::UseUnicodePropertiesOption);
    QStringList anchors;
    for (auto match = kHeading.globalMatch(text); match.hasNext();) {
        anchors << match.next().captured(1).toLower().remove(kDropped).replace(QLatin1Char(' '), QLatin1Char('-'));
    }
    return anchors;
}

/// What is wrong with a link of a page; empty = nothing.
QString faultOf(const QString& page, const QString& link)
{
    if (link.contains(QStringLiteral("://")) || link.startsWith(QLatin1String("mailto:"))) {
        return {};
    }
    const QString path = link.section(QLatin1Char('#'), 0, 0);
    const QString anchor = link.section(QLatin1Char('#'), 1);
    const QString target = path.isEmpty() ? page : QFileInfo(page).dir().filePath(path);
    if (!QFileInfo::exists(target)) {
        return QStringLiteral("there is no %1").arg(path);
    }
    return anchor.isEmpty() || anchorsOf(textOf(target)).contains(anchor)
               ? QString()
               : QStringLiteral("no heading #%1").arg(anchor);
}

/// Page of a dock: the word of its name that is the name of a page.
QString pageOf(const QString& dock)
{
    const QDir windows(kRoot + QStringLiteral("/docs/windows"));
    for (QString word : dock.toLower().split(QLatin1Char(' '))) {
        if (windows.exists(word + QStringLiteral(".md"))) {
            return windows.filePath(word + QStringLiteral(".md"));
        }
    }
    return {};
}

} // namespace

class DocumentationTest : public QObject
{
    Q_OBJECT
private slots:
    void linksLeadSomewhere()
    {
        QStringList faults;
        int links = 0;
        for (const QString& page : pages()) {
            for (const QString& link : linksOf(textOf(page))) {
                const QString fault = faultOf(page, link);
                ++links;
                if (!fault.isEmpty()) {
                    faults << page.mid(kRoot.size() + 1) + QStringLiteral(": ") + fault;
                }
            }
        }
        QVERIFY2(faults.isEmpty(), qPrintable(faults.join(QLatin1Char('\n'))));
        QVERIFY(links > 50);
    }

    void aDeadLinkIsFound()
    {
        const QString page = kRoot + QStringLiteral("/README.md");
        QVERIFY(!faultOf(page, "docs/nowhere.md").isEmpty());
        QVERIFY(!faultOf(page, "docs/cli.md#nowhere").isEmpty());
        QVERIFY(faultOf(page, "docs/cli.md#export").isEmpty());
        QCOMPARE(linksOf("[a](b.md) `[c](d.md)` ![e](f.png)"), (QStringList{"b.md", "f.png"}));
    }

    // Rows of tables cannot be wrapped.
    void linesHaveAtMost120Characters()
    {
        constexpr int kMost = 120;
        QStringList faults;
        for (const QString& page : pages()) {
            const QStringList lines = textOf(page).split(QLatin1Char('\n'));
            for (int i = 0; i < lines.size(); ++i) {
                if (lines[i].size() > kMost && !lines[i].startsWith(QLatin1Char('|'))) {
                    faults << QStringLiteral("%1, line %2").arg(page.mid(kRoot.size() + 1)).arg(i + 1);
                }
            }
        }
        QVERIFY2(faults.isEmpty(), qPrintable(faults.join(QLatin1Char('\n'))));
    }

    void theListOfOptionsIsThatOfTheTable()
    {
        QString wanted;
        for (const engine::QuestionField& field : engine::questionFields()) {
            std::vector<std::string_view> verbs;
            for (const engine::VerbName& one : engine::verbNames()) {
                if ((field.verbs & one.verb) != 0) {
                    verbs.push_back(one.name);
                }
            }
            if (!verbs.empty()) {
                wanted += QString::fromStdString(
                    fmt::format("- `--{}` ({}): {}\n", field.name, fmt::join(verbs, ", "), field.help));
            }
        }
        const QString page = textOf(kRoot + QStringLiteral("/docs/cli.md"));
        QVERIFY2(page.simplified().contains(wanted.simplified()), qPrintable(wanted));
    }

    void whatExcludesWhatIsThatOfTheTable()
    {
        QString wanted;
        for (const engine::Exclusion& pair : engine::exclusions()) {
            wanted += QString::fromStdString(
                fmt::format("- {} with {}: {}\n", engine::wordsOf(pair.one), engine::wordsOf(pair.other), pair.reason));
        }
        const QString page = textOf(kRoot + QStringLiteral("/docs/cli.md"));
        QVERIFY2(page.simplified().contains(wanted.simplified()), qPrintable(wanted));
    }

    void whatIsReadAndWrittenIsThatOfTheTables()
    {
        QString models;
        for (const formats::ModelFormat& format : formats::modelFormats()) {
            models += QString::fromStdString(fmt::format("- {}: .{}\n", format.title, fmt::join(format.endings, " .")));
        }
        QString parts;
        for (const app::Export* part : app::runParts()) {
            const std::string_view takes = part->run->takes;
            parts += QString::fromStdString(fmt::format("- `{}` as {}{}{}\n", part->name, app::endingsOfRun(*part),
                                                        takes.empty() ? "" : "; ", takes));
        }
        QString panes;
        for (const app::Export& one : app::exports()) {
            if (one.pane) {
                panes += QString::fromStdString(fmt::format("- {}: {}\n", one.name, one.endings));
            }
        }
        const QString page = textOf(kRoot + QStringLiteral("/docs/cli.md"));
        QVERIFY2(page.contains(models), qPrintable(models));
        QVERIFY2(page.contains(parts), qPrintable(parts));
        QVERIFY2(textOf(kRoot + QStringLiteral("/docs/windows/window.md")).contains(panes), qPrintable(panes));
    }

    void everyViewHasAPageWithItsPicture()
    {
        const app::MainWindow window;
        const QString index = textOf(kRoot + QStringLiteral("/docs/windows/README.md"));
        int docks = 0;
        for (const app::Workspace* space : window.findChildren<app::Workspace*>()) {
            for (const QDockWidget* dock : space->docks()) {
                const QString name = dock->objectName().section(QLatin1Char('.'), -1);
                const QString page = pageOf(QString(name).remove(QLatin1Char('?')));
                QVERIFY2(!page.isEmpty(), qPrintable(name));
                QVERIFY2(index.contains(QStringLiteral("](%1)").arg(QFileInfo(page).fileName())), qPrintable(page));
                const QStringList links = linksOf(textOf(page));
                const auto picture = std::find_if(links.begin(), links.end(), [](const QString& link) {
                    return link.endsWith(QStringLiteral("-light.png"));
                });
                QVERIFY2(picture != links.end(), qPrintable(page));
                const QImage image(QFileInfo(page).dir().filePath(*picture));
                QVERIFY2(image.width() >= 200 && image.height() >= 100, qPrintable(*picture));
                ++docks;
            }
        }
        QVERIFY(docks >= 17);
    }
};

QTEST_MAIN(DocumentationTest)
#include "documentationtest.moc"
