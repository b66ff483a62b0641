// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QFont>

namespace retro::views
{

/// What models of tables answer for Qt::TextAlignmentRole: figures right, words left.
[[nodiscard]] int cellAlignment(bool isFigure);

/// What they answer for Qt::FontRole: figures in digits of one width, what is strong bolder.
[[nodiscard]] QFont cellFont(bool isFigure, bool isStrong = false);

} // namespace retro::views
