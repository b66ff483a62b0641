// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QFile>
#include <QString>

namespace retro::tests
{

/// Text between the first line that contains `begin` and the next that contains `end` (both left out).
inline QString between(const QString& text, const QString& begin, const QString& end)
{
    const auto start = text.indexOf(begin);
    const auto from = start < 0 ? -1 : text.indexOf(QLatin1Char('\n'), start) + 1;
    const auto to = from < 1 ? -1 : text.indexOf(end, from);
    const auto line = to < 0 ? -1 : text.lastIndexOf(QLatin1Char('\n'), to) + 1;
    return line < 0 ? QString() : text.mid(from, line - from).trimmed();
}

/// The whole of a file under the source folder; empty when it cannot be read.
inline QString sourceText(const char* path)
{
    QFile file(QStringLiteral(RETRO_SOURCE_DIR "/") + QLatin1String(path));
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

} // namespace retro::tests
