// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/paint/theme.h"

#include <QHash>
#include <QString>
#include <QStringList>

#include <array>

class QSettings;

namespace retro::app
{

/// What the window remembers from one start to the next. Plain value; the defaults are those of a first start.
struct Settings
{
    static constexpr double kLeastFontScale = 0.8;
    static constexpr double kMostFontScale = 2;
    /// Sizes that are offered.
    static constexpr std::array kTextPercents{80, 90, 100, 110, 125, 150, 175, 200};

    views::ThemeChoice theme = views::ThemeChoice::System;
    bool hasHints = true;         ///< one sentence in every pane that says what it shows
    bool isMotionReduced = false; ///< nothing moves by itself
    double fontScale = 1;         ///< 1 = 13 px
    QString memory;               ///< what tensors may take, as written; empty = the usual share of the machine
    QHash<QString, QString> keys; ///< action id → key as portable text, where it is not the first one
    QStringList recentFiles;      ///< newest first
    QStringList usedActions;      ///< newest first
    bool operator==(const Settings&) const = default;
};

/// Reads them; what is missing or makes no sense keeps its default.
[[nodiscard]] Settings readSettings(const QSettings& store);
/// Writes them; defaults are removed, so that a later version may change them.
void writeSettings(QSettings& store, const Settings& settings);

} // namespace retro::app
