// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QKeySequence>
#include <QString>

#include <utility>
#include <vector>

namespace retro::app
{

/// A set of keys under a name: what it changes of the keys that actions are made with.
struct KeyScheme
{
    QString name;
    std::vector<std::pair<QString, QKeySequence>> keys; ///< action and its key
};

/// Our own keys first (no change), then those that hands know from elsewhere.
[[nodiscard]] std::vector<KeyScheme> keySchemes();

} // namespace retro::app
