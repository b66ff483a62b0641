// SPDX-License-Identifier: Apache-2.0
// The pages of docs/howto: their commands run, one after the other, and print the lines of the page in their order.
#include "tests/app/cli/cliprogram.h"
#include "tests/docs/snippet.h"

#include <QtTest>

#include <QDir>
#include <QRegularExpression>
#include <QTemporaryDir>

using namespace retro;

class HowtoPagesTest : public QObject
{
    Q_OBJECT

private slots:
    void steps_data()
    {
        QTest::addColumn<QString>("page");
        const QDir folder(QStringLiteral(RETRO_SOURCE_DIR "/docs/howto"));
        for (const QString& page : folder.entryList({QStringLiteral("*.md")}, QDir::Files)) {
            QTest::newRow(qPrintable(page)) << folder.filePath(page);
        }
    }

    /// Each block of commands has what its last command prints below it, or nothing where it prints nothing to look at.
    void steps()
    {
        QFETCH(const QString, page);
        static const QRegularExpression kStep(QStringLiteral("```sh\n(.*?)```(?:\\s*```text\n(.*?)```)?"),
                                              QRegularExpression::DotMatchesEverythingOption);
        QVERIFY(QDir::setCurrent(QStringLiteral(RETRO_SOURCE_DIR)));
        QFile file(page);
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QTemporaryDir folder;
        int answers = 0;
        for (auto match = kStep.globalMatch(QString::fromUtf8(file.readAll())); match.hasNext();) {
            const QRegularExpressionMatch step = match.next();
            QString printed;
            run(step.captured(1), folder.path(), printed);
            if (QTest::currentTestFailed()) {
                return;
            }
            holdsLines(printed, step.captured(2));
            answers += step.captured(2).isEmpty() ? 0 : 1;
            if (QTest::currentTestFailed()) {
                return;
            }
        }
        QVERIFY2(answers >= 2, "a page shows what its steps find");
    }

private:
    static void run(QString commands, const QString& folder, QString& printed)
    {
        commands.replace(QStringLiteral("\\\n"), QStringLiteral(" "));
        for (const QString& command : commands.split('\n', Qt::SkipEmptyParts)) {
            QStringList words = command.simplified().split(' ');
            QCOMPARE(words.takeFirst(), QStringLiteral("retrograde-cli"));
            words.replaceInStrings(QRegularExpression(QStringLiteral("^out")), folder + QStringLiteral("/out"));
            const tests::Answer answer = tests::cli(words);
            QVERIFY2(answer.code == 0, qPrintable(command + '\n' + answer.err));
            printed = answer.out;
        }
    }

    static void holdsLines(const QString& printed, const QString& lines)
    {
        QStringList left;
        for (const QString& line : printed.split('\n', Qt::SkipEmptyParts)) {
            left << line.simplified();
        }
        for (const QString& line : lines.split('\n', Qt::SkipEmptyParts)) {
            const auto at = left.indexOf(line.simplified());
            QVERIFY2(at >= 0, qPrintable(line + "\nis not in\n" + printed));
            left = left.mid(at + 1);
        }
    }
};

QTEST_GUILESS_MAIN(HowtoPagesTest)
#include "howtopages.moc"
