// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/layeredlayout.h"

#include <vector>

namespace retro::layout
{

/// How much of the graph is drawn.
enum class DetailTier {
    Density, ///< below 0.05: filled rows instead of boxes
    Lines,   ///< 0.05 – 0.25: plain rectangles and thin edges
    Boxes,   ///< 0.25 – 0.4: boxes with mode borders, no text
    Full,    ///< from 0.4 on: text and badges
};

inline constexpr double kFullZoom = 0.4;
inline constexpr double kBoxesZoom = 0.25;
inline constexpr double kLinesZoom = 0.05;

/// The tier of a zoom factor (pixels per scene unit).
[[nodiscard]] constexpr DetailTier detailTier(double zoom)
{
    if (zoom >= kFullZoom) {
        return DetailTier::Full;
    }
    if (zoom >= kBoxesZoom) {
        return DetailTier::Boxes;
    }
    return zoom >= kLinesZoom ? DetailTier::Lines : DetailTier::Density;
}

/// One row of pixels of a picture that is too small for boxes.
struct DensityRow
{
    double left = 0.0;    ///< scene x of the leftmost box
    double right = 0.0;   ///< scene x of the rightmost box
    Index firstLayer = 0; ///< layers [firstLayer, lastLayer) touch the row
    Index lastLayer = 0;
    Index nodeCount = 0; ///< boxes in these layers; 0 = draw nothing
};

/// Cuts the height of `area` into `rows` equal rows and sums up the layers that each touches. O(rows · log layers +
/// layers in area).
[[nodiscard]] std::vector<DensityRow> densityRows(const LayeredLayout& layout, const Rect& area, int rows);

} // namespace retro::layout
