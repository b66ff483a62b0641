// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QStringList>

#include <string>
#include <vector>

namespace retro::views
{

/// UTF-8 texts as Qt has them.
[[nodiscard]] inline QStringList stringList(const std::vector<std::string>& texts)
{
    QStringList list;
    for (const std::string& text : texts) {
        list.append(QString::fromStdString(text));
    }
    return list;
}

/// The same the other way round.
[[nodiscard]] inline std::vector<std::string> textsOf(const QStringList& list)
{
    std::vector<std::string> texts;
    for (const QString& text : list) {
        texts.push_back(text.toStdString());
    }
    return texts;
}

} // namespace retro::views
