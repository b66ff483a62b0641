// SPDX-License-Identifier: Apache-2.0
#include "views/graph/boxmetrics.h"

#include "views/common/paint/fonts.h"

#include <QFontMetricsF>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

constexpr double kGrid = 8; // widths are multiples of this, so that most boxes of a graph are equally wide

void readAdvances(const QFont& font, std::array<float, 128>& advances)
{
    const QFontMetricsF metrics(font);
    for (std::size_t c = 1; c < advances.size(); ++c) {
        advances[c] = static_cast<float>(metrics.horizontalAdvance(QChar(static_cast<ushort>(c))));
    }
    advances[0] = static_cast<float>(metrics.horizontalAdvance(QChar(u'×')));
}

double onGrid(double width, double least, double grid) { return std::ceil(std::max(width, least) / grid) * grid; }

} // namespace

BoxMetrics BoxMetrics::ofFonts()
{
    BoxMetrics m;
    m.scale = fonts::scale();
    for (double* length : {&m.height, &m.leastNode, &m.leastGroup, &m.letterRoom, &m.textGap, &m.padding, &m.badgeRoom,
                           &m.longestName, &m.card, &m.cardHeight, &m.groupCard, &m.pill}) {
        *length = std::round(*length * m.scale);
    }
    readAdvances(fonts::content(QFont::Medium), m.m_name);
    readAdvances(fonts::smallNumbers(), m.m_shape);
    readAdvances(fonts::label(), m.m_small);
    return m;
}

double BoxMetrics::widthOf(std::string_view text, const Advances& advances)
{
    double width = 0;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < advances.size()) {
            width += advances[byte];
        } else if ((byte & 0xC0U) == 0xC0U) { // first byte of a character of several
            width += advances[0];
        }
    }
    return width;
}

double BoxMetrics::nameWidth(std::string_view name) const { return std::min(widthOf(name, m_name), longestName); }

double BoxMetrics::nodeWidth(std::string_view name, std::string_view shape) const
{
    const double shapeWidth = shape.empty() ? 0 : textGap + widthOf(shape, m_shape);
    const double width = letterRoom + nameWidth(name) + shapeWidth + badgeRoom + padding;
    return onGrid(width, leastNode, std::round(kGrid * scale));
}

double BoxMetrics::pillWidth(std::string_view name) const
{
    const double ends = 22 * scale;
    return std::clamp(std::ceil(widthOf(name, m_small)) + ends, 36 * scale, card);
}

double BoxMetrics::groupWidth(std::string_view name, std::string_view detail) const
{
    const double symbol = 14 * scale;    // ▸
    const double wideBadge = 12 * scale; // ◇ with a count
    const double width =
        letterRoom + symbol + nameWidth(name) + textGap + widthOf(detail, m_small) + badgeRoom + wideBadge + padding;
    return onGrid(width, leastGroup, std::round(kGrid * scale));
}

} // namespace retro::views
