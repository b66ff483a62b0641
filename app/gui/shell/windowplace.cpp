// SPDX-License-Identifier: Apache-2.0
#include "app/gui/shell/windowplace.h"

#include <QGuiApplication>
#include <QScreen>
#include <QStyle>
#include <QWidget>

#include <algorithm>

namespace retro::app
{

namespace
{

const QScreen* screenOf(const QWidget& window)
{
    const QScreen* screen = QGuiApplication::screenAt(window.geometry().center());
    return screen != nullptr ? screen : QGuiApplication::primaryScreen();
}

} // namespace

QRect fittedInto(const QRect& wanted, const QRect& room)
{
    QRect fitted(wanted.topLeft(), wanted.size().boundedTo(room.size()));
    fitted.moveLeft(std::clamp(fitted.left(), room.left(), room.right() + 1 - fitted.width()));
    fitted.moveTop(std::clamp(fitted.top(), room.top(), room.bottom() + 1 - fitted.height()));
    return fitted;
}

QSize frameOf(const QWidget& window)
{
    const QSize known = window.frameGeometry().size() - window.size();
    if (!known.isNull()) {
        return known;
    }
    constexpr int kBorders = 4; // both together
    const int title = window.style()->pixelMetric(QStyle::PM_TitleBarHeight, nullptr, &window);
    return {kBorders, title + kBorders};
}

QSize roomOnScreen(const QWidget& window)
{
    const QScreen* screen = screenOf(window);
    return screen != nullptr ? screen->availableGeometry().size() - frameOf(window)
                             : QSize(QWIDGETSIZE_MAX, QWIDGETSIZE_MAX);
}

void keepOnScreen(QWidget& window)
{
    const QScreen* screen = screenOf(window);
    if (screen == nullptr || window.isMaximized() || window.isFullScreen()) {
        return;
    }
    const QSize frame = frameOf(window);
    const QRect whole(window.pos(), window.size() + frame);
    const QRect fitted = fittedInto(whole, screen->availableGeometry());
    if (fitted.size() != whole.size()) {
        window.resize(fitted.size() - frame);
    }
    if (fitted.topLeft() != whole.topLeft()) {
        window.move(fitted.topLeft());
    }
}

} // namespace retro::app
