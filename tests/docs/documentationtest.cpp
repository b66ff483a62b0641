// SPDX-License-Identifier: Apache-2.0
// The pages have what the tables of the program say, every view has its page, and every page its picture.
#include <QtTest>

#include "app/common/exports.h"
#include "app/gui/window/mainwindow.h"
#include "app/gui/window/workspace.h"
#include "core/engine/question/combinations.h"
#include "core/engine/question/fields.h"
#include "core/formats/modelfile.h"

#include <QDir>
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
