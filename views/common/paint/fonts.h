// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QFont>

class QString;

namespace retro::views::fonts
{

/// Sets the application's font: Inter at 13 px times `scale` (fallbacks Noto Sans, DejaVu Sans).
void install(double scale = 1.0);

/// Sizes follow the application's font: 13 content and titles, 12 labels, 11 axis figures and shapes.
[[nodiscard]] QFont content(QFont::Weight weight = QFont::Normal);
[[nodiscard]] QFont label(QFont::Weight weight = QFont::Normal);
[[nodiscard]] QFont small(QFont::Weight weight = QFont::Normal);
/// JetBrains Mono at 12 (fallback DejaVu Sans Mono): every number in a column, that changes while stepping, or names a
/// shape.
[[nodiscard]] QFont numbers(QFont::Weight weight = QFont::Normal);
/// The same at 11, for axis figures.
[[nodiscard]] QFont smallNumbers(QFont::Weight weight = QFont::Normal);
/// Any of the two families at a size in design pixels (13 = content); letters in mode cells.
[[nodiscard]] QFont sized(double designPixels, QFont::Weight weight, bool isMono = false);

/// A design length in pixels at the present font size: 1 at 13 px.
[[nodiscard]] double scale();
/// `designPixels` scaled and rounded, at least 1.
[[nodiscard]] int px(double designPixels);

/// Width of a text.
[[nodiscard]] double widthOf(const QFont& font, const QString& text);

} // namespace retro::views::fonts
