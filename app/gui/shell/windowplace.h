// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QRect>

class QWidget;

namespace retro::app
{

/// The rectangle made no larger than `room`, and moved into it as little as it takes.
[[nodiscard]] QRect fittedInto(const QRect& wanted, const QRect& room);
/// Puts a window that is larger than its screen, or beside it, onto it. One that fills its screen stays as it is.
void keepOnScreen(QWidget& window);

} // namespace retro::app
