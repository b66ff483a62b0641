// SPDX-License-Identifier: Apache-2.0
#include "app/gui/shell/windowplace.h"

#include <QGuiApplication>
#include <QScreen>
#include <QTimer>
#include <QWidget>
#include <QWindow>

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
    const QWindow* handle = window.windowHandle();
    const QMargins frame = handle != nullptr ? handle->frameMargins() : QMargins(); // of the window manager
    const QRect fitted = fittedInto(window.geometry(), screen->availableGeometry().marginsRemoved(frame));
    if (fitted != window.geometry()) {
        window.setGeometry(fitted);
    }
}

void keepFrameOnScreen(QWidget& window)
{
    for (const int milliseconds : {50, 250, 1000}) { // nobody says when the frame is there
        QTimer::singleShot(milliseconds, &window, [&window, size = window.size()] {
            if (window.isVisible() && window.size() == size) { // another size was chosen since
                keepOnScreen(window);
            }
        });
    }
}

} // namespace retro::app
