// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtTest>

#include <QFile>
#include <QProcess>
#include <QString>
#include <QStringList>

#include <nlohmann/json.hpp>

namespace retro::tests
{

/// How the program ended (−1: not by itself, or not in time) and what it said.
struct Answer
{
    int code = -1;
    QString out;
    QString err;
};

/// Runs a program that was built.
inline Answer runProgram(const QString& name, const QStringList& arguments)
{
    QProcess process;
    process.start(QStringLiteral(RETRO_BINARY_DIR "/bin/") + name, arguments);
    Answer answer;
    if (process.waitForFinished(120'000)) {
        answer.code = process.exitCode();
    }
    answer.out = QString::fromUtf8(process.readAllStandardOutput());
    answer.err = QString::fromUtf8(process.readAllStandardError());
    return answer;
}

/// Runs the command line.
inline Answer cli(const QStringList& arguments) { return runProgram(QStringLiteral("retrograde-cli"), arguments); }

/// The lines of a file but empty ones; none where it cannot be read.
inline QStringList linesOf(const QString& path)
{
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()).split('\n', Qt::SkipEmptyParts)
                                          : QStringList();
}

/// The command line must end with this code and say all of these words on standard error.
inline void expectEnd(const QStringList& arguments, int code, const QStringList& words)
{
    const Answer answer = cli(arguments);
    QVERIFY2(answer.code == code, qPrintable(QStringLiteral("exit %1: %2").arg(answer.code).arg(answer.err)));
    for (const QString& word : words) {
        QVERIFY2(answer.err.contains(word), qPrintable(word + QStringLiteral(" is not in: ") + answer.err));
    }
}

} // namespace retro::tests

/// `const Answer name = cli(…);` of a call that must go well: else the test function ends with what was said.
#define RETRO_RUNS(name, ...)                                                                                          \
    const retro::tests::Answer name = retro::tests::cli(__VA_ARGS__);                                                  \
    QVERIFY2(name.code == 0, qPrintable(name.err))

/// The answer in JSON of such a call.
#define RETRO_ANSWER(name, ...)                                                                                        \
    RETRO_RUNS(name##Text, __VA_ARGS__);                                                                               \
    const nlohmann::json name = nlohmann::json::parse(name##Text.out.toStdString())
