// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/paint/theme.h"
#include "views/common/widgets/drawnpane.h"
#include "views/layers/layerchain.h"

#include <QImage>

#include <vector>

namespace retro::views
{

/// Where the parts of a strip of `count` layers lie. Plain geometry.
struct StripLayout
{
    struct Cell
    {
        QRectF cell;
        QRectF name;
        QRectF picture;
        QRectF share;
        QPointF knob; ///< on the line below
    };
    std::vector<Cell> cells;
    double lineY = 0;

    /// The cell under x (nearest); −1 without cells.
    [[nodiscard]] int cellAt(double x) const;
};
[[nodiscard]] StripLayout layoutStrip(std::size_t count, const QRectF& area);

/// A layer's name as it fits: whole, else its last word ("Class scores" → "Scores", but "Block 4" stays), else elided.
[[nodiscard]] QString fittingName(const QString& name, const QFont& font, double width);

/// Small picture of a layer's relevance, `side` pixels: colours for maps, bars for vectors.
[[nodiscard]] QImage layerPicture(const tensor::Tensor* relevance, int side, bool isChannelsLast);

/// Paints the layers from score to input with the share that arrived; the line below is a slider.
class LayerStrip final : public DrawnPane
{
    Q_OBJECT

public:
    explicit LayerStrip(QWidget* parent = nullptr);

    void setLayers(std::vector<Layer> layers, std::vector<QImage> pictures);
    /// Per layer what a region has of it, in words, and a picture of where that is; shown in place of the share and the
    /// picture of its relevance. Empty: no region is marked.
    void setRegion(QStringList shares, std::vector<QImage> pictures);
    /// Layers that have arrived at the cursor; the last of them is the present one.
    void setArrived(int count);
    [[nodiscard]] const std::vector<Layer>& layers() const { return m_layers; }
    [[nodiscard]] int arrived() const { return m_arrived; }
    void paint(QPainter& painter, const QRectF& area, const Theme& theme) const;
    [[nodiscard]] QString tipAt(const QPointF& at) const override;

signals:
    /// A layer was clicked, dragged to or chosen by key.
    void chosen(int layer);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    [[nodiscard]] StripLayout layoutNow() const;
    void paintCell(QPainter& painter, std::size_t i, const StripLayout::Cell& cell, const Theme& theme) const;
    static void paintPicture(QPainter& painter, const QRectF& box, const QImage& picture, const Theme& theme);
    void paintLine(QPainter& painter, const StripLayout& layout, const Theme& theme) const;

    std::vector<Layer> m_layers;
    std::vector<QImage> m_pictures;
    QStringList m_regionShares;
    std::vector<QImage> m_regionPictures;
    int m_arrived = 0;
};

} // namespace retro::views
