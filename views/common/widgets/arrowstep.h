// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QPoint>

namespace retro::views
{

/// Where an arrow key goes, right and down; nowhere by another key.
[[nodiscard]] inline QPoint arrowStep(int key)
{
    switch (key) {
    case Qt::Key_Left:
        return {-1, 0};
    case Qt::Key_Right:
        return {1, 0};
    case Qt::Key_Up:
        return {0, -1};
    case Qt::Key_Down:
        return {0, 1};
    default:
        return {};
    }
}

} // namespace retro::views
