// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/compare/compareview.h"

#include <QImage>
#include <QWidget>

namespace retro::views
{

/// Everything that the pane paints, worked out beforehand.
struct CompareFigure
{
    QImage picture;           ///< the control's heatmap over the picture
    std::optional<QRect> box; ///< in pixels of the picture
    QString boxName;          ///< "tag"
    QString verdict;          ///< "Control says jug"
    QString verdictFigure;    ///< "94.6 %"
    std::optional<EvidenceShare> here;
    std::optional<EvidenceShare> control;
    QString meaning; ///< one plain conclusion
};

/// The painted body of CompareView.
class ComparePane final : public QWidget
{
    Q_OBJECT

public:
    explicit ComparePane(QWidget* parent = nullptr);
    void setFigure(CompareFigure figure);
    /// Draws at any size; screen and files use the same painter.
    void paint(QPainter& painter, const QSizeF& size, const Theme& theme) const;
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    [[nodiscard]] double paintPicture(QPainter& painter, const QSizeF& size, const Theme& theme) const;
    [[nodiscard]] double paintShares(QPainter& painter, double y, double width, const Theme& theme) const;
    void paintMeaning(QPainter& painter, double y, const QSizeF& size, const Theme& theme) const;

    CompareFigure m_figure;
};

} // namespace retro::views
