// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QRect>
#include <QSize>

class QWidget;

namespace retro::app
{

/// The rectangle made no larger than `room`, and moved into it as little as it takes.
[[nodiscard]] QRect fittedInto(const QRect& wanted, const QRect& room);
/// What title bar and borders add to a window; before it is on screen the usual, as nobody knows yet.
[[nodiscard]] QSize frameOf(const QWidget& window);
/// What its screen has room for, without the frame.
[[nodiscard]] QSize roomOnScreen(const QWidget& window);
/// Puts a window that is with its frame larger than its screen, or beside it, onto it. One that fills its screen stays
/// as it is.
void keepOnScreen(QWidget& window);

} // namespace retro::app
