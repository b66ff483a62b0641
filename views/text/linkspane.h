// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/paint/colormap.h"
#include "views/common/paint/theme.h"
#include "views/common/widgets/drawnpane.h"
#include "views/text/textstamps.h"

#include <vector>

class QPainter;

namespace retro::views
{

class TextFocus;
struct DrawnLink;
struct TokenColumns;

/// What one attention handed from word to word: the words with their relevance behind the layer above, in front of it
/// below, and between them a link per pair, as thick as the relevance that it carried. Draws the strongest links of
/// those with an end in sight. GUI thread.
class LinksPane final : public DrawnPane
{
    Q_OBJECT

public:
    explicit LinksPane(TextFocus& focus, QWidget* parent = nullptr);

    /// Links below this share of the largest one of the layer are left out.
    void setThreshold(double share);
    [[nodiscard]] double threshold() const { return m_threshold; }
    void paintAll(QPainter& painter, const QSizeF& size, const Theme& theme) const;
    /// Links that are drawn at the present size.
    [[nodiscard]] int drawnCount() const;

signals:
    void chosen(int token);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;

private:
    [[nodiscard]] std::vector<const DrawnLink*> linksInSight(const TokenColumns& columns) const;
    void paintWords(QPainter& painter, const TokenColumns& columns, const QRectF& row, int layer,
                    const Theme& theme) const;
    /// One word of a row; `part` of the largest relevance of the row, which tints it.
    void paintWord(QPainter& painter, const TokenColumns& columns, const QRectF& box, int token, double value,
                   double part, const Theme& theme) const;
    void paintLinks(QPainter& painter, const TokenColumns& columns, double top, double bottom,
                    const Theme& theme) const;

    TextFocus& m_focus;
    double m_threshold = 0.03;
    ColorMap m_map;
    mutable TextStamps m_words;
    mutable TextStamps m_figures;
};

} // namespace retro::views
