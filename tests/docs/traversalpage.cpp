// SPDX-License-Identifier: Apache-2.0
// The examples of docs/traversal.md: the commands run, and print the lines of the page in their order.
#include "tests/app/cli/cliprogram.h"
#include "tests/docs/snippet.h"

#include <QtTest>

#include <QDir>
#include <QRegularExpression>
#include <QTemporaryDir>

using namespace retro;

class TraversalPageTest : public QObject
{
    Q_OBJECT

private slots:
    void everyExampleIsWhatTheProgramPrints()
    {
        static const QRegularExpression kExample(QStringLiteral("```sh\n(.*?)```\\s*```text\n(.*?)```"),
                                                 QRegularExpression::DotMatchesEverythingOption);
        QVERIFY(QDir::setCurrent(QStringLiteral(RETRO_SOURCE_DIR)));
        const QString page = tests::sourceText("docs/traversal.md");
        int examples = 0;
        for (auto match = kExample.globalMatch(page); match.hasNext(); ++examples) {
            const QRegularExpressionMatch example = match.next();
            printsLines(example.captured(1), example.captured(2));
            if (QTest::currentTestFailed()) {
                return;
            }
        }
        QCOMPARE(examples, 3);
    }

private:
    static void printsLines(QString commands, const QString& lines)
    {
        const QTemporaryDir folder;
        QString printed;
        commands.replace(QStringLiteral("\\\n"), QStringLiteral(" "));
        for (const QString& command : commands.split('\n', Qt::SkipEmptyParts)) {
            QStringList words = command.simplified().split(' ');
            QCOMPARE(words.takeFirst(), QStringLiteral("retrograde-cli"));
            words.replaceInStrings(QRegularExpression(QStringLiteral("^out")), folder.path());
            const tests::Answer answer = tests::cli(words);
            QVERIFY2(answer.code == 0, qPrintable(command + '\n' + answer.err));
            printed = answer.out;
        }
        QStringList left;
        for (const QString& line : printed.split('\n', Qt::SkipEmptyParts)) {
            left << line.simplified().section(' ', 1); // without the number of the event
        }
        for (const QString& line : lines.split('\n', Qt::SkipEmptyParts)) {
            const auto at = left.indexOf(line.simplified());
            QVERIFY2(at >= 0, qPrintable(line));
            left = left.mid(at + 1);
        }
    }
};

QTEST_GUILESS_MAIN(TraversalPageTest)
#include "traversalpage.moc"
