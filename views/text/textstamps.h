// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QFont>
#include <QHash>
#include <QRectF>
#include <QStaticText>
#include <QString>

class QPainter;

namespace retro::views
{

/// Short texts that are drawn again in every frame. Laying a text out takes ten times as long as drawing it; here each
/// text is laid out once. Plain text on one line, of one font.
class TextStamps
{
public:
    /// Sets the painter's font for what follows; with another font than before, what was laid out is forgotten.
    void begin(QPainter& painter, const QFont& font);
    /// Draws with the painter's pen into a box: left, right or in the middle, and in the middle of its height. A text
    /// that is wider than the box is not cut.
    void draw(QPainter& painter, const QRectF& box, Qt::Alignment alignment, const QString& text);

private:
    QFont m_font;
    QHash<QString, QStaticText> m_stamps;
};

} // namespace retro::views
