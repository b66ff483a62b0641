// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QProcess>
#include <QString>
#include <QStringList>

namespace retro::tests
{

/// How the program ended (−1: not by itself, or not in time) and what it said.
struct Answer
{
    int code = -1;
    QString out;
    QString err;
};

/// Runs the command line that was built.
inline Answer cli(const QStringList& arguments)
{
    QProcess process;
    process.start(QStringLiteral(RETRO_BINARY_DIR "/bin/retrograde-cli"), arguments);
    Answer answer;
    if (process.waitForFinished(120'000)) {
        answer.code = process.exitCode();
    }
    answer.out = QString::fromUtf8(process.readAllStandardOutput());
    answer.err = QString::fromUtf8(process.readAllStandardError());
    return answer;
}

} // namespace retro::tests
