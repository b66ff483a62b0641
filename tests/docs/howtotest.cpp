// SPDX-License-Identifier: Apache-2.0
// Follows the pages of docs/howto: every command of a page is run, and every line below it must be in what it prints;
// numbers may differ in their last digits.
#include <QtTest>

#include <QDir>
#include <QFile>
#include <QProcess>
#include <QRegularExpression>

#include <algorithm>
#include <cmath>

namespace
{

const QString kRoot = QStringLiteral(RETRO_SOURCE_DIR);
constexpr double kWithin = 2e-3; // of a number: machines add in other orders

struct Command
{
    QStringList words;
    QStringList expected; ///< lines
};

QStringList wordsOf(const QString& line) { return line.simplified().split(QLatin1Char(' '), Qt::SkipEmptyParts); }

/// The commands of the blocks ```console of a page.
QList<Command> commandsOf(const QString& text)
{
    QList<Command> commands;
    bool isInside = false;
    bool isOpen = false;
    QString typed;
    for (const QString& line : text.split(QLatin1Char('\n'))) {
        if (line.startsWith(QLatin1String("```"))) {
            isInside = line == QLatin1String("```console");
        } else if (isInside && (isOpen || line.startsWith(QLatin1String("$ ")))) {
            typed += isOpen ? line : line.mid(2);
            isOpen = typed.endsWith(QLatin1Char('\\')); // goes on in the next line
            if (isOpen) {
                typed.chop(1);
            } else {
                commands.append({QProcess::splitCommand(typed), {}});
                typed.clear();
            }
        } else if (isInside && !commands.isEmpty()) {
            commands.last().expected << line;
        }
    }
    return commands;
}

bool isSame(const QString& expected, const QString& said)
{
    static const QRegularExpression kTail(QStringLiteral("[;:,]+$"));
    const QString a = QString(expected).remove(kTail);
    const QString b = QString(said).remove(kTail);
    bool isNumberA = false;
    bool isNumberB = false;
    const double x = a.toDouble(&isNumberA);
    const double y = b.toDouble(&isNumberB);
    return isNumberA && isNumberB ? std::abs(x - y) <= kWithin * std::max(std::abs(x), std::abs(y)) : a == b;
}

bool isSameLine(const QString& expected, const QString& said)
{
    QStringList a = wordsOf(expected);
    QStringList b = wordsOf(said);
    if (!a.isEmpty() && a.last() == QStringLiteral("…")) { // the rest of the line is left out
        a.removeLast();
        b = b.mid(0, a.size());
    }
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), isSame);
}

} // namespace

class HowToTest : public QObject
{
    Q_OBJECT

private slots:
    void everyPageIsListed()
    {
        QFile index(kRoot + QStringLiteral("/docs/howto/README.md"));
        QVERIFY(index.open(QIODevice::ReadOnly));
        const QString text = QString::fromUtf8(index.readAll());
        const QStringList pages = QDir(kRoot + QStringLiteral("/docs/howto")).entryList({QStringLiteral("*.md")});
        QVERIFY(pages.size() >= 4);
        for (const QString& page : pages) {
            QVERIFY2(page == QLatin1String("README.md") || text.contains(QStringLiteral("](%1)").arg(page)),
                     qPrintable(page));
        }
    }

    void stepsLeadWhereThePageSays_data()
    {
        QTest::addColumn<QString>("page");
        for (const QString& page : QDir(kRoot + QStringLiteral("/docs/howto")).entryList({QStringLiteral("*.md")})) {
            if (page != QLatin1String("README.md")) {
                QTest::newRow(qPrintable(page)) << page;
            }
        }
    }

    void stepsLeadWhereThePageSays()
    {
        QFETCH(const QString, page);
        QFile file(kRoot + QStringLiteral("/docs/howto/") + page);
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QList<Command> commands = commandsOf(QString::fromUtf8(file.readAll()));
        QVERIFY(commands.size() >= 3);
        QTemporaryDir folder;
        QVERIFY(folder.isValid());
        for (const QString& part : {QStringLiteral("samples"), QStringLiteral("tests")}) {
            QVERIFY(QFile::link(kRoot + QLatin1Char('/') + part, folder.filePath(part)));
        }
        for (const Command& command : commands) {
            QCOMPARE(command.words.front(), QStringLiteral("retrograde-cli"));
            QVERIFY2(!command.expected.isEmpty(), qPrintable(command.words.join(QLatin1Char(' '))));
            QProcess program;
            program.setWorkingDirectory(folder.path());
            program.start(QStringLiteral(RETRO_BINARY_DIR "/bin/retrograde-cli"), command.words.mid(1));
            QVERIFY(program.waitForFinished(120'000));
            const QString said = QString::fromUtf8(program.readAllStandardOutput());
            QVERIFY2(program.exitCode() == 0, program.readAllStandardError().constData());
            const QStringList lines = said.split(QLatin1Char('\n'));
            for (const QString& expected : command.expected) {
                const bool isThere = std::any_of(lines.begin(), lines.end(),
                                                 [&](const QString& line) { return isSameLine(expected, line); });
                QVERIFY2(isThere, qPrintable(expected + QStringLiteral("\n is not in\n") + said));
            }
        }
    }

    /// Lines that differ are told apart.
    void aWrongNumberIsFound()
    {
        QVERIFY(isSameLine("region  +1.72465 of +2.2", "region +1.72466 of   +2.2"));
        QVERIFY(!isSameLine("region +1.72465 of +2.2", "region +1.82465 of +2.2"));
        QVERIFY(!isSameLine("region +1.72465 of +2.2", "region +1.72465"));
        QVERIFY(isSameLine("went from 0 to -1 …", "went from 0 to -1 with what landed"));
        QVERIFY(!isSameLine("axis 1: 47 +0.6533", "axis 1: 29 +0.6533"));
    }
};

QTEST_GUILESS_MAIN(HowToTest)
#include "howtotest.moc"
