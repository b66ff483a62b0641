// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QStringList>

#include <string>
#include <vector>

namespace retro::app
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

} // namespace retro::app
