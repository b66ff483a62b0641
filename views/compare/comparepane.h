// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/widgets/stepstrip.h"
#include "views/compare/compareview.h"

#include <QImage>
#include <QWidget>

namespace retro::views
{

/// Everything that the pane paints, worked out beforehand.
struct CompareFigure
{
    QImage picture;           ///< the control's heatmap over the picture; null for a series or a text
    StepStrip strip;          ///< of a series or a text: the control's relevance per step; else empty
    std::optional<QRect> box; ///< in pixels of the picture
    QString boxName;          ///< "tag"; empty = the shares are of the object alone
    QString verdict;          ///< "Control says jug"
    QString verdictFigure;    ///< "94.6 %"
    std::optional<EvidenceShare> here;
    std::optional<EvidenceShare> control;
    QString meaning; ///< one plain conclusion

    [[nodiscard]] bool hasShares() const { return here.has_value() && control.has_value(); }
};

/// Where the parts of the figure lie, from top to bottom; what the figure has not is empty.
struct CompareLayout
{
    double pixel = 1;          ///< length of a pixel of the picture: a whole number, or a fraction below 1
    QRectF picture;            ///< or the strip
    std::vector<QRectF> steps; ///< cells of the strip, from the picture's corner
    QRectF verdict;
    QRectF shares;  ///< from the hairline above to below the sum
    QRectF meaning; ///< from the hairline above to the end of the text
    double height = 0;
};

/// Lays the figure out in `size`: words get what they need, the picture the rest, but never less than a thumbnail; then
/// `height` is more than the size has.
[[nodiscard]] CompareLayout layoutCompare(const CompareFigure& figure, const QSizeF& size);

/// The painted body of CompareView; as high as its words need at its width.
class ComparePane final : public QWidget
{
    Q_OBJECT

public:
    explicit ComparePane(QWidget* parent = nullptr);
    void setFigure(CompareFigure figure);
    [[nodiscard]] const CompareFigure& figure() const { return m_figure; }
    /// Draws at any size; screen and files use the same painter.
    void paint(QPainter& painter, const QSizeF& size, const Theme& theme) const;
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void paintPicture(QPainter& painter, const CompareLayout& layout, const Theme& theme) const;
    void paintVerdict(QPainter& painter, const CompareLayout& layout, const Theme& theme) const;
    void paintShares(QPainter& painter, const QRectF& area, const Theme& theme) const;
    void paintMeaning(QPainter& painter, const QRectF& area, const Theme& theme) const;

    CompareFigure m_figure;
};

} // namespace retro::views
