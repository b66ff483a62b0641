// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/paint/colorbar.h"
#include "views/common/paint/picture.h"
#include "views/common/widgets/stepstrip.h"

#include <QImage>
#include <QRect>

#include <filesystem>
#include <optional>

class QPainter;

namespace retro::views
{

/// How a heatmap is combined with its picture.
enum class HeatmapMode : std::uint8_t { Over, Only, SideBySide };

/// One pixel per value in the colours of the map. NaN becomes transparent. Pure; needs no application object.
[[nodiscard]] QImage heatmapOnly(const Plane& plane, const Scale& scale, const ColorMap& map);
/// The grey picture lifted to 59–100 %, covered by the map with opacity min(1, 1.25·√|v|). The picture is scaled to the
/// plane when its size differs; without a picture the same as heatmapOnly().
[[nodiscard]] QImage heatmapOver(const Plane& plane, const Scale& scale, const ColorMap& map, const QImage& picture);

/// Another run's heatmap of the same value, on the right of a line over this one. Both have one scale.
struct HeatmapWipe
{
    Plane plane;        ///< as large as the figure's
    QImage picture;     ///< what that run saw; may be null
    QString name;       ///< of that run
    double place = 0.5; ///< of the line, as a share of the width
    QString hereName{}; ///< of the run on the left

    /// The first column that is the other run's.
    [[nodiscard]] int column() const;
};

/// Everything that a heatmap with its frame of words consists of.
struct HeatmapFigure
{
    Plane plane;
    StepStrip strip;  ///< not empty: steps, drawn in place of the plane, which is then one row
    ColorBarSpec bar; ///< map and scale too
    QImage picture;   ///< what the model saw; may be null
    HeatmapMode mode = HeatmapMode::Over;
    bool hasBar = true;
    bool isSmooth = false;    ///< values run into each other in place of square pixels
    QString caption;          ///< one line under the picture; may be empty
    std::optional<QRect> box; ///< a frame in pixels of the plane
    std::optional<HeatmapWipe> wipe{};
    PictureTexts texts; ///< model, step, rules, scale: go into the written file
};

/// Where the parts of a figure lie.
struct HeatmapLayout
{
    QSizeF size;               ///< of the whole
    double pixel = 1;          ///< length of one value
    QRectF picture;            ///< of the heatmap, or of the heatmap over the picture
    QRectF beside;             ///< of the bare picture (SideBySide); else empty
    std::vector<QRectF> steps; ///< cells of a strip, from the corner of `picture`
    ColorBarLayout bar;
    QRectF caption;
};

/// The pixels of a figure, one per value: colours, over the picture or not, and the other run's from the line on.
[[nodiscard]] QImage figureImage(const HeatmapFigure& figure);

/// Largest length of a value with which the figure fits into `area`: a whole number, or a fraction below 1.
[[nodiscard]] double fittingPixel(const HeatmapFigure& figure, const QSizeF& area);
/// Lays the figure out with values of `pixel` length, from (0, 0).
[[nodiscard]] HeatmapLayout layoutFigure(const HeatmapFigure& figure, double pixel);
/// Draws the figure; pixels stay square and sharp unless it is smooth.
void paintFigure(QPainter& painter, const HeatmapFigure& figure, const HeatmapLayout& layout, const Theme& theme);

/// The frame around a box of the plane: dark with a light outer line, since the ground is light in both themes.
void paintFigureBox(QPainter& painter, const QRect& box, const QPointF& corner, double pixel);

/// The line between two runs with the name of each at its side, as far as there is room.
void paintWipe(QPainter& painter, const HeatmapWipe& wipe, const QRectF& picture, double pixel, const Theme& theme);

/// The figure as a picture on the light base colour. Text needs a QGuiApplication; without bar and caption none is
/// needed. `pixel` 0 = the smallest whole number that makes the longer side at least 480.
[[nodiscard]] QImage renderFigure(const HeatmapFigure& figure, int pixel = 0);
/// Writes the figure as .png (with text chunks), .svg or .pdf, through a temporary name. Errors: Usage (ending),
/// Output.
[[nodiscard]] base::Result<void> writeFigure(const std::filesystem::path& path, const HeatmapFigure& figure,
                                             int pixel = 0);

} // namespace retro::views
