// SPDX-License-Identifier: Apache-2.0
#include "app/gui/shell/windowplace.h"

#include <QGuiApplication>
#include <QScreen>
#include <QWidget>

#include <algorithm>

namespace retro::app
{

QRect fittedInto(const QRect& wanted, const QRect& room)
{
    QRect fitted(wanted.topLeft(), wanted.size().boundedTo(room.size()));
    fitted.moveLeft(std::clamp(fitted.left(), room.left(), room.right() + 1 - fitted.width()));
    fitted.moveTop(std::clamp(fitted.top(), room.top(), room.bottom() + 1 - fitted.height()));
    return fitted;
}

void keepOnScreen(QWidget& window)
{
    const QScreen* screen = QGuiApplication::screenAt(window.geometry().center());
    screen = screen != nullptr ? screen : QGuiApplication::primaryScreen();
    if (screen == nullptr || window.isMaximized() || window.isFullScreen()) {
        return;
    }
    const QRect fitted = fittedInto(window.geometry(), screen->availableGeometry());
    if (fitted.size() != window.size()) {
        window.resize(fitted.size());
    }
    if (fitted.topLeft() != window.geometry().topLeft()) {
        window.move(fitted.topLeft());
    }
}

} // namespace retro::app
