// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/geometry.h"

#include <QPointF>
#include <QRectF>

namespace retro::views
{

/// Scene ↔ pixels of the graph: a scale and the scene point in the upper left corner. A transposed one lays what is
/// above another thing in the scene to the left of it on the screen. Plain value, no widgets.
class GraphCamera
{
public:
    static constexpr double kLargest = 4.0;   ///< pixels per scene unit
    static constexpr double kSmallest = 1e-5; ///< far below what any graph needs to fit

    [[nodiscard]] double zoom() const { return m_zoom; }
    [[nodiscard]] bool isTransposed() const { return m_isTransposed; }
    /// Sideways (true) or as the scene is; what is in the upper left corner becomes the start of the scene.
    void setTransposed(bool isTransposed);
    [[nodiscard]] QPointF toScreen(layout::Point scene) const;
    [[nodiscard]] QRectF toScreen(const layout::Rect& scene) const;
    [[nodiscard]] layout::Point toScene(QPointF pixel) const;
    [[nodiscard]] layout::Rect toScene(const QRectF& pixels) const;

    /// Zooms so that the scene point under `pixel` stays there.
    void zoomAt(QPointF pixel, double factor);
    /// Moves the picture by pixels.
    void pan(QPointF pixels);
    /// Puts a scene point under a pixel.
    void place(layout::Point scene, QPointF pixel);
    /// Shows all of `bounds` in the part `view` of the widget, centred, at most at scale `largest`.
    void fit(const layout::Rect& bounds, const QRectF& view, double largest = 1.0);
    /// Moves as little as needed to bring `area` into `view`, with a margin of pixels; what does not fit is centred.
    /// Returns false when it was in sight already.
    bool reveal(const layout::Rect& area, const QRectF& view, double margin);
    /// Moves the picture up or down so that no ground shows above its top or below its bottom; centres one that is
    /// lower than the view.
    void fillHeight(const layout::Rect& bounds, const QRectF& view);
    /// Keeps at least `margin` pixels of the picture inside the view, so that it cannot get lost.
    void keepInSight(const layout::Rect& bounds, const QRectF& view, double margin);

    bool operator==(const GraphCamera&) const = default;

private:
    [[nodiscard]] layout::Point turned(layout::Point point) const;

    double m_zoom = 1.0;
    double m_x = 0.0; // scene, along the axes of the screen
    double m_y = 0.0;
    bool m_isTransposed = false;
};

} // namespace retro::views
