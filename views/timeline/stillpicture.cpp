// SPDX-License-Identifier: Apache-2.0
#include "views/timeline/stillpicture.h"

#include <QPainter>

#include <cmath>

namespace retro::views
{

void StillPicture::draw(QPainter& painter, const StillKey& key, const std::function<void(QPainter&)>& paint)
{
    if (m_key != key) {
        const QSizeF pixels = QSizeF(key.size) * key.pixelRatio;
        m_pixels = QPixmap(static_cast<int>(std::ceil(pixels.width())), static_cast<int>(std::ceil(pixels.height())));
        m_pixels.setDevicePixelRatio(key.pixelRatio);
        QPainter into(&m_pixels);
        paint(into);
        m_key = key;
        ++m_paintings;
    }
    painter.drawPixmap(QPointF(0, 0), m_pixels);
}

} // namespace retro::views
