// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/question/question.h"
#include "views/common/paint/theme.h"

#include <QSize>
#include <QString>
#include <QStringList>

#include <cstdint>
#include <optional>

namespace retro::app
{

/// The window's command line (docs/cli.md).
struct WindowOptions
{
    QString model; ///< empty = the built-in sample
    QStringList inputs;
    QStringList shapes;       ///< of inputs
    engine::Question texts;   ///< what is asked of a text, and of which word
    bool isGraphOnly = false; ///< weights stay in the file
    QString composite;
    QString plan; ///< file that is shown in the workspace Plan; empty = none
    QString workspace = QStringLiteral("explain");
    QString screenshot; ///< empty = an ordinary window
    QString selectNode;
    QString history;                   ///< element whose history is asked for: VALUE:i,j,…; empty = none
    QString view;                      ///< picture of this pane alone; empty = of the window
    QStringList actions;               ///< triggered one after the other before the picture
    QStringList watches;               ///< expressions in the watch list from the start
    QString note;                      ///< comment of the place of the picture, pinned in the notebook; empty = none
    std::optional<std::uint64_t> step; ///< visits; none = the end
    double stepShare = 0;              ///< of the next visit
    views::ThemeChoice theme = views::ThemeChoice::System;
    QSize size;
    double fontScale = 1;
    std::optional<std::uint64_t> memory; ///< bytes that tensors may take; none = as the preferences say

    /// True when nothing is to be opened: the welcome page was asked for, or an ordinary window without a model.
    [[nodiscard]] bool isWelcome() const;
    bool isLive = false;          ///< takes runs from notebooks from the start
    bool isQuitWhenShown = false; ///< ends with the first picture of the window, for measuring the start
};

/// Parses; on help, version or an error prints and gives the exit code (0 or 2).
[[nodiscard]] std::optional<int> parseOptions(int argc, char** argv, WindowOptions& options);

} // namespace retro::app
