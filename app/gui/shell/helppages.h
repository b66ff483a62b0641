// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QStringList>

class QWidget;

namespace retro::app
{

/// Folder of the documentation inside the program, as it is in docs/: "windows/graph.md", "pictures/…".
[[nodiscard]] QString helpFolder();
/// Names of the pages about views, without folder and ending.
[[nodiscard]] QStringList helpPages();
/// The page about a widget: that of the view, panel or workspace that it is in, else "window". Null = "window".
[[nodiscard]] QString helpPageOf(const QWidget* widget);
/// What a heading is called in a link: "Run panel" → "run-panel".
[[nodiscard]] QString headingAnchor(const QString& heading);

} // namespace retro::app
