// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/paint/heatmapimage.h"
#include "views/common/viewcontext.h"

#include <QString>

namespace retro::views
{

/// What the user set.
struct HeatmapSettings
{
    HeatmapMode mode = HeatmapMode::Over;
    ColorMap map;
    double percentile = 99.9;
    std::optional<double> keptLimit; ///< scale held over layers
    double gamma = 1;                ///< of the magnitudes before colours (Scale::gamma)
    bool isSmooth = false;           ///< values run into each other in place of square pixels
    std::optional<int> slice{};      ///< of a volume, the only one that is shown; none = all
};

/// The relevance that a heatmap shows at a cursor step.
struct HeatmapContent
{
    base::ValueId value;      ///< what it is of; invalid = nothing
    tensor::Tensor relevance; ///< invalid: see reason
    QString reason;           ///< why there is nothing to draw
    QString place;            ///< "at the input", "at block1/add"
    std::uint32_t landed = 0; ///< parts that are added up here while others have not landed; 0 = all of it is here
    std::uint32_t parts = 0;  ///< … of so many
    double sum = 0;           ///< of what is here, all channels
    bool isPicture = false;   ///< N×C×H×W: summed over channels; else steps or a grid of slices
    bool isVolume = false;    ///< N×C×D×H×W: slices, summed over channels
    std::optional<int> slice; ///< of a volume: the one that is shown; none = all
    bool isSteps = false;     ///< 1×T or 1×T×C of a series: one row, summed over channels
    Plane plane;              ///< values as they are, before any enlarging
    SliceGrid grid;           ///< of tensors that are no pictures
};

/// Picks the relevance: the selected value (node, promise) at the cursor; with nothing selected the layer that arrived
/// last. `grows`: the node at the cursor comes before that, and what has landed at a node is shown before all of it is
/// there.
[[nodiscard]] HeatmapContent heatmapContent(const RunModel& model, const SelectedThing& selected, bool grows = false,
                                            std::optional<int> slice = {});

/// Shows another tensor of the content's shape in place of its relevance: what ends in a region, weights.
void showTensor(const RunModel& model, const tensor::Tensor& tensor, HeatmapContent& content);

/// The input of the run as a picture; null when it is none.
[[nodiscard]] QImage inputPicture(const RunModel& model);

/// The figure of a content: map, scale, picture under it, words and text chunks. A layer that is smaller than the
/// picture is enlarged, without smoothing unless that is set, so that it lies over the picture.
[[nodiscard]] HeatmapFigure heatmapFigure(const RunModel& model, const HeatmapContent& content,
                                          const HeatmapSettings& settings);

/// Every value repeated so that the plane is width × height; `isSmooth` goes straight from the middle of one value to
/// the middle of the next.
[[nodiscard]] Plane enlargedPlane(const Plane& plane, int width, int height, bool isSmooth = false);

/// Name of the explained class or value: "mug".
[[nodiscard]] QString targetName(const RunModel& model);

} // namespace retro::views
